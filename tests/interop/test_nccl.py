"""The drop-in for NCCL under programs of several ranks, with emulated GPU memory and an NCCL of the tests' own: which
calls are sennit's and which NCCL's, and that all are right."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import drop_in
import nccl_programs
import pytest
from nccl_programs import expect_right, have

ROOT = Path(__file__).resolve().parent.parent.parent

# Functions of NCCL that sennit does where it takes all it can.
TAKEN = ("AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce", "AlltoAll", "Gather", "Scatter")


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


def told_of_map(job: nccl_programs.Job) -> list[list[str]]:
    """What each rank says of the map."""
    expect_right(job)
    return [re.findall(r"sennit: (map: [^.\n]*)", errors) for errors in job.errors]


def test_each_rank_gets_the_gpu_of_its_map_and_one_with_another_rule_is_named(tmp_path: Path) -> None:
    """The program takes GPU = local rank, but for rank 1, which takes the first it sees."""
    program, library = have()
    uuids = [f"HOST-{gpu}" for gpu in (2, 0, 3, 1)]
    ranks = [{"rank": rank, "node": 0, "gpu": f"gpu{uuid[-1]}", "uuid": uuid} for rank, uuid in enumerate(uuids)]
    row = {"name": "as it is", "metric": "", "solver": "", "heaviest_us": 0, "byte_hops": 0, "cost": 0,
           "exchange_us": 0, "gain": 0, "map": [0, 1, 2, 3]}  # fmt: skip
    made = {"version": 1, "kind": "map", "machine": "made up", "fingerprint": "", "gpus": 4, "metric": "contention",
            "traffic": {"from": "it", "ranks": 4, "bytes": 0, "messages": 0}, "mappings": [row], "chosen": 0,
            "advised": True, "verdict": "", "ranks": ranks}  # fmt: skip
    (tmp_path / "map.json").write_text(json.dumps(made))
    by_map = (sys.executable, "-m", "sennit", "run", "--map", str(tmp_path / "map.json"), "--")
    python = os.pathsep.join(filter(None, (str(ROOT / "python"), os.environ.get("PYTHONPATH", ""))))
    settings = {"SENNIT_TAKE": "measured", "SENNIT_PROGRAMS": drop_in.FOLDER, "PYTHONPATH": python}
    job = program.run("collectives", 4, library, settings, before=by_map)
    assert told_of_map(job) == [["map: 4 of 4 ranks as asked"], [], [], []]
    job = program.run("collectives", 4, library, settings, own={1: {"FAKE_NCCL_DEVICE": "0"}}, before=by_map)
    named = "map: 3 of 4 ranks as asked; rank 1 uses HOST-2, and the map says HOST-0"
    assert told_of_map(job) == [[named], [], [], []]


@pytest.mark.parametrize("test", ["collectives", "compared", "types", "groups", "streams", "configured", "messages",
                                  "crossed", "divided", "patient", "patient_beside", "patient_parts", "pairs",
                                  "all_in_one", "of_threads", "at_once", "scalable", "ended_late", "forked",
                                  "starting", "simulated", "shrunk", "shrunk_aside", "windows", "grown",
                                  "grown_patiently"])  # fmt: skip
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
    """Whether the table has nothing else, or this NCCL's times, too; and the user hears which one to measure."""
    program, library = have()
    cache = nccl_programs.tuned({1: 1e6, 4: 1e6, 256: 1e6}, beside="2.18.1")
    settings = {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)}
    own = ".".join(map(str, nccl_programs.version_of(nccl_programs.headers()[0])))
    file = program.library / "libnccl.so.2"
    said = f"NCCL: 2.18.1 was measured here, this is {own} (sennit tune collectives --nccl {file})"
    job = program.run("collectives", 2, library, settings)
    expect_right(job)
    assert said in job.errors[0], job.errors[0]
    assert job.errors[1] == "", "what a report says is no warning"
    (kept,) = cache.glob("*.collectives.json")
    table = json.loads(kept.read_text(encoding="utf-8"))
    table["entries"][0]["nccl"] = own
    kept.write_text(json.dumps(table), encoding="utf-8")
    job = program.run("collectives", 2, library, settings)
    expect_right(job)
    assert said in job.errors[0], job.errors[0]
    job = program.run("collectives", 2, library, settings | {"NCCL_NVLS_ENABLE": "0"})
    expect_right(job)
    assert f"this is {own} with NCCL_NVLS_ENABLE=0 (" in job.errors[0], "multicast was not forbidden then"


