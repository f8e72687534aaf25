"""Charts below each other, as one picture."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sennit.views.charts.frame import head


def stacked(charts: Sequence[str]) -> str:
    """One chart of several, in their order; of one, itself."""
    if len(charts) == 1:
        return charts[0]
    parts, top = [], 0
    for chart in charts:
        size = re.search(r'viewBox="0 0 (\d+) (\d+)"', chart)
        assert size, "frame.head() writes it"
        body = chart.split(">", 1)[1].removesuffix("</svg>")
        parts.append(f'<g transform="translate(0 {top})">{body}</g>')
        top += int(size[2])
    return head("charts below each other", top) + "".join(parts) + "</svg>"
