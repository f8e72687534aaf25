"""The guard behind the drop-in itself: what stands for GPU memory does not come to the MPI unseen."""

from __future__ import annotations

import subprocess

import c_programs
import guard
import pytest
from test_c_programs import have

GIVEN = (
    *("MPI_Send 1", "MPI_Irecv 1", "MPI_Allreduce 2", "MPI_Gather 4", "MPI_Allgatherv 4", "MPI_Alltoallw 1"),
    *("MPI_Pack 4", "MPI_Win_create 1", "MPI_Win_attach 2", "MPI_Buffer_attach 1"),
)


def give(name: str, what: str) -> subprocess.CompletedProcess[str]:
    program, library = have(name, "c_guarded.c")
    assert guard.before(program.found, library, program.library)
    return program.run(2, library, {}, program.start(2, what))


# It is written in the same way for each MPI.
CASES = [*((name, GIVEN[0]) for name in c_programs.LIBRARIES), *(("mpich", what) for what in GIVEN[1:])]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_gpu_memory_that_comes_to_the_mpi_ends_the_program(name: str, what: str) -> None:
    done = give(name, what)
    assert done.returncode not in (0, c_programs.HANGS), done.stderr
    function, argument = what.split()
    assert f"guard: {function} was given emulated memory in argument {argument}\n" in done.stderr, done.stderr


@pytest.mark.parametrize("what", ["nothing", "near"])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_the_address_alone_is_no_memory(name: str, what: str) -> None:
    """Of what holds nothing, or has its data elsewhere."""
    done = give(name, what)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
