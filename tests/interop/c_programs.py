"""Programs in C for the MPIs that can be had, compiled by the tests that run them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import drop_in
import guard
import mpi_headers
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent

# MPICH's wheel has a library of the standard ABI of MPI 5 too.
LIBRARIES = (*drop_in.LIBRARIES, "standard")
HANGS = 124  # the exit code of what did not end
TOGETHER = tempfile.TemporaryDirectory(prefix="sennit-c-")


@dataclass(frozen=True)
class Program:
    """A program, and the MPI that it is for."""

    path: Path
    found: mpi.Installed
    library: Path  # of LIBRARIES

    def start(self, ranks: int, *arguments: str) -> list[str]:
        return [*mpi.launch(self.found, ranks, root=os.geteuid() == 0), str(self.path), *arguments]

    def run(
        self,
        ranks: int,
        library: Path | None,
        settings: dict[str, str] | None = None,
        command: list[str] | None = None,
        guarded: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """With the drop-in where its library is given, and the guard behind it if `guarded`; a minute long at most,
        then its exit code is HANGS."""
        command = command or self.start(ranks)
        if library is not None and guarded:
            place = command.index(str(self.path))
            command = [*command[:place], *guard.before(self.found, library, self.library), *command[place:]]
        with tempfile.TemporaryDirectory(prefix="sennit-c-files-") as files:
            done = subprocess.run(
                ["timeout", "--verbose", "-k", "5", "60", *command],
                env=drop_in.environment(self.found, Path(files), library) | (settings or {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        # One that had to be killed has the code of a job whose rank was.
        if "timeout: sending signal" in done.stderr:
            done.returncode = HANGS
        return done


@cache
def compiled(
    name: str,
    source: str,
    shared: bool = False,
    options: tuple[str, ...] = (),
    linked: Path | None = None,
    compiler: str = "gcc",
) -> Program | str:
    """A program of this folder for one of LIBRARIES, or why it cannot be had. `shared`: a library. `linked`: another
    library of the MPI than its own."""
    if shutil.which(compiler) is None:
        return f"{compiler} is not on PATH"
    found = drop_in.find("mpich" if name == "standard" else name)
    if isinstance(found, str):
        return found
    include = mpi_headers.folder_of(found)
    if isinstance(include, str):
        return include
    own = found.library.with_name("libmpi_abi.so.1") if name == "standard" else found.library
    if not own.exists():
        return f"the package mpich has no {own.name}"
    library = linked or own
    program = Path(TOGETHER.name) / "-".join((name, Path(source).stem, *options, *([linked.name] if linked else [])))
    program = program.with_name(program.name.replace("=", "-"))  # which `env` would take for a variable
    command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", f"-I{include}"]
    command += ["-Wno-unknown-warning-option"] if compiler == "clang" else []
    command += ["-DMPI_ABI"] if name == "standard" else []
    command += ["-shared", "-fPIC", *options] if shared else [*options]
    command += ["-o", str(program), str(HERE / source), str(library), "-ldl", f"-Wl,-rpath,{library.parent}"]
    command += ["-Wl,--allow-shlib-undefined"]  # what the MPI itself needs is found when it is started
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return Program(program, found, own)
