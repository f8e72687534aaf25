"""A table on the terminal of nothing but text."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

WORDS = ("algorithm", "figure", "what", "")  # columns of them


def plain_table(names: list[str], lines: list[list[str]]) -> Table:
    """Words to the left, numbers to the right."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in names:
        drawn.add_column(
            Text(name), justify="left" if name.startswith("plan") or name in WORDS else "right", no_wrap=True
        )
    for line in lines:
        drawn.add_row(*map(Text, line))
    return drawn
