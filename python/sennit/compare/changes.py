"""What changed where the same thing was measured twice: a verdict each, and what they come to. Pure functions of
their inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sennit.compare.ratio import NOISE, Ratio, between_runs

# A run that could not have seen a difference of this much says nothing about "the same".
TELLING = 0.05


class Verdict(str, Enum):
    """How the second measurement compares with the first."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Judged:
    """A verdict, and on what it rests. `ratio`: how many times as fast the second is; None where nothing can be said.
    `reason`: why it is unclear."""

    verdict: Verdict
    ratio: Ratio | None = None
    reason: str = ""

    @property
    def clear(self) -> bool:
        """Whether the ratio counts."""
        return self.verdict != Verdict.UNCLEAR


def unclear(reason: str, ratio: Ratio | None = None) -> Judged:
    """Where two times cannot be compared."""
    return Judged(Verdict.UNCLEAR, ratio, reason)


def judged(first_us: float, first_spread_us: float, second_us: float, second_spread_us: float) -> Judged:
    """Beyond the noise faster or slower; the same where a difference of TELLING would have been seen."""
    ratio = between_runs(second_us, second_spread_us, first_us, first_spread_us)
    if ratio is None:
        return unclear("a time is none")
    if ratio.verdict == "same" and NOISE * ratio.spread > TELLING:
        return unclear(f"too much noise to see a difference of {100 * TELLING:.0f} %", ratio)
    return Judged(Verdict(ratio.verdict), ratio)


def counts(all_judged: Iterable[Judged]) -> dict[Verdict, int]:
    """How many of each verdict, all of them named."""
    found = dict.fromkeys(Verdict, 0)
    for one in all_judged:
        found[one.verdict] += 1
    return found


def counted(all_judged: Iterable[Judged], noun: str) -> str:
    """For example: 12 rows: 9 same, 1 faster, 1 slower, 1 unclear."""
    found = counts(all_judged)
    total = sum(found.values())
    verdicts = ", ".join(f"{count} {verdict.value}" for verdict, count in found.items())
    return f"{total} {noun}{'' if total == 1 else 's'}: {verdicts}."


def geometric_mean(all_judged: Iterable[Judged]) -> float | None:
    """Of the ratios that count; None without any."""
    values = [one.ratio.value for one in all_judged if one.clear and one.ratio is not None and one.ratio.value > 0]
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """What is told otherwise of the second, for example: driver (580 and 581). Names in the order of the first."""
    names = dict.fromkeys([*first, *second])
    return [
        f"{name} ({_said(first.get(name))} and {_said(second.get(name))})"
        for name in names
        if first.get(name) != second.get(name)
    ]


def _said(value: Any) -> str:
    """A value in few words; ? where there is none."""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = " ".join(str(value).split()) if value is not None else ""
    return (text if len(text) <= 60 else f"{text[:59]}…") or "?"
