"""A map of ranks to GPUs as one page, in the style of the other pages: self-contained, without scripts."""

from __future__ import annotations

from html import escape

from sennit.model.machine import Machine
from sennit.model.map import RankMap
from sennit.views.map_svg import before_and_after, matrices
from sennit.views.map_text import HEADINGS, lines, sentences, title
from sennit.views.page import html_table, page

# Wider than a screen, so the keyboard must reach it too.
SCROLLED = '<div class="scroll" tabindex="0" role="region" aria-label="Before and after">{}</div>'


def map_html(found: RankMap, machine: Machine) -> str:
    """The page."""
    name = f"sennit map: {title(found)}"
    columns = [*HEADINGS[1:], HEADINGS[0]]  # the last column is of words
    rows = [[*line[1:], line[0]] for line in lines(found)]
    said = "".join(f"<p>{escape(each)}</p>" for each in sentences(found))
    body = [
        f"<h1>{escape(name)}</h1>",
        '<p class="origin">Simulated, not measured: an exchange over the figures of the machine’s links.</p>',
        _section("What each map costs", html_table(columns, rows) + said),
        _section("Before and after", SCROLLED.format(before_and_after(found, machine))),
    ]
    if charts := matrices(found):
        body.append(_section("Who sends to whom", f'<div class="charts">{"".join(charts)}</div>'))
    return page(name, body)


def _section(heading: str, content: str) -> str:
    return f"<details open><summary>{escape(heading)}</summary>{content}</details>"
