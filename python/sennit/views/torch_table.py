"""The benchmark of PyTorch's collectives on the terminal and as Markdown: a table for each operation, type and way of
calling it, and below it what that comes to."""

from __future__ import annotations

import statistics

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sennit import units
from sennit.baselines.timing import half_range
from sennit.baselines.torch_calls import EAGER, FIRST_BYTES, GRAPH, PASSED_BYTES, PASSED_ON, QUEUED
from sennit.baselines.torch_job import NCCL, SENNIT
from sennit.compare.ratio import NOISE, Ratio, speedup
from sennit.model.torch import TorchResult, TorchRow
from sennit.views.columns import NOTHING
from sennit.views.markdown import pipes
from sennit.views.origin import origin, repetitions

HEADINGS = ["size", "NCCL µs", "sennit µs", "× NCCL", "of its time", "host, NCCL µs", "sennit µs", "by"]
COLOURS = {"faster": "green", "slower": "red", "same": ""}

# Where calls are small enough that the time is for meeting, in bytes, and what is aimed at there of NCCL's time.
SMALL = (1 << 10, 1 << 20)
AIMS = {("allreduce", GRAPH): 0.55, ("allreduce", QUEUED): 0.75, ("allreduce", EAGER): 0.75}
HOST_AIM_US = 0.3  # more of the host's time for a call that is left to NCCL
MADE_AIM_MS = 100.0  # more for a communicator
TAKEN_AIM_US = 1.0  # and for one that sennit takes, than by sennit's own function

Rows = list[TorchRow]  # of one table


def tables(result: TorchResult) -> list[Rows]:
    """The rows that share a table, in the document's order; those of calls passed on belong to none."""
    found: dict[tuple[str, str, str, int], Rows] = {}
    for row in result.rows:
        if row.variant in (SENNIT, NCCL):
            found.setdefault((row.operation, row.type, row.way, row.ranks), []).append(row)
    return list(found.values())


def pairs(rows: Rows) -> list[tuple[TorchRow | None, TorchRow | None]]:
    """The rows of sennit and of NCCL for each size, in the document's order."""
    found: dict[int, dict[str, TorchRow]] = {}
    for row in rows:
        found.setdefault(row.bytes, {})[row.variant] = row
    return [(each.get(SENNIT), each.get(NCCL)) for each in found.values()]


def ratio(own: TorchRow | None, other: TorchRow | None) -> Ratio | None:
    """How many times as fast a call is; the spreads are those between jobs already."""
    if own is None or other is None:
        return None
    return speedup(own.median_us, own.spread_us, other.median_us, other.spread_us)


def part(own: TorchRow | None, other: TorchRow | None) -> float | None:
    """What part of NCCL's time a call takes."""
    found = ratio(own, other)
    return 1 / found.value if found is not None and found.value > 0 else None


def by(own: TorchRow | None) -> str:
    """Who does the call: a plan of sennit's, or NCCL."""
    if own is None or not own.how:
        return NOTHING
    return "NCCL" if own.how.startswith("NCCL") else own.how


def cells(own: TorchRow | None, other: TorchRow | None) -> list[str]:
    """A line of the table."""
    row = own or other
    assert row is not None
    found, share = ratio(own, other), part(own, other)
    return [
        units.size(row.bytes),
        _time(other.median_us, other.spread_us) if other else NOTHING,
        _time(own.median_us, own.spread_us) if own else NOTHING,
        str(found) if found else NOTHING,
        units.percent(share) if share is not None else NOTHING,
        _time(other.host_us, other.host_spread_us) if other else NOTHING,
        _time(own.host_us, own.host_spread_us) if own else NOTHING,
        by(own),
    ]


def _time(us: float, spread_us: float) -> str:
    return units.time(us, spread_us).removesuffix(" µs")


def sentences(rows: Rows) -> list[str]:
    """What small calls take of NCCL's time, and which of them more than is aimed at, or may, as far as the spread of
    that tells."""
    small = {
        own.bytes: found
        for own, other in pairs(rows)
        if own is not None and (found := ratio(own, other)) and found.value > 0 and SMALL[0] <= own.bytes <= SMALL[1]
    }
    if not small:
        return []
    shares = [1 / found.value for found in small.values()]
    least, most = units.percent(min(shares)), units.percent(max(shares))
    span = least if least == most else f"{least} to {most}"
    aim = AIMS.get((rows[0].operation, rows[0].way))
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


def added(result: TorchResult) -> list[str]:
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


def print_torch(result: TorchResult, out: Console) -> None:
    """For people."""
    out.print(Text(f"{result.kind}. {origin(result)} {repetitions(result)}"))
    for rows in tables(result):
        out.print()
        out.print(Text(rows[0].title, style="bold"))
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in HEADINGS:
            drawn.add_column(name, justify="left" if name == "by" else "right", no_wrap=name != "by")
        for own, other in pairs(rows):
            texts = [Text(cell) for cell in cells(own, other)]
            found = ratio(own, other)
            if found is not None:
                texts[HEADINGS.index("× NCCL")].stylize(COLOURS[found.verdict])
            drawn.add_row(*texts)
        out.print(drawn)
        for sentence in sentences(rows):
            out.print(Padding(Text(sentence), (0, 0, 0, 1)))
    if more := added(result):
        out.print()
    for sentence in more:
        out.print(Text(sentence))
    for warning in result.warnings:
        out.print(Text(f"\nwarning: {warning}", style="yellow"))


def torch_markdown(result: TorchResult) -> str:
    """The same as Markdown."""
    parts = [f"{origin(result)} {repetitions(result)}"]
    for rows in tables(result):
        aligned = [":--" if name == "by" else "--:" for name in HEADINGS]
        parts += [
            f"**{rows[0].title}.**",
            pipes([HEADINGS, aligned, *(cells(own, other) for own, other in pairs(rows))]),
            " ".join(sentences(rows)),
        ]
    parts += added(result)
    return "\n\n".join(part for part in parts if part) + "\n"
