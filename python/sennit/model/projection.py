"""What a program would gain by partitioned messages: the time that it spends in messages of each size, from its
profile, with what a message of that size gains, from a measurement. Pure.

S = T / (T - Σ t_m (1 - 1 / s_m)), for a run of T in which messages of size m take t_m and would be s_m times as fast:
Amdahl's law with a part for each size. Temuçin's slides (2023, Potential Application Improvements) project SNAP-C in
this way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sennit import units
from sennit.model.partitioned import Row
from sennit.model.profile import Profile
from sennit.model.profile import Row as Called
from sennit.model.profile_sums import plain, spent
from sennit.programs.problem import Exit, Problem

RUN = "run"  # the line of a CSV that says how long the run was
# Functions of messages that partitioned ones could take the place of. Waits are in the time of the calls that began
# what is waited for.
MESSAGES = frozenset(
    f"MPI_{name}" for name in (
        "Send", "Ssend", "Rsend", "Bsend", "Isend", "Issend", "Irsend", "Ibsend", "Recv", "Irecv", "Mrecv", "Imrecv",
        "Sendrecv", "Sendrecv_replace", "Start", "Startall",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Spent:
    """Seconds of one process, in the mean: of the run, and of messages of each size in bytes."""

    seconds: float
    by_size: dict[int, float]


def spent_by(profile: Profile) -> Spent:
    """Of a profile's messages between two ranks. A size is the mean of a row's calls. Raises Problem where there are
    none."""
    processes = max(1, len(profile.ranks))
    by_size: dict[int, float] = {}
    for row in profile.counted:
        size = _size(row)
        if plain(row.function) in MESSAGES and size > 0:
            by_size[size] = by_size.get(size, 0.0) + spent(row, processes) + row.waited_seconds / processes
    if not by_size or profile.seconds <= 0:
        raise Problem(
            "the profile has no messages between two ranks", "Profile a program that calls MPI_Send or the like",
            Exit.USAGE,
        )  # fmt: skip
    return Spent(profile.seconds, by_size)


def _size(row: Called) -> int:
    return round(max(row.bytes_in, row.bytes_out) / row.calls) if row.calls else 0


def spent_of(text: str, origin: str) -> Spent:
    """Of a CSV: a line `run,SECONDS`, and lines `SIZE,SECONDS` such as 64K,1.5. Empty lines, those that begin with #
    and a heading `bytes,seconds` are skipped. Raises Problem (usage), naming the line."""
    seconds, by_size = 0.0, dict[int, float]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.replace(" ", "") == "bytes,seconds":
            continue
        try:
            name, value = (word.strip() for word in line.split(","))
            took = float(value)
            if not (math.isfinite(took) and took >= 0):
                raise ValueError(f"'{value}' is no time")
            if name == RUN:
                seconds = took
                continue
            size = units.bytes_of(name)
            if size <= 0:
                raise ValueError(f"'{name}' is no size")
        except ValueError as error:
            raise Problem(
                f"{origin}, line {number}: {error}", "A line is run,SECONDS or SIZE,SECONDS, such as 64K,1.5",
                Exit.USAGE,
            ) from None  # fmt: skip
        by_size[size] = by_size.get(size, 0.0) + took
    if seconds <= 0:
        raise Problem(f"{origin} does not say how long the run was", "Add a line such as run,12.5", Exit.USAGE)
    if not by_size:
        raise Problem(f"{origin} does not say any size", "Add a line such as 64K,1.5", Exit.USAGE)
    if sum(by_size.values()) > seconds:
        raise Problem(
            f"{origin}: messages take longer than the run of {seconds:g} s", "Give one process's mean times",
            Exit.USAGE,
        )  # fmt: skip
    return Spent(seconds, by_size)


# ---- gains --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gain:
    """The part of a message's time that is saved, 1 - 1 / s: at most 1, below 0 where it becomes slower. It lies
    between low and high in 19 of 20 measurements."""

    median: float
    low: float
    high: float

    @property
    def speedup(self) -> tuple[float, float, float]:
        """s, and its ends; infinite where nothing is left to wait for."""
        median, low, high = (1 / (1 - each) if each < 1 else math.inf for each in (self.median, self.low, self.high))
        return median, low, high


def gain_of(row: Row) -> Gain | None:
    """What a program saves of a whole message's time; None where that was not measured. More than all of it cannot be
    saved: what was measured beyond is the noise of its compute."""
    if not row.is_measured or row.saved_us is None or row.single_us is None or row.single_us.median <= 0:
        return None
    saved = row.saved_us
    return Gain(*(min(1.0, each / row.single_us.median) for each in (saved.median, saved.low, saved.high)))


@dataclass(frozen=True)
class Way:
    """How messages are cut and made ready: what lines of a measurement have in common but for their size."""

    back_end: str
    partitions: int
    threads: int
    compute_us: float
    noise: str
    order: str
    cache: str

    def __str__(self) -> str:
        return (
            f"{self.back_end}, {self.partitions} partition{'' if self.partitions == 1 else 's'}, {self.threads} "
            f"thread{'' if self.threads == 1 else 's'}, {units.time(self.compute_us)} of compute, noise "
            f"{self.noise}, order {self.order}, {self.cache} cache"
        )


Gains = dict[int, Gain]  # by bytes of a message


def ways(rows: Iterable[Row]) -> dict[Way, Gains]:
    """All that were measured, in their order. Of a line that is there twice the later one counts."""
    found: dict[Way, Gains] = {}
    for row in rows:
        way = Way(row.back_end, row.partitions, row.threads, row.compute_us, row.noise, row.order, row.cache)
        if (gain := gain_of(row)) is not None:
            found.setdefault(way, {})[row.bytes] = gain
    return found


def between(gains: Gains, size: int) -> Gain | None:
    """Of a size between two that were measured, by the logarithm of sizes; None beyond them: nothing is known."""
    sizes = sorted(gains)
    if not sizes or not sizes[0] <= size <= sizes[-1]:
        return None
    above = next(each for each in sizes if each >= size)
    below = max(each for each in sizes if each <= size)
    if above == below:
        return gains[size]
    part = math.log(size / below) / math.log(above / below)
    low, high = gains[below], gains[above]
    return Gain(*(
        one + part * (other - one)
        for one, other in ((low.median, high.median), (low.low, high.low), (low.high, high.high))
    ))  # fmt: skip


# ---- the projection -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Messages of one size. `gain` None: no size near it was measured, so that they stay as they are."""

    bytes: int
    seconds: float
    gain: Gain | None


