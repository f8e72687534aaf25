"""The benchmark of PyTorch's collectives: a table for each operation, type and way of calling it, and below all of
them what the drop-in adds."""

from __future__ import annotations

import statistics
from functools import partial

from sennit import units
from sennit.baselines.timing import half_range
from sennit.baselines.torch_calls import EAGER, FIRST_BYTES, GRAPH, PASSED_BYTES, QUEUED
from sennit.compare.groups import Group, groups, ratio
from sennit.compare.ratio import NOISE
from sennit.model.result import NCCL, OWN, PASSED_ON, Result, Row
from sennit.units import NOTHING
from sennit.views import result_charts
from sennit.views.sections import Section
from sennit.views.text_table import READABLE, Table

HEADINGS = ["size", "NCCL µs", "sennit µs", "× NCCL", "of its time", "host, NCCL µs", "sennit µs", "by"]

# Where calls are small enough that the time is for meeting, in bytes, and what is aimed at there of NCCL's time.
SMALL = (1 << 10, 1 << 20)
AIMS = {("allreduce", GRAPH): 0.55, ("allreduce", QUEUED): 0.75, ("allreduce", EAGER): 0.75}
HOST_AIM_US = 0.3  # more of the host's time for a call that is left to NCCL
MADE_AIM_MS = 100.0  # more for a communicator
TAKEN_AIM_US = 1.0  # and for one that sennit takes, than by sennit's own function


def sections(result: Result) -> list[Section]:
    """All of them."""
    found = [
        Section(group.title, [table(group)], sentences(group), partial(result_charts.times, group))
        for group in both(result)
    ]
    more = added(result)
    return [*found, Section("What the drop-in adds", sentences=more)] if more else found


def both(result: Result) -> list[Group]:
    """The groups of sennit and of NCCL; calls passed on belong to none."""
    rows = [row for row in result.rows if row.variant in (OWN, NCCL)]
    return groups(result.model_copy(update={"rows": rows}))


def table(group: Group) -> Table:
    """A line for each size."""
    return Table(
        HEADINGS,
        [cells(group.row(size), group.row(size, NCCL)) for size in group.sizes],
        [{"× NCCL": group.ratio(size, NCCL)} for size in group.sizes],
        left=["by"],
        wraps={"by": READABLE},
        less=[["of its time"]],  # two columns are called alike: to drop what names them would mislead
    )


def by(own: Row | None) -> str:
    """Who does the call: a plan of sennit's, or NCCL."""
    if own is None or not own.plan:
        return NOTHING
    return "NCCL" if own.plan.startswith("NCCL") else own.plan


def cells(own: Row | None, other: Row | None) -> list[str]:
    """A line of the table."""
    row = own or other
    assert row is not None
    found = ratio(own, other)
    return [
        units.size(row.bytes),
        *(units.plain_time(each.median_us, each.spread_us) if each else NOTHING for each in (other, own)),
        str(found or NOTHING),
        units.percent(1 / found.value) if found and found.value > 0 else NOTHING,
        *(units.plain_time(each.host_us, each.host_spread_us) if each else NOTHING for each in (other, own)),
        by(own),
    ]


def sentences(group: Group) -> list[str]:
    """What small calls take of NCCL's time, and which of them more than is aimed at, or may, as far as the spread of
    that tells."""
    small = {
        size: found
        for size in group.sizes
        if SMALL[0] <= size <= SMALL[1] and (found := group.ratio(size, NCCL)) and found.value > 0
    }
    if not small:
        return []
    shares = [1 / found.value for found in small.values()]
    least, most = units.percent(min(shares)), units.percent(max(shares))
    span = least if least == most else f"{least} to {most}"
    aim = AIMS.get((group.first.operation, group.first.way))
    said = f"Up to {units.size(SMALL[1])} it takes {span} of NCCL's time"
    if aim is None:
        return [f"{said}."]
    told = [f"{said}; aimed at: at most {units.percent(aim)}"]
    missed = [size for size, found in small.items() if found.below(1 / aim)]
    undecided = [size for size, found in small.items() if size not in missed and not found.reaches(1 / aim)]
    for verdict, sizes in (("missed", missed), ("undecided", undecided)):
        if sizes:
            told.append(f"{verdict} at {', '.join(map(units.size, sizes))}")
    return [f"{', '.join(told)}."]


def reached(median: float, spread: float, aim: float) -> str:
    """Whether what is added is under what is aimed at, as far as its spread tells."""
    if median + NOISE * spread < aim:
        return "shown"
    return "missed" if median - NOISE * spread >= aim else "undecided"


def added(result: Result) -> list[str]:
    """How much longer the host takes for calls under the drop-in: for NCCL's own function, handed on or taken, in
    turns with what does it, and for PyTorch's that are handed on by jobs that followed one another."""
    alone = {
        (row.operation, row.type, row.bytes, row.way): row.host_of_runs_us
        for row in result.rows
        if row.variant == NCCL
    }
    said = []
    for found, what, than, aim_us in (
        (result.added, "that is handed on", "NCCL's own", HOST_AIM_US),
        (result.added_to_taken, "that sennit takes", "sennit_allreduce itself", TAKEN_AIM_US),
    ):
        if found:
            said.append(
                f"A call of ncclAllReduce of {units.size(found.bytes or PASSED_BYTES)} {what} costs the host "
                f"{found.median_us:.2f} ± {found.spread_us:.2f} µs more than {than}; aimed at: under {aim_us:g} µs, "
                f"{reached(found.median_us, found.spread_us, aim_us)}."
            )
    if made := result.made:
        said.append(
            f"A communicator of all ranks takes {made.median_ms:.0f} ± {made.spread_ms:.0f} ms more to make than "
            f"NCCL's own, {made.nccl_ms:.0f} ms; aimed at: under {MADE_AIM_MS:g} ms, "
            f"{reached(made.median_ms, made.spread_ms, MADE_AIM_MS)}."
        )
    if met := result.met:
        # Two jobs of each say how much jobs differ.
        known = f", {reached(met.median_ms, met.spread_ms, MADE_AIM_MS)}" if met.rounds > 1 else ""
        said.append(
            f"The first communicator of a process takes {met.median_ms:.0f} ± {met.spread_ms:.0f} ms more than in "
            f"jobs without sennit, {met.nccl_ms:.0f} ms, until PyTorch's ranks have met; aimed at: under "
            f"{MADE_AIM_MS:g} ms{known}."
        )
    if begun := result.begun:
        than = "less" if begun.median_ms < 0 else "more"
        said.append(
            f"Until its first allreduce is done, of {units.size(FIRST_BYTES)}, it takes {abs(begun.median_ms):.0f} ± "
            f"{begun.spread_ms:.0f} ms {than} than in jobs without sennit, {begun.nccl_ms:.0f} ms."
        )
    for row in result.rows:
        others = alone.get((row.operation, row.type, row.bytes, row.way), [])
        differences = [one - other for one, other in zip(row.host_of_runs_us, others, strict=False)]
        if row.variant != PASSED_ON or len(differences) < 2:  # one pair of jobs tells nothing of their spread
            continue
        more, spread = statistics.median(differences), half_range(differences)
        said.append(
            f"Left to NCCL, {row.operation.replace('_', '-')} of {units.size(row.bytes)}, {row.type}, takes the host "
            f"{more:.2f} ± {spread:.2f} µs more than in jobs without sennit ({row.host_us:.1f} µs in all)."
        )
    return said
