"""A page of HTML: self-contained, without scripts, for any browser, online or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from sennit.views import chart

STYLE = (
    ":root{color-scheme:light dark;--ink:#24292f;--soft:#57606a;--page:#fff;--rule:#d0d7de;--good:#1a7f37;"
    "--bad:#cf222e;--warn:#9a6700}"
    "@media(prefers-color-scheme:dark){:root{--ink:#d8dee4;--soft:#9aa4ae;--page:#14181d;--rule:#3a424b;"
    "--good:#4ac26b;--bad:#ff7b72;--warn:#d4a72c}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1280px;"
    "margin:2rem auto;padding:0 1.2rem}h1{font-size:1.5rem;margin:0}p.origin{color:var(--soft)}"
    "summary{font-size:1.15rem;font-weight:600;cursor:pointer;padding:.5rem 0}"
    "details{border-top:1px solid var(--rule);padding:.3rem 0 1rem}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:1rem}"
    ".charts svg{width:100%}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.8rem 0}"
    "th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}"
    "th:last-child,td:last-child{text-align:left}.faster{color:var(--good)}.slower{color:var(--bad);font-weight:600}"
    ".warning{border-left:3px solid var(--warn);padding-left:.8rem}dt{float:left;clear:left;width:11rem;"
    "color:var(--soft)}dd{margin-left:11.5rem}"
)


def page(title: str, body: list[str]) -> str:
    """A whole page of these parts, in the style that all pages have."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{chart.STYLE}</style>\n" + "\n".join(body) + "\n</html>\n"
    )


def html_table(
    headings: Sequence[str], lines: Sequence[Sequence[str]], verdict: Callable[[int, str], str] = lambda *_: ""
) -> str:
    """A table of numbers, and in the last column names. `verdict`: of the cell of a line under a heading."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = []
    for number, line in enumerate(lines):
        marks = [f' class="{said}" title="{said}"' if (said := verdict(number, each)) else "" for each in headings]
        cells = (f"<td{mark}>{escape(cell)}</td>" for mark, cell in zip(marks, line, strict=True))
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{"".join(body)}</table></div>'


def facts(items: dict[str, str]) -> str:
    """Names and what they are, of those that are anything."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items.items() if value)
    return f"<dl>{lines}</dl>"
