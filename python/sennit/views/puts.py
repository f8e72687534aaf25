"""The benchmark of puts: a table for each pair of devices, traffic and window."""

from __future__ import annotations

from functools import partial

from sennit import units
from sennit.compare.groups import Group, groups, of_limit
from sennit.compare.verdicts import verdicts
from sennit.model.result import Result, Row
from sennit.units import NOTHING
from sennit.views import result_charts
from sennit.views.sections import Section
from sennit.views.text_table import Table

SPLIT_WIDTH = 21  # letters, below which a split breaks into too many lines to read


def sections(result: Result) -> list[Section]:
    """All of them."""
    return [
        Section(group.title, [table(group)], verdicts(group), partial(result_charts.of_puts, group))
        for group in groups(result)
    ]


def split_text(row: Row | None) -> str:
    """For example: direct 91 %, host0 (sm) 9 %; the path alone where one carries everything."""
    if row and len(row.split) == 1:
        return row.split[0].route
    return ", ".join(f"{part.route} {units.percent(part.share)}" for part in row.split) if row else ""


def table(group: Group) -> Table:
    """A line a size. The first variant in full, then each peer with how many times as fast sennit is. The column of
    splits is there only when something was split; on a narrow screen they are listed below instead."""
    first, *peers = group.variants
    rates = [f"{peer} GB/s" for peer in peers]
    headings = ["size", f"{first} µs", "GB/s", "of links"]
    headings += [name for peer in peers for name in (f"{peer} GB/s", f"× {peer}")]
    splits = {size: split_text(group.row(size, first)) for size in group.sizes}
    lines = [_cells(group, size, first, peers) for size in group.sizes]
    if any(splits.values()):
        headings.append("split")
        lines = [[*cells, text] for cells, text in zip(lines, splits.values(), strict=True)]
    return Table(
        headings,
        lines,
        [{f"× {peer}": group.ratio(size, peer) for peer in peers} for size in group.sizes],
        left=["split"],
        wraps={"split": SPLIT_WIDTH},
        less=[["split"], rates, ["GB/s"], ["of links"], ["× host"]],
        instead=[f"{units.size(size)} travels {text}." for size, text in splits.items() if "," in text],
    )


def _cells(group: Group, size: int, first: str, peers: list[str]) -> list[str]:
    row = group.row(size, first)
    part = of_limit(row)
    cells = [
        units.size(size),
        units.plain_time(row.median_us, row.spread_us) if row else NOTHING,
        units.three_digits(row.gbps) if row else NOTHING,
        units.percent(part) if part is not None else NOTHING,
    ]
    for peer in peers:
        other = group.row(size, peer)
        cells += [units.three_digits(other.gbps) if other else NOTHING, str(group.ratio(size, peer) or NOTHING)]
    return cells
