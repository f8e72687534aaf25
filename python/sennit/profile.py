"""Profiles in Python: what `sennit profile` wrote, and names for the phases of a program that it watches.

import sennit.profile
run = sennit.profile.load("run1")
slowest = max(run.rows, key=lambda row: row["seconds"])
run.rows.to_pandas()  # where pandas is installed; to_arrow() where pyarrow is

with sennit.profile.phase("exchange"):  # in the program; nothing happens where nobody profiles
    ...
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sennit.programs.load_profile import Tables

_open: list[str] = []  # phases that this process is in, the innermost last


def load(folder: str | Path) -> Tables:
    """The profile in a folder, or in a file that `sennit report --json` wrote, as lists of dictionaries: `rows`,
    `ranks`, `partners`, `skew`, `lateness`, and of each rank and bin of time `queues` and `timeline`. Raises Problem
    where there is none."""
    from sennit.programs import load_profile  # here, as programs import this module that load nothing

    return load_profile.load(folder)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Calls of MPI and NCCL within belong to the phase of this name, those of other threads too. The innermost one
    counts."""
    _open.append(name)
    _begin(name)
    try:
        yield
    finally:
        _open.pop()
        _begin(_open[-1] if _open else "")


@cache
def _function() -> Callable[[bytes], int] | None:
    """What the preloaded library exports."""
    name = "sennit_profile_phase"
    program = ctypes.CDLL(None)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)((name, program)) if hasattr(program, name) else None


def _begin(name: str) -> None:
    function = _function()
    if function is not None:
        function(name.encode())
