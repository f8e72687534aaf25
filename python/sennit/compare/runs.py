"""Two runs of the same benchmark: their rows matched by what they measure, and compared. Pure functions of their
inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sennit import units
from sennit.baselines.training import difference
from sennit.compare.changes import Judged, Verdict, counts, differing, geometric_mean, judged, unclear
from sennit.compare.groups import PARTITIONED_MESSAGE, PROGRAMS, title
from sennit.model.result import BENCH_MPI, Result, Row
from sennit.programs.problem import Exit, Problem

# A time is the average of calls back to back, which are one graph: with so many times fewer of them, its launch is
# another part of the time.
OTHER_CALLS = 2.0

# Settings that say how long and what was measured, not how; and one that is a measurement.
NO_DIFFERENCE = {"seconds", "runs", "steps", "losses", "sizes", "operations", "variants", "setup_ms", "ucx",
                 "run_seconds", "in_calls", "limit", "back_ends", "asked"}  # fmt: skip

FEWEST = 3  # calls of a process in a profile, below which nothing is known of how they differ

LATE = "skew_us"  # the setting by which the last rank starts later: with another one, times are of something else


@dataclass(frozen=True)
class Case:
    """What a row measures. `title` says everything but the size and who did it."""

    title: str
    variant: str
    bytes: int = 0
    batch: int = 0  # of training, whose size it is

    @property
    def size(self) -> str:
        """As people read it; a barrier has none."""
        if self.batch:
            return f"batch {self.batch}"
        return units.size(self.bytes) if self.bytes else "–"

    def __str__(self) -> str:
        size = f", {self.size}" if self.bytes or self.batch else ""
        return f"{self.title}{size}, {self.variant}"


@dataclass(frozen=True)
class RowPair:
    """A case that both runs measured."""

    case: Case
    first: Row
    second: Row
    judged: Judged

    @property
    def remark(self) -> str:
        """Why nothing can be said, else what is done in another way."""
        one, other = way(self.first), way(self.second)
        changed = f"{one or '?'} → {other or '?'}" if one != other else ""
        return self.judged.reason or changed or losses_apart(self.first, self.second)


@dataclass(frozen=True)
class Comparison:
    """Everything, in the order of the first run, then of the second."""

    differences: list[str]
    pairs: list[RowPair]
    only_first: list[Case]
    only_second: list[Case]

    @property
    def all_judged(self) -> list[Judged]:
        """The verdicts alone."""
        return [pair.judged for pair in self.pairs]

    def by_title(self) -> dict[str, list[RowPair]]:
        """The pairs that share a table."""
        found: dict[str, list[RowPair]] = {}
        for pair in self.pairs:
            found.setdefault(pair.case.title, []).append(pair)
        return found

    def geometric_means(self) -> dict[str, float]:
        """Who did it → how many times as fast that is in the second run. Plans that were forced are one."""
        found: dict[str, list[Judged]] = {}
        for pair in self.pairs:
            found.setdefault(who(pair.first), []).append(pair.judged)
        means = {variant: geometric_mean(those) for variant, those in found.items()}
        return {variant: mean for variant, mean in means.items() if mean is not None}


def who(row: Row) -> str:
    """Who did it: sennit, a peer, or any of the plans that were forced."""
    return "forced plans" if row.is_forced else row.variant


@dataclass(frozen=True)
class Limit:
    """What is not to be: a verdict, and for SLOWER by more than how many percent."""

    verdict: Verdict
    percent: float = 0

    def broken(self, one: Judged) -> bool:
        """Whether a row is so, beyond the noise."""
        if self.verdict == Verdict.UNCLEAR or one.verdict == Verdict.UNCLEAR:
            return one.verdict == self.verdict
        return one.ratio is not None and one.ratio.below(1 / (1 + self.percent / 100))


def limit(text: str) -> Limit:
    """For example of: slower:3. Raises Problem (usage)."""
    name, colon, number = text.partition(":")
    if name == "unclear" and not colon:
        return Limit(Verdict.UNCLEAR)
    try:
        percent = float(number.removesuffix("%")) if colon else 0.0
    except ValueError:
        percent = math.nan
    if name != "slower" or not 0 <= percent < math.inf:
        raise Problem(f"there is no --fail-if {text!r}", "Use slower, slower:3 (percent) or unclear", Exit.USAGE)
    return Limit(Verdict.SLOWER, percent)


def compare(first: Result, second: Result) -> Comparison:
    """The second compared with the first. Raises Problem (usage) for two different benchmarks."""
    if first.kind != second.kind:
        raise Problem(
            f"A is of kind {first.kind!r} and B of kind {second.kind!r}", "Give two of the same benchmark", Exit.USAGE
        )
    ours, theirs = _by_case(first.rows), _by_case(second.rows)
    both = [(case, row, theirs[case]) for case, row in ours.items() if case in theirs]
    late = [run.settings.get(LATE) or 0 for run in (first, second)]
    one_launch = first.kind != BENCH_MPI
    other_way = unclear("in one the last rank starts later") if late[0] != late[1] else None
    return Comparison(
        _differences(first, second),
        [RowPair(case, one, other, other_way or _judged(one, other, one_launch)) for case, one, other in both],
        [case for case in ours if case not in theirs],
        [case for case in theirs if case not in ours],
    )


NOT_COMPARED = "no row could be compared, and a check that compared nothing does not pass"


def broken(found: Comparison, limits: Sequence[Limit]) -> list[str]:
    """The rows that limits forbid: a sentence each. Where nothing could be compared that is one, too: a check that
    compared nothing did not pass."""
    if limits and not any(one.clear for one in found.all_judged):
        return [NOT_COMPARED]
    return [_complaint(pair) for pair in found.pairs if any(one.broken(pair.judged) for one in limits)]


def way(row: Row) -> str:
    """How it was done: a plan, or the paths that a message took."""
    return row.plan or " + ".join(sorted(part.route for part in row.split))


def without_time(row: Row) -> str:
    """Why a row has no time: a message that hung or failed; empty where it has one."""
    return row.plan if row.operation == PARTITIONED_MESSAGE else ""


def losses_apart(first: Row, second: Row) -> str:
    """How far the losses of training are from one another, in the steps that both have; empty for the same bits."""
    both = min(len(first.losses), len(second.losses))
    apart = difference(first.losses[:both], second.losses[:both])
    return f"losses up to {apart:.1g} apart, relative" if apart else ""


def comparison_document(found: Comparison, kind: str, files: tuple[str, str]) -> dict[str, Any]:
    """For other programs to read."""
    return {
        "version": 1,
        "kind": f"{kind} comparison",
        "a": files[0],
        "b": files[1],
        "differences": found.differences,
        "rows": [
            _named(pair.case)
            | {
                "verdict": pair.judged.verdict.value,
                "reason": pair.judged.reason,
                "ratio": pair.judged.ratio.value if pair.judged.ratio else None,
                "ratio_spread": pair.judged.ratio.spread if pair.judged.ratio else None,
                "a": _figures(pair.first),
                "b": _figures(pair.second),
            }
            for pair in found.pairs
        ],
        "only_a": [_named(case) for case in found.only_first],
        "only_b": [_named(case) for case in found.only_second],
        "counts": {verdict.value: count for verdict, count in counts(found.all_judged).items()},
        "geometric_means": found.geometric_means(),
    }


def _by_case(rows: Iterable[Row]) -> dict[Case, Row]:
    """Of a row measured twice the later one counts."""
    return {Case(title(row), row.variant, row.bytes, row.batch): row for row in rows}


def _judged(first: Row, second: Row, one_launch: bool) -> Judged:
    """`one_launch`: calls back to back share the time of one."""
    for name, row in (("A", first), ("B", second)):
        if why := without_time(row):
            return unclear(f"{why} in {name}")
    if first.verified != second.verified:
        return unclear(f"verified in {'A' if first.verified else 'B'} alone")
    if first.operation.startswith(PROGRAMS) and min(first.repetitions, second.repetitions) < FEWEST:
        return unclear(f"fewer than {FEWEST} calls a process")
    if first.graph != second.graph:
        ways = ("as a CUDA graph", "call by call")
        one, other = ways if first.graph else ways[::-1]
        return unclear(f"{one} in A, {other} in B")
    calls = first.calls, second.calls
    if one_launch and max(calls) > OTHER_CALLS * min(calls):
        return unclear(f"times of {calls[0]} and of {calls[1]} calls back to back")
    return judged(first.median_us, first.spread_us, second.median_us, second.spread_us)


def _differences(first: Result, second: Result) -> list[str]:
    """What times depend on beside what is measured. A peer that one of them left out makes no difference."""
    ours, theirs = _circumstances(first), _circumstances(second)
    return differing(
        {name: value for name, value in ours.items() if name in theirs},
        {name: value for name, value in theirs.items() if name in ours},
    )


def _circumstances(run: Result) -> dict[str, Any]:
    machine = run.machine.model_dump()
    settings = {name: value for name, value in run.settings.items() if name not in NO_DIFFERENCE}
    return settings | run.versions | {"machine": machine.pop("name")} | machine


def _complaint(pair: RowPair) -> str:
    if pair.judged.verdict == Verdict.UNCLEAR:
        return f"{pair.case}: {pair.judged.reason}"
    return f"{pair.case}: {pair.judged.ratio} times as fast"


def _named(case: Case) -> dict[str, Any]:
    size = {"batch": case.batch} if case.batch else {"bytes": case.bytes}
    return {"what": case.title, "variant": case.variant} | size


def _figures(row: Row) -> dict[str, Any]:
    known = not without_time(row)
    return {"median_us": row.median_us if known else None, "spread_us": row.spread_us if known else None,
            "way": way(row)}  # fmt: skip
