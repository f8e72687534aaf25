"""A table on the terminal of nothing but text."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

SENTENCES = ("what", "how")  # columns whose cells may be broken into lines
WORDS = ("algorithm", "figure", *SENTENCES, "")  # columns of words


def plain_table(names: list[str], lines: list[list[str]]) -> Table:
    """Words to the left, numbers to the right. What is described may take several lines."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in names:
        is_left = name.startswith("plan") or name in WORDS
        drawn.add_column(Text(name), justify="left" if is_left else "right", no_wrap=name not in SENTENCES)
    for line in lines:
        drawn.add_row(*map(Text, line))
    return drawn
