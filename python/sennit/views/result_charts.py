"""The charts of a comparison: bandwidth, time against the engine alone, and the split, each by message size."""

from __future__ import annotations

from sennit import units
from sennit.compare.comparison import BASELINE, Comparison, spoken
from sennit.views.chart import Axis, Point, Series, area_chart, line_chart, linear_axis, size_axis


def bandwidth(comparison: Comparison) -> str:
    """GB/s of every variant, and what the links allow."""
    series = []
    for variant in comparison.variants:
        points = []
        for size in comparison.sizes:
            if row := comparison.row(size, variant):
                spread = row.gbps * row.spread_us / row.median_us
                note = f"{units.size(size)}: {units.rate(row.gbps)}, {units.time(row.median_us, row.spread_us)}"
                points.append(Point(max(1, size), row.gbps, spread, note))
        series.append(Series(variant, points))
    limits = [
        Point(max(1, size), row.limit_gbps)
        for size in comparison.sizes
        if (row := comparison.row(size, comparison.variants[0])) and row.limit_gbps > 0
    ]
    series.append(Series("what the links allow", limits, limit=True))
    highest = max(point.y for one in series for point in one.points)
    x = size_axis(comparison.sizes)
    return line_chart(f"Bandwidth, GB/s ({comparison.case.title})", x, linear_axis(0, highest), series)


def against_engine(comparison: Comparison) -> str:
    """How many times as fast as the engine alone; empty where that was not measured."""
    points = [
        Point(max(1, size), ratio.value, ratio.spread, f"{units.size(size)}: {ratio} times {spoken(BASELINE)}")
        for size in comparison.sizes
        if (ratio := comparison.ratio(size))
    ]
    if not points:
        return ""
    low = min(0.95, *(point.y - point.spread for point in points), 0.95)
    high = max(1.05, *(point.y + point.spread for point in points), 1.05)
    x = size_axis(comparison.sizes)
    title = f"Times as fast as {spoken(BASELINE)}"
    return line_chart(title, x, linear_axis(max(0.0, low), high), [Series("sennit", points)], marked=1.0)


def split(comparison: Comparison) -> str:
    """Which part of the message goes which way; empty where nothing was split."""
    rows = [row for size in comparison.sizes if (row := comparison.row(size)) and row.split]
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
    return area_chart("Share of the message by path", size_axis(comparison.sizes), percent, layers)
