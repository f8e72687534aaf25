"""Line, area and bar charts as SVG text: small, without scripts, the same bytes for the same input (so that the
figures of docs/ can be compared with what results/ give), and readable on a light and on a dark page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sennit import units

WIDTH, HEIGHT = 620, 320
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 34, 66  # margins around the plot itself
LETTER = 7  # width of a letter, at most
BAR, LONGEST = 20, 32  # from a bar to the next one; letters of a bar's name that are shown

NEAREST = 1e-9  # less than anything that is measured; steps of the smallest numbers there are vanish

# Told apart by people with any colour vision (Okabe and Ito's palette, ordered by contrast); both pages' backgrounds
# are far from all of them.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7f2e", "#7a7a7a"]

STYLE = (
    ".chart{font:12px system-ui,sans-serif;fill:#24292f}"
    ".chart .grid{stroke:#8884;stroke-width:1}.chart .axis{stroke:#8888;stroke-width:1}"
    ".chart .title{font-weight:600;font-size:13px}.chart .line{fill:none;stroke-width:2}"
    ".chart .limit{fill:none;stroke:#888;stroke-width:1.5;stroke-dasharray:5 4}.chart .bar{stroke-width:1.2}"
    ".chart .area{fill-opacity:.75;stroke:none}"
    "@media(prefers-color-scheme:dark){.chart{fill:#d8dee4}}"
)


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


@dataclass(frozen=True)
class Axis:
    """A range of values, the places with a label, and whether distances are ratios."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def fraction(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high one."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear_axis(low: float, high: float, suffix: str = "") -> Axis:
    """An axis from about `low` to about `high`, with four to eight ticks at round values. Values nearer to each other
    than `NEAREST` are one."""
    if high - low < NEAREST:
        high = low + max(abs(low) * 0.1, NEAREST)
    rough = (high - low) / 5
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9) + (step / magnitude == 2.5))
    ticks = [(index * step, f"{index * step:.{digits}f}{suffix}") for index in range(first, last + 1)]
    return Axis(first * step, last * step, ticks)


def size_axis(sizes: Sequence[int]) -> Axis:
    """A logarithmic axis over message sizes, with at most nine ticks at powers of two."""
    low, high = max(1, min(sizes)), max(1, *sizes)
    if low == high:
        low, high = max(1, low // 2), high * 2
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, math.ceil((last - first) / 8))
    ticks = [(2.0**power, units.size(2**power)) for power in range(first, last + 1, step)]
    return Axis(low, high, ticks, logarithmic=True)


def time_axis(times: Sequence[float]) -> Axis:
    """A logarithmic axis over times in µs, between powers of ten, with a tick at each or at some of many."""
    first = math.floor(math.log10(max(NEAREST, min(times))) + 1e-9)
    last = max(first + 1, math.ceil(math.log10(max(NEAREST, *times)) - 1e-9))
    step = max(1, math.ceil((last - first) / 8))
    ticks = [(10.0**power, _decade(power)) for power in range(first, last + 1, step)]
    return Axis(10.0**first, 10.0**last, ticks, logarithmic=True)


def _decade(power: int) -> str:
    """10^power µs: "0.1 µs", "100 µs", "1 ms"."""
    unit, base = ("µs", 0) if power < 3 else ("ms", 3) if power < 6 else ("s", 6)
    return f"{10.0 ** (power - base):.{max(0, base - power)}f} {unit}"


def line_chart(title: str, x: Axis, y: Axis, series: Sequence[Series], marked: float | None = None) -> str:
    """Lines with their spreads. A horizontal line at `marked`, where given."""
    parts = []
    if marked is not None:
        height = _y(y, marked)
        parts.append(f'<path class="limit" d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}"/>')
    colours = iter(range(len(series)))
    legend = []
    for one in series:
        if not one.points:
            continue
        path = "M" + "L".join(f"{_x(x, point.x):.1f} {_y(y, point.y):.1f}" for point in one.points)
        if one.limit:
            parts.append(f'<path class="limit" d="{path}"/>')
            legend.append((one.name, "#888"))
            continue
        colour = COLOURS[next(colours) % len(COLOURS)]
        legend.append((one.name, colour))
        parts.append(f'<path class="line" stroke="{colour}" d="{path}"/>')
        parts += [_mark(x, y, point, one.name, colour) for point in one.points]
    return _frame(title, x, y, parts, legend)


def area_chart(title: str, x: Axis, y: Axis, layers: Sequence[Series]) -> str:
    """Layers stacked on each other, the first at the bottom. All have the same places on the x axis."""
    parts = []
    legend = []
    below = [0.0] * (len(layers[0].points) if layers else 0)
    for index, layer in enumerate(layers):
        above = [base + point.y for base, point in zip(below, layer.points, strict=True)]
        places = [_x(x, point.x) for point in layer.points]
        if len(places) == 1:  # one size: a band across the plot, as a polygon of one point shows nothing
            places, above, low = [LEFT, WIDTH - RIGHT], above * 2, below * 2
        else:
            low = below
        there = [f"{at:.1f} {_y(y, value):.1f}" for at, value in zip(places, above, strict=True)]
        back = [f"{at:.1f} {_y(y, value):.1f}" for at, value in zip(reversed(places), reversed(low), strict=True)]
        colour = COLOURS[index % len(COLOURS)]
        name = escape(layer.name)
        parts.append(
            f'<path class="area" fill="{colour}" d="M{"L".join(there + back)}Z"><title>{name}</title></path>'
        )
        legend.append((layer.name, colour))
        below = above[: len(layer.points)]
    return _frame(title, x, y, parts, legend)


