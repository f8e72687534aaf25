"""What the drop-in adds to the host's time for a call: ncclAllReduce as a program's own name leads to it, and beside
it what does the call in the end. Of a call that is handed on that is NCCL's own function, on the same communicator;
of one that sennit takes, sennit's, on a communicator of the same ranks. Both take turns in one process, so that
nothing differs but the drop-in.

A round is four short batches, one or the other's first and last: what changes as it goes on, and what a batch
inherits from the one before, hit both alike. A batch is a few calls, far below what a launch queue holds, behind one
that is not counted, with nothing left to do on any GPU before; so most rounds see nothing of what else a host
does."""

from __future__ import annotations

import ctypes
import gc
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sennit.capi.names import Operator, Type

CALLS = 8  # of a batch
ROUNDS = 500
FLOAT32, SUM = 7, 0  # as nccl.h has them
SUCCESS, IN_PROGRESS = 0, 7

Call = Callable[[], int]
Function = Callable[..., int]


@dataclass(frozen=True)
class Sum:
    """An allreduce of float32 numbers, in place. Arguments are C's own objects, which cost ctypes alike."""

    data: int
    count: int
    stream: int

    def by_nccl(self, function: Function, comm: int) -> Call:
        """As ncclAllReduce takes it, and behind that as many more as sennit_allreduce takes: C leaves them alone, and
        ctypes needs some 0.04 µs for one."""
        return partial(function, *self._buffers(), ctypes.c_int(FLOAT32), ctypes.c_int(SUM), ctypes.c_void_p(comm),
                       ctypes.c_void_p(self.stream), ctypes.c_void_p())  # fmt: skip

    def by_sennit(self, function: Function, comm: int) -> Call:
        """As sennit_allreduce takes it."""
        return partial(function, ctypes.c_void_p(comm), *self._buffers(), ctypes.c_int(Type.FLOAT32),
                       ctypes.c_int(Operator.SUM), ctypes.c_void_p(), ctypes.c_void_p(self.stream))  # fmt: skip

    def _buffers(self) -> tuple[Any, ...]:
        return ctypes.c_void_p(self.data), ctypes.c_void_p(self.data), ctypes.c_uint64(self.count)


def library_of(maps: str) -> str:
    """The file of the NCCL that a process has loaded, given its /proc/self/maps; empty where there is none."""
    found = re.search(r" (/\S*libnccl\.so\.2\S*)$", maps, re.MULTILINE)
    return found[1] if found else ""


def functions(name: str, *, same: bool = False) -> tuple[Function, Function] | None:
    """NCCL's function of this name as a program reaches it, and the library's own; none where no NCCL is loaded, or
    nothing is between them, unless they may be the `same`."""
    file = library_of(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
    if not file:
        return None
    through, own = (getattr(ctypes.CDLL(where), name, None) for where in (None, file))
    if own is None or (through is None and not same):  # PyTorch's is in no scope that a name is looked up in
        return None
    through = through or own
    addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in (through, own)]
    return (through, own) if same or addresses[0] != addresses[1] else None


def added_us(
    calls: tuple[Call, Call], finish: Callable[[], object], fine: Sequence[int] = (SUCCESS, IN_PROGRESS),
    rounds: int = ROUNDS,
) -> list[float]:  # fmt: skip
    """How much longer the first call takes than the second, in µs, of each round. `finish`: waits until all is done,
    on all ranks; `fine`: what calls may return. Raises RuntimeError with what they returned else."""
    found = []
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        for round_ in range(rounds + 1):
            took = [0.0, 0.0]
            for which in (0, 1, 1, 0) if round_ % 2 else (1, 0, 0, 1):
                call = calls[which]
                finish()
                codes = [call()]
                start = time.perf_counter()
                codes += [call() for _ in range(CALLS)]
                took[which] += (time.perf_counter() - start) * 1e6 / (2 * CALLS)
                if wrong := [code for code in codes if code not in fine]:
                    raise RuntimeError(f"an allreduce returned {wrong[0]}")
            found.append(took[0] - took[1])
        finish()
    finally:
        if is_collecting:
            gc.enable()
    return found[1:]  # the first loads what is loaded once
