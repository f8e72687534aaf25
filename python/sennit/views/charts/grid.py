"""A grid of ratios: one colour below 1, another one above, and a line where they meet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from sennit.views.charts.frame import COLOURS, NARROW, NARROW_LETTER, narrow_head

LEFT, TOP = 44, 40
HEIGHT = 26.0  # of a cell
WIDEST = 56.0
LESS, MORE = COLOURS[0], COLOURS[1]
STRONGEST = 3.0  # doublings, or halvings, from which on colours are alike


def opacity(ratio: float) -> float:
    """How strong a colour is: the further from 1, by factors, the stronger."""
    return 0.08 + 0.72 * min(1.0, abs(math.log2(ratio)) / STRONGEST)


def ratio_grid(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Mapping[tuple[int, int], tuple[float, str]]
) -> str:
    """`values`: by the places of row and column, a ratio above 0 and what is said of it."""
    width = min(WIDEST, (NARROW - LEFT) / max(1, len(columns)))
    bottom = TOP + HEIGHT * len(rows)
    lines = [narrow_head(title, bottom + 26)]
    for place, name in enumerate(columns):
        short = name if NARROW_LETTER * len(name) <= width else name.replace(" ", "").replace("iB", "")
        lines.append(f'<text x="{LEFT + (place + 0.5) * width:.1f}" y="{TOP - 6}" text-anchor="middle">'
                     f"{escape(short)}</text>")  # fmt: skip
    for place, name in enumerate(rows):
        lines.append(f'<text x="{LEFT - 6}" y="{TOP + (place + 0.5) * HEIGHT + 4:.1f}" text-anchor="end">'
                     f"{escape(name)}</text>")  # fmt: skip
    for (row, column), (ratio, said) in values.items():
        x, y = LEFT + column * width, TOP + row * HEIGHT
        colour = LESS if ratio < 1 else MORE
        lines.append(
            f'<g><title>{escape(said)}</title><rect fill="{colour}" fill-opacity="{opacity(ratio):.2f}" x="{x:.1f}" '
            f'y="{y:.1f}" width="{width - 1:.1f}" height="{HEIGHT - 1:.1f}"/><text x="{x + width / 2:.1f}" '
            f'y="{y + HEIGHT / 2 + 4:.1f}" text-anchor="middle">{_short(ratio)}</text></g>'
        )
    if path := _contour(values, width):
        lines.append(f'<path class="spread" d="{path}"/>')
    lines.append(f'<rect fill="{LESS}" x="{LEFT}" y="{bottom + 10:.1f}" width="10" height="10" rx="2"/>'
                 f'<text x="{LEFT + 15}" y="{bottom + 19:.1f}">below 1</text>'
                 f'<rect fill="{MORE}" x="{LEFT + 80}" y="{bottom + 10:.1f}" width="10" height="10" rx="2"/>'
                 f'<text x="{LEFT + 95}" y="{bottom + 19:.1f}">above</text>')  # fmt: skip
    return "".join(lines) + "</svg>"


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _contour(values: Mapping[tuple[int, int], tuple[float, str]], width: float) -> str:
    """The edges between a cell below 1 and one that is not."""
    path = []
    for (row, column), (ratio, _) in values.items():
        x, y = LEFT + column * width, TOP + row * HEIGHT
        for place, edge in (
            ((row, column + 1), f"M{x + width - 0.5:.1f} {y - 0.5:.1f}v{HEIGHT:.1f}"),
            ((row + 1, column), f"M{x - 0.5:.1f} {y + HEIGHT - 0.5:.1f}h{width:.1f}"),
        ):
            if place in values and (values[place][0] < 1) != (ratio < 1):
                path.append(edge)
    return "".join(path)
