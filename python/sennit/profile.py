"""Profiles in Python: what `sennit profile` wrote, and names for the phases of a program that it watches.

import sennit.profile
run = sennit.profile.load("run1")
slowest = max(run.rows, key=lambda row: row["seconds"])
run.rows.to_pandas()  # where pandas is installed; to_arrow() where pyarrow is

with sennit.profile.phase("exchange"):  # in the program; nothing happens where nobody profiles
    ...
with sennit.profile.paused():  # what is within is not recorded
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
_pauses: list[bool] = []  # as many as `paused()` are open


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


@contextmanager
def paused() -> Iterator[None]:
    """Calls of MPI and NCCL within are passed on and not recorded, those of other threads too. This is no part of the
    profile's run time."""
    _pauses.append(True)
    _pause(paused=True)
    try:
        yield
    finally:
        _pauses.pop()
        _pause(paused=bool(_pauses))


@cache
def _function(name: str, argument: type[ctypes.c_char_p] | type[ctypes.c_int]) -> Callable[[bytes | int], int] | None:
    """What the preloaded library exports."""
    program = ctypes.CDLL(None)
    return ctypes.CFUNCTYPE(ctypes.c_int, argument)((name, program)) if hasattr(program, name) else None


def _begin(name: str) -> None:
    if (function := _function("sennit_profile_phase", ctypes.c_char_p)) is not None:
        function(name.encode())


def _pause(*, paused: bool) -> None:
    if (function := _function("sennit_profile_pause", ctypes.c_int)) is not None:
        function(paused)
