"""Runs mpi4py's own tests with arrays in emulated GPU memory, beside those in host memory: a rank of test_mpi4py.py.

    mpi4py_suite.py FOLDER_OF_TESTS [OPTIONS OF ITS main.py]

Where SUITE_OUTCOMES names a folder, each rank writes rank-N.jsonl there: a line [test, outcome, traceback] when a
test begins (outcome "begun") and when it ends, and ["", "done", ""] at the end: so that the last line says where a
rank hung or died. SUITE_LEFT_OUT: an expression; tests that it is found in are left out.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

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
        array: Any

        def __init__(self, arg: object, typecode: Any, shape: object = None) -> None:
            super().__init__(arg, typecode, shape)
            here = self.array
            size = len(here) * here.itemsize
            self.where = arena.take(size)
            there: Any = memoryview((ctypes.c_char * size).from_address(self.where)).cast("B").cast(typecode)
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


def let_numbers_wrap(arrayimpl: object) -> None:
    """CuPy 14 refuses to fill unsigned numbers with -1, which the tests do, and converts for NumPy before."""
    numpy = importlib.import_module("numpy")
    of_cupy = arrayimpl.GPUArrayCuPy  # type: ignore[attr-defined]
    init = of_cupy.__init__

    def converted(self: object, arg: object, typecode: str, shape: object = None, readonly: bool = False) -> None:
        wrapped = numpy.asarray(arg).astype(typecode)
        init(self, wrapped.item() if isinstance(arg, (int, float, complex)) else wrapped, typecode, shape, readonly)

    of_cupy.__init__ = converted


class Outcomes(unittest.TextTestResult):
    """Also writes what became of each test; one whose part (subTest) fails has failed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.file: IO[str] | None = None

    def startTestRun(self) -> None:  # noqa: N802
        super().startTestRun()
        from mpi4py import MPI  # here, as the options of the suite decide how MPI begins

        if folder := os.environ.get("SUITE_OUTCOMES"):
            self.file = (Path(folder) / f"rank-{MPI.COMM_WORLD.Get_rank()}.jsonl").open("a", encoding="utf-8")

    def stopTestRun(self) -> None:  # noqa: N802
        super().stopTestRun()
        self.write("", "done", "")

    def write(self, *line: str) -> None:
        if self.file is not None:
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()

    def tell(self, test: Any, outcome: str, error: Any = None) -> None:
        whole = getattr(test, "test_case", test)  # of a part
        text = self._exc_info_to_string(error, whole) if error else ""  # type: ignore[attr-defined]
        self.write(whole.id(), outcome, text)

    def startTest(self, test: Any) -> None:  # noqa: N802
        super().startTest(test)
        self.tell(test, "begun")

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        super().addSuccess(test)
        self.tell(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self.tell(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self.tell(test, "failed", err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.tell(test, "failed", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self.tell(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        self.tell(test, "passed")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self.tell(test, "failed")


def each(tests: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    """The tests of a suite, in their order."""
    if isinstance(tests, unittest.TestSuite):
        for part in tests:
            yield from each(part)
    else:
        yield tests


class Runner(unittest.TextTestRunner):
    resultclass = Outcomes

    def run(self, test: Any) -> Any:
        left_out = os.environ.get("SUITE_LEFT_OUT")
        if not left_out:
            return super().run(test)
        return super().run(unittest.TestSuite(one for one in each(test) if not re.search(left_out, one.id())))


def main() -> None:
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    os.chdir(folder)
    sys.argv = ["main.py", *sys.argv[2:]]
    if os.environ.get("SENNIT_EMULATE") == "1":
        add_backend(importlib.import_module("arrayimpl"))
    if "--cupy" in sys.argv:
        sys.modules["numba"] = None  # type: ignore[assignment]
        let_numbers_wrap(importlib.import_module("arrayimpl"))
    importlib.import_module("main").main(module=None, testRunner=Runner)


if __name__ == "__main__":
    main()
