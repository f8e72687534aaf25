"""The figures of a pipelined ring, fitted to half of what was measured of a broadcast, and held against the other.

Equation 2 of Chu et al. (IEEE TPDS 2018), (M / C + n - 2) (t_s + C / B), of a message of M bytes on n ranks; one that
is shorter than a chunk is one: t_s is seen in short ones, C where time begins to rise, B in long ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

LEAST_ROWS = 6  # three to fit three figures, and three to predict
LONG = 256 << 10  # from here on errors are told
STEPS = (0.5, 0.1, 0.02, 0.004)  # of the search: in logarithms of the figures

Measured = tuple[int, float]  # bytes, µs


@dataclass(frozen=True)
class Ring:
    """What a ring's time follows from."""

    ranks: int
    start_us: float  # t_s
    chunk_bytes: float  # C
    gbps: float  # B

    def us(self, size: float) -> float:
        """Equation 2."""
        chunks = max(1.0, size / self.chunk_bytes)
        return (chunks + self.ranks - 2) * (self.start_us + size / chunks / self.gbps / 1e3)


@dataclass(frozen=True)
class Fit:
    """The figures, and how far off they are of rows that they were not fitted to."""

    ring: Ring
    fitted: int
    predicted: list[tuple[int, float]]  # bytes, and predicted over measured

    @property
    def errors(self) -> list[float]:
        """Of long messages, as parts of what was measured."""
        return [abs(ratio - 1) for size, ratio in self.predicted if size >= LONG]

    @property
    def median(self) -> float:
        """Of the errors."""
        return statistics.median(self.errors)


def fit_ring(rows: Sequence[Measured], ranks: int) -> Fit | None:
    """Fits every second row, by size, and predicts those between. None where there are too few, or a time is none."""
    rows = sorted(rows)
    if len(rows) < LEAST_ROWS or any(us <= 0 for _, us in rows) or not any(size >= LONG for size, _ in rows[1::2]):
        return None
    half = rows[::2]
    longest, most = half[-1]
    shortest = half[0][1] / max(1, ranks - 1)

    def ring_of(logs: Sequence[float]) -> Ring:
        return Ring(ranks, *(math.exp(each) for each in logs))

    def off(logs: Sequence[float]) -> float:
        ring = ring_of(logs)
        return sum(math.log(ring.us(size) / us) ** 2 for size, us in half)

    # A valley has several bottoms: the best of some starts, from small chunks to large ones.
    starts = [
        [math.log(shortest), math.log(2.0**power), math.log(longest / most / 1e3)] for power in range(14, 25, 2)
    ]
    best = min((search(off, start) for start in starts), key=off)
    ring = ring_of(best)
    return Fit(ring, len(half), [(size, ring.us(size) / us) for size, us in rows[1::2]])


def search(off: Callable[[Sequence[float]], float], start: Sequence[float]) -> list[float]:
    """Where `off` is least near `start`: by steps in all directions, of one figure or of several at once, as they can
    make up for each other; ever smaller ones."""
    at = list(start)
    least = off(at)
    directions = [each for each in product((-1, 0, 1), repeat=len(at)) if any(each)]
    for step in STEPS:
        better = True
        while better:
            better = False
            for direction in directions:
                tried = [value + step * side for value, side in zip(at, direction, strict=True)]
                if (found := off(tried)) < least * (1 - 1e-9):
                    at, least, better = tried, found, True
    return at
