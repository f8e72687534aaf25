"""How many partitions a message should have: a model of one wire, by what whole messages take on it. Pure.

Partitions leave one after the other, each once it is ready: a start-up o and its bytes at the wire's rate. Of N
partitions of which all but the last are ready D earlier, max(0, (N - 1)(s / b + o) - D) + s / b + o passes after the
last is ready (Gillis et al., ICPP 2023, arXiv 2308.03930, with a start-up)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from sennit.model.partitioned import Row


@dataclass(frozen=True)
class Wire:
    """What one message takes."""

    start_us: float
    us_per_byte: float

    def us(self, size: float) -> float:
        """Of so many bytes."""
        return self.start_us + size * self.us_per_byte


def wire_of(rows: Iterable[Row]) -> Wire | None:
    """From whole messages: the smallest is all start-up, and the largest gives the rate. None with fewer than two
    sizes, or where the larger one took no longer."""
    times = {row.bytes: row.single_us.median for row in rows if row.single_us is not None}
    if len(times) < 2:
        return None
    small, large = min(times), max(times)
    us_per_byte = (times[large] - times[small]) / (large - small)
    if us_per_byte <= 0:
        return None
    return Wire(max(0.0, times[small] - small * us_per_byte), us_per_byte)


def after_last_us(ready_us: Sequence[float], each: float, wire: Wire) -> float:
    """How long after the last partition is ready all are there, each of so many bytes."""
    end = 0.0
    for ready in sorted(ready_us):
        end = max(end, ready) + wire.us(each)
    return end - max(ready_us)


def ready_times(row: Row) -> list[float]:
    """When partitions are expected to be ready, in µs: each thread computes evenly, and gets a run of them. Of noise
    that is drawn, threads get its quantiles; what is replayed is left out."""
    kind, _, amount = row.order.partition(":")
    together = int(amount) if kind == "burst" else 1
    times = []
    for thread in range(min(row.threads, row.partitions)):
        first, last = (one * row.partitions // row.threads for one in (thread, thread + 1))
        count = last - first if row.threads <= row.partitions else 1
        compute_us = row.compute_us * (1 + _longer(row.noise, thread, row.threads))
        for place in range(count):
            # Those that become ready at once follow the compute of them all.
            done = min(count, (place // together + 1) * together)
            times.append(compute_us * done / count)
    kind, _, amount = row.noise.partition(":")
    if kind == "laggard" and times:
        times[-1] += float(amount.removesuffix("us/MB")) * row.bytes / 1e6
    return times


def _longer(noise: str, thread: int, threads: int) -> float:
    """By which part of its compute a thread is late: the quantile of its place among all."""
    kind, _, amount = noise.partition(":")
    quantile = (thread + 1) / (threads + 1)
    if kind == "single":
        return float(amount) / 100 if thread == 0 else 0.0
    if kind == "uniform":
        return float(amount) / 100 * quantile
    if kind == "gaussian":
        return max(-1.0, float(amount) / 100 * NormalDist().inv_cdf(quantile))
    if kind == "exponential":
        return -float(amount) / 100 * math.log(1 - quantile)
    return 0.0


@dataclass(frozen=True)
class Best:
    """The number of partitions of a size that is best by measurement, and by the model."""

    bytes: int
    measured: int
    modelled: int
    can_be_told: bool = True  # what both save differs beyond its intervals

    @property
    def is_close(self) -> bool:
        """Within a factor of 2."""
        return max(self.measured, self.modelled) <= 2 * min(self.measured, self.modelled)

    @property
    def verdict(self) -> str:
        """As a table says it."""
        return "yes" if self.is_close else "no" if self.can_be_told else "cannot be told"


def best_counts(rows: Sequence[Row], wire: Wire) -> list[Best]:
    """Of rows that differ in size and number of partitions (and the threads that this gives) alone; sizes with one
    number are left out. Measured: the one that saves most; modelled: the one with least to wait for."""
    found = []
    for size in sorted({row.bytes for row in rows}):
        mine = [row for row in rows if row.bytes == size and row.is_measured and row.saved_us is not None]
        if len({row.partitions for row in mine}) < 2:
            continue
        measured = max(mine, key=lambda row: row.saved_us.median if row.saved_us else 0.0)
        modelled = min(mine, key=lambda row: after_last_us(ready_times(row), row.bytes / row.partitions, wire))
        assert measured.saved_us is not None
        assert modelled.saved_us is not None
        can_be_told = modelled.saved_us.high < measured.saved_us.low
        found.append(Best(size, measured.partitions, modelled.partitions, can_be_told))
    return found
