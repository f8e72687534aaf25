"""The rows of a result, put side by side: one comparison for each pair, traffic and window, by size and variant."""

from __future__ import annotations

from dataclasses import dataclass

from sennit.compare.ratio import Ratio, speedup
from sennit.model.result import Result, Row

OURS = "sennit"
BASELINE = "engine"  # the copy engine alone: the single path that every program has today

# What a reader calls each variant; others go by their own name.
NAMES = {
    "sennit": "sennit",
    "engine": "the engine alone",
    "host": "the host path alone",
    "nccl": "NCCL",
    "ucx": "UCX",
}


def spoken(variant: str) -> str:
    """A variant as a sentence names it."""
    return NAMES.get(variant, variant)


@dataclass(frozen=True)
class Case:
    """What the rows of one comparison have in common."""

    source: str
    destination: str
    traffic: str
    window: int

    @property
    def title(self) -> str:
        """For example: gpu0 → gpu1, one way, window 1."""
        pair = f"{self.source} → {self.destination}, " if self.source else ""
        return f"{pair}{self.traffic.replace('_', ' ')}, window {self.window}"


@dataclass(frozen=True)
class Comparison:
    """One case: its rows by size and variant."""

    case: Case
    rows: dict[int, dict[str, Row]]

    @property
    def sizes(self) -> list[int]:
        """Ascending."""
        return sorted(self.rows)

    @property
    def variants(self) -> list[str]:
        """sennit first, then the baseline, then the others in the order they were measured."""
        seen: dict[str, None] = {}
        for by_variant in self.rows.values():
            seen.update(dict.fromkeys(by_variant))
        first = [variant for variant in (OURS, BASELINE) if variant in seen]
        return first + [variant for variant in seen if variant not in first]

    def row(self, size: int, variant: str = OURS) -> Row | None:
        """The row of one size and variant, if it was measured."""
        return self.rows[size].get(variant)

    def ratio(self, size: int, baseline: str = BASELINE) -> Ratio | None:
        """How many times as fast sennit is as `baseline`; None where one of them was not measured."""
        ours, other = self.row(size), self.row(size, baseline)
        if ours is None or other is None:
            return None
        return speedup(ours.median_us, ours.spread_us, other.median_us, other.spread_us)


def of_limit(row: Row | None) -> float | None:
    """The fraction of what the links allow that a row reaches; None where the limit is not known."""
    return row.gbps / row.limit_gbps if row is not None and row.limit_gbps > 0 else None


def comparisons(result: Result) -> list[Comparison]:
    """All cases, in the order they were measured. Of a row measured twice the later one counts."""
    found: dict[Case, dict[int, dict[str, Row]]] = {}
    for row in result.rows:
        case = Case(row.from_, row.to, row.traffic, row.window)
        found.setdefault(case, {}).setdefault(row.bytes, {})[row.variant] = row
    return [Comparison(case, rows) for case, rows in found.items()]
