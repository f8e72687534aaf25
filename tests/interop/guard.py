"""A library between the drop-in and an MPI that ends the program where it is given emulated GPU memory. That is the
host's, so the MPI itself does not mind, and nothing else would find a wrapper that forgets to stage.

It has the functions that meet a program's memory, those of the profiling interface too, which the drop-in calls for
itself. The drop-in takes it for the MPI, with which it is linked: its file is named so."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import interposed
from mpi_table import TABLE
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent
TOGETHER = tempfile.TemporaryDirectory(prefix="sennit-guards-")

# How many blocks a buffer has, by who they are for.
BLOCKS = {"members": "members(comm)", "ranks": "other_ranks(comm)", "sources": "sources_in(comm)",
          "destinations": "destinations_in(comm)", "partitions": "partitions"}  # fmt: skip


def elements(function: Any, memory: Any) -> str:
    """C that is true where what the buffer holds, as this line of the table has it, is in emulated memory."""
    blocks, name = BLOCKS.get(memory.who, "1"), memory.name
    match memory.elements:
        case ("1", type_):
            return f"holds({name}, 1, {type_})"
        case (size, "bytes"):
            return f"{size} > 0 && is_emulated({name})"
        case (own, type_) if own.endswith("[rank]"):
            return f"holds({name}, {own.removesuffix('[rank]')}[rank_in(comm)], {type_})"
        case (counts, type_) if function.parameter(counts).array:
            return f"holds_all({name}, {counts}, sizeof *{counts}, members(comm), {type_})"
        case (count, type_):
            return f"{blocks} > 0 && holds({name}, {count}, {type_})"
        case (counts, places, types):
            held = "holds_typed" if function.parameter(types).array else "holds_placed"
            sizes = f"sizeof *{counts}, sizeof *{places}"
            return f"{held}({name}, {counts}, {places}, {sizes}, {blocks}, {types})"
    raise AssertionError(function.name)


def significance(function: Any, memory: Any) -> Iterator[str]:
    """C that is true where the MPI looks at the buffer at all."""
    if memory.root:
        yield ("!" if memory.root == "but" else "") + "at_root(root, comm)"
    elif function.parameter("root"):  # between two groups, the root's side may give it or nothing
        yield "root >= 0" if memory.name != "buffer" else "(root >= 0 || root == MPI_ROOT)"
    peers = [name for name in ("dest", "source", "target_rank") if function.parameter(name)]
    if function.kind == "exchange" and len(function.memory) == 2:
        peers = ["dest" if memory.access == "in" else "source"]
    if peers:
        yield "(" + " || ".join(f"{peer} != MPI_PROC_NULL" for peer in peers) + ")"
    if function.parameter("message"):
        yield "*message != MPI_MESSAGE_NO_PROC"
    if memory.name == "origin_addr" and function.parameter("op"):
        yield "op != MPI_NO_OP"


def check(function: Any, memory: Any) -> str:
    """C that ends the process where the buffer is in emulated memory."""
    held = f"({elements(function, memory)})"
    if memory.in_place:
        other = next(each.name for each in function.memory if each.name != memory.name)
        held = f"({other} == MPI_IN_PLACE ? ({elements(function, memory.in_place)}) : {held})"
    where = [each.name for each in function.parameters].index(memory.name) + 1
    conditions = [f"is_address({memory.name})", *significance(function, memory), held]
    return f'  if ({" && ".join(conditions)}) refuse("MPI_{function.name}", {where});'


def guarded(function: Any, prefix: str) -> Iterator[str]:
    """The function in C, `prefix`: MPI_, or PMPI_ of the profiling interface."""
    name = prefix + function.name
    yield f"int {name}({', '.join(f'{each.type} {each.name}' for each in function.parameters)}) {{"
    for memory in function.memory:
        yield check(function, memory)
    yield f"  static __typeof__(&{name}) next;"
    yield f'  if (next == NULL) *(void**)&next = behind("{name}");'
    yield f"  return next({', '.join(each.name for each in function.parameters)});"
    yield "}"


def source(library: Path) -> str:
    """The guard of an MPI, in C: it has what that has, as the drop-in stands in for what an MPI lacks."""
    told = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    there = set(re.findall(r" [TW] (P?MPI_\w+)$", told, re.MULTILINE))
    functions = [*TABLE.read_table()[0], *TABLE.read_table(HERE / "guarded.txt")[0]]
    lines = ["#define _GNU_SOURCE", f'#include "{HERE / "c_guard.h"}"']
    # By the first of these the drop-in finds the MPI.
    lines += ["int PMPI_Init(int* argc, char*** argv) {", "  static __typeof__(&PMPI_Init) next;"]
    lines += ['  if (next == NULL) *(void**)&next = behind("PMPI_Init");', "  return next(argc, argv);", "}"]
    for function in functions:
        for prefix in ("MPI_", "PMPI_"):
            if function.memory and prefix + function.name in there:
                lines += guarded(function, prefix)
    return "\n".join([*lines, ""])


@cache
def built(found: mpi.Installed, library: Path) -> Path | str:
    """The guard of an MPI's library, or why it cannot be had."""
    return interposed.built(found, library, "guard", TOGETHER.name, lambda _header, _options: source(library))


def before(found: mpi.Installed, preloaded: Path, library: Path | None = None) -> list[str]:
    """What starts a program, and no launcher, with the drop-in and the guard behind it; nothing if there is none.
    `library`: the MPI's, where it has several."""
    guard = built(found, library or found.library)
    return [] if isinstance(guard, str) else ["env", f"LD_PRELOAD={preloaded}:{guard}"]
