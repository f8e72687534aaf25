"""How two measured times compare, with the spread of the comparison. Pure functions of their inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

# A spread is half an interquartile range. A difference within NOISE spreads is not called one: medians of the same
# thing, measured twice, lie that far apart often enough.
NOISE = 2.0

# What the same thing, measured in two runs, differs by beside the spreads within each, as a part of the time: clocks
# and places in memory are others. Of 100 times of one NCCL, taken twice on 2 × H200, two thirds lay within it; by the
# spreads alone 60 of them would be called faster or slower.
DRIFT = 0.01

LARGEST = 1e9  # no two ways of moving bytes are further apart; a quotient beyond comes from a time that is none


@dataclass(frozen=True)
class Ratio:
    """How many times as fast: above 1 is faster. `spread` is of the same unit as `value`."""

    value: float
    spread: float

    @property
    def verdict(self) -> str:
        """`faster`, `slower`, or `same` where the difference is within the noise."""
        if self.below(1):
            return "slower"
        return "faster" if self.value - NOISE * self.spread > 1 else "same"

    def below(self, wanted: float) -> bool:
        """Whether the ratio is less than `wanted` by more than the noise."""
        return self.value + NOISE * self.spread < wanted

    def reaches(self, wanted: float) -> bool:
        """Whether the ratio is at least `wanted`, also where it is off by the noise."""
        return self.value - NOISE * self.spread >= wanted

    def __str__(self) -> str:
        # A third digit where two would show a spread of nothing, which no measurement has.
        digits = 3 if 0 < self.spread < 0.005 else 2
        return f"{self.value:.{digits}f} ± {self.spread:.{digits}f}"


def speedup(us: float, spread_us: float, other_us: float, other_spread_us: float) -> Ratio | None:
    """How many times as fast `us` is as `other_us`; relative spreads add as independent errors do. None where a time
    is not a positive, finite number, or the ratio or its spread is beyond LARGEST, so that a broken measurement does
    not turn into a great one."""
    if not (math.isfinite(us) and math.isfinite(other_us) and us > 0 and other_us > 0):
        return None
    value = other_us / us
    spread = value * math.hypot(spread_us / us, other_spread_us / other_us)
    return Ratio(value, spread) if value <= LARGEST and spread <= LARGEST else None


def between_runs(us: float, spread_us: float, other_us: float, other_spread_us: float) -> Ratio | None:
    """The same for times of two runs, which may differ by DRIFT as well."""
    return speedup(us, math.hypot(spread_us, DRIFT * us), other_us, other_spread_us)