def test_what_measured_faster_is_taken_and_nothing_else() -> None:
    program, library = have()
    cache = nccl_programs.tuned({1: 1e6, 4: 1e6, 256: 0.5})
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)})
    expect_right(job)
    said = job.errors[0]
    assert re.search(r"allreduce +to 1 KiB +\d+ +\S+ \S+ +\S+  \w+ \d+x256", said), said
    assert re.search(r"allreduce +to 4 MiB .*NCCL: measured faster at 256 KiB \(0.5 µs, sennit", said), said
    assert re.search("allgather .*NCCL: this size was not measured here", said), said
    assert job.asked("AllReduce") == 2 * (2 + 4 + 1), "sums and averages of 280 KB, and maxima"
    others = {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache), "SENNIT_OPS": "bcast"}
    job = program.run("collectives", 2, library, others)
    expect_right(job)
    assert "NCCL: no plan was measured here for what SENNIT_OPS names" in job.errors[0], job.errors[0]


def test_between_two_sizes_sennit_has_to_be_faster_at_both() -> None:
    program, library = have()
    cache = nccl_programs.tuned({1: 1e6, 16: 0.5}, "allgather")
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


def test_without_an_operation_there_is_nothing_to_make() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_OPS": "none"})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert "NCCL: SENNIT_OPS names none of its calls" in job.errors[0], job.errors[0]


def test_rank_0_of_the_job_reports_and_no_other_communicators() -> None:
    program, library = have()
    others = {0: {"RANK": "2", "LOCAL_RANK": "2"}, 1: {"RANK": "3", "LOCAL_RANK": "3"}}
    settings = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", "SENNIT_EXPLAIN": "1"}
    job = program.run("collectives", 2, library, settings, own=others)
    expect_right(job)
    assert job.errors == ["", ""]


def test_ranks_that_the_launcher_does_not_know_of_report_once() -> None:
    """Two of its tasks have started three."""
    program, library = have()
    tasks = {rank: {"RANK": task, "LOCAL_RANK": task} for rank, task in enumerate("001")}
    job = program.run("collectives", 3, library, {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, own=tasks)
    expect_right(job)
    assert ["sennit: NCCL's calls on rank 0" in each for each in job.errors] == [True, False, False], job.text


def test_a_switch_that_means_nothing_is_named() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "some"})
    expect_right(job)
    assert all("SENNIT_TAKE=some is no choice of calls" in each for each in job.errors), job.text


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
    assert job.asked("AllReduce") == 2 * 3
    assert job.asked("RedOpDestroy") == 2 * 3
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
    told = re.search(
        r"^all_reduce_config +\S+ \S+ \S+ +4 .* NCCL: sennit has no such call$", job.errors[0], re.MULTILINE
    )
    assert told, job.text
    # From one to other, and in the group.
    assert job.asked("Send") == job.asked("Recv") == 2 * 2


def test_a_program_that_is_a_library_and_let_go_before_the_end() -> None:
    starting, library = nccl_programs.unloaded(), drop_in.library()
    if isinstance(starting, str) or isinstance(library, str):
        pytest.skip(f"{starting} {library}")
    program, start = starting
    job = program.run("collectives", 2, library, before=(str(start),))
    expect_right(job)
    assert job.asked("AllReduce") == 0
    assert "NCCL's calls on rank 0" in job.errors[0], job.errors[0]


def test_a_program_whose_calls_are_not_seen_runs_as_ever_and_says_so() -> None:
    program, library = nccl_programs.linked_in(), drop_in.library()
    if isinstance(program, str) or isinstance(library, str):
        pytest.skip(f"{program} {library}")
    job = program.run("collectives", 2, library)
    expect_right(job)
    (line,) = job.errors[0].splitlines()
    assert line.startswith("sennit: no call of NCCL or MPI was seen in linked-in, which uses CUDA. "), line
    assert job.errors[1] == "", "rank 0 alone reports"
    for silent in ({"SENNIT_REPORT": "0"}, {"SENNIT_DISABLE": "1"}):
        assert program.run("collectives", 2, library, silent).errors == ["", ""]


