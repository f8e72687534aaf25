"""The charts of partitioned messages: overhead by size and partitions, perceived bandwidth beside the wire's,
early-bird and availability, and when each partition of one message was ready and there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sennit import units
from sennit.model.partitioned import OWN, Row
from sennit.views.charts.frame import COLOURS, Axis, linear_axis, size_axis
from sennit.views.charts.gantt import Bar, gantt_chart
from sennit.views.charts.gantt import Row as Line
from sennit.views.charts.grid import ratio_grid
from sennit.views.charts.lines import Point, Series, line_chart


def charts(rows: Sequence[Row], wire: float) -> list[str]:
    """Of one back end; one is of the message that is cut most, the largest of these. `wire`: GB/s."""
    mine = [row for row in rows if row.is_measured]
    if not mine:
        return []
    back_end = mine[0].back_end
    drawn = [
        overheads(mine, back_end),
        perceived(mine, back_end, wire),
        percents(mine, f"Early-bird, % ({back_end})", lambda row: row.early_bird_percent),
        percents(mine, f"Availability, % ({back_end})", lambda row: row.availability_percent),
    ]
    if cut := [row for row in mine if row.timeline]:
        drawn.append(gantt(max(cut, key=lambda row: (row.partitions, row.bytes))))
    return [each for each in drawn if each]


def whole_rate(rows: Sequence[Row]) -> float:
    """The most that whole messages reach at any size, GB/s: what the wire gives."""
    return max((row.bytes / row.single_us.median / 1e3 for row in rows if row.single_us and row.single_us.median > 0),
               default=0.0)  # fmt: skip


def _axes(rows: Sequence[Row]) -> tuple[list[int], list[int]]:
    return sorted({row.bytes for row in rows}), sorted({row.partitions for row in rows})


def overheads(rows: Sequence[Row], back_end: str) -> str:
    """A cell for each size and number of partitions."""
    sizes, partitions = _axes(rows)
    values = {}
    for row in rows:
        if row.overhead and row.overhead.median > 0:
            said = (f"{units.size(row.bytes)} in {row.partitions}: {row.overhead.median:.3g} "
                    f"({row.overhead.low:.3g}…{row.overhead.high:.3g})")  # fmt: skip
            values[(partitions.index(row.partitions), sizes.index(row.bytes))] = (row.overhead.median, said)
    return ratio_grid(f"Overhead by size ({back_end})", [*map(str, partitions)], [*map(units.size, sizes)], values)


def rate_axis(rates: Sequence[float]) -> Axis:
    """A logarithmic axis over GB/s, between powers of ten."""
    first = math.floor(math.log10(max(1e-6, min(rates))))
    last = max(first + 1, math.ceil(math.log10(max(1e-6, *rates))))
    return Axis(
        10.0**first, 10.0**last, [(10.0**power, f"{10.0**power:g}") for power in range(first, last + 1)], True
    )


def perceived(rows: Sequence[Row], back_end: str, wire: float) -> str:
    """A line for each number of partitions, and what whole messages reach at most: where partitions were early it is
    passed."""
    sizes, partitions = _axes(rows)
    series = []
    for count in partitions[: len(COLOURS)]:
        points = [
            Point(row.bytes, row.perceived_gbps.median, 0, f"{units.size(row.bytes)}: "
                  f"{units.rate(row.perceived_gbps.median)}")
            for row in sorted(rows, key=lambda row: row.bytes)
            if row.partitions == count and row.perceived_gbps and row.perceived_gbps.median > 0
        ]  # fmt: skip
        series.append(Series(f"{count} {'partition' if count == 1 else 'partitions'}", points))
    shown = [point.y for one in series for point in one.points]
    if not shown or wire <= 0:
        return ""
    x = size_axis(sizes)
    series.append(Series("the wire: most of whole messages", [Point(x.low, wire), Point(x.high, wire)], limit=True))
    return line_chart(f"Perceived bandwidth, GB/s ({back_end})", x, rate_axis([*shown, wire]), series)


def percents(rows: Sequence[Row], title: str, figure: Callable[[Row], object]) -> str:
    """A line for each number of partitions."""
    sizes, partitions = _axes(rows)
    series = []
    for count in partitions[: len(COLOURS)]:
        points = []
        for row in sorted(rows, key=lambda row: row.bytes):
            value = getattr(figure(row), "median", None)
            if row.partitions == count and value is not None:
                shown = max(-100.0, value)  # far below 0 the chart would show nothing else
                points.append(Point(row.bytes, shown, 0, f"{units.size(row.bytes)}: {value:.0f} %"))
        series.append(Series(f"{count} {'partition' if count == 1 else 'partitions'}", points))
    values = [point.y for one in series for point in one.points]
    if not values:
        return ""
    return line_chart(title, size_axis(sizes), linear_axis(min(0.0, *values), 100.0), series)


def gantt(row: Row) -> str:
    """One round: each partition's ready call, and its way to the receiver."""
    assert row.timeline is not None
    lines = []
    for partition, (ready, returned, arrived) in enumerate(row.timeline.partitions):
        said = f"ready at {ready:.1f} µs, the call took {returned - ready:.1f} µs, there at {arrived:.1f} µs"
        # The call may outlast the way: it is drawn above, so that both are seen.
        bars = [Bar(ready, max(ready, arrived), 0), Bar(ready, returned, 1)]
        lines.append(Line(str(partition), said, bars))
    title = (
        f"{units.size(row.bytes)} in {row.partitions} by {'MPI partitioned' if row.back_end == OWN else row.back_end}"
    )
    return gantt_chart(
        f"{title}: when each partition is ready and there", lines, ("on its way", "the ready call"),
        [(row.timeline.joined_us, "threads have joined")], "µs",
    )  # fmt: skip
