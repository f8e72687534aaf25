"""A heat map: what each of several gave each other one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from sennit.views.charts.frame import NARROW, NARROW_LETTER, labels, narrow_head, step_of

LEFT, TOP = 34, 46
LARGEST = 36  # of a square
LINE = 13  # from a name to the next one below, at least
SHADES = 5  # each of the values down to a quarter of the one before, the last of all below


def shade(value: float, most: float) -> int:
    """From 1, of the least, to SHADES, of the most."""
    steps = math.floor(math.log(most / value, 4) + 1e-9) if value > 0 else SHADES
    return max(1, SHADES - steps)


def heat_chart(
    title: str, names: Sequence[str], values: Mapping[tuple[int, int], tuple[float, str]], rules: Sequence[int] = ()
) -> str:
    """A row gives, a column gets; `values`: by both places, and what is said of each. `rules`: places before which a
    line is drawn."""
    size = min(float(LARGEST), (NARROW - LEFT) / max(1, len(names)))
    end = size * len(names)
    most = max((value for value, _ in values.values()), default=0)
    height = TOP + end + 34
    lines = [
        narrow_head(title, height),
        f'<rect class="track" x="{LEFT}" y="{TOP}" width="{end:.1f}" height="{end:.1f}"/>',
    ]
    middles = [(place + 0.5) * size for place in range(len(names))]
    across = [(LEFT + at, name) for at, name in zip(middles, names, strict=True)]
    lines.append(labels(across, TOP - 6))
    every = max(step_of(across), math.ceil(LINE / size) if names else 1)
    for at, name in list(zip(middles, names, strict=True))[::every]:
        lines.append(f'<text x="{LEFT - 6}" y="{TOP + at + 4:.1f}" text-anchor="end">{escape(name)}</text>')
    gap = 1 if size > 8 else 0
    for (row, column), (value, said) in values.items():
        lines.append(
            f'<rect class="heat" fill-opacity="{opacity(shade(value, most))}" x="{LEFT + column * size:.1f}" '
            f'y="{TOP + row * size:.1f}" width="{size - gap:.1f}" height="{size - gap:.1f}">'
            f"<title>{escape(f'{names[row]} → {names[column]}: {said}')}</title></rect>"
        )
    for rule in rules:
        at = rule * size
        lines.append(f'<path class="axis" d="M{LEFT} {TOP + at:.1f}h{end:.1f}M{LEFT + at:.1f} {TOP}v{end:.1f}"/>')
    x, y = float(LEFT), TOP + end + 24
    for number in range(SHADES, 0, -1):
        seen = f'class="heat" fill-opacity="{opacity(number)}"'
        lines.append(f'<rect {seen} x="{x:.1f}" y="{y - 9:.1f}" width="16" height="10"/>')
        x += 16
    # The least shade reaches down to nothing.
    said = f"the most, down to less than 1/{4 ** (SHADES - 1)} of it" if values else "none"
    lines.append(f'<text x="{x + NARROW_LETTER:.1f}" y="{y:.1f}">{said}</text>')
    return "".join(lines) + "</svg>"


def opacity(number: int) -> str:
    """Of a shade."""
    return f"{0.15 + 0.85 * (number - 1) / (SHADES - 1):.2f}"
