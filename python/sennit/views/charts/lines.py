"""Lines over an axis, and layers stacked on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sennit.views.charts.frame import COLOURS, LEFT, RIGHT, WIDTH, Axis, frame, x_of, y_of


@dataclass(frozen=True)
class Point:
    """One value with its spread; `note` is shown when the pointer rests on it."""

    x: float
    y: float
    spread: float = 0
    note: str = ""


@dataclass(frozen=True)
class Series:
    """A line. `limit`: drawn dashed and grey, as what cannot be passed."""

    name: str
    points: Sequence[Point]
    limit: bool = False


def line_chart(title: str, x: Axis, y: Axis, series: Sequence[Series], marked: float | None = None) -> str:
    """Lines with their spreads. A horizontal line at `marked`, where given."""
    parts = []
    if marked is not None:
        height = y_of(y, marked)
        parts.append(f'<path class="limit" d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}"/>')
    colours = iter(range(len(series)))
    legend = []
    for one in series:
        if not one.points:
            continue
        path = "M" + "L".join(f"{x_of(x, point.x):.1f} {y_of(y, point.y):.1f}" for point in one.points)
        if one.limit:
            parts.append(f'<path class="limit" d="{path}"/>')
            legend.append((one.name, "#888"))
            continue
        colour = COLOURS[next(colours) % len(COLOURS)]
        legend.append((one.name, colour))
        parts.append(f'<path class="line" stroke="{colour}" d="{path}"/>')
        parts += [_mark(x, y, point, one.name, colour) for point in one.points]
    return frame(title, x, y, parts, legend)


def area_chart(title: str, x: Axis, y: Axis, layers: Sequence[Series]) -> str:
    """Layers stacked on each other, the first at the bottom. All have the same places on the x axis."""
    parts = []
    legend = []
    below = [0.0] * (len(layers[0].points) if layers else 0)
    for index, layer in enumerate(layers):
        above = [base + point.y for base, point in zip(below, layer.points, strict=True)]
        places = [x_of(x, point.x) for point in layer.points]
        if len(places) == 1:  # one size: a band across the plot, as a polygon of one point shows nothing
            places, above, low = [LEFT, WIDTH - RIGHT], above * 2, below * 2
        else:
            low = below
        there = [f"{at:.1f} {y_of(y, value):.1f}" for at, value in zip(places, above, strict=True)]
        back = [f"{at:.1f} {y_of(y, value):.1f}" for at, value in zip(reversed(places), reversed(low), strict=True)]
        colour = COLOURS[index % len(COLOURS)]
        name = escape(layer.name)
        parts.append(
            f'<path class="area" fill="{colour}" d="M{"L".join(there + back)}Z"><title>{name}</title></path>'
        )
        legend.append((layer.name, colour))
        below = above[: len(layer.points)]
    return frame(title, x, y, parts, legend)


def _mark(x: Axis, y: Axis, point: Point, name: str, colour: str) -> str:
    """The dot of a point, its spread as a bar, and its note."""
    at, height = x_of(x, point.x), y_of(y, point.y)
    bar = ""
    if point.spread > 0:
        low, high = y_of(y, max(y.low, point.y - point.spread)), y_of(y, min(y.high, point.y + point.spread))
        if low - high >= 3:  # less is hidden behind the dot
            bar = f'<path class="bar" stroke="{colour}" d="M{at:.1f} {low:.1f}V{high:.1f}"/>'
    note = f"<title>{escape(f'{name}: {point.note}' if point.note else name)}</title>"
    return f'{bar}<circle cx="{at:.1f}" cy="{height:.1f}" r="3.2" fill="{colour}">{note}</circle>'
