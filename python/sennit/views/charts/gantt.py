"""Bars over time, a row each: what each part of something does when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sennit.views.charts.frame import COLOURS, LEFT, LETTER, RIGHT, WIDTH, head, linear_axis

TOP = 54  # the title, and the names of marks below it
LARGEST, LEAST = 18.0, 4.0  # heights of a row
WANTED = 320.0  # of all rows
LINE = 13.0  # from a name to the next one below, at least
BELOW = 58.0  # ticks and the legend
THINNEST = 0.8  # of a bar, so that one is seen


@dataclass(frozen=True)
class Bar:
    """From where to where, and the place of its kind in the legend."""

    begin: float
    end: float
    kind: int


@dataclass(frozen=True)
class Row:
    """`said`: when the pointer rests on it."""

    name: str
    said: str
    bars: Sequence[Bar]


def gantt_chart(
    title: str, rows: Sequence[Row], kinds: Sequence[str], marks: Sequence[tuple[float, str]], unit: str
) -> str:
    """`marks`: times with their names, drawn across all rows."""
    ends = [bar.end for row in rows for bar in row.bars] + [at for at, _ in marks]
    axis = linear_axis(0, max(ends, default=1.0), f" {unit}")
    height = min(LARGEST, max(LEAST, WANTED / max(1, len(rows))))
    bottom = TOP + height * len(rows)
    lines = [head(title, bottom + BELOW), f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>']

    def x_of(value: float) -> float:
        return LEFT + axis.fraction(value) * (WIDTH - LEFT - RIGHT)

    for value, label in axis.ticks:
        lines.append(f'<path class="grid" d="M{x_of(value):.1f} {TOP}V{bottom:.1f}"/>')
        anchor = "end" if x_of(value) + LETTER * len(label) / 2 > WIDTH else "middle"
        lines.append(
            f'<text x="{x_of(value):.1f}" y="{bottom + 15:.1f}" text-anchor="{anchor}">{escape(label)}</text>'
        )
    every = max(1, -int(-LINE // height))
    for number, row in enumerate(rows):
        top = TOP + number * height
        if number % every == 0:
            lines.append(f'<text x="{LEFT - 8}" y="{top + height / 2 + 4:.1f}" text-anchor="end">'
                         f"{escape(row.name)}</text>")  # fmt: skip
        bars = "".join(
            f'<rect fill="{COLOURS[bar.kind]}" x="{x_of(bar.begin):.1f}" y="{top + 0.5:.1f}" '
            f'width="{max(THINNEST, x_of(bar.end) - x_of(bar.begin)):.1f}" height="{height - 1:.1f}"/>'
            for bar in row.bars
        )
        lines.append(f"<g><title>{escape(f'{row.name}: {row.said}')}</title>{bars}</g>")
    for when, name in marks:
        lines.append(f'<path class="limit" d="M{x_of(when):.1f} {TOP - 4}V{bottom:.1f}"/>')
        anchor = "end" if x_of(when) > WIDTH / 2 else "start"
        lines.append(f'<text x="{x_of(when):.1f}" y="{TOP - 6}" text-anchor="{anchor}">{escape(name)}</text>')
    x = float(LEFT)
    for kind, name in enumerate(kinds):
        lines.append(
            f'<rect fill="{COLOURS[kind]}" x="{x:.1f}" y="{bottom + 31:.1f}" width="12" height="10" rx="2"/>'
        )
        lines.append(f'<text x="{x + 17:.1f}" y="{bottom + 40:.1f}">{escape(name)}</text>')
        x += 30 + LETTER * len(name)
    return "".join(lines) + "</svg>"
