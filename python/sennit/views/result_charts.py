"""The charts of a result, each by message size: of puts bandwidth, time against the engine alone and the split, of
everything else time."""

from __future__ import annotations

from collections.abc import Callable

from sennit import units
from sennit.compare.groups import BASELINE, Group
from sennit.compare.verdicts import spoken
from sennit.views.charts.frame import COLOURS, Axis, linear_axis, size_axis, time_axis
from sennit.views.charts.lines import Point, Series, area_chart, line_chart


def times(group: Group, name: Callable[[str], str] = str) -> list[str]:
    """Time over size, of as many variants as there are colours. `name`: what the legend calls a variant."""
    points: dict[str, list[Point]] = {}
    for row in group.all_rows:
        if not row.is_forced:
            note = f"{units.size(row.bytes)}: {units.time(row.median_us, row.spread_us)}"
            points.setdefault(name(row.variant), []).append(
                Point(max(1, row.bytes), row.median_us, row.spread_us, note)
            )
    shown = [point.y for one in points.values() for point in one]
    series = [Series(who, those) for who, those in points.items()][: len(COLOURS)]
    return [line_chart("Time over size", size_axis(group.sizes), time_axis(shown), series)] if shown else []


def of_puts(group: Group) -> list[str]:
    """Those of puts that have something to show."""
    return [picture for draw in (bandwidth, against_engine, split) if (picture := draw(group))]


def bandwidth(group: Group) -> str:
    """GB/s of every variant, and what the links allow."""
    series = []
    for variant in group.variants:
        points = []
        for size in group.sizes:
            if row := group.row(size, variant):
                spread = row.gbps * row.spread_us / row.median_us
                note = f"{units.size(size)}: {units.rate(row.gbps)}, {units.time(row.median_us, row.spread_us)}"
                points.append(Point(max(1, size), row.gbps, spread, note))
        series.append(Series(variant, points))
    limits = [
        Point(max(1, size), row.limit_gbps)
        for size in group.sizes
        if (row := group.row(size, group.variants[0])) and row.limit_gbps > 0
    ]
    series.append(Series("what the links allow", limits, limit=True))
    highest = max(point.y for one in series for point in one.points)
    x = size_axis(group.sizes)
    return line_chart(f"Bandwidth, GB/s ({group.title})", x, linear_axis(0, highest), series)


def against_engine(group: Group) -> str:
    """How many times as fast as the engine alone; empty where that was not measured."""
    points = [
        Point(max(1, size), ratio.value, ratio.spread, f"{units.size(size)}: {ratio} times {spoken(BASELINE)}")
        for size in group.sizes
        if (ratio := group.ratio(size))
    ]
    if not points:
        return ""
    low = min(0.95, *(point.y - point.spread for point in points), 0.95)
    high = max(1.05, *(point.y + point.spread for point in points), 1.05)
    x = size_axis(group.sizes)
    title = f"Times as fast as {spoken(BASELINE)}"
    return line_chart(title, x, linear_axis(max(0.0, low), high), [Series("sennit", points)], marked=1.0)


def split(group: Group) -> str:
    """Which part of the message goes which way; empty where nothing was split."""
    rows = [row for size in group.sizes if (row := group.row(size)) and row.split]
    if not rows:
        return ""
    routes = list(dict.fromkeys(part.route for row in rows for part in row.split))
    layers = []
    for route in routes:
        points = []
        for row in rows:
            share = sum(part.share for part in row.split if part.route == route)
            points.append(Point(max(1, row.bytes), 100 * share))
        layers.append(Series(route, points))
    percent = Axis(0, 100, [(value, f"{value} %") for value in range(0, 101, 25)])
    return area_chart("Share of the message by path", size_axis(group.sizes), percent, layers)
