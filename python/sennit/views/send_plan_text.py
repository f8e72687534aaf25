"""Which protocol a two-sided message takes: a line for each situation, and what other sizes take there."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.send_plan import SendPlan, Situation
from sennit.views.text_table import READABLE, Table, print_table


def print_send_plan(plan: SendPlan, console: Console) -> None:
    """Prints the whole document."""
    console.print(Text(f"{plan.operation} {units.size(plan.bytes)}", style="bold"))
    lines = [[one.situation, one.protocol, one.reason, _by_size(one)] for one in plan.situations]
    headings = ["situation", "protocol", "why", "by size"]
    wraps = {"situation": READABLE, "why": READABLE, "by size": READABLE}
    why = [f"{one.situation}: {one.reason}" for one in plan.situations]
    table = Table(headings, lines, left=headings, wraps=wraps, less=[["why"], ["by size"]], instead=why)
    print_table(table, console)
    console.print()
    console.print(Text("sennit run --explain says how a program's own messages went."))


def _by_size(situation: Situation) -> str:
    """For example: staged; from 256 B kernel_get; above 64 KiB rndv_put."""
    said = []
    for one in situation.sizes:
        if one.from_ == 0:
            said.append(one.protocol)
        elif one.from_ % 2:  # the first size above a limit
            said.append(f"above {units.size(one.from_ - 1)} {one.protocol}")
        else:
            said.append(f"from {units.size(one.from_)} {one.protocol}")
    return "; ".join(said)
