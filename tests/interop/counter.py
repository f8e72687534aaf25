"""An independent counter of an MPI's calls: a library of MPI's profiling interface, written from the MPI's own mpi.h
and from nothing of sennit's. Put before everything else, it counts what the program calls, and the bytes of the calls
whose sizes it knows; a profile of the same run must have the same numbers."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import interposed
from sennit.baselines import mpi

FILES = "SENNIT_TEST_COUNTS"  # the folder that each process puts its numbers into
TOGETHER = tempfile.TemporaryDirectory(prefix="sennit-counters-")

# Bytes are counted of these functions: how many this rank gives, and how many it gets, as C. Sizes are those of MPI's
# standard: of collectives one rank's message, or what is reduced; of a Gatherv's or Scatterv's root what all get.
# A rank of one group is the root or not; of two groups the root is alone in its own, and `other` is in the other one.
NONE = "0"
OF_COUNT, SENT, OF_EACH = (f"{count} * size_of({kind})" for count, kind in (
    ("(long long)count", "datatype"), ("(long long)sendcount", "sendtype"), ("(long long)recvcount", "recvtype")
))  # fmt: skip
IS_ROOT, IS_OTHER = "is_root(root, comm)", "is_other(root, comm)"
WITH_OWN = f"(is_two(comm) ? {IS_OTHER} : 1)"  # who has a part of its own


def gathered(part: str, own: str, everything: str) -> tuple[str, str]:
    """What goes to the root: of each a part, the root's own from its other buffer where that is in place."""
    return f"!{WITH_OWN} ? 0 : {IS_ROOT} ? {own} : {part}", f"{IS_ROOT} ? {everything} : 0"


def scattered(part: str, own: str, everything: str) -> tuple[str, str]:
    """The other way round."""
    gives, takes = gathered(part, own, everything)
    return takes, gives


def all_of(counts: str, kind: str) -> str:
    return f"sum({counts}, peers(comm)) * size_of({kind})"


def own_of(counts: str, kind: str) -> str:
    return f"(long long){counts}[number_in(comm)] * size_of({kind})"


SENDS = ("Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend", "Send_init", "Ssend_init")
SUMS = ("Allreduce", "Iallreduce", "Scan", "Exscan", "Iscan", "Iexscan")
SIZES = {
    **dict.fromkeys(SENDS, (OF_COUNT, NONE)),
    **dict.fromkeys(("Recv", "Irecv", "Recv_init"), (NONE, OF_COUNT)),
    **dict.fromkeys(SUMS, (OF_COUNT, OF_COUNT)),
    **dict.fromkeys(("Bcast", "Ibcast"), (f"{IS_ROOT} ? {OF_COUNT} : 0", f"{IS_OTHER} ? {OF_COUNT} : 0")),
    **dict.fromkeys(("Reduce", "Ireduce"), gathered(OF_COUNT, OF_COUNT, OF_COUNT)),
    **dict.fromkeys(("Gather", "Igather"), gathered(SENT, OF_EACH, OF_EACH)),
    **dict.fromkeys(("Scatter", "Iscatter"), scattered(OF_EACH, SENT, SENT)),
    **dict.fromkeys(
        ("Gatherv", "Igatherv"), gathered(SENT, own_of("recvcounts", "recvtype"), all_of("recvcounts", "recvtype"))
    ),
    **dict.fromkeys(
        ("Scatterv", "Iscatterv"),
        scattered(OF_EACH, own_of("sendcounts", "sendtype"), all_of("sendcounts", "sendtype")),
    ),
    **dict.fromkeys(("Allgather", "Iallgather", "Alltoall", "Ialltoall"), (OF_EACH, OF_EACH)),
}

C = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FUNCTIONS = %(functions)d };
static const char* const names[] = {%(names)s};
static atomic_llong calls[FUNCTIONS], given[FUNCTIONS], taken[FUNCTIONS];
static _Thread_local int depth; /* of calls of a program's own functions by the MPI */

