"""Rows over time, one a process: shaded by a value, or divided into parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from sennit.views.charts.frame import NARROW, labels, legend, linear_axis, narrow_head
from sennit.views.charts.heat import LINE, opacity, shade

LEFT, TOP = 34, 24
LARGEST, LEAST = 22.0, 5.0  # heights of a row
WANTED = 160.0  # of all rows
MOST_ROWS = 64
ENTRIES = 3  # of a legend, on one line


@dataclass(frozen=True)
class Row:
    """`bins`: by kind; of a shaded row, of one kind. `said`: of the whole row. `known`: bins, if not all."""

    name: str
    said: str
    bins: Mapping[str, Sequence[float]]
    known: range | None = None


def shaded_rows(title: str, rows: Sequence[Row], seconds: float) -> str:
    """The darker, the more. `seconds`: of all bins together."""
    most = max((value for row in rows for bins in row.bins.values() for value in bins), default=0.0)

    def drawn(row: Row, top: float, height: float, width: float) -> str:
        (bins,) = row.bins.values()
        paths: dict[int, str] = {}
        begin = 0
        for end in range(1, len(bins) + 1):
            if end < len(bins) and _shade(bins[end], most) == _shade(bins[begin], most):
                continue
            if number := _shade(bins[begin], most):
                length = (end - begin) * width
                path = f"M{LEFT + begin * width:.1f} {top:.1f}h{length:.1f}v{height:.1f}h-{length:.1f}z"
                paths[number] = paths.get(number, "") + path
            begin = end
        return "".join(
            f'<path class="heat" fill-opacity="{opacity(number)}" d="{path}"/>' for number, path in paths.items()
        )

    return _rows(title, rows, seconds, drawn, {}, f"the darkest: {most:.3g}" if most > 0 else "")


def _shade(value: float, most: float) -> int:
    return shade(value, most) if value > 0 else 0


def divided_rows(title: str, rows: Sequence[Row], seconds: float, kinds: Mapping[str, str]) -> str:
    """Parts of 1 above each other, the first of `kinds` (classes of the style, with their names) at the bottom."""

    def drawn(row: Row, top: float, height: float, width: float) -> str:
        paths = []
        count = max(map(len, row.bins.values()), default=0)
        below = [0.0] * count
        for kind in kinds:
            if kind not in row.bins:
                continue
            above = [min(1.0, low + part) for low, part in zip(below, row.bins[kind], strict=True)]
            path = "".join(
                f"M{LEFT + place * width:.1f} {top + height * (1 - high):.1f}h{width:.1f}"
                f"v{height * (high - low):.1f}h-{width:.1f}z"
                for place, (low, high) in enumerate(zip(below, above, strict=True))
                if height * (high - low) >= 0.05 and (row.known is None or place in row.known)
            )
            paths.append(f'<path class="{kind}" d="{path}"/>' if path else "")
            below = above
        return "".join(paths)

    return _rows(title, rows, seconds, drawn, kinds)


def _rows(
    title: str,
    rows: Sequence[Row],
    seconds: float,
    drawn: Callable[[Row, float, float, float], str],
    kinds: Mapping[str, str],
    note: str = "",
) -> str:
    """`drawn`: a row's bins, by its top, its height and the width of a bin. `note`: below."""
    row_height = min(LARGEST, max(LEAST, WANTED / max(1, len(rows))))
    gap = 2.0 if row_height > 8 else 0.6
    bottom = TOP + row_height * len(rows)
    there = [(kind, name) for kind, name in kinds.items() if any(kind in row.bins for row in rows)]
    lines_of_legend = [there[first : first + ENTRIES] for first in range(0, len(there), ENTRIES)]
    height = bottom + 24 + 18 * (len(lines_of_legend) + bool(note))
    lines = [narrow_head(title, height)]
    count = max((len(bins) for row in rows for bins in row.bins.values()), default=1)
    width = (NARROW - LEFT) / count
    every = max(1, -int(-LINE // row_height))
    for number, row in enumerate(rows):
        top = TOP + number * row_height
        known = row.known if row.known is not None else range(count)
        if number % every == 0:
            lines.append(
                f'<text x="{LEFT - 6}" y="{top + row_height / 2 + 4:.1f}" text-anchor="end">{escape(row.name)}</text>'
            )
        lines.append(
            f"<g><title>{escape(f'rank {row.name}: {row.said}')}</title>"
            f'<rect class="track" x="{LEFT + known.start * width:.1f}" y="{top:.1f}" '
            f'width="{len(known) * width:.1f}" height="{row_height - gap:.1f}"/>'
            f"{drawn(row, top, row_height - gap, width)}</g>"
        )
    if seconds > 0:
        ticks = [(value, label) for value, label in linear_axis(0, seconds, " s").ticks if value <= seconds]
        places = [(LEFT + value / seconds * (NARROW - LEFT), label) for value, label in ticks]
        lines.append(labels(places, bottom + 14))
    for number, entries in enumerate(lines_of_legend):
        lines.append(legend(entries, LEFT, bottom + 36 + 18 * number))
    if note:
        lines.append(f'<text x="{LEFT}" y="{bottom + 36:.1f}">{escape(note)}</text>')
    return "".join(lines) + "</svg>"
