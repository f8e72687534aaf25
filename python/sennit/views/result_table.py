"""A result on the terminal: origin, a table a case with its sentences, warnings."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sennit import units
from sennit.compare.comparison import Comparison, comparisons
from sennit.compare.verdicts import verdicts
from sennit.model.result import Result
from sennit.views.columns import split_text, table
from sennit.views.origin import origin, repetitions

SPLIT_WIDTH = 24  # columns below which a split breaks into too many lines to read

COLOURS = {"faster": "green", "slower": "red", "same": ""}


def print_result(result: Result, console: Console) -> None:
    """Prints everything a reader needs to believe the figures."""
    console.print(Text(f"{result.kind}. {origin(result)} {repetitions(result)}"))
    for comparison in comparisons(result):
        console.print()
        console.print(Text(comparison.case.title, style="bold"))
        kept = fitting(comparison, console.width)
        console.print(_table(comparison, kept))
        if "split" not in kept:
            for line in _split_lines(comparison):
                console.print(Padding(Text(line), (0, 0, 0, 1)))
        for sentence in verdicts(comparison):
            console.print(Padding(Text(sentence), (0, 0, 0, 1)))
    for warning in result.warnings:
        console.print(Text(f"\nwarning: {warning}", style="yellow"))


def fitting(comparison: Comparison, width: int) -> list[str]:
    """The headings that a screen has room for: on a narrow one first the splits go (they are listed below instead),
    then the peers' bandwidths (how many times as fast sennit is stays)."""
    headings, rows = table(comparison)
    widths = {heading: max(map(len, column)) + 3 for heading, *column in zip(headings, *rows, strict=True)}
    widths |= {heading: max(length, len(heading) + 3) for heading, length in widths.items()}
    if "split" in widths:
        widths["split"] = min(widths["split"], SPLIT_WIDTH)
    without_split = [heading for heading in headings if heading != "split"]
    shortest = [heading for heading in without_split if not heading.endswith(" GB/s")]
    for kept in (headings, without_split):
        if sum(widths[heading] for heading in kept) <= width + 3:
            return kept
    return shortest


def _split_lines(comparison: Comparison) -> list[str]:
    """The splits of more than one path, a line each."""
    lines = []
    for size in comparison.sizes:
        row = comparison.row(size)
        if row and len(row.split) > 1:
            lines.append(f"{units.size(size)} travels {split_text(row)}.")
    return lines


def _table(comparison: Comparison, kept: list[str]) -> Table:
    headings, rows = table(comparison)
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in kept:
        # As Text: a variant's name is nothing for rich to find styles in.
        drawn.add_column(Text(heading), justify="left" if heading == "split" else "right", no_wrap=heading != "split")
    for size, cells in zip(comparison.sizes, rows, strict=True):
        texts = []
        for heading, cell in zip(headings, cells, strict=True):
            if heading in kept:
                ratio = comparison.ratio(size, heading[2:]) if heading.startswith("× ") else None
                texts.append(Text(cell, style=COLOURS[ratio.verdict] if ratio else ""))
        drawn.add_row(*texts)
    return drawn