@dataclass(frozen=True)
class Projection:
    """A run, were its messages sent in this way. `low`: with every size at the low end of its interval."""

    way: Way
    seconds: float
    lines: list[Line]

    def _faster(self, saved: float) -> float:
        return self.seconds / (self.seconds - saved) if saved < self.seconds else math.inf

    @property
    def speedup(self) -> tuple[float, float, float]:
        """S, and its ends."""
        known = [(line.seconds, line.gain) for line in self.lines if line.gain is not None]
        return (
            self._faster(sum(seconds * gain.median for seconds, gain in known)),
            self._faster(sum(seconds * gain.low for seconds, gain in known)),
            self._faster(sum(seconds * gain.high for seconds, gain in known)),
        )

    @property
    def covered(self) -> float:
        """Of the time in messages, the part in sizes of which something is known."""
        whole = sum(line.seconds for line in self.lines)
        return sum(line.seconds for line in self.lines if line.gain is not None) / whole if whole > 0 else 0.0


def project(taken: Spent, way: Way, gains: Gains) -> Projection:
    """By size, the smallest first."""
    lines = [Line(size, seconds, between(gains, size)) for size, seconds in sorted(taken.by_size.items())]
    return Projection(way, taken.seconds, lines)


def best(found: Sequence[Projection]) -> Projection:
    """The one whose low end is highest: a gain that may be noise is worth less than one that is none."""
    return max(found, key=lambda each: each.speedup[1])
