"""What machines could do beyond the papers, as a table."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.sim import Better, Beyond
from sennit.units import NOTHING
from sennit.views.markdown import pipes
from sennit.views.text_table import Table, print_table

HEADINGS = ["machine", "what", "before", "then", "gain", "of what links allow", "how"]


def line_of(row: Better) -> list[str]:
    """One row."""
    rate = row.unit == "GB/s"
    gain = row.after / row.before if rate else row.before / row.after
    reached = NOTHING
    if row.bound:
        reached = units.percent(row.after / row.bound if rate else row.bound / row.after)
    return [
        row.machine,
        row.what,
        f"{units.three_digits(row.before)} {row.unit}",
        f"{units.three_digits(row.after)} {row.unit}",
        f"{gain:.2f} ×",
        reached,
        f"{row.after_how}; before: {row.before_how}",
    ]


def print_beyond(found: Beyond, console: Console) -> None:
    """Everything."""
    console.print(Text("Beyond the papers (simulated)", style="bold"))
    lines = [line_of(row) for row in found.rows]
    hows = [f"{machine}, {what}: {how}" for machine, what, *_, how in lines]
    print_table(Table(HEADINGS, lines, less=[["how"]], instead=hows), console)


def beyond_markdown(found: Beyond) -> str:
    """Three tables."""
    marks = ["---", "---", "--:", "--:", "--:", "--:", "---"]
    parts = []
    for title, rows in (
        ("One message", found.puts),
        ("An allreduce on one node", found.allreduces),
        ("An allreduce on many nodes", found.clusters),
    ):
        parts += [f"## {title}", pipes([HEADINGS, marks, *map(line_of, rows)])]
    return "\n\n".join(parts) + "\n"
