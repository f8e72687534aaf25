"""Two tables of tuned collectives, case by case: what each takes first, and whether that changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sennit import units
from sennit.compare.changes import Judged, counts, differing, geometric_mean, judged
from sennit.compare.kinds import Kind, kinds
from sennit.model.plans import CollectiveTable, TimedPlan, TunedCase


@dataclass(frozen=True)
class CaseDiff:
    """A case that both tables have."""

    kind: Kind
    bytes: int
    first: TimedPlan
    second: TimedPlan
    judged: Judged

    @property
    def plan_changed(self) -> bool:
        """Whether calls begin with another plan."""
        return self.first.name != self.second.name


@dataclass(frozen=True)
class TableDiff:
    """All cases, in the order of the first table, then of the second."""

    differences: list[str]
    cases: list[CaseDiff]
    only_first: list[tuple[Kind, int]]
    only_second: list[tuple[Kind, int]]

    @property
    def all_judged(self) -> list[Judged]:
        """The verdicts alone."""
        return [case.judged for case in self.cases]

    def by_kind(self) -> dict[Kind, list[CaseDiff]]:
        """The cases of each kind."""
        found: dict[Kind, list[CaseDiff]] = {}
        for case in self.cases:
            found.setdefault(case.kind, []).append(case)
        return found


def table_diff(first: CollectiveTable, second: CollectiveTable) -> TableDiff:
    """The second compared with the first."""
    ours, theirs = _cases(first), _cases(second)
    return TableDiff(
        differing(_circumstances(first), _circumstances(second)),
        [_compared(key, case, theirs[key]) for key, case in ours.items() if key in theirs],
        [key for key in ours if key not in theirs],
        [key for key in theirs if key not in ours],
    )


def diff_document(diff: TableDiff, files: tuple[str, str]) -> dict[str, Any]:
    """For other programs to read."""
    return {
        "version": 1,
        "kind": "collective table comparison",
        "a": files[0],
        "b": files[1],
        "differences": diff.differences,
        "cases": [
            _named(case.kind, case.bytes)
            | {
                "verdict": case.judged.verdict.value,
                "reason": case.judged.reason,
                "ratio": case.judged.ratio.value if case.judged.ratio else None,
                "ratio_spread": case.judged.ratio.spread if case.judged.ratio else None,
                "plan_changed": case.plan_changed,
                "a": case.first.model_dump(),
                "b": case.second.model_dump(),
            }
            for case in diff.cases
        ],
        "only_a": [_named(*key) for key in diff.only_first],
        "only_b": [_named(*key) for key in diff.only_second],
        "counts": {verdict.value: count for verdict, count in counts(diff.all_judged).items()},
        "geometric_mean": geometric_mean(diff.all_judged),
    }


def _cases(table: CollectiveTable) -> dict[tuple[Kind, int], TunedCase]:
    return {(one.kind, case.bytes): case for one in kinds(table) for case in one.cases}


def _circumstances(table: CollectiveTable) -> dict[str, str]:
    """What times depend on beside the plan."""
    scratch = {"scratch memory": units.size(table.scratch_bytes)}
    return {"machine": table.fingerprint} | table.versions | scratch


def _compared(key: tuple[Kind, int], first: TunedCase, second: TunedCase) -> CaseDiff:
    one, other = first.taken, second.taken
    return CaseDiff(*key, one, other, judged(one.us, one.spread_us, other.us, other.spread_us))


def _named(kind: Kind, size: int) -> dict[str, Any]:
    return {
        "layout": list(kind.layout),
        "operation": kind.operation,
        "arithmetic": kind.arithmetic,
        "windows": kind.windows,
        "bytes": size,
    }
