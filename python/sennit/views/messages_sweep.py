"""A collective of whole messages at several sizes, on several numbers of nodes: a table, and a plot of each size."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.sim import Messages, MessagesSweep
from sennit.units import NOTHING
from sennit.views.charts.frame import COLOURS, NEAREST, Axis, count_axis, size_axis, standalone, time_axis
from sennit.views.charts.lines import Point, Series, line_chart
from sennit.views.charts.stacked import stacked
from sennit.views.sim_text import messages_title
from sennit.views.text_table import Table, print_table


def algorithms(found: list[Messages]) -> list[str]:
    """All that stand in any of them, the fastest of the last first: there scale tells them apart."""
    names = [each.algorithm for one in reversed(found) for each in one.algorithms]
    return list(dict.fromkeys(names))


def lines(sweep: MessagesSweep) -> tuple[list[str], list[list[str]]]:
    """The headings, and a line for each size and number of nodes."""
    several = len({found.nodes for found in sweep.simulations}) > 1
    names = algorithms(sweep.simulations)
    rows = []
    for found in sweep.simulations:
        sent = {each.algorithm: each for each in found.algorithms}
        times = [
            units.time(sent[name].us) + (" ~" if sent[name].folded else "") if name in sent else NOTHING
            for name in names
        ]
        where = [str(found.nodes), str(found.ranks)] if several else [str(found.ranks)]
        rows.append([units.size(found.bytes), *where, *times])
    return ["size", *(["nodes"] if several else []), "ranks", *names], rows


def title(sweep: MessagesSweep) -> str:
    """For example: broadcast from 16 roots on ri2 (simulated)."""
    first = sweep.simulations[0]
    what_if = f", if {' and '.join(first.what_if)}" if first.what_if else ""
    return f"{first.operation.replace('_', '-')} on {first.machine}{what_if} (simulated)"


def print_messages_sweep(sweep: MessagesSweep, console: Console) -> None:
    """Prints the table; where it is too wide for a screen, a part below the other."""
    console.print(Text(title(sweep), style="bold"))
    headings, rows = lines(sweep)
    fixed = headings.index("ranks") + 1
    across = 5
    for first in range(fixed, len(headings), across):
        columns = [*range(fixed), *range(first, min(first + across, len(headings)))]
        print_table(
            Table([headings[column] for column in columns], [[row[column] for column in columns] for row in rows]),
            console,
        )
    if any(each.folded for found in sweep.simulations for each in found.algorithms):
        console.print(Text("~ rounds that are alike were simulated once."))


def picture(sweep: MessagesSweep) -> str:
    """A chart of the time over ranks for each size, or, on one number of nodes, one over sizes."""
    if len({found.nodes for found in sweep.simulations}) == 1:
        sizes = size_axis([found.bytes for found in sweep.simulations])
        return standalone(_chart(title(sweep), sweep.simulations, sizes, lambda found: found.bytes))
    charts = []
    for size in dict.fromkeys(found.bytes for found in sweep.simulations):
        found = [each for each in sweep.simulations if each.bytes == size]
        ranks = count_axis([each.ranks for each in found])
        first = messages_title(found[0]).split(",")[0]
        charts.append(_chart(f"{first} over ranks of {found[0].machine}", found, ranks, lambda each: each.ranks))
    return standalone(stacked(charts))


def _chart(name: str, found: list[Messages], axis: Axis, place: Callable[[Messages], int]) -> str:
    """A line for each algorithm, as long as there are colours, and what the closed form says of the fastest."""
    drawn = []
    for algorithm in algorithms(found)[: len(COLOURS)]:
        points = []
        for one in found:
            for each in one.algorithms:
                if each.algorithm != algorithm:
                    continue
                form = f"; by its equation {units.time(each.closed_form_us)}" if each.closed_form_us else ""
                note = f"{units.size(one.bytes)}, {one.ranks} ranks: {units.time(each.us)}{form}"
                points.append(Point(place(one), max(NEAREST, each.us), note=note))
        drawn.append(Series(algorithm, points))
    fastest = [(one, one.algorithms[0].closed_form_us) for one in found]
    forms = [Point(place(one), us) for one, us in fastest if us]
    if forms:
        drawn.append(Series("equation of the fastest", forms, limit=True))
    return line_chart(name, axis, time_axis([point.y for one in drawn for point in one.points]), drawn)
