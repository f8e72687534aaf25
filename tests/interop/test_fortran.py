"""Programs in Fortran through the drop-in for MPI, with Debian's MPIs, which have libraries for Fortran, and emulated
GPU memory: the three ways in which Fortran knows MPI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import c_programs
import debian_mpi
import drop_in
import guard
import pytest
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent
WAYS = {"mpif.h": "MPIF_H", "mpi": "MODULE_MPI", "mpi_f08": "MODULE_F08"}
LIBRARIES = {
    "debian-openmpi": (
        "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40", "libmpi_mpifh.so.40", "libmpi.so.40",
    ),
    "debian-mpich": ("libmpichfort.so.12", "libmpich.so.12"),
}  # fmt: skip

# What must be the drop-in's on rank 0, in the words of the report; another one has passed it by.
TAKEN = {
    ("recv", "direct copy"), ("mrecv", "direct copy"), ("irecv", "into GPU memory"), ("isend", "direct copy"),
    ("recv_init", "into GPU memory"), ("send_init", "staged"), ("iallreduce", "one_shot"),
    ("allreduce", "one_shot"), ("allreduce", "two_shot"), ("allreduce", "staged: operator of the program"),
    ("bcast", "direct"), ("reduce", "two_shot"), ("allgather", "direct"), ("alltoallv", "direct"),
    ("gather", "direct"),
}  # fmt: skip


@cache
def compiled(name: str, program: Path, sources: tuple[str, ...], options: tuple[str, ...] = ()) -> str:
    """Makes the program for this MPI; why not, where it cannot be."""
    compiler = shutil.which("gfortran")
    if compiler is None:
        return "gfortran is not installed"
    if missing := debian_mpi.fetch():
        return missing
    # Modules are of one generation of compilers.
    modules = sorted(debian_mpi.LIB.glob(f"fortran/gfortran-mod-*/{name.removeprefix('debian-')}"))
    if not modules:
        return f"{name} has no modules for gfortran"
    command = [compiler, "-O1", "-w", "-fallow-argument-mismatch", *options, f"-J{program.parent}"]
    command += [f"-I{debian_mpi.INCLUDE[name]}", f"-I{modules[0]}", *(str(HERE / each) for each in sources)]
    command += ["-o", str(program), *(str(debian_mpi.LIB / each) for each in LIBRARIES[name]), "-ldl"]
    command += ["-Wl,--allow-shlib-undefined"]  # what the MPI itself needs is found when it is started
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "Cannot read module file" in done.stderr:
        return "gfortran is of another generation than Debian's modules of MPI"
    assert done.returncode == 0, done.stderr
    return ""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fortran")


def run(
    name: str,
    program: Path,
    ranks: int,
    library: Path | None,
    behind: str = "",
    settings: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """`behind`: what is preloaded behind the drop-in, or alone; if nothing is, the guard is behind it."""
    found = debian_mpi.find(name)
    assert isinstance(found, mpi.Installed)
    with tempfile.TemporaryDirectory(prefix="sennit-fortran-") as files:
        preloaded = ":".join(filter(None, (str(library or ""), behind)))
        start = ["env", f"LD_PRELOAD={preloaded}"]  # not the launcher, which has no MPI
        if library is not None and not behind:
            start = guard.before(found, library) or start
        return subprocess.run(
            ["timeout", "-k", "5", "60", *mpi.launch(found, ranks, root=os.geteuid() == 0), *start, str(program)],
            env=drop_in.environment(found, Path(files), library) | {"SENNIT_REPORT": "1"} | (settings or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def program_of(name: str, way: str, folder: Path) -> Path:
    program = folder / f"{name}-{WAYS[way]}"
    sources = ("fortran_memory.f90", "fortran_buffers.F90")
    if missing := compiled(name, program, sources, (f"-D{WAYS[way]}",)):
        pytest.skip(missing)
    return program


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_what_fortran_sends_and_reduces_arrives(name: str, way: str, ranks: int, folder: Path) -> None:
    library = drop_in.library()
    if isinstance(library, str):
        pytest.skip(library)
    done = run(name, program_of(name, way, folder), ranks, library)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout == "all arrived\n"
    lines = [re.split(r"\s{2,}", line) for line in done.stderr.splitlines()]
    told = {(line[0], line[-1]) for line in lines if len(line) > 4}
    passed_by = {each for each in TAKEN if not any(a == each[0] and b.startswith(each[1]) for a, b in told)}
    assert passed_by == set(), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_program_is_right_without_the_drop_in(name: str, folder: Path) -> None:
    done = run(name, program_of(name, "mpi_f08", folder), 3, None)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_tool_that_is_preloaded_too_sees_calls_once(name: str, folder: Path) -> None:
    library, tool = drop_in.library(), c_programs.compiled(name, "c_tool.c", shared=True)
    for each in (library, tool):
        if isinstance(each, str):
            pytest.skip(each)
    assert isinstance(library, Path)
    assert isinstance(tool, c_programs.Program)
    program = folder / f"{name}-calls"
    if missing := compiled(name, program, ("fortran_calls.f90",)):
        pytest.skip(missing)
    done = run(name, program, 2, library, str(tool.path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "tool: 1 sends, 1 barriers, 1 reductions\n"
    assert "tool" not in done.stderr, done.stderr
