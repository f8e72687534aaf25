"""Columns side by side, of several series: a histogram, or something of each rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sennit.views.charts.frame import NARROW, Axis, labels, legend, narrow_head

LEFT, TOP, HEIGHT = 48, 30, 130  # of the plot itself
SMALLEST = 0.7  # where an axis of counts begins, so that a column of one can be seen
LOWEST = 1.5  # pixels that what is there has at least


@dataclass(frozen=True)
class Columns:
    """One value a place, and what is said of it; None where there is none. `kind`: of memory, gives the colour."""

    name: str
    kind: str
    values: Sequence[tuple[float, str] | None]


def count_axis(highest: float) -> Axis:
    """A logarithmic axis over numbers of calls, with a tick at each power of ten, or at some of many."""
    last = max(1, math.ceil(math.log10(max(1, highest)) - 1e-9))
    step = max(1, math.ceil(last / 5))
    ticks = [(10.0**power, _count(power)) for power in range(0, last + 1, step)]
    return Axis(SMALLEST, 10.0**last, ticks, logarithmic=True)


def _count(power: int) -> str:
    """10^power: "100", "10 k", "1 M"."""
    thousands = power // 3
    return f"{10 ** (power - 3 * thousands)} {'kMGTPE'[thousands - 1]}" if thousands else str(10**power)


def column_chart(
    title: str, places: Sequence[tuple[str, str]], series: Sequence[Columns], axis: Axis, unit: str
) -> str:
    """`places`: a short name of each, for the axis, and its whole one. `unit`: behind what is said of a value."""
    bottom = TOP + HEIGHT
    lines = [narrow_head(title, bottom + 22 + (20 if len(series) > 1 else 0))]
    for value, label in axis.ticks:
        y = bottom - axis.fraction(value) * HEIGHT
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{NARROW}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    width = (NARROW - LEFT) / max(1, len(places))
    gap = min(4.0, width * 0.2)
    each = min(28.0, (width - gap) / len(series))
    for place, (_, whole) in enumerate(places):
        begin = LEFT + (place + 0.5) * width - each * len(series) / 2
        for number, one in enumerate(series):
            if (said := one.values[place]) is None:
                continue
            height = max(LOWEST, min(1.0, axis.fraction(said[0])) * HEIGHT) if said[0] > 0 else 0
            note = escape(f"{whole}, {one.name}: {said[1]}{unit}" if one.name else f"{whole}: {said[1]}{unit}")
            lines.append(
                f'<rect class="{one.kind}" x="{begin + number * each:.2f}" y="{bottom - height:.1f}" '
                f'width="{each:.2f}" height="{height:.1f}"><title>{note}</title></rect>'
            )
    lines.append(f'<path class="axis" d="M{LEFT} {bottom}H{NARROW}"/>')
    lines.append(
        labels([(LEFT + (place + 0.5) * width, name) for place, (name, _) in enumerate(places)], bottom + 16)
    )
    if len(series) > 1:
        lines.append(legend([(one.kind, one.name) for one in series], LEFT, bottom + 38))
    return "".join(lines) + "</svg>"
