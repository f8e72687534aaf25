"""What ranks give each other when a peer is checked: messages that every rank can make, and what should come of them.
Pure, and without numpy: a message repeats itself, so that little is computed."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterable
from functools import reduce

from sennit.baselines.layout import ROOT, SCATTERS, Layout

PERIOD = 8 * 251  # numbers after which a message repeats itself: no power of two, so that what is misplaced shows

# Type → code of Python's arrays. Others can be moved, not reduced.
CODES = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float32": "f", "float64": "d",
}  # fmt: skip

RULES: dict[str, Callable[[int, int], int]] = {
    "sum": operator.add,
    "product": operator.mul,
    "min": min,
    "max": max,
    "bit_and": operator.and_,
    "bit_or": operator.or_,
    "bit_xor": operator.xor,
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
    "logical_xor": lambda a, b: int(bool(a) != bool(b)),
}


def small(number: int) -> list[int]:
    """Message `number`: small numbers, exact in every type and every sum of a few ranks."""
    return [(((i + number * 1000003) * 0x9E3779B97F4A7C15) >> 40) % 4 for i in range(PERIOD)]


def encoded(numbers: Iterable[int], type_name: str) -> bytes:
    """As memory holds them; integers modulo 2^n."""
    code = CODES[type_name]
    if code in "fd":
        return array(code, map(float, numbers)).tobytes()
    bits = 8 * array(code).itemsize
    return array(code.upper(), (number % (1 << bits) for number in numbers)).tobytes()


def repeated(period: bytes, size: int) -> bytes:
    """The first `size` bytes of it again and again."""
    return (period * (size // len(period) + 1))[:size]


def number_of(layout: Layout, source: int, target: int) -> int:
    """Tells what is in the message that `source` gives to `target`."""
    return source * layout.ranks + (target if layout.operation in SCATTERS else 0)


def reduces(layout: Layout) -> bool:
    """Whether numbers are computed with, not only moved."""
    return layout.operation in ("allreduce", "reduce_scatter", "reduce")


def given(layout: Layout, type_name: str) -> bytes:
    """All messages that the rank gives, side by side."""
    code = type_name if reduces(layout) else "uint8"
    messages = (encoded(small(number_of(layout, layout.rank, to)), code) for to in range(layout.given))
    return b"".join(repeated(one, layout.message) for one in messages)


def expected(layout: Layout, type_name: str, operator_name: str) -> bytes:
    """All messages that it should get, side by side."""
    if reduces(layout):
        inputs = [small(number_of(layout, source, layout.rank)) for source in range(layout.ranks)]
        rule = RULES[operator_name]
        periods = [encoded((reduce(rule, numbers) for numbers in zip(*inputs, strict=True)), type_name)]
    else:
        alone = layout.before if layout.operation == "sendrecv" else ROOT
        sources = range(layout.taken) if layout.taken > 1 else [alone]
        periods = [encoded(small(number_of(layout, source, layout.rank)), "uint8") for source in sources]
    return b"".join(repeated(one, layout.message) for one in periods[: layout.taken])
