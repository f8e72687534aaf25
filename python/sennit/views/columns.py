"""The table of a comparison as plain cells: what the terminal, Markdown and the page all show."""

from __future__ import annotations

from sennit import units
from sennit.compare.comparison import Comparison, of_limit
from sennit.model.result import Row

NOTHING = "–"


def split_text(row: Row | None) -> str:
    """For example: direct 91 %, host0 (sm) 9 %; the path alone where one carries everything."""
    if row and len(row.split) == 1:
        return row.split[0].route
    return ", ".join(f"{part.route} {units.percent(part.share)}" for part in row.split) if row else ""


def table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Headings and rows, a row a size. The first variant in full, then each peer with how many times as fast sennit
    is. The column of splits is there only when something was split."""
    first, *peers = comparison.variants
    headings = ["size", f"{first} µs", "GB/s", "of links"]
    for peer in peers:
        headings += [f"{peer} GB/s", f"× {peer}"]
    splits = [split_text(comparison.row(size, first)) for size in comparison.sizes]
    rows = [_cells(comparison, size, first, peers) for size in comparison.sizes]
    if any(splits):
        headings.append("split")
        rows = [[*cells, text] for cells, text in zip(rows, splits, strict=True)]
    return headings, rows


def _cells(comparison: Comparison, size: int, first: str, peers: list[str]) -> list[str]:
    row = comparison.row(size, first)
    part = of_limit(row)
    cells = [
        units.size(size),
        units.time(row.median_us, row.spread_us).removesuffix(" µs") if row else NOTHING,
        units.three_digits(row.gbps) if row else NOTHING,
        units.percent(part) if part is not None else NOTHING,
    ]
    for peer in peers:
        other = comparison.row(size, peer)
        ratio = comparison.ratio(size, peer)
        cells += [units.three_digits(other.gbps) if other else NOTHING, str(ratio) if ratio else NOTHING]
    return cells
