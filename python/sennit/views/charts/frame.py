"""What charts share: their axes, their frame, their colours. A chart is SVG text: small, without scripts, the same
bytes for the same input (so that the figures of docs/ can be compared with what results/ give), and readable on a
light and on a dark page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from sennit import units

WIDTH, HEIGHT = 620, 320
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 34, 66  # margins around the plot itself
LETTER = 7  # width of a letter, at most

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

# Of charts that are as legible on a telephone: they are so wide, and a page never draws them much larger.
NARROW = 360
NARROW_LETTER = 6.6  # width of a letter of 11 px, at most in the mean
# One colour a kind of memory, everywhere; `idle` is the time outside of calls. What a process does has others. Of
# each the colour on a light page, and on a dark one.
KINDS = {
    "track": ("#e4e8ec", "#2b323a"), "idle": ("#e4e8ec", "#2b323a"), "gpu": ("#0a7d5a", "#34b98d"),
    "heat": ("#33415c", "#a9bcdb"), "host": ("#2a6fbb", "#5f9fe6"), "pinned": ("#7b54b8", "#a98be0"),
    "managed": ("#b05f12", "#d98f45"), "none": ("#7d8590", "#8b949e"), "waiting": ("#c4553b", "#e07a5f"),
    "collective": ("#33415c", "#a9bcdb"), "message": ("#4f8a8b", "#7fc4c0"), "nccl": ("#6b8e23", "#a3c75a"),
    "other": ("#a0a7b0", "#6b737d"),
}  # fmt: skip


def _coloured(place: int) -> str:
    return "".join(f"rect.{kind},path.{kind}{{fill:{colours[place]}}}" for kind, colours in KINDS.items())


NARROW_STYLE = (
    ".narrow{font-size:11px;font-variant-numeric:tabular-nums}.narrow .said{font-weight:600}"
    ".narrow .spread{fill:none;stroke:#24292f;stroke-width:1.5}"
    f"{_coloured(0)}@media(prefers-color-scheme:dark){{.narrow .spread{{stroke:#d8dee4}}{_coloured(1)}}}"
)


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


def count_axis(numbers: Sequence[int]) -> Axis:
    """A logarithmic axis over numbers of ranks or nodes, with a tick at each, or at some of many."""
    low, high = min(numbers), max(numbers)
    every = numbers[:: max(1, -(-len(numbers) // 9))]
    return Axis(low, high if high > low else 2 * low, [(number, str(number)) for number in every], logarithmic=True)


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


def x_of(axis: Axis, value: float) -> float:
    """Where a value lies from left to right in a frame()."""
    return LEFT + axis.fraction(value) * (WIDTH - LEFT - RIGHT)


def y_of(axis: Axis, value: float) -> float:
    """The same from top to bottom."""
    return HEIGHT - BOTTOM - axis.fraction(value) * (HEIGHT - TOP - BOTTOM)


def _label(at: float, below: int, label: str) -> str:
    """A label of the x axis, in the middle of its tick; at the right end where it would be cut."""
    if at + LETTER * len(label) / 2 > WIDTH:
        return f'<text x="{WIDTH - 1}" y="{below}" text-anchor="end">{escape(label)}</text>'
    return f'<text x="{at:.1f}" y="{below}" text-anchor="middle">{escape(label)}</text>'


def frame(title: str, x: Axis, y: Axis, parts: list[str], legend: list[tuple[str, str]]) -> str:
    """The chart around `parts`: grid, labels, title, and a legend below that wraps."""
    lines = [f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>']
    for value, label in y.ticks:
        height = y_of(y, value)
        lines.append(f'<path class="grid" d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    for value, label in x.ticks:
        at = x_of(x, value)
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
    return head(title, max(HEIGHT, row + 10)) + "".join(lines) + "</svg>"


def head(title: str, height: float) -> str:
    """The begin of a chart."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">'
    )


def narrow_head(title: str, height: float) -> str:
    """The same of a narrow chart, with its title."""
    svg = head(title, height).replace(f"0 0 {WIDTH}", f"0 0 {NARROW}").replace('"chart"', '"chart narrow"')
    return f'{svg}<text class="title" x="0" y="13">{escape(title)}</text>'


def labels(names: Sequence[tuple[float, str]], y: float) -> str:
    """Names below the places that they are of, on one line of a narrow chart, as many as there is room for."""
    every = step_of(names)
    return "".join(
        f'<text x="{(begin + end) / 2:.1f}" y="{y:.1f}" text-anchor="middle">{escape(name)}</text>'
        for (begin, end), (_, name) in zip(_boxes(names[::every]), names[::every], strict=True)
    )


def step_of(names: Sequence[tuple[float, str]]) -> int:
    """Which of them labels() writes: each, or every second one and so on."""
    return next((step for step in range(1, len(names)) if _fit(_boxes(names[::step]))), max(1, len(names)))


def _boxes(names: Sequence[tuple[float, str]]) -> list[tuple[float, float]]:
    """From where to where they are written."""
    widths = [NARROW_LETTER * len(name) for _, name in names]
    begins = [min(max(at - width / 2, 0), NARROW - width) for (at, _), width in zip(names, widths, strict=True)]
    return [(begin, begin + width) for begin, width in zip(begins, widths, strict=True)]


def _fit(boxes: Sequence[tuple[float, float]]) -> bool:
    return all(end + NARROW_LETTER <= begin for (_, end), (begin, _) in pairwise(boxes))


def legend(entries: Sequence[tuple[str, str]], x: float, y: float) -> str:
    """Squares of these kinds (classes of the style), each with its name, on one line of a narrow chart."""
    written = []
    for kind, name in entries:
        written.append(f'<rect class="{kind}" x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" rx="2"/>')
        written.append(f'<text x="{x + 15:.1f}" y="{y:.1f}">{escape(name)}</text>')
        x += 30 + NARROW_LETTER * len(name)
    return "".join(written)


def standalone(svg: str) -> str:
    """A chart as a file of its own: with its style inside."""
    begin, rest = svg.split(">", 1)
    narrow = NARROW_STYLE if "narrow" in begin else ""
    return f"{begin}><style>{STYLE}{narrow}</style>{rest}\n"
