"""The drop-in for NCCL under a program of several ranks, with emulated GPU memory and an NCCL of the tests' own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import drop_in
import nccl_programs
import pytest
import sennit

# Functions of NCCL that sennit does where it takes all it can.
TAKEN = ("AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce", "AlltoAll", "Gather", "Scatter")


def have(version: int | None = None) -> tuple[nccl_programs.Program, Path]:
    """The program and the drop-in's library; skips where there is none."""
    program, library = nccl_programs.compiled(version), drop_in.library()
    if isinstance(program, str):
        pytest.skip(program)
    if isinstance(library, str):
        pytest.skip(library)
    return program, library


def copied(library: Path, folder: Path) -> Path:
    """Another copy of the preloaded library and of the drop-in behind it."""
    for name in (library.name, "libsennit-nccl.so"):
        shutil.copy(library.with_name(name), folder / name)
    return folder / library.name


def another_version(library: Path, folder: Path) -> Path:
    """As if another version of sennit had been built. Skips where the version is not found in the drop-in."""
    copy = copied(library, folder)
    behind = copy.with_name("libsennit-nccl.so")
    built = behind.read_bytes()
    ours = sennit.__version__.encode()
    changed, count = re.subn(rb"(?<![\w.])" + re.escape(ours) + rb"(?=\0)", b"x" * len(ours), built)
    if count != 1:
        pytest.skip("this build keeps its version elsewhere")
    behind.write_bytes(changed)
    return copy


def expect_right(job: nccl_programs.Job) -> None:
    """Every rank got what NCCL promises."""
    assert job.codes == [0] * len(job.codes), job.text
    assert job.output == ["all right\n"] * len(job.codes), job.text


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_collectives_are_sennits_and_right(ranks: int) -> None:
    program, library = have()
    job = program.run("collectives", ranks, library)
    expect_right(job)
    assert sum(job.asked(name) for name in TAKEN) == 0, "NCCL was asked after all"
    for line in (r"allreduce +to 1 KiB .* two_shot|allreduce +to 1 KiB .* one_shot", "reduce_scatter", "allgather",
                 "bcast", "reduce ", "alltoall", "gather", "scatter"):  # fmt: skip
        assert re.search(line, job.errors[0]), job.errors[0]
    assert all("NCCL's calls" not in each for each in job.errors[1:]), "rank 0 alone reports"


@pytest.mark.parametrize("test", ["collectives", "compared", "types", "groups", "streams", "configured", "messages",
                                  "crossed", "divided", "patient", "patient_parts", "pairs", "all_in_one",
                                  "of_threads", "scalable", "ended_late", "forked", "simulated", "shrunk",
                                  "shrunk_aside", "windows", "grown", "grown_patiently"])  # fmt: skip
def test_the_program_is_right_without_the_drop_in(test: str) -> None:
    program, _ = have()
    expect_right(program.run(test, 3, None))


def test_nothing_is_taken_that_did_not_measure_faster() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "measured"})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert "NCCL: no plan was measured here beside this NCCL (sennit tune collectives)" in job.errors[0], job.errors[
        0
    ]


