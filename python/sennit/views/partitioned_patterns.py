"""Patterns of applications by ways of sending, as a section of the benchmark of partitioned messages: how many times
as fast as whole messages each way is, and what the public suite would say of the same times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from sennit import units
from sennit.model.partitioned import OWN, Figure, PatternRow, reason
from sennit.units import NOTHING
from sennit.views.charts.frame import COLOURS, linear_axis, size_axis
from sennit.views.charts.lines import Point, Series, line_chart
from sennit.views.csv import lines_csv
from sennit.views.sections import Section
from sennit.views.text_table import Table

THREADS = "threads"
BY_PARTITION = (OWN, "persistent_partitions")  # MPIPCL, which the suite is used with, is the latter inside
AXES = ("pattern", "back_end", "bytes", "partitions", "threads", "steps", "compute_us", "computed", "noise", "order",
        "crowded", "state", "why", "rounds", "steady", "verified", "faces", "bytes_sent", "bytes_received",
        "updates")  # fmt: skip
FIGURES = ("round_us", "single_us", "speedup")


def verdict(rows: Sequence[PatternRow], mpi: str) -> str:
    """Whether partitioned messages make a pattern faster, in one line."""
    mine = [row for row in rows if row.is_measured and row.back_end == OWN]
    if not mine:
        why = next((row.why for row in rows if row.back_end == OWN and row.why), "add partitioned to --send")
        return f"Partitioned messages of {mpi} were not measured in a pattern: {why.rstrip('.')}."
    better, worse = [row for row in mine if faster(row)], [row for row in mine if slower(row)]
    count = f"{len(better)} of {len(mine)} lines, slower in {len(worse)}"
    best = max(mine, key=_speedup)
    return (
        f"With partitioned messages of {mpi} {mine[0].pattern} is faster than with whole ones in {count}; at best it "
        f"is {_speedup(best):.3g} × as fast ({units.size(best.bytes)} in {best.partitions}), with the same bytes."
    )


def _speedup(row: PatternRow) -> float:
    return row.speedup.median if row.speedup else 0.0


def faster(row: PatternRow) -> bool:
    """Beyond the interval."""
    return row.speedup is not None and row.speedup.low > 1


def slower(row: PatternRow) -> bool:
    """Beyond the interval."""
    return row.speedup is not None and row.speedup.high < 1


# ---- the public suite ----------------------------------------------------------------------------------------------


def suites_claims(rows: Sequence[PatternRow]) -> list[tuple[PatternRow, PatternRow, float, float]]:
    """Of the public suite's Sweep3D each thread sends a message where a partition of one is sent, and both are
    reported as equal bytes. So it sets a line of threads beside one of partitions whose faces are as many times
    smaller. Of each such pair of lines that differ in nothing else: the two, how many times as fast partitions are by
    that, and how many times with equal bytes, by the ratios of both to whole messages. Partitions are MPI's own, or
    persistent sends."""
    found = []
    measured = [row for row in rows if row.is_measured and row.round_us]
    for one in measured:
        if one.back_end not in BY_PARTITION:
            continue
        same = [row for row in measured if row.back_end == THREADS and _alike(row, one)]
        small = next((row for row in measured if row.back_end == one.back_end and _alike(row, one)
                      and row.bytes * row.partitions == one.bytes), None)  # fmt: skip
        equal = next((row for row in same if row.bytes == one.bytes), None)
        if small is None or equal is None or not (small.round_us and equal.round_us and small.round_us.median):
            continue
        found.append((one, small, equal.round_us.median / small.round_us.median, _speedup(one) / _speedup(equal)))
    return found


def _alike(one: PatternRow, other: PatternRow) -> bool:
    names = ("pattern", "grid", "steps", "partitions", "threads", "compute_us", "computed", "noise", "order")
    return all(getattr(one, name) == getattr(other, name) for name in names)


# ---- views ---------------------------------------------------------------------------------------------------------


def sections(rows: Sequence[PatternRow]) -> list[Section]:
    """One for each pattern, its ranks, noise, order and compute."""
    made = []
    for title, group in groupby(sorted(rows, key=_title), key=_title):
        mine = list(group)
        made.append(Section(title, [_table(mine), *_published(mine)], _sentences(mine), partial(charts, mine)))
    return made


def _title(row: PatternRow) -> str:
    grid = " × ".join(map(str, row.grid[:2] if row.grid[2] == 1 else row.grid))
    return (
        f"{row.pattern} on {grid} ranks, {row.steps} steps, noise {row.noise}, order {row.order}, "
        f"{units.time(row.compute_us)} of compute"
    )


def _interval(figure: Figure | None) -> str:
    if figure is None:
        return NOTHING
    three = units.three_digits
    return f"{three(figure.median)} ({three(figure.low)}…{three(figure.high)})"


def _table(rows: Sequence[PatternRow]) -> Table:
    measured = sorted((row for row in rows if row.is_measured), key=lambda row: (row.bytes, row.partitions))
    lines = [
        (units.size(row.bytes), str(row.partitions), f"{row.threads}{'*' if row.crowded else ''}", row.back_end,
         _interval(row.round_us), _interval(row.single_us), _interval(row.speedup), units.size(row.bytes_sent),
         str(row.rounds))
        for row in measured
    ]  # fmt: skip
    verdicts = [{"× whole": "faster" if faster(row) else "slower" if slower(row) else ""} for row in measured]
    headings = ("face", "partitions", "threads", "by", "round µs", "whole µs", "× whole", "moved", "rounds")
    return Table(headings, lines, verdicts, left=("by",), less=[["rounds"], ["threads"], ["whole µs"], ["moved"]])


def _published(rows: Sequence[PatternRow]) -> list[Table]:
    lines = [
        (one.back_end, f"{units.size(one.bytes)}, {units.size(small.bytes)}", str(one.partitions),
         units.three_digits(said), units.three_digits(true))
        for one, small, said, true in suites_claims(rows)
    ]  # fmt: skip
    return [Table(("by", "faces, of threads and of partitions", "partitions", "× threads, as published",
                   "× threads, equal bytes"), lines, left=("by",))] if lines else []  # fmt: skip


def _sentences(rows: Sequence[PatternRow]) -> list[str]:
    said = []
    measured = [row for row in rows if row.is_measured]
    if measured:
        said.append("Every round moved the same bytes and made the same updates by both ways, to the same bits.")
    if suites_claims(rows):
        said.append(
            "As published: the public suite's threads send a message each where its partitions are of one, so it "
            "sets threads beside partitions of faces that are as many times smaller, and reports equal bytes."
        )
    for row in rows:
        if not row.is_measured:
            said.append(f"{row.back_end}, {units.size(row.bytes)} in {row.partitions}: {reason(row)}")
    if any(row.crowded for row in rows):
        said.append("* More threads than cores for them: their compute was slept.")
    return said


def charts(rows: Sequence[PatternRow]) -> list[str]:
    """How many times as fast as whole messages, by size: a line for each back end, of the most partitions."""
    measured = [row for row in rows if row.is_measured]
    most = max((row.partitions for row in measured), default=0)
    mine = sorted((row for row in measured if row.partitions == most), key=lambda row: row.bytes)
    names = list(dict.fromkeys(row.back_end for row in mine))[: len(COLOURS)]
    series = [
        Series(name, [Point(row.bytes, _speedup(row), 0, f"{units.size(row.bytes)}: {_speedup(row):.3g} ×")
                      for row in mine if row.back_end == name])
        for name in names
    ]  # fmt: skip
    if not mine:
        return []
    x = size_axis([row.bytes for row in mine])
    series.append(Series("whole messages", [Point(x.low, 1), Point(x.high, 1)], limit=True))
    title = f"{mine[0].pattern} in {most} partitions: × as fast as whole messages"
    return [line_chart(title, x, linear_axis(0.0, max(1.0, *map(_speedup, mine))), series)]


def patterns_csv(rows: Sequence[PatternRow]) -> str:
    """A line a row; of each figure its median and its interval."""
    columns = [*AXES, *(f"{name}{end}" for name in FIGURES for end in ("", "_low", "_high"))]
    lines = []
    for row in rows:
        line = {name: getattr(row, name) for name in AXES}
        for name in FIGURES:
            figure: Figure | None = getattr(row, name)
            for end, value in (("", "median"), ("_low", "low"), ("_high", "high")):
                line[f"{name}{end}"] = getattr(figure, value) if figure else ""
        lines.append(line)
    return lines_csv(columns, lines)
