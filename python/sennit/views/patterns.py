"""The benchmark of patterns: a table for each, with what each map gains, what was predicted, and when it has paid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from sennit import units
from sennit.compare.groups import Group, groups
from sennit.model.result import Result, Row
from sennit.units import NOTHING
from sennit.views.charts.frame import Axis, linear_axis, size_axis
from sennit.views.charts.lines import Point, Series, line_chart
from sennit.views.sections import Section
from sennit.views.text_table import Table

HEADINGS = ("size", "map", "µs", "gain", "predicted", "of links", "paid after")


def sections(result: Result) -> list[Section]:
    """All of them."""
    return [
        Section(group.title, [table(group)], sentences(group), partial(charts, group)) for group in groups(result)
    ]


def first(group: Group, size: int) -> Row:
    """The order as it is, with which all others took turns."""
    return next(iter(group.rows[size].values()))


def predicted(row: Row, before: Row) -> float | None:
    """What part of the exchange's time the map was simulated to save."""
    return 1 - row.predicted_us / before.predicted_us if row.predicted_us and before.predicted_us else None


def paid_after(row: Row, before: Row) -> int | None:
    """So many exchanges save the time in which the map was found; None where it saves nothing beyond the noise."""
    if row.saved is None or row.saved.low <= 0 or row.found_ms <= 0 or row.median_us >= before.median_us:
        return None
    return math.ceil(1e3 * row.found_ms / (before.median_us - row.median_us))


def table(group: Group) -> Table:
    """A line for every size and map."""
    lines, verdicts = [], []
    for size in group.sizes:
        before = first(group, size)
        for row in group.rows[size].values():
            simulated, paid = predicted(row, before), paid_after(row, before)
            lines.append(
                [
                    units.size(size) if row is before else "",
                    row.variant,
                    units.plain_time(row.median_us, row.spread_us),
                    gain(row),
                    _signed(f"{100 * simulated:.0f} %") if simulated is not None and row is not before else NOTHING,
                    units.percent(row.links_us / row.median_us) if row.links_us else NOTHING,
                    str(paid) if paid is not None else NOTHING,
                ]
            )
            verdicts.append({"gain": verdict(row)})
    return Table(HEADINGS, lines, verdicts, left=("map",), wraps={"map": 24}, less=[["of links"], ["paid after"]])


def gain(row: Row) -> str:
    """For example: 34.0 ± 1.5 %, the half of the interval that holds the median in 19 of 20 runs."""
    if row.saved is None:
        return NOTHING
    return _signed(f"{100 * row.saved.part:.1f} ± {50 * (row.saved.high - row.saved.low):.1f} %")


def _signed(number: str) -> str:
    return number.replace("-", "−")


def verdict(row: Row) -> str:
    """Beyond the noise where the interval does not hold 0."""
    if row.saved is None:
        return ""
    return "faster" if row.saved.low > 0 else "slower" if row.saved.high < 0 else "same"


def sentences(group: Group) -> list[str]:
    """The largest gain of any map that was looked for, or that there is none."""
    best = max(
        (
            (row.saved.part, size, row)
            for size in group.sizes
            for row in group.rows[size].values()
            if row.saved and row.found_ms > 0
        ),
        key=lambda each: each[:2],
        default=None,
    )
    if best is None:
        return ["No metric has another map than the order as it is."]
    _, size, row = best
    if verdict(row) != "faster":
        return ["No map that was looked for is faster beyond the noise: leave the order as it is."]
    simulated = predicted(row, first(group, size))
    said = _signed(f", {100 * simulated:.0f} % predicted") if simulated is not None else ""
    return [f"By {row.variant} an exchange takes {gain(row)} less at {units.size(size)}{said}."]


# ---- charts, as figures 3 to 5 of the paper -----------------------------------------------------------------------


def charts(group: Group) -> list[str]:
    """What maps gain, and after how many exchanges they have paid, by size; those there is something of."""
    gains: dict[str, list[Point]] = {}
    paid: dict[str, list[Point]] = {}
    for size, before, row in _rows(group):
        for name in row.variant.split(", "):
            if row.saved is not None:
                spread = 50 * (row.saved.high - row.saved.low)
                point = Point(size, 100 * row.saved.part, spread, f"{units.size(size)}: {gain(row)}")
                gains.setdefault(name, []).append(point)
            if (after := paid_after(row, before)) is not None:
                paid.setdefault(name, []).append(Point(size, after, 0, f"{units.size(size)}: {after} exchanges"))
    drawn = []
    x = size_axis(group.sizes)
    if gains:
        # An axis for what there is to gain: the worst order may take many times as long.
        points = [point for one in gains.values() for point in one]
        low = max(-100.0, min(0.0, *(point.y for point in points)))
        high = max(5.0, *(point.y for point in points))
        clipped = [
            Series(name, [Point(each.x, max(low, each.y), 0, each.note) for each in one])
            for name, one in gains.items()
        ]
        title = "Part of an exchange's time that a map saves, %"
        drawn.append(line_chart(title, x, linear_axis(low, high, " %"), clipped, marked=0.0))
    if paid:
        most = max(point.y for one in paid.values() for point in one)
        series = [Series(name, one) for name, one in paid.items()]
        drawn.append(line_chart("Exchanges until a map has paid", x, _count_axis(most), series))
    return drawn


def _rows(group: Group) -> Iterator[tuple[int, Row, Row]]:
    for size in group.sizes:
        before = first(group, size)
        for row in group.rows[size].values():
            yield max(1, size), before, row


def _count_axis(most: float) -> Axis:
    """From 1 to a power of ten."""
    last = max(1, math.ceil(math.log10(max(1, most)) - 1e-9))
    return Axis(1, 10.0**last, [(10.0**power, f"{10**power}") for power in range(last + 1)], logarithmic=True)