@dataclass(frozen=True)
class Bar:
    """A part of a whole, from 0 to 1, and what is written behind it."""

    name: str
    part: float
    said: str


def bar_chart(title: str, bars: Sequence[Bar], marked: float | None = None) -> str:
    """Bars from left to right, one below the other, with their names before them; a line at a marked part."""
    names = [bar.name if len(bar.name) <= LONGEST else f"{bar.name[: LONGEST - 1]}…" for bar in bars]
    left = 14 + 7.6 * max(map(len, names), default=0)
    right = WIDTH - RIGHT - 46  # room for what is written behind the longest
    height = TOP + BAR * len(bars) + 8
    lines = [_head(title, height), f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>']
    for index, (bar, name) in enumerate(zip(bars, names, strict=True)):
        top, end = TOP + BAR * index, left + min(1.0, max(0.0, bar.part)) * (right - left)
        lines.append(f'<text x="{left - 6:.1f}" y="{top + 12}" text-anchor="end">{escape(name)}</text>')
        lines.append(
            f'<rect x="{left:.1f}" y="{top + 1}" width="{end - left:.1f}" height="{BAR - 6}" fill="{COLOURS[0]}">'
            f"<title>{escape(f'{bar.name}: {bar.said}')}</title></rect>"
        )
        lines.append(f'<text x="{end + 5:.1f}" y="{top + 12}">{escape(bar.said)}</text>')
    for part in (0.0,) if marked is None else (0.0, marked):
        lines.append(f'<path class="axis" d="M{left + part * (right - left):.1f} {TOP - 2}V{height - 8}"/>')
    return "".join(lines) + "</svg>"


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.fraction(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.fraction(value) * (HEIGHT - TOP - BOTTOM)


def _mark(x: Axis, y: Axis, point: Point, name: str, colour: str) -> str:
    """The dot of a point, its spread as a bar, and its note."""
    at, height = _x(x, point.x), _y(y, point.y)
    bar = ""
    if point.spread > 0:
        low, high = _y(y, max(y.low, point.y - point.spread)), _y(y, min(y.high, point.y + point.spread))
        if low - high >= 3:  # less is hidden behind the dot
            bar = f'<path class="bar" stroke="{colour}" d="M{at:.1f} {low:.1f}V{high:.1f}"/>'
    note = f"<title>{escape(f'{name}: {point.note}' if point.note else name)}</title>"
    return f'{bar}<circle cx="{at:.1f}" cy="{height:.1f}" r="3.2" fill="{colour}">{note}</circle>'


def _label(at: float, below: int, label: str) -> str:
    """A label of the x axis, in the middle of its tick; at the right end where it would be cut."""
    if at + LETTER * len(label) / 2 > WIDTH:
        return f'<text x="{WIDTH - 1}" y="{below}" text-anchor="end">{escape(label)}</text>'
    return f'<text x="{at:.1f}" y="{below}" text-anchor="middle">{escape(label)}</text>'


def _frame(title: str, x: Axis, y: Axis, parts: list[str], legend: list[tuple[str, str]]) -> str:
    """The chart around `parts`: grid, labels, title, and a legend below that wraps."""
    lines = [f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>']
    for value, label in y.ticks:
        height = _y(y, value)
        lines.append(f'<path class="grid" d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    for value, label in x.ticks:
        at = _x(x, value)
        lines.append(f'<path class="axis" d="M{at:.1f} {HEIGHT - BOTTOM}v4"/>')
        lines.append(_label(at, HEIGHT - BOTTOM + 18, label))
    lines.append(f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    lines += parts
    at, row = float(LEFT), HEIGHT - 26
    for name, colour in legend:
        length = 22 + 6.6 * len(name)
        if at + length > WIDTH - RIGHT and at > LEFT:
            at, row = float(LEFT), row + 16
        lines.append(f'<rect x="{at:.1f}" y="{row - 9}" width="12" height="10" rx="2" fill="{colour}"/>')
        lines.append(f'<text x="{at + 17:.1f}" y="{row}">{escape(name)}</text>')
        at += length
    return _head(title, max(HEIGHT, row + 10)) + "".join(lines) + "</svg>"


def _head(title: str, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">'
    )


def standalone(svg: str) -> str:
    """A chart as a file of its own: with its style inside."""
    head, rest = svg.split(">", 1)
    return f"{head}><style>{STYLE}</style>{rest}\n"
