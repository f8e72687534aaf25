"""As much of CuPy as examples/heat.py needs, in Python alone, with memory that the drop-in for MPI takes for a GPU's:
`--arrays emulated_arrays`. Without the drop-in it is the host's."""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Union

Operand = Union["Array", float]


class Memory:
    """Doubles of an emulated GPU, never freed."""

    def __init__(self, count: int) -> None:
        where, self.kept = None, None
        allocate = getattr(ctypes.CDLL(None), "sennit_emulated_allocate", None)
        if allocate is not None:
            allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_size_t]
            where = allocate(Device.current, count * 8)
        if not where:
            self.kept = ctypes.create_string_buffer(count * 8)
            where = ctypes.addressof(self.kept)
        self.address: int = where
        self.doubles = memoryview((ctypes.c_char * (count * 8)).from_address(where)).cast("B").cast("d")


class Array:
    """Doubles in one or two dimensions, or a view of some."""

    def __init__(self, memory: Memory, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.memory, self.shape, self.strides, self.offset = memory, shape, strides, offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "strides": tuple(8 * stride for stride in self.strides),
            "typestr": "<f8",
            "data": (self.memory.address + 8 * self.offset, False),
        }

    def places(self) -> list[int]:
        """Where each element is, the last dimension first."""
        steps = [[stride * i for i in range(n)] for n, stride in zip(self.shape, self.strides, strict=True)]
        return [self.offset + sum(one) for one in itertools.product(*steps)]

    def values(self) -> list[float]:
        return [self.memory.doubles[place] for place in self.places()]

    def __getitem__(self, key: slice | int | tuple[slice, ...]) -> Array:
        keys = key if isinstance(key, tuple) else (key,)
        shape, strides, offset = [], [], self.offset
        for one, length, stride in zip(keys, self.shape, self.strides, strict=True):
            if isinstance(one, int):
                offset += one * stride
                continue
            start, stop, step = one.indices(length)
            shape.append(len(range(start, stop, step)))
            strides.append(stride * step)
            offset += start * stride
        return Array(self.memory, tuple(shape), tuple(strides), offset)

    def __setitem__(self, key: slice | tuple[slice, ...], value: Operand) -> None:
        to = self[key].places()
        values = value.values() if isinstance(value, Array) else [value]
        if len(values) == 1:
            values *= len(to)
        for place, one in zip(to, values, strict=True):
            self.memory.doubles[place] = one

    def by(self, do: Callable[[float, float], float], other: Operand) -> Array:
        values = other.values() if isinstance(other, Array) else itertools.repeat(other)
        result = zeros(self.shape)
        for place, (a, b) in enumerate(zip(self.values(), values, strict=isinstance(other, Array))):
            result.memory.doubles[place] = do(a, b)
        return result

    def __add__(self, other: Operand) -> Array:
        return self.by(operator.add, other)

    def __sub__(self, other: Operand) -> Array:
        return self.by(operator.sub, other)

    def __rmul__(self, other: Operand) -> Array:
        return self.by(operator.mul, other)

    def __truediv__(self, other: Operand) -> Array:
        return self.by(operator.truediv, other)

    def __abs__(self) -> Array:
        return self.by(lambda a, _: abs(a), 0.0)

    def __float__(self) -> float:
        (one,) = self.values()
        return one

    def max(self) -> float:
        return max(self.values())

    def copy(self) -> Array:
        return self + 0.0

    def ravel(self) -> Array:
        return Array(self.memory, (math.prod(self.shape),), (1,), self.offset)


def zeros(shape: int | tuple[int, ...]) -> Array:
    lengths = (shape,) if isinstance(shape, int) else shape
    strides = tuple(math.prod(lengths[i + 1 :]) for i in range(len(lengths)))
    made = Array(Memory(math.prod(lengths)), lengths, strides)
    made.memory.doubles[:] = memoryview(bytes(8 * math.prod(lengths))).cast("d")
    return made


def arange(first: int, end: int) -> Array:
    made = zeros(end - first)
    for place in range(end - first):
        made.memory.doubles[place] = float(first + place)
    return made


class Device:
    """One of the emulated GPUs that a process sees; there is nothing to wait for."""

    current = 0  # memory is made there

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def use(self) -> None:
        Device.current = self.number

    def synchronize(self) -> None:
        pass


cuda = SimpleNamespace(Device=Device, runtime=SimpleNamespace(getDeviceCount=lambda: 4))