def test_functions_that_a_program_looks_up_in_nccl_are_the_drop_ins(tmp_path: Path) -> None:
    """By the name that all know it by, and in a file of another name."""
    program, library = nccl_programs.looked_up(), drop_in.library()
    if isinstance(program, str) or isinstance(library, str):
        pytest.skip(f"{program} {library}")
    other = tmp_path / "nccl-of-its-own.so"
    shutil.copy(program.library / "libnccl.so.2", other)
    for file in ({}, {"NCCL_FILE": str(other)}):
        job = program.run("collectives", 2, library, file)
        expect_right(job)
        assert job.asked("AllReduce") == 0, job.text
        assert "NCCL's calls on rank 0" in job.errors[0], job.text
        alone = program.run("collectives", 2, library, {"SENNIT_DISABLE": "1"} | file)
        expect_right(alone)
        assert alone.asked("AllReduce") > 0, alone.text
        assert alone.errors == ["", ""]


def test_a_second_nccl_that_a_program_opens_is_left_alone(tmp_path: Path) -> None:
    """As PyTorch brings one, and vLLM is told to open another: each has its own calls, and its own communicators."""
    program, library = nccl_programs.looked_up(), drop_in.library()
    if isinstance(program, str) or isinstance(library, str):
        pytest.skip(f"{program} {library}")
    loaded, other = program.library / "libnccl.so.2", tmp_path / "nccl-of-its-own.so"
    shutil.copy(loaded, other)
    job = program.run("collectives", 2, library, {"NCCL_FILE": str(other), "LD_PRELOAD": f"{library}:{loaded}"})
    expect_right(job)
    assert job.asked("AllReduce") > 0, job.text
    assert "no call of NCCL or MPI was seen" in job.errors[0], job.text


def test_a_launcher_says_nothing_of_its_own_calls() -> None:
    """It asks CUDA for GPUs, and waits for ranks, which report."""
    program, library = nccl_programs.linked_in(), drop_in.library()
    if isinstance(program, str) or isinstance(library, str):
        pytest.skip(f"{program} {library}")
    driver = nccl_programs.driver()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "LD_PRELOAD"))}

    def said(body: str, more: dict[str, str]) -> str:
        command = [sys.executable, "-c", f"import ctypes, subprocess; ctypes.CDLL('{driver}'); {body}"]
        environment = kept | {"LD_PRELOAD": str(library), "SENNIT_REPORT": "1"} | more
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stderr

    starts = "subprocess.run(['/bin/true'], env={})"
    assert said(starts, {}) == ""
    assert "no call of NCCL or MPI was seen" in said(starts, {"RANK": "0"}), "it is a rank itself"
    assert "no call of NCCL or MPI was seen" in said("", {})


def test_programs_that_compare_hear_that_there_is_no_drop_in() -> None:
    """Where it is loaded, but does not work."""
    program, library = have()
    job = program.run("compared", 1, library, {"SENNIT_TAKE": "al"})
    assert "sennit: the program runs without sennit" in job.errors[0], job.text
    assert "there is no drop-in" in job.output[0], job.text


def test_errors_of_nccl_are_nccls() -> None:
    program, library = have()
    expect_right(program.run("wrong", 2, library))


def test_a_child_that_was_forked_does_no_harm_and_reports_nothing() -> None:
    program, library = have()
    job = program.run("forked", 2, library)
    expect_right(job)
    assert job.errors[0].count("on rank 0") == 1, job.errors[0]


@pytest.mark.parametrize("switches", [{}, {"SENNIT_DISABLE": "1"}], ids=["taken", "disabled"])
def test_processes_that_do_not_use_nccl_get_nothing_but_the_preloaded_library(switches: dict[str, str]) -> None:
    """Neither CUDA nor the drop-in behind it: a job's shells, launchers and data loaders start as ever."""
    program, library = have()
    job = program.run("starting", 2, library, switches)
    expect_right(job)
    assert job.asked("AllReduce") == (2 if switches else 0)


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
        assert "newer" not in job.errors[0], job.text


def test_a_version_that_nobody_knew_is_taken_and_told_of_once() -> None:
    program, library = have(29900)
    job = program.run("collectives", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0, job.text
    assert [each.count("sennit: NCCL 2.99.0 is newer than this sennit knows") for each in job.errors] == [1, 0], (
        job.text
    )