static void* behind(const char* name) {
  void* found = dlsym(RTLD_NEXT, name + 1);
  if (found == NULL) found = dlsym(RTLD_NEXT, name);
  if (found == NULL) fprintf(stderr, "counter: no library has %%s\n", name), abort();
  return found;
}
/* These calls go past all that stands before the MPI, and are not counted. */
static void* of_mpi(const char* name) {
  static void* library;
  if (library == NULL) library = dlopen("%(library)s", RTLD_LAZY | RTLD_NOLOAD);
  return dlsym(library, name);
}
__attribute__((unused)) static long long size_of(MPI_Datatype type) {
  static int (*size)(MPI_Datatype, int*);
  int bytes = 0;
  if (size == NULL) *(void**)&size = of_mpi("PMPI_Type_size");
  return size(type, &bytes) == MPI_SUCCESS ? bytes : 0;
}
static int ask(const char* what, int (**function)(MPI_Comm, int*), MPI_Comm comm) {
  int answer = -1;
  if (*function == NULL) *(void**)function = of_mpi(what);
  (*function)(comm, &answer);
  return answer;
}
__attribute__((unused)) static int number_in(MPI_Comm comm) {
  static int (*number)(MPI_Comm, int*);
  return ask("PMPI_Comm_rank", &number, comm);
}
__attribute__((unused)) static int is_two(MPI_Comm comm) {
  static int (*is_inter)(MPI_Comm, int*);
  return ask("PMPI_Comm_test_inter", &is_inter, comm);
}
__attribute__((unused)) static int peers(MPI_Comm comm) {
  static int (*size)(MPI_Comm, int*), (*remote)(MPI_Comm, int*);
  return is_two(comm) ? ask("PMPI_Comm_remote_size", &remote, comm) : ask("PMPI_Comm_size", &size, comm);
}
__attribute__((unused)) static int is_root(int root, MPI_Comm comm) {
  return is_two(comm) ? root == MPI_ROOT : root == number_in(comm);
}
__attribute__((unused)) static int is_other(int root, MPI_Comm comm) {
  return is_two(comm) ? root >= 0 : root != number_in(comm);
}
#define sum(counts, many) ({ long long all = 0; for (int i = 0; i < (many); ++i) all += (counts)[i]; all; })
__attribute__((destructor)) static void tell(void) {
  char file[4096];
  if (getenv("%(files)s") == NULL) return;
  snprintf(file, sizeof file, "%%s/%%d", getenv("%(files)s"), (int)getpid());
  FILE* const out = fopen(file, "w");
  for (int i = 0; out != NULL && i < FUNCTIONS; ++i)
    fprintf(out, "MPI_%%s %%lld %%lld %%lld\n", names[i], calls[i], given[i], taken[i]);
  if (out != NULL) fclose(out);
}
"""


@dataclass(frozen=True)
class Function:
    """A header's function: its parameters as they stand there, and their names."""

    name: str
    parameters: str
    names: tuple[str, ...]


def functions(header: Path, options: list[str], there: set[str]) -> list[Function]:
    """Finds those that a program sees and the library has."""
    command = ["gcc", "-E", "-P", *options, str(header)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    found = {}
    for name, declared in re.findall(r"\bint\s+MPI_(\w+)\s*\(([^()]*)\)", text):
        parameters = [each for each in declared.split(",") if each.strip() not in ("", "void", "...")]
        names = tuple(re.findall(r"\w+", each.split("[")[0])[-1] for each in parameters)
        if f"PMPI_{name}" in there:
            found[name] = Function(name, " ".join(declared.split()), names)
    return [*found.values()]


def wrapper(number: int, function: Function) -> Iterator[str]:
    """The function in C."""
    name, arguments = function.name, ", ".join(function.names)
    yield f"int MPI_{name}({function.parameters}) {{"
    yield f"  static int (*next)({function.parameters});"
    yield f'  if (next == NULL) *(void**)&next = behind("PMPI_{name}");'
    yield "  if (depth == 0) {"
    yield f"    ++calls[{number}];"
    known = SIZES.get(name.removesuffix("_c"))
    if known:
        gives, takes = known
        peer = next((each for each in ("dest", "source") if each in function.names), "")
        there = f"if ({peer} != MPI_PROC_NULL) " if peer else ""
        for place, bytes_ in (("given", gives), ("taken", takes)):
            if bytes_ != NONE:
                yield f"    {there}{place}[{number}] += {bytes_};"
    yield "  }"
    yield "  ++depth;"
    yield f"  const int code = next({arguments});"
    yield "  --depth;"
    yield "  return code;"
    yield "}"


def source(header: Path, options: list[str], library: Path) -> str:
    """The counter of an MPI, in C."""
    told = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    there = set(re.findall(r" [TW] (PMPI_\w+)$", told, re.MULTILINE))
    found = functions(header, options, there)
    names = ", ".join(f'"{each.name}"' for each in found)
    lines = [C % {"functions": len(found), "names": names, "library": library, "files": FILES}]
    for number, function in enumerate(found):
        lines += wrapper(number, function)
    return "\n".join([*lines, ""])


@cache
def built(found: mpi.Installed, library: Path) -> Path | str:
    """The counter of an MPI's library, or why it cannot be had."""
    options = ("-Wno-deprecated-declarations", "-Wl,--no-as-needed")
    return interposed.built(
        found,
        library,
        "counter",
        TOGETHER.name,
        lambda header, of_header: source(header, of_header, library),
        options,
    )


def told(folder: Path) -> dict[str, Counter[str]]:
    """Sums the numbers of a run's processes: calls, bytes given, bytes taken, by function; of all that it knows."""
    counts: dict[str, Counter[str]] = {"calls": Counter(), "bytes_in": Counter(), "bytes_out": Counter()}
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            name, *numbers = line.split()
            for what, number in zip(counts.values(), numbers, strict=True):
                what[name] += int(number)
    return counts
