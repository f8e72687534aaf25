"""What the drop-in adds to a call that it hands to NCCL: ncclAllReduce as a program's own name leads to it, and
NCCL's own, in turns on one communicator of one process, so that nothing differs but the drop-in."""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

CALLS = 50  # of a batch: few enough for the driver's queue
ROUNDS = 200  # of a batch each
FLOAT32, SUM = 7, 0  # as nccl.h has them
SUCCESS, IN_PROGRESS = 0, 7

Call = Callable[..., int]


def library_of(maps: str) -> str:
    """The file of the NCCL that a process has loaded, given its /proc/self/maps; empty where there is none."""
    found = re.search(r" (/\S*libnccl\.so\.2\S*)$", maps, re.MULTILINE)
    return found[1] if found else ""


def entries() -> tuple[Call, Call] | None:
    """The function as a program reaches it, and the library's own; none where no NCCL is loaded, or nothing is
    between them."""
    file = library_of(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
    if not file:
        return None
    through, own = (getattr(ctypes.CDLL(name), "ncclAllReduce", None) for name in (None, file))
    if through is None or own is None:  # PyTorch's alone is in no scope that a name is looked up in
        return None
    for each in (through, own):
        each.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                         ctypes.c_void_p, ctypes.c_void_p]  # fmt: skip
    addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in (through, own)]
    return (through, own) if addresses[0] != addresses[1] else None


def added_us(
    calls: tuple[Call, Call], arguments: Sequence[int], finish: Callable[[], object], rounds: int = ROUNDS
) -> list[float]:
    """How much longer a call of the first takes than one of the second, in µs, of each round. `finish`: waits until
    all is done, on all ranks. Raises RuntimeError with what NCCL returned."""
    found = []
    for round_ in range(rounds + 1):
        took = [0.0, 0.0]
        for which in (0, 1) if round_ % 2 else (1, 0):
            call = calls[which]
            finish()
            start = time.perf_counter()
            codes = [call(*arguments) for _ in range(CALLS)]
            took[which] = (time.perf_counter() - start) * 1e6 / CALLS
            if wrong := [code for code in codes if code not in (SUCCESS, IN_PROGRESS)]:
                raise RuntimeError(f"ncclAllReduce returned {wrong[0]}")
        found.append(took[0] - took[1])
    finish()
    return found[1:]  # the first loads what is loaded once
