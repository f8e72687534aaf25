"""What a collective would take as one page, in the style of the pages of results: self-contained, without scripts."""

from __future__ import annotations

from html import escape

from sennit import units
from sennit.model.machine import Machine
from sennit.model.sim import Load, Simulation, Sweep
from sennit.units import NOTHING
from sennit.views import sim_sweep
from sennit.views.charts.bars import Bar, bar_chart
from sennit.views.loads import Loads
from sennit.views.machine_svg import machine_svg
from sennit.views.page import facts, html_table, page
from sennit.views.sim_text import CHANGED, changed, of_each_algorithm, times, title

BARS = 24  # of the busiest links; the table below has all
RECKONED = "Simulated, not measured: the protocol’s own steps, replayed over the figures of the machine’s links."
UNITS = (
    "GB/s are 10<sup>9</sup> bytes/s, MiB are 2<sup>20</sup> bytes. One call: from the start of all ranks to the end "
    "of the last, on idle links. Back to back: each of many calls, one behind the other, as benchmarks make them; "
    "algbw and busbw, as nccl-tests reckons them, are of these. docs/tune/sim.md says how the simulator works, and "
    "docs/tune/reproduction.md how far off it is."
)


def picture(found: Simulation, machine: Machine) -> str:
    """The machine with its links coloured by how busy they were during a call."""
    fastest = found.plans[0]
    call = f"One call by {fastest.plan} takes {units.time(fastest.once_us)}"
    note = "Widths are of the machine without the what-if." if found.what_if else ""
    return machine_svg(machine, Loads(found.loads, title(found), call, note))


def simulation_html(found: Simulation, machine: Machine) -> str:
    """The page of one collective on one machine."""
    name = f"sennit sim: {title(found).removesuffix(' (simulated)')}"
    said = f"{RECKONED} Machine: {found.machine}. {machine.description}".strip()
    body = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="origin">{escape(said)}</p>',
        _section("How long it takes", html_table(*_plans(found))),
        _section(f"What held it up: {found.plans[0].plan}", _delays(found)),
        _section("How busy links and memories were", _pictures(found, machine)),
        _section("Every link and memory", html_table(*_loads(found.loads)), opened=False),
        _settings(found),
    ]
    return page(name, body)


def sweep_html(sweep: Sweep) -> str:
    """The page of several sizes, or machines."""
    name = f"sennit sim: {sim_sweep.title(sweep).removesuffix(' (simulated)')}"
    charts = sim_sweep.bandwidth(sweep) + sim_sweep.time(sweep)
    *columns, plan = sim_sweep.headings(sweep)
    cells = [
        [*line[:-1], sim_sweep.held_up(found), line[-1]]
        for line, found in zip(sim_sweep.lines(sweep), sweep.simulations, strict=True)
    ]
    table = html_table([*columns, "most of a call", plan], cells)
    body = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="origin">{escape(RECKONED)}</p>',
        _section("Over size", f'<div class="charts">{charts}</div>{table}'),
    ]
    for found in sweep.simulations:
        answer = html_table(*_plans(found)) + _delays(found)
        body.append(_section(f"{units.size(found.bytes)} on {found.machine}", answer, opened=False))
    return page(name, [*body, _settings(sweep.simulations[0])])


def _section(heading: str, content: str, *, opened: bool = True) -> str:
    return f"<details{' open' if opened else ''}><summary>{escape(heading)}</summary>{content}</details>"


def _plans(found: Simulation) -> tuple[list[str], list[list[str]]]:
    """Of each algorithm the fastest plan."""
    rows = [
        [
            units.time(plan.once_us),
            units.time(plan.us),
            *(changed(plan.before_us, plan.us) if found.before else []),
            times(plan, found.plans[0]),
            units.three_digits(found.algbw_gbps(plan)),
            units.three_digits(found.busbw_gbps(plan)),
            plan.plan,
        ]
        for plan in of_each_algorithm(found.plans)
    ]
    before = CHANGED if found.before else []
    return ["one call", "back to back", *before, "× fastest", "algbw", "busbw", "plan"], rows


def _delays(found: Simulation) -> str:
    """All of them, the longest first."""
    once = found.plans[0].once_us
    if not found.critical or once <= 0:
        return "<p>Nothing did.</p>"
    delays = sorted(found.critical, key=lambda each: -each.us)
    rows = [[units.percent(each.us / once), units.time(each.us), each.what] for each in delays]
    return html_table(["of a call", "time", "what"], rows)


def _pictures(found: Simulation, machine: Machine) -> str:
    """The machine, and the busiest as bars."""
    bars = [Bar(load.resource, load.busy, units.percent(load.busy)) for load in found.loads[:BARS]]
    said = f"The {BARS} busiest of {len(found.loads)}" if len(found.loads) > BARS else "Busy during one call"
    chart = f'<div class="charts">{bar_chart(said, bars)}</div>' if bars else ""
    return f'<div class="scroll">{picture(found, machine)}</div>{chart}'


def _loads(loads: list[Load]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for load in loads:
        # Copy engines are busy for a time; they carry no bytes.
        carried = NOTHING if load.resource.endswith(":engines") else units.size(round(load.bytes))
        rows.append([units.percent(load.busy), carried, load.resource])
    return ["busy", "carried", "link or memory"], rows


def _settings(found: Simulation) -> str:
    items = {
        "what if": ", ".join(found.what_if),
        "epsilon": units.time(found.epsilon_us) if found.epsilon_us > 0 else "",
    }
    set_apart = facts(items) if any(items.values()) else ""
    return _section("How it was simulated", f"{set_apart}<p>{UNITS}</p>", opened=False)