def test_what_measured_faster_than_another_nccl_is_left_to_this_one() -> None:
    program, library = have()
    cache = nccl_programs.tuned("1K,4K,256K", (1e6, 1e6, 1e6), beside="2.18.1")
    if isinstance(cache, str):
        pytest.skip(cache)
    settings = {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)}
    job = program.run("collectives", 2, library, settings)
    expect_right(job)
    assert "NCCL: no plan was measured here beside this NCCL" in job.errors[0], job.errors[0]
    (file,) = cache.glob("*.collectives.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    table["entries"][0]["nccl"] = ".".join(map(str, nccl_programs.version_of(nccl_programs.headers()[0])))
    file.write_text(json.dumps(table), encoding="utf-8")
    job = program.run("collectives", 2, library, settings)
    expect_right(job)
    assert "NCCL: 2.18.1 was measured here, this is" in job.errors[0], job.errors[0]
    job = program.run("collectives", 2, library, settings | {"NCCL_NVLS_ENABLE": "0"})
    expect_right(job)
    assert "beside this NCCL" in job.errors[0], "multicast was not forbidden then"


def test_what_measured_faster_is_taken_and_nothing_else() -> None:
    program, library = have()
    cache = nccl_programs.tuned("1K,4K,256K", (1e6, 1e6, 0.5))
    if isinstance(cache, str):
        pytest.skip(cache)
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)})
    expect_right(job)
    said = job.errors[0]
    assert re.search(r"allreduce +to 1 KiB +\d+ +\S+ \S+ +\S+  \w+ \d+x256", said), said
    assert re.search(r"allreduce +to 4 MiB .*NCCL: measured faster at 256 KiB \(0.5 µs, sennit", said), said
    assert re.search("allgather .*NCCL: no plan of this size was measured here", said), said
    assert job.asked("AllReduce") == 2 * (2 + 4 + 1), "sums and averages of 280 KB, and maxima"


def test_between_two_sizes_sennit_has_to_be_faster_at_both() -> None:
    program, library = have()
    cache = nccl_programs.tuned("1K,16K", (1e6, 0.5), "allgather")
    if isinstance(cache, str):
        pytest.skip(cache)
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)})
    expect_right(job)
    said = job.errors[0]
    assert re.search(r"allgather +to 1 KiB +\d+ +\S+ \S+ +\S+  \w+ \d+x256", said), said
    assert re.search(r"allgather +to 16 KiB .*NCCL: measured faster at 16 KiB", said), "4 KiB are as near to 1 KiB"


def test_disabled_changes_nothing() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_DISABLE": "1"})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert job.errors == ["", ""]


def test_operations_that_are_not_listed_are_nccls() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_OPS": "allreduce,bcast"})
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("Broadcast") == 0
    assert job.asked("Reduce") > 0
    assert re.search("reduce .* NCCL: not in SENNIT_OPS", job.errors[0]), job.errors[0]


def test_calls_are_explained_once() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_EXPLAIN": "1", "SENNIT_REPORT": "0"})
    expect_right(job)
    assert job.errors[1] == ""
    assert len(re.findall("sennit: allreduce of 4 B: ", job.errors[0])) == 1, job.errors[0]


