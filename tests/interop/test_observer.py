"""An observer before the drop-in (counting_observer.cc) sees each call of the program's once: with the drop-in behind
it and without, from Fortran, with tools around, and after MPI_Finalize."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import c_programs
import drop_in
import nccl_programs
import pytest
import test_fortran
from test_c_programs import have

RANKS, LENGTH = 2, 1000
# The calls of each rank in c_observed.c.
CALLS = {
    "MPI_Init": 1, "MPI_Irecv": 3, "MPI_Isend": 3, "MPI_Waitall": 3, "MPI_Sendrecv": 4, "MPI_Comm_dup": 1,
    "MPI_Allreduce": 5, "MPI_Pcontrol": 2, "MPI_Barrier": 1, "MPI_Ibarrier": 1, "MPI_Wait": 1, "MPI_Comm_free": 1,
    "MPI_Alloc_mem": 1, "MPI_Free_mem": 1, "MPI_Finalize": 1,
}  # fmt: skip
AFTER = "MPI_Session_init"
WITH_MEMORY = ("MPI_Irecv", "MPI_Isend", "MPI_Sendrecv", "MPI_Allreduce")
each_library = pytest.mark.parametrize("name", c_programs.LIBRARIES)
each_way = pytest.mark.parametrize("disabled", [False, True], ids=["drop-in", "alone"])


def observer() -> Path:
    """The library that counts."""
    library = drop_in.library()
    if isinstance(library, str):
        pytest.skip(library)
    built = library.with_name("libsennit-counting.so")
    assert built.exists(), f"{built} is not built: scripts/build release tests"
    return built


def settings(disabled: bool, **others: str) -> dict[str, str]:
    return {"SENNIT_OBSERVER": str(observer()), "SENNIT_DISABLE": str(int(disabled)), "SENNIT_REPORT": "1", **others}


def observed(said: str) -> dict[str, Counter[str]]:
    """What observers said: calls, bytes and calls with GPU memory, by function."""
    told = {kind: Counter[str]() for kind in ("calls", "bytes", "on_gpus")}
    for line in said.splitlines():
        if line.startswith("observed "):
            _, name, *numbers = line.split()
            for kind, number in zip(told, numbers, strict=True):
                told[kind][name] += int(number)
    return {kind: +counts for kind, counts in told.items()}


@each_way
@each_library
def test_every_call_is_seen_once(name: str, disabled: bool) -> None:
    program, library = have(name, "c_observed.c")
    arguments = () if disabled else ("gpu",)  # memory is emulated by the drop-in
    done = program.run(RANKS, library, settings(disabled), program.start(RANKS, *arguments), guarded=False)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    told = observed(done.stderr)
    after = {AFTER: 1} if told["calls"][AFTER] else {}
    assert bool(after) == (name in ("mpich", "standard"))
    assert told["calls"] == {call: RANKS * times for call, times in (CALLS | after).items()}
    assert told["bytes"] == {call: 4 * LENGTH * RANKS * CALLS[call] for call in WITH_MEMORY}
    assert told["on_gpus"] == ({} if disabled else {call: RANKS * CALLS[call] for call in WITH_MEMORY})
    assert ("one_shot" in done.stderr) == (not disabled), done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_nothing_changes_where_no_observer_is_to_be_had(name: str) -> None:
    program, library = have(name, "c_observed.c")
    missing = settings(False, SENNIT_OBSERVER="libsennit-none.so")
    done = program.run(RANKS, library, missing, guarded=False)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    assert done.stderr.count("the program is not observed (SENNIT_OBSERVER): ") == RANKS, done.stderr


@each_way
@pytest.mark.parametrize("order", ["tool first", "tool last"])
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_tool_beside_it_sees_as_much(name: str, order: str, disabled: bool) -> None:
    """A profiling tool in front goes on by PMPI_…, one behind is what an MPI would be."""
    program, library = have(name, "c_observed.c")
    tool = c_programs.compiled(name, "c_tool.c", shared=True)
    assert isinstance(tool, c_programs.Program)
    both = [str(tool.path), str(library)] if order == "tool first" else [str(library), str(tool.path)]
    start = program.start(RANKS)[:-1]
    command = [*start, "env", f"LD_PRELOAD={':'.join(both)}", str(program.path)]
    done = program.run(RANKS, library, settings(disabled), command, guarded=False)
    assert done.returncode == 0, done.stderr
    told = observed(done.stderr)["calls"]
    for call in ("MPI_Allreduce", "MPI_Sendrecv", "MPI_Isend", "MPI_Finalize"):
        assert told[call] == RANKS * CALLS[call], done.stderr
    assert f"tool: 0 sends, {CALLS['MPI_Barrier'] + 6} barriers, {CALLS['MPI_Allreduce']} reductions\n" in done.stdout
    assert "called by what it called" not in done.stderr, done.stderr


@each_way
@pytest.mark.parametrize("name", test_fortran.LIBRARIES)
def test_calls_from_fortran_are_seen_once(name: str, disabled: bool, tmp_path: Path) -> None:
    library = drop_in.library()
    program = tmp_path / f"{name}-calls"
    if missing := test_fortran.compiled(name, program, ("fortran_calls.f90",)):
        pytest.skip(missing)
    assert isinstance(library, Path)
    done = test_fortran.run(name, program, RANKS, library, settings=settings(disabled))
    assert done.returncode == 0, done.stderr
    expected = {"MPI_Init": 2, "MPI_Barrier": 2, "MPI_Allreduce": 2, "MPI_Send": 1, "MPI_Recv": 1, "MPI_Finalize": 2}
    assert {"MPI_Init" if call == "MPI_Init_thread" else call: times
            for call, times in observed(done.stderr)["calls"].items()} == expected  # fmt: skip


@pytest.mark.parametrize("test", ["collectives", "groups", "messages"])
def test_calls_of_nccl_are_seen_once(test: str) -> None:
    """As many as NCCL is asked for alone, also where sennit takes them."""
    program, library = nccl_programs.have()
    alone = program.run(test, RANKS, library, settings(True))
    taken = program.run(test, RANKS, library, settings(False))
    asked = Counter(f"nccl{line.split()[0]}" for calls in alone.calls for line in calls)
    nccl_programs.expect_right(alone)
    nccl_programs.expect_right(taken)
    told = observed("".join(alone.errors))["calls"]
    seen = told + Counter({"ncclBroadcast": told["ncclBcast"]})  # which NCCL notes so
    names = {call for call in asked if call in seen}
    assert {"ncclAllReduce", "ncclSend"} & names
    assert {call: seen[call] for call in names} == {call: asked[call] for call in names}
    assert observed("".join(taken.errors))["calls"] == told
    assert observed("".join(taken.errors))["on_gpus"] != {}


def test_calls_cost_what_they_cost_where_none_is_there() -> None:
    """An entry point is one jump by one table."""
    library = drop_in.library()
    if isinstance(library, str):
        pytest.skip(library)
    for name in ("MPI_Send", "ncclAllReduce"):
        listed = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", str(library)],
                                capture_output=True, text=True, check=True).stdout  # fmt: skip
        code = [line.split("\t")[1].split()[0] for line in listed.splitlines() if "\t" in line]
        assert code == ["endbr64", "jmp"], listed
