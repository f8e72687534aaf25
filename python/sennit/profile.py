"""Phases of a program, for `sennit profile`; nothing happens where nobody profiles.

with sennit.profile.phase("exchange"):
    ...
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_open: list[str] = []  # phases that this process is in, the innermost last


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
