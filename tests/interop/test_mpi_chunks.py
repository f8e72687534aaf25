"""Long messages between nodes through the drop-in for MPI, with emulated GPU memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import c_programs
import drop_in
import pytest
import repeats
from mpi_chunks import CHECKS
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent
NODE = "SENNIT_NODE=$PMI_RANK$PMIX_RANK"
PLAN = "in chunks, through the MPI"


def run(
    name: str, ranks: int, settings: str = "", arguments: str = "", options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Ranks on a node each. `options`: of the launcher."""
    found = drop_in.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    with tempfile.TemporaryDirectory(prefix="sennit-chunks-") as folder:
        rank = f'"{sys.executable}" -B -m mpi4py "{HERE / "mpi_chunks.py"}" {arguments}'
        program = f"{NODE} {settings} exec {rank}"
        if "dies" in arguments:
            # Hydra loses what ranks say last before one of them ends the job. Where the rank that is killed is its
            # own child, it kills the others too, one time in three: -disable-auto-cleanup or not.
            program = f'exec 2>"{folder}/said-$PMI_RANK$PMIX_RANK"; export {NODE}; {settings} {rank}; exit $?'
        launcher, *others = mpi.launch(found, ranks, root=os.geteuid() == 0)
        done = drop_in.start(found, [launcher, *options, *others], program, Path(folder))
        done.stderr += "".join(path.read_text() for path in sorted(Path(folder).glob("said-*")))
        return done


def check(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.split() == [each.__name__ for each in CHECKS], done.stdout
    assert "error" not in done.stderr.lower(), done.stderr


def ways(done: subprocess.CompletedProcess[str], call: str) -> set[str]:
    """How rank 0's calls have gone, from its report."""
    return set(re.findall(rf"^{call} .*\d  (\S.*)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(("name", "ranks"), repeats.in_turn(drop_in.LIBRARIES, [2, 3]))
def test_long_messages_go_in_chunks(name: str, ranks: int) -> None:
    done = run(name, ranks)
    check(done)
    assert PLAN in ways(done, "send"), done.stderr
    assert PLAN in ways(done, "isend"), done.stderr
    assert ways(done, "recv") == {PLAN, "staged: small, or from host memory"}, done.stderr
    assert ways(done, "mrecv") == {PLAN}, done.stderr


@pytest.mark.parametrize("name", ["mpich"])
def test_they_are_staged_where_nothing_else_is_wanted(name: str) -> None:
    """Of one rank too: each decides for what it sends."""
    done = run(name, 2, "SENNIT_BETWEEN=$(test $PMI_RANK = 0 && echo staged || echo rails)")
    check(done)
    assert PLAN not in ways(done, "isend"), done.stderr
    assert "staged: to another node" in ways(done, "send"), done.stderr
    assert PLAN in ways(done, "recv"), done.stderr


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_rank_that_dies_keeps_nobody_waiting(name: str) -> None:
    done = run(name, 2, arguments="dies", options=("-disable-auto-cleanup",) if name == "mpich" else ())
    assert done.returncode not in (0, c_programs.HANGS), done.stdout + done.stderr[-4000:]
    assert "it ended" not in done.stdout
    assert "rank 1 died" in done.stderr, done.stderr


@pytest.mark.parametrize(("name", "seed"), repeats.in_turn(c_programs.LIBRARIES, [1, 2]))
def test_threads_send_them_all_at_once(name: str, seed: int) -> None:
    program, library = c_programs.compiled(name, "c_threads.c"), drop_in.library()
    if isinstance(program, str) or isinstance(library, str):
        pytest.skip(str(program if isinstance(program, str) else library))
    start = program.start(2, "3", "60", str(seed), "0xffff", "22")
    place = start.index(str(program.path))
    shell = [*start[:place], "sh", "-c", f'{NODE} exec "$@"', "sh", *start[place:]]
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, shell)
    if done.stdout == "no such threads\n":
        pytest.skip("the MPI lets only one thread call it at a time")
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    assert PLAN in ways(done, "isend"), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr
