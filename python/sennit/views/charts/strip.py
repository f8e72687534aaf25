"""A whole as one strip, divided into its parts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sennit.views.charts.bars import Bar

LENGTH, HEIGHT = 1000, 28


def strip(title: str, parts: Sequence[Bar]) -> str:
    """It has no text, so a page may make it as wide as it likes."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="strip" viewBox="0 0 {LENGTH} {HEIGHT}" '
        f'preserveAspectRatio="none" role="img" aria-label="{escape(title)}">'
    ]
    at = 0.0
    for part in parts:
        width = part.part * LENGTH
        lines.append(
            f'<rect class="{part.kind}" x="{at:.1f}" y="0" width="{max(0, width - 2):.1f}" height="{HEIGHT}">'
            f"<title>{escape(f'{part.name}: {part.said}')}</title></rect>"
        )
        at += width
    return "".join(lines) + "</svg>"
