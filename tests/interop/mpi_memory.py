"""Buffers of host memory and of GPUs for the programs that try MPI through mpi4py: emulated GPU memory where
SENNIT_EMULATE is set, else CuPy's."""

from __future__ import annotations

import array
import ctypes
import os
from collections.abc import Callable, Iterable
from typing import Any

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
INTS = 100_000  # of a message that is announced, and longer than what libraries send at once


class Host:
    """Integers in host memory."""

    def __init__(self, count: int) -> None:
        self.view: Any = memoryview(bytearray(count * 4)).cast("i")

    def fill(self, value: int) -> None:
        self.put(array.array("i", [value]) * len(self.view))

    def begins_with(self, expected: array.array[int]) -> bool:
        """Compares bytes, where get() would make an object of each of millions of integers."""
        return bool(self.view.tobytes().startswith(expected.tobytes()))

    def put(self, values: Iterable[int]) -> None:
        self.view[:] = array.array("i", values)

    def get(self) -> list[int]:
        return list(self.view.tolist())

    def mpi(self, count: int | None = None) -> Any:
        return [self.view, len(self.view) if count is None else count, MPI.INT]

    def of(self, count: int, datatype: MPI.Datatype) -> Any:
        return [self.view, count, datatype]


class Emulated(Host):
    """In memory of a GPU, as the drop-in believes."""

    def __init__(self, count: int) -> None:
        allocate = ctypes.CDLL(None).sennit_emulated_allocate
        allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_size_t]
        where = allocate(RANK % 4, count * 4)
        assert where, "no emulated memory: preload libsennit-preload.so and set SENNIT_EMULATE=1"
        self.view = memoryview((ctypes.c_char * (count * 4)).from_address(where)).cast("B").cast("i")


class OnGpu(Host):
    """In memory of a real one."""

    def __init__(self, count: int) -> None:
        import cupy  # type: ignore[import-not-found, unused-ignore]

        self.cupy = cupy
        cupy.cuda.Device(RANK % cupy.cuda.runtime.getDeviceCount()).use()
        self.view = cupy.zeros(count, "i4")

    def put(self, values: Iterable[int]) -> None:
        self.view[:] = self.cupy.frombuffer(array.array("i", values), "i4")
        self.cupy.cuda.Device().synchronize()


GPU: type[Host] = Emulated if os.environ.get("SENNIT_EMULATE") == "1" else OnGpu
KINDS: list[type[Host]] = [GPU, Host]


def do_in_turn(checks: Iterable[Callable[[], None]]) -> None:
    """On all ranks at once; the first one prints the name of each that is done."""
    for check in checks:
        check()
        WORLD.Barrier()
        if RANK == 0:
            print(check.__name__, flush=True)
