"""The benchmark of MPI: a table for each operation and kind of buffers."""

from __future__ import annotations

from functools import partial

from sennit import units
from sennit.compare.groups import Group, groups
from sennit.compare.verdicts import beside
from sennit.model.result import MPI, OWN, RECORDED, Result, Row
from sennit.units import NOTHING
from sennit.views import result_charts
from sennit.views.sections import Section
from sennit.views.text_table import Table

NAMES = {"by_hand": "by hand", "mpi": "MPI alone", "ucx": "UCX",
         "monitoring": "Open MPI's monitoring", "mpip": "mpiP"}  # fmt: skip


def sections(result: Result) -> list[Section]:
    """All of them, each with the OSU benchmark of the same."""
    return [
        Section(
            group.title + (f" ({group.first.osu})" if group.first.osu else ""),
            [table(group)],
            sentences(group),
            partial(result_charts.times, group, spoken),
        )
        for group in groups(result)
    ]


def spoken(variant: str) -> str:
    """As headings say it."""
    return NAMES.get(variant, variant)


def table(group: Group) -> Table:
    """A line for every size. A rate says nothing of latencies, and where there is no size."""
    first, *others = group.variants
    timed = group.first.operation == "latency" or not group.is_sized()
    headings = ["size", f"{spoken(first)} µs", *([] if timed else ["GB/s"])]
    for other in others:
        headings += [f"{spoken(other)} µs", *([f"× {spoken(other)}"] if first == OWN else [])]
    lines = []
    for size in group.sizes:
        own = group.row(size, first)
        line = [units.size(size) if group.is_sized() else NOTHING, _time(own)]
        line += [] if timed else [units.three_digits(own.gbps) if own else NOTHING]
        for other in others:
            line += [_time(group.row(size, other))]
            line += [str(group.ratio(size, other) or NOTHING)] if first == OWN else []
        lines.append(line)
    ratios = [{f"× {spoken(other)}": group.ratio(size, other) for other in others} for size in group.sizes]
    less = [["GB/s"], *([f"{spoken(other)} µs"] for other in others if first == OWN)]
    return Table(headings, lines, ratios, less=less)


def _time(row: Row | None) -> str:
    return units.plain_time(row.median_us, row.spread_us) if row else NOTHING


def sentences(group: Group) -> list[str]:
    """Than whom sennit is faster and where, where slower; and what it costs beside the MPI on host buffers."""
    if RECORDED in group.variants:
        return recording(group)
    if OWN not in group.variants:
        return []
    said = []
    for peer in group.peers:
        beside_mpi = peer == MPI and group.first.buffers in ("host", "")
        said += cost(group) if beside_mpi else beside(group, peer, spoken(peer))
    return said


def recording(group: Group) -> list[str]:
    """How much longer a call takes that is written down, at the size where that is most."""
    added = [
        (recorded.median_us - alone.median_us, size)
        for size in group.sizes
        if (recorded := group.row(size, RECORDED)) and (alone := group.row(size, MPI))
    ]
    if not added:
        return []
    most, size = max(added)
    return [f"Recorded it takes {most:+.3f} µs more{f' at {units.size(size)}' if group.is_sized() else ''}."]


def cost(group: Group) -> list[str]:
    """How much longer a call takes with the drop-in before the MPI, at the size where that may be most."""
    found = []
    for size in group.sizes:
        row = group.row(size, MPI)
        if row and (turns := row.sennit):
            found.append((1 / turns.low - 1, 1 / turns.times_as_fast - 1, 1 / turns.high - 1, size))
    if not found:
        return []
    most, median, least, size = max(found)
    where = f" of {units.size(size)}" if group.is_sized() else ""
    if median <= 0:
        return [f"Before the MPI sennit costs no call anything that was seen{where} ({100 * median:.2f} %)."]
    return [
        f"Before the MPI sennit costs {100 * median:.2f} % of a call{where} (between {100 * least:.2f} and "
        f"{100 * most:.2f} %){', less at other sizes' if len(found) > 1 else ''}."
    ]
