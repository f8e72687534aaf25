"""Bars from left to right: parts of a whole, each with its name and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sennit.views.charts.frame import COLOURS, LEFT, NARROW, RIGHT, TOP, WIDTH, head, narrow_head

BAR, LONGEST = 20, 32  # from a bar to the next one; letters of a bar's name that are shown
# The same of a narrow chart, where a name stands above its bar.
NARROW_BAR, NARROW_LONGEST = 34, 40


@dataclass(frozen=True)
class Bar:
    """A part of a whole, from 0 to 1, and what is written behind it. `kind`: of memory, which gives the colour of a
    narrow chart."""

    name: str
    part: float
    said: str
    kind: str = ""


def bar_chart(title: str, bars: Sequence[Bar], marked: float | None = None) -> str:
    """Bars from left to right, one below the other, with their names before them; a line at a marked part."""
    names = [bar.name if len(bar.name) <= LONGEST else f"{bar.name[: LONGEST - 1]}…" for bar in bars]
    left = 14 + 7.6 * max(map(len, names), default=0)
    right = WIDTH - RIGHT - 46  # room for what is written behind the longest
    height = TOP + BAR * len(bars) + 8
    lines = [head(title, height), f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>']
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


@dataclass(frozen=True)
class Spread:
    """A bar, and from where to where its value goes."""

    bar: Bar
    low: float
    high: float


def spread_bar_chart(title: str, spreads: Sequence[Spread]) -> str:
    """A narrow chart whose bars have their spreads on them, as long as their values are of a whole."""
    marks = [
        f'<path class="spread" d="M{_at(one.low):.1f} {_top(index) + 20}H{_at(one.high):.1f}'
        f'M{_at(one.low):.1f} {_top(index) + 17}v6M{_at(one.high):.1f} {_top(index) + 17}v6"/>'
        for index, one in enumerate(spreads)
    ]
    return narrow_bar_chart(title, [one.bar for one in spreads], marks)


def _top(index: int) -> int:
    return TOP - 6 + NARROW_BAR * index


def _at(part: float) -> float:
    return min(1.0, max(0.0, part)) * NARROW


def narrow_bar_chart(title: str, bars: Sequence[Bar], marks: Sequence[str] = ()) -> str:
    """The same for any screen: a whole takes its width. `marks`: drawn above the bars."""
    height = TOP - 8 + NARROW_BAR * len(bars)
    lines = [narrow_head(title, height)]
    for index, bar in enumerate(bars):
        top = _top(index)
        name = bar.name if len(bar.name) <= NARROW_LONGEST else f"{bar.name[: NARROW_LONGEST - 1]}…"
        lines.append(f'<text x="0" y="{top + 11}">{escape(name)}</text>')
        lines.append(
            f'<text class="said" x="{NARROW - 1}" y="{top + 11}" text-anchor="end">{escape(bar.said)}</text>'
        )
        lines.append(f'<rect class="track" x="0" y="{top + 16}" width="{NARROW}" height="8" rx="2"/>')
        lines.append(
            f'<rect class="{bar.kind}" x="0" y="{top + 16}" width="{_at(bar.part):.1f}" height="8" rx="2">'
            f"<title>{escape(f'{bar.name}: {bar.said}')}</title></rect>"
        )
    return "".join([*lines, *marks]) + "</svg>"