def test_a_program_that_compares_leaves_calls_to_nccl_and_takes_them_back() -> None:
    program, library = have()
    job = program.run("compared", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 3 * 3
    assert re.search("allreduce .* 9 .*NCCL: the program leaves its calls there", job.errors[0]), job.errors[0]


def test_types_and_operators() -> None:
    """A premultiplied sum is NCCL's: the factor of a rank is known there alone."""
    program, library = have()
    job = program.run("types", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 3
    assert "NCCL: its type or operator" in job.errors[0], job.errors[0]


@pytest.mark.parametrize(("operations", "allreduces", "reduces"), [("allreduce,reduce", 0, 0), ("allreduce", 0, 3),
                                                                   ("reduce", 4 * 3, 0)])  # fmt: skip
def test_a_group_of_both_libraries(operations: str, allreduces: int, reduces: int) -> None:
    """Calls of one communicator stay in their order, each to its library, and messages are one group behind them."""
    program, library = have()
    for messages in ("", ",sendrecv"):
        job = program.run("groups", 3, library, {"SENNIT_OPS": operations + messages})
        expect_right(job)
        sends = 0 if messages else 3
        assert (job.asked("AllReduce"), job.asked("Reduce"), job.asked("Send")) == (allreduces, reduces, sends)
        assert re.search("send .* (direct|NCCL: not in SENNIT_OPS)", job.errors[0]), job.errors[0]


def test_a_call_behind_one_of_nccls_on_another_stream() -> None:
    """What NCCL has on streams that may be gone is waited for by a message of the rank to itself."""
    program, library = have()
    job = program.run("streams", 2, library, {"SENNIT_OPS": "allreduce"})
    expect_right(job)
    assert (job.asked("AllReduce"), job.asked("Reduce")) == (0, 2 * 9)
    # From one to other, from other to the default stream, and from a thread's stream to another's.
    assert job.asked("Send") == job.asked("Recv") == 2 * 3


def test_a_call_behind_one_of_nccls_that_sennit_never_does() -> None:
    """In a group such a call begins at once, and comes first."""
    program, library = have()
    job = program.run("configured", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("AllReduceConfig") == 2 * 4
    # From one to other, and in the group.
    assert job.asked("Send") == job.asked("Recv") == 2 * 2


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_messages_are_sennits_and_right(ranks: int) -> None:
    """In groups as an all-to-all, on several streams, without groups, and grouped at one end alone."""
    program, library = have()
    job = program.run("messages", ranks, library)
    expect_right(job)
    assert job.asked("Send") == job.asked("Recv") == 0
    assert re.search(r"send +to 1 KiB .* direct", job.errors[0]), job.errors[0]
    assert re.search(r"recv +to 1 KiB .* direct", job.errors[0]), job.errors[0]


def test_messages_that_did_not_measure_faster_are_nccls() -> None:
    program, library = have()
    job = program.run("messages", 2, library, {"SENNIT_TAKE": "measured"})
    expect_right(job)
    assert job.asked("Send") == job.asked("Recv") > 0
    assert re.search("send .*NCCL: no plan was measured here beside this NCCL", job.errors[0]), job.errors[0]


def test_messages_of_a_group_go_at_the_same_time() -> None:
    program, library = have()
    job = program.run("crossed", 3, library)
    expect_right(job)
    assert job.asked("Send") == 0


def test_messages_of_a_group_by_both_libraries_go_at_the_same_time() -> None:
    """Whose a message is, both of its ends know; what else is in the group of one, the other does not."""
    program, library = have()
    cache = nccl_programs.tuned("64K,1M", (0.5, 1e6), "sendrecv")
    if isinstance(cache, str):
        pytest.skip(cache)
    job = program.run("shared_out", 2, library, {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)})
    expect_right(job)
    # Beside those of a rank to itself, by which a call comes behind one of NCCL's on another stream.
    assert all(sum(line.startswith("Send 32768") for line in calls) == 4 for calls in job.calls), job.calls
    for end in ("send", "recv"):
        assert re.search(rf"{end} +to 4 MiB +4 .* direct", job.errors[0]), job.errors[0]
        assert re.search(rf"{end} +to 256 KiB +4 .* NCCL: measured faster", job.errors[0]), job.errors[0]


def test_parts_of_a_communicator_have_counterparts_of_their_own() -> None:
    program, library = have()
    job = program.run("divided", 4, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_one_that_was_shrunk() -> None:
    program, library = have()
    job = program.run("shrunk", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_one_that_was_shrunk_without_the_knowledge_of_those_excluded() -> None:
    """Parts of the same communicator that are made afterwards have counterparts as ever."""
    program, library = have()
    job = program.run("shrunk_aside", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_between_windows_go_straight(ranks: int) -> None:
    """Those of ncclCommWindowRegister, as long as they are registered, where the program promises equal offsets."""
    program, library = have()
    job = program.run("windows", ranks, library)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("AllGather") == 0
    said = job.errors[0]
    # Three rounds with four calls between windows each. Behind two of them are two without, a fourth registers none
    # that is symmetric, and at last one buffer alone is registered.
    assert re.search(r"allreduce +to \d+ KiB +12 .*two_shot_windows", said), said
    assert re.search(r"allreduce +to \d+ KiB +10 .*two_shot_whole", said), said


def test_windows_where_a_rank_has_no_drop_in() -> None:
    program, library = have()
    job = program.run("windows", 3, library, without=(1,))
    expect_right(job)
    assert "windows" not in job.errors[0], job.errors[0]


def test_windows_of_ranks_on_two_nodes_are_nccls() -> None:
    program, library = have()
    job = program.run("windows", 4, library, RAILS, own=TWO_NODES)
    expect_right(job)
    assert "_windows" not in job.errors[0], job.errors[0]


@pytest.mark.parametrize("test", ["grown", "grown_patiently"])
@pytest.mark.parametrize("ranks", [3, 4])
def test_one_that_was_grown(test: str, ranks: int) -> None:
    program, library = have()
    job = program.run(test, ranks, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


@pytest.mark.parametrize("without", [0, 2, 3], ids=["an old rank", "the elder", "the new rank"])
def test_one_that_was_grown_where_a_rank_has_no_drop_in(without: int) -> None:
    """What the old ranks without it could do they still do; all of the grown one is NCCL's."""
    program, library = have()
    job = program.run("grown", 4, library, without=(without,))
    expect_right(job)
    before = 3 if without < 3 else 0
    assert job.asked("AllReduce") == 4 + before + 4


@pytest.mark.parametrize("operations", ["allreduce,reduce", "allreduce", "reduce"])
def test_one_that_is_made_while_the_program_goes_on(operations: str) -> None:
    program, library = have()
    job = program.run("patient", 3, library, {"SENNIT_OPS": operations})
    expect_right(job)
    assert job.asked("AllReduce") == (0 if "allreduce" in operations else 3 * 3)
    assert job.asked("Reduce") == 3 * (0 if ",reduce" in operations or operations == "reduce" else 2)


@pytest.mark.parametrize("settings", [{}, {"FAKE_NCCL_IS_WELL": "1"}], ids=["at work", "well"])
def test_parts_that_do_not_block(settings: dict[str, str]) -> None:
    program, library = have()
    job = program.run("patient_parts", 3, library, settings)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_two_that_are_made_in_one_group() -> None:
    program, library = have()
    job = program.run("pairs", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_ranks_of_one_process() -> None:
    program, library = have()
    job = program.run("all_in_one", 1, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0
    assert re.search(r"allreduce +to 16 KiB +9 ", job.errors[0]), job.errors[0]
    assert re.search(r"send +to 16 KiB +9 .* direct", job.errors[0]), job.errors[0]


def test_ranks_that_are_threads_of_one_process() -> None:
    program, library = have()
    job = program.run("of_threads", 1, library)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("Broadcast") == 0


def test_one_that_was_made_by_several_ids() -> None:
    program, library = have()
    job = program.run("scalable", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_one_that_was_revoked() -> None:
    """What waits ends, the communicator is NCCL's, and what is made of it is as any."""
    program, library = have()
    job = program.run("revoked", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 3
    assert re.search("allreduce .* NCCL: it was revoked", job.errors[0]), job.errors[0]


def test_calls_while_the_program_ends() -> None:
    """After sennit has reported."""
    program, library = have()
    job = program.run("ended_late", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_a_program_that_is_a_library_and_let_go_before_the_end() -> None:
    starting, library = nccl_programs.unloaded(), drop_in.library()
    if isinstance(starting, str) or isinstance(library, str):
        pytest.skip(f"{starting} {library}")
    program, start = starting
    job = program.run("collectives", 2, library, before=(str(start),))
    expect_right(job)
    assert job.asked("AllReduce") == 0
    assert "NCCL's calls on rank 0" in job.errors[0], job.errors[0]


def test_errors_of_nccl_are_nccls() -> None:
    program, library = have()
    expect_right(program.run("wrong", 2, library))


def test_what_waits_is_ended_by_an_abort() -> None:
    program, library = have()
    expect_right(program.run("aborted", 3, library))


def test_calls_that_do_not_belong_together_are_told_of_once() -> None:
    program, library = have()
    job = program.run("mistaken", 3, library)
    expect_right(job)
    said = [line for each in job.errors for line in each.splitlines() if "at the same place" in line]
    assert len(said) == 1, job.text
    assert re.search("rank . of 3 calls allreduce of [46]000 bytes of NCCL, and rank . .* allreduce of [46]000 bytes",
                     said[0]), said  # fmt: skip


def test_a_rank_that_dies_is_told_of() -> None:
    program, library = have()
    job = program.run("lost", 3, library)
    assert job.codes == [0, 0, 0], job.text
    assert job.output == ["all right\n", "all right\n", ""], job.text


def test_a_rank_that_is_done_may_leave() -> None:
    program, library = have()
    expect_right(program.run("early", 3, library))


def test_a_child_that_was_forked_does_no_harm_and_reports_nothing() -> None:
    program, library = have()
    job = program.run("forked", 2, library)
    expect_right(job)
    assert job.errors[0].count("on rank 0") == 1, job.errors[0]


def test_a_group_that_is_only_simulated() -> None:
    program, library = have()
    job = program.run("simulated", 2, library)
    expect_right(job)
    assert job.asked("GroupSimulateEnd") == 2


def test_a_version_that_is_too_old_is_left_alone() -> None:
    """2.17 cannot divide communicators."""
    program, library = have(21703)
    job = program.run("collectives", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert all("sennit: the program runs without sennit" in each for each in job.errors), job.text


@pytest.mark.parametrize("version", [21903, 22005, 22304])
def test_older_versions(version: int) -> None:
    program, library = have(version)
    for test in ("collectives", "divided", "groups"):
        job = program.run(test, 4, library)
        expect_right(job)
        assert job.asked("AllReduce") == 0, job.text


# ---- not everywhere the same --------------------------------------------------------------------------------------


@pytest.mark.parametrize("without", [(0,), (2,)])
def test_a_rank_without_the_drop_in_leaves_all_to_nccl(without: tuple[int, ...]) -> None:
    program, library = have()
    job = program.run("collectives", 3, library, without=without)
    expect_right(job)
    assert job.asked("AllReduce") == 3 * 4 * 4
    said = [line for each in job.errors for line in each.splitlines() if "left to NCCL" in line]
    assert len(said) == 1, job.text
    assert "not all 3 ranks of a communicator run with this sennit" in said[0]


def test_ranks_of_two_machines_are_left_to_nccl() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, own={rank: {"SENNIT_NODE": str(rank // 2)} for rank in range(4)})
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4


def test_ranks_of_two_versions_of_sennit_are_left_to_nccl(tmp_path: Path) -> None:
    program, library = have()
    other = another_version(library, tmp_path)
    job = program.run("collectives", 3, other, own={0: {"LD_PRELOAD": str(library)}})
    expect_right(job)
    assert job.asked("AllReduce") == 3 * 4 * 4
    assert "not all 3 ranks of a communicator run with this sennit" in job.errors[0], job.errors[0]


def test_ranks_with_other_tables_are_left_to_nccl(tmp_path: Path) -> None:
    """All go by the same, or by none."""
    program, library = have()
    cache = nccl_programs.tuned("1K,4K,256K", (1e6, 1e6, 0.5))
    if isinstance(cache, str):
        pytest.skip(cache)
    other = shutil.copytree(cache, tmp_path / "other")
    (file,) = other.glob("*.collectives.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    table["entries"][0]["nccl_us"] = 2e6
    file.write_text(json.dumps(table), encoding="utf-8")
    settings = {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)}
    job = program.run("collectives", 2, library, settings, own={1: {"SENNIT_CACHE": str(other)}})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert "not all ranks have the same table" in job.errors[0], job.errors[0]


@pytest.mark.parametrize("test", ["collectives", "groups", "divided"])
def test_a_second_copy_of_the_preloaded_library_does_nothing(test: str, tmp_path: Path) -> None:
    program, library = have()
    job = program.run(test, 4, Path(f"{library}:{copied(library, tmp_path)}"))
    expect_right(job)
    assert job.asked("AllReduce") == 0
    assert job.errors[0].count("sennit") == 1, job.errors[0]


def test_ranks_that_were_told_other_things_are_left_to_nccl() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, own={1: {"SENNIT_OPS": "allreduce"}})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert "rank 1 has another SENNIT_TAKE or SENNIT_OPS than rank 0" in job.errors[0], job.errors[0]


def test_a_switch_that_means_nothing_is_named() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "some"})
    expect_right(job)
    assert all("SENNIT_TAKE=some is no choice of calls" in each for each in job.errors), job.text


# ---- several nodes ------------------------------------------------------------------------------------------------

RAILS = {"SENNIT_RAILS": "1"}
TWO_NODES = {rank: {"SENNIT_NODE": str(rank // 2)} for rank in range(4)}


def test_allreduces_over_two_nodes_go_by_rails() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, RAILS, own=TWO_NODES)
    expect_right(job)
    said = job.errors[0]
    assert re.search(r"allreduce .* rails over 2 nodes", said), said
    assert re.search(r"allreduce .* NCCL: a type or operator that is not tried over several nodes", said), said
    assert re.search(r"allgather .* NCCL: over several nodes", said), said
    # Maxima and averages are NCCL's alone.
    asked = [line.split() for calls in job.calls for line in calls]
    assert sum(words[0] == "AllReduce" and words[3] != "0" for words in asked) == 4 * 8


@pytest.mark.parametrize("order", [(0, 1, 0, 1), (0, 1, 1, 0)])
def test_ranks_of_nodes_in_any_order(order: tuple[int, ...]) -> None:
    program, library = have()
    nodes = {rank: {"SENNIT_NODE": str(node)} for rank, node in enumerate(order)}
    job = program.run("groups", 4, library, RAILS, own=nodes)
    expect_right(job)
    assert "rails over 2 nodes" in job.errors[0], job.errors[0]


@pytest.mark.parametrize("test", ["streams", "types", "divided", "patient", "pairs", "wrong", "forked", "aborted",
                                  "early"])  # fmt: skip
def test_programs_over_two_nodes_are_right(test: str) -> None:
    program, library = have()
    job = program.run(test, 4, library, RAILS | {"SENNIT_OPS": "allreduce"}, own=TWO_NODES)
    expect_right(job)


def test_rails_are_tried_when_a_communicator_is_made() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, RAILS | {"SENNIT_TAKE": "measured"}, own=TWO_NODES)
    expect_right(job)
    tried = r"rails over 2 nodes|NCCL: faster over these nodes when the communicator was made"
    assert re.search(rf"allreduce +to 4 MiB .*({tried})", job.errors[0]), job.errors[0]
    assert re.search(r"allreduce +to 1 KiB .*NCCL: faster over these nodes", job.errors[0]), job.errors[0]


@pytest.mark.parametrize("without", [(2, 3), (0, 1), (3,)])
def test_a_node_without_the_drop_in_leaves_all_to_nccl(without: tuple[int, ...]) -> None:
    program, library = have()
    job = program.run("collectives", 4, library, RAILS, without=without, own=TWO_NODES)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4
    assert job.asked("CommSplit") == 0


def test_a_rank_that_was_told_of_no_rails_leaves_all_to_nccl() -> None:
    program, library = have()
    own = TWO_NODES | {3: {"SENNIT_NODE": "1", "SENNIT_RAILS": "0"}}
    job = program.run("collectives", 4, library, RAILS, own=own)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4
    assert job.asked("CommSplit") == 0


def test_nodes_that_differ_in_size_are_nccls() -> None:
    program, library = have()
    job = program.run("collectives", 3, library, RAILS, own={2: {"SENNIT_NODE": "1"}})
    expect_right(job)
    assert job.asked("CommSplit") == 0
    assert "its nodes do not have as many ranks each" in job.errors[0], job.errors[0]


def test_one_node_needs_no_rails() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, RAILS)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("CommSplit") == 0
