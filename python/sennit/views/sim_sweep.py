"""A collective at several sizes, on several machines: a table, and plots over size."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.sim import SimulatedPlan, Simulation, Sweep
from sennit.units import NOTHING
from sennit.views.charts.frame import COLOURS, NEAREST, Axis, linear_axis, size_axis, time_axis
from sennit.views.charts.lines import Point, Series, line_chart
from sennit.views.sim_text import CHANGED, changed, of_each_algorithm
from sennit.views.text_table import Table, print_table

Case = tuple[Simulation, SimulatedPlan]


def machines(sweep: Sweep) -> list[str]:
    """Their names, in the document's order."""
    return list(dict.fromkeys(found.machine for found in sweep.simulations))


def title(sweep: Sweep) -> str:
    """For example: allreduce on mist and cedar, if nvlink.bandwidth=2x (simulated)."""
    first = sweep.simulations[0]
    what_if = f", if {' and '.join(first.what_if)}" if first.what_if else ""
    return f"{first.operation.replace('_', '-')} on {' and '.join(machines(sweep))}{what_if} (simulated)"


def headings(sweep: Sweep) -> list[str]:
    """The columns; which machine only where there are several."""
    where = ["machine"] if len(machines(sweep)) > 1 else []
    before = CHANGED if _is_changed(sweep) else []
    return ["size", *where, "ranks", "one call", "back to back", *before, "algbw", "busbw", "plan"]


def _is_changed(sweep: Sweep) -> bool:
    """Whether it is known what the fastest took without the what-if."""
    return any(found.before for found in sweep.simulations)


def lines(sweep: Sweep) -> list[list[str]]:
    """A line for each size and machine, by the fastest plan there."""
    several = len(machines(sweep)) > 1
    return [
        [
            units.size(found.bytes),
            *([found.machine] if several else []),
            str(found.ranks),
            units.time(found.plans[0].once_us),
            units.time(found.plans[0].us),
            *(changed(found.before.us if found.before else None, found.plans[0].us) if _is_changed(sweep) else []),
            units.three_digits(found.algbw_gbps(found.plans[0])),
            units.three_digits(found.busbw_gbps(found.plans[0])),
            found.plans[0].plan,
        ]
        for found in sweep.simulations
    ]


def held_up(found: Simulation) -> str:
    """What takes the longest part of a call: "28 % host0>host1 is full"."""
    once = found.plans[0].once_us
    longest = max(found.critical, key=lambda each: each.us, default=None)
    return f"{units.percent(longest.us / once)} {longest.what}" if longest and once > 0 else NOTHING


def print_sweep(sweep: Sweep, console: Console) -> None:
    """Prints the table."""
    console.print(Text(title(sweep), style="bold"))
    print_table(Table(headings(sweep), lines(sweep)), console)
    console.print(Text("\nGB/s as nccl-tests reckons them, from the time of calls back to back."))


def chart_lines(sweep: Sweep) -> list[tuple[str, list[Case]]]:
    """What is drawn: of several machines the fastest plan of each; of one its algorithms, those first that are the
    fastest at some size, and then those that come nearest at any, as long as there are colours."""
    if len(machines(sweep)) > 1:
        return [
            (name, [(found, found.plans[0]) for found in sweep.simulations if found.machine == name])
            for name in machines(sweep)
        ]
    by_algorithm: dict[str, list[Case]] = {}
    for found in sweep.simulations:
        for plan in of_each_algorithm(found.plans):
            by_algorithm.setdefault(plan.algorithm, []).append((found, plan))
    nearest = sorted(by_algorithm.items(), key=lambda each: min(_behind(*case) for case in each[1]))
    return nearest[: len(COLOURS)]


def _behind(found: Simulation, plan: SimulatedPlan) -> float:
    """How many times as long as the fastest plan it takes."""
    return plan.us / found.plans[0].us if found.plans[0].us > 0 else 1


def bandwidth(sweep: Sweep) -> str:
    """The chart of bus bandwidth over size."""
    drawn = chart_lines(sweep)
    series = [_series(name, cases, [found.busbw_gbps(plan) for found, plan in cases]) for name, cases in drawn]
    highest = max(point.y for one in series for point in one.points)
    return line_chart(f"Bus bandwidth, GB/s: {title(sweep)}", _sizes(sweep), linear_axis(0, highest), series)


def time(sweep: Sweep) -> str:
    """The chart of the time of a call, back to back, over size."""
    drawn = chart_lines(sweep)
    series = [_series(name, cases, [max(NEAREST, plan.us) for _, plan in cases]) for name, cases in drawn]
    times = [point.y for one in series for point in one.points]
    return line_chart(f"Time of a call: {title(sweep)}", _sizes(sweep), time_axis(times), series)


def _sizes(sweep: Sweep) -> Axis:
    return size_axis([found.bytes for found in sweep.simulations])


def _series(name: str, cases: list[Case], values: list[float]) -> Series:
    points = []
    for (found, plan), value in zip(cases, values, strict=True):
        rate = units.rate(found.busbw_gbps(plan))
        note = f"{units.size(found.bytes)}: {units.time(plan.us)}, {rate}, {plan.plan}"
        points.append(Point(max(1, found.bytes), value, note=note))
    return Series(name, sorted(points, key=lambda point: point.x))
