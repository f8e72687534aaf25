"""Programs in C through a drop-in that a sanitizer was built into, and they too. The NCCL is the tests' own, with the
sanitizer; the MPI is as it comes."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import c_programs
import drop_in
import nccl_programs
from house import unrandomised

# No hooks of UCX's into memory, which take locks in threads that the sanitizer does not know yet, and nothing read
# from another process's memory, whose addresses it takes for this one's. PMIx wants a segment at an address that the
# sanitizer has.
MPI_SETTINGS = {
    "UCX_TLS": "^cma",
    "UCX_MEM_EVENTS": "n",
    "UCX_MEM_MMAP_HOOK_MODE": "none",
    "UCX_HANDLE_ERRORS": "none",
    "UCX_ERROR_SIGNALS": "",
    "PMIX_MCA_gds": "hash",
}

# What MPIs do is not seen, but the functions of the C library that they call are: those say nothing.
SUPPRESSIONS = """\
called_from_lib:libmpi.so
called_from_lib:libmpich.so
called_from_lib:libopen-pal.so
called_from_lib:libpmix.so
called_from_lib:libucp.so
called_from_lib:libuct.so
called_from_lib:libucs.so
called_from_lib:libfabric.so
called_from_lib:libevent_core
called_from_lib:libevent_pthreads
race:libopen-pal
race:libpmix
"""


@dataclass(frozen=True)
class Sanitizer:
    """`preset`: of scripts/build."""

    preset: str
    compiled: str
    runtime: str
    variable: str
    options: str


ADDRESSES = Sanitizer("asan", "-fsanitize=address,undefined", "libasan.so", "ASAN_OPTIONS", "detect_leaks=0")
# Mutexes that MPIs destroy at the end of the process while they are held are theirs.
THREADS = Sanitizer("tsan", "-fsanitize=thread", "libtsan.so", "TSAN_OPTIONS", "report_mutex_bugs=0 history_size=4")


@dataclass(frozen=True)
class Built:
    """A drop-in with a sanitizer. `compiler`: for programs that it is preloaded into. `runtime`: what is preloaded
    before it, with gcc; clang puts it into the program."""

    library: Path
    compiler: str
    runtime: str

    def options(self, sanitizer: Sanitizer) -> tuple[str, ...]:
        """Of the compiler. Clang says otherwise than gcc that the sanitizer is there, and puts what libraries in C++
        need of it into programs in C when it is told to."""
        of_clang = ("-D__SANITIZE_ADDRESS__", "-fsanitize-link-c++-runtime", "-lstdc++")
        return (sanitizer.compiled, "-g1", *(of_clang if self.compiler == "clang" else ()))

    def starting(self) -> tuple[str, ...]:
        """What starts a program with both preloaded."""
        preloaded = ":".join([*([self.runtime] if self.runtime else []), str(self.library)])
        return (*unrandomised(), "env", f"LD_PRELOAD={preloaded}")


@cache
def built(sanitizer: Sanitizer) -> Built | str:
    """The drop-in with this sanitizer, or why it cannot be had."""
    library = drop_in.library(sanitizer.preset)
    if isinstance(library, str):
        return library
    settings = (library.parents[1] / "CMakeCache.txt").read_text(encoding="utf-8")
    if "CMAKE_C_COMPILER:FILEPATH=" in settings and "/clang" in settings.split("CMAKE_C_COMPILER:FILEPATH=")[1][:99]:
        return Built(library, "clang", "")
    found = subprocess.run(
        ["gcc", f"-print-file-name={sanitizer.runtime}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if "/" not in found or not Path(found).exists():
        return f"gcc has no {sanitizer.runtime}"
    return Built(library, "gcc", str(Path(found).resolve()))


def run_nccl(sanitizer: Sanitizer, test: str, ranks: int) -> nccl_programs.Job | str:
    """A test of nccl_programs, or why it cannot be had."""
    have = built(sanitizer)
    if isinstance(have, str):
        return have
    program = nccl_programs.compiled(options=have.options(sanitizer), compiler=have.compiler)
    if isinstance(program, str):
        return program
    settings = {sanitizer.variable: sanitizer.options}
    return program.run(test, ranks, None, settings, before=have.starting())


def run(
    sanitizer: Sanitizer, name: str, source: str, folder: Path, ranks: int, *arguments: str
) -> subprocess.CompletedProcess[str] | str:
    """Such a program of c_programs, or why it cannot be had. `folder`: for files."""
    have = built(sanitizer)
    if isinstance(have, str):
        return have
    program = c_programs.compiled(name, source, options=have.options(sanitizer), compiler=have.compiler)
    if isinstance(program, str):
        return program
    suppressions = folder / "suppressions"
    suppressions.write_text(SUPPRESSIONS, encoding="utf-8")
    told = f"{sanitizer.options} suppressions={suppressions}" if sanitizer is THREADS else sanitizer.options
    start = program.start(ranks, *arguments)
    place = start.index(str(program.path))
    command = [*start[:place], *have.starting(), *start[place:]]  # not for the launcher
    return program.run(
        ranks,
        have.library,
        {"LD_PRELOAD": "", "SENNIT_REPORT": "1", sanitizer.variable: told} | MPI_SETTINGS,
        command,
        guarded=False,
    )
