"""Runs mpi4py's own tests with arrays in emulated GPU memory, beside those in host memory: a rank of test_mpi4py.py.

    mpi4py_suite.py FOLDER_OF_TESTS [OPTIONS OF ITS main.py]
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys

ARENA = 64 << 20  # bytes; the tests' arrays have some hundred each, and few live at a time


class Arena:
    """Emulated GPU memory, given out one piece behind the other, and again from the start."""

    def __init__(self, device: int) -> None:
        allocate = ctypes.CDLL(None).sennit_emulated_allocate
        allocate.restype = ctypes.c_void_p
        allocate.argtypes = [ctypes.c_int, ctypes.c_size_t]
        self.base = allocate(device, ARENA)
        assert self.base, "no emulated memory: preload libsennit-preload.so and set SENNIT_EMULATE=1"
        self.used = 0

    def take(self, size: int) -> int:
        size = (size + 63) // 64 * 64
        if self.used + size > ARENA:
            self.used = 0
        self.used += size
        return int(self.base) + self.used - size


def add_backend(arrayimpl: object) -> None:
    """Puts arrays in emulated GPU memory among the kinds of arrays that every test of buffers goes through."""
    from mpi4py import MPI

    arena = Arena(MPI.COMM_WORLD.Get_rank() % 4)
    base = arrayimpl.ArrayArray  # type: ignore[attr-defined]

    class EmulatedGpuArray(base):  # type: ignore[misc, valid-type]
        backend = "emulated"

        def __init__(self, arg: object, typecode: str, shape: object = None) -> None:
            super().__init__(arg, typecode, shape)
            here = self.array
            size = len(here) * here.itemsize
            self.where = arena.take(size)
            there = memoryview((ctypes.c_char * size).from_address(self.where)).cast("B").cast(typecode)
            there[:] = here
            self.array = there

        @property
        def address(self) -> int:
            return self.where

        @property
        def typecode(self) -> str:
            return str(self.array.format)

        @property
        def size(self) -> int:
            return len(self.array)

    arrayimpl.ArrayBackends.append(EmulatedGpuArray)  # type: ignore[attr-defined]


def main() -> None:
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    os.chdir(folder)
    sys.argv = ["main.py", *sys.argv[2:]]
    if os.environ.get("SENNIT_EMULATE") == "1":
        add_backend(importlib.import_module("arrayimpl"))
    importlib.import_module("main").main(module=None)


if __name__ == "__main__":
    main()
