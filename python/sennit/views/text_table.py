"""Tables of text, and how a terminal shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Drawn
from rich.text import Text

from sennit.compare.ratio import Ratio

COLOURS = {"faster": "green", "slower": "red", "unclear": "yellow", "same": "", "": ""}
WORDS = ("algorithm", "figure", "what", "plan", "plan asked for", "")  # headings of words; most are of numbers


@dataclass(frozen=True)
class Table:
    """Cells as text. `verdicts`: for each line those that are judged, by heading. On a narrow screen columns go until
    the rest fits, one of `less` after the other; where the first of them goes, `instead` is said below."""

    headings: Sequence[str]
    lines: Sequence[Sequence[str]]
    verdicts: Sequence[Mapping[str, Ratio | str | None]] = ()
    left: Collection[str] = WORDS
    wraps: Mapping[str, int] = field(default_factory=dict)  # those that may be broken into lines of so many letters
    less: Sequence[Collection[str]] = ()
    instead: Sequence[str] = ()

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
        kept = fitting(table, console.width)
        console.print(drawn(table, kept))
        said = [*(table.instead if len(kept) < len(table.headings) else ()), *said]
    for sentence in said:
        console.print(Padding(Text(sentence), (0, 0, 0, 1 if tables else 0)))


def fitting(table: Table, width: int) -> list[str]:
    """The headings that a screen has room for."""
    kept = list(table.headings)
    widths = {heading: max(map(len, (heading, *column))) + 3 for heading, *column in _columns(table)}
    widths |= {each: min(widths[each], table.wraps[each] + 3) for each in widths if each in table.wraps}
    for less in table.less:
        if sum(widths[heading] for heading in kept) > width + 3:
            kept = [heading for heading in kept if heading not in less]
    return kept


def drawn(table: Table, kept: Collection[str] | None = None) -> Drawn:
    """For a terminal. `kept`: the headings that it has room for; None: all."""
    found = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    kept = table.headings if kept is None else kept
    longest = {heading: max(map(len, column), default=0) for heading, *column in _columns(table)}
    for heading in kept:
        # As Text: a variant's name is nothing for rich to find styles in.
        found.add_column(
            Text(heading),
            justify="left" if heading in table.left else "right",
            no_wrap=heading not in table.wraps,
            min_width=min(table.wraps[heading], longest[heading]) if heading in table.wraps else None,
        )
    for number, line in enumerate(table.lines):
        cells = (pair for pair in zip(table.headings, line, strict=True) if pair[0] in kept)
        found.add_row(*(Text(cell, style=COLOURS[table.verdict(number, heading)]) for heading, cell in cells))
    return found


def _columns(table: Table) -> list[tuple[str, ...]]:
    """Each with its heading first."""
    return list(zip(table.headings, *table.lines, strict=True))
