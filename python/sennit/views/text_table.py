"""Tables of text, and how a terminal shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Drawn
from rich.text import Text

from sennit.compare.ratio import Ratio

COLOURS = {"faster": "green", "slower": "red", "unclear": "yellow", "same": "", "": ""}
WORDS = ("algorithm", "figure", "what", "how", "plan", "plan asked for", "")  # headings of words; most are of numbers
READABLE = 24  # letters, below which what is broken into lines cannot be read
BETWEEN = 3  # blanks between columns
SENTENCES = {"what": READABLE, "how": READABLE}


@dataclass(frozen=True)
class Table:
    """Cells as text. `verdicts`: for each line those that are judged, by heading. On a narrow screen whole columns go
    until the rest fits, one of `less` after the other, then those to the right; the two leftmost stay. Where the
    first of `less` goes, `instead` is said below; of all others, that they are not there."""

    headings: Sequence[str]
    lines: Sequence[Sequence[str]]
    verdicts: Sequence[Mapping[str, Ratio | str | None]] = ()
    left: Collection[str] = WORDS
    wraps: Mapping[str, int] = field(default_factory=lambda: SENTENCES)  # may be broken into lines of so many letters
    less: Sequence[Collection[str]] = ()
    instead: Sequence[str] = ()
    bold: Collection[int] = ()  # lines

    def verdict(self, line: int, heading: str) -> str:
        """One of COLOURS; empty where nothing is judged."""
        found = self.verdicts[line].get(heading) if line < len(self.verdicts) else None
        return found.verdict if isinstance(found, Ratio) else found or ""


def print_part(title: str, tables: Sequence[Table], sentences: Sequence[str], console: Console) -> None:
    """A part of a longer text: a title above its tables, and what they come to; without tables that alone."""
    console.print()
    if tables:
        console.print(Text(title, style="bold"))
    said = list(sentences)
    for number, table in enumerate(tables):
        if number:
            console.print()
        said = [*_print_fitting(table, console), *said]
    for sentence in said:
        console.print(Padding(Text(sentence), (0, 0, 0, 1 if tables else 0), expand=False))


def print_table(table: Table, console: Console) -> None:
    """A table alone."""
    for sentence in _print_fitting(table, console):
        console.print(Text(sentence))


def _print_fitting(table: Table, console: Console) -> Sequence[str]:
    """Prints the columns that there is room for, and which ones are missing. What is to be said instead of one."""
    kept = fitting(table, console.width)
    console.print(drawn(table, kept))
    gone = [heading for place, heading in enumerate(table.headings) if place not in kept]
    instead = table.instead if gone else ()
    missing = [heading for heading in gone if heading and not (instead and heading in table.less[0])]
    if missing:
        console.print(Text(f"No room here for: {', '.join(missing)}. A wider screen has them.", style="dim"))
    return instead


def fitting(table: Table, width: int) -> list[int]:
    """The places of the columns that a screen has room for."""
    kept = list(range(len(table.headings)))
    widths = [_width(table, heading, column) for heading, *column in _columns(table)]
    for less in table.less:
        if _needed(widths, kept) > width:
            kept = [place for place in kept if table.headings[place] not in less]
    while _needed(widths, kept) > width and len(kept) > 2:
        kept.pop()
    return kept


def _width(table: Table, heading: str, column: Sequence[str]) -> int:
    longest = max(map(cell_len, (heading, *column)))
    return min(longest, table.wraps.get(heading, longest))


def _needed(widths: Sequence[int], kept: Sequence[int]) -> int:
    """How wide a screen these columns need."""
    return sum(widths[place] + BETWEEN for place in kept) - BETWEEN


def drawn(table: Table, kept: Sequence[int]) -> Drawn:
    """For a terminal: these of its columns."""
    found = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    columns = _columns(table)
    for heading, *column in (columns[place] for place in kept):
        # As Text: a variant's name is nothing for rich to find styles in.
        found.add_column(
            Text(heading),
            justify="left" if heading in table.left else "right",
            no_wrap=heading not in table.wraps,
            min_width=min(table.wraps[heading], max(map(cell_len, column), default=0))
            if heading in table.wraps
            else None,
        )
    for number, line in enumerate(table.lines):
        cells = ((table.headings[place], line[place]) for place in kept)
        style = "bold" if number in table.bold else ""
        found.add_row(
            *(Text(cell, style=COLOURS[table.verdict(number, heading)]) for heading, cell in cells), style=style
        )
    return found


def _columns(table: Table) -> list[tuple[str, ...]]:
    """Each with its heading first."""
    return list(zip(table.headings, *table.lines, strict=True))
