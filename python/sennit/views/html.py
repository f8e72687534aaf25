"""A result as one page: self-contained, without scripts, for any browser, online or not."""

from __future__ import annotations

from html import escape

from sennit.compare.comparison import Comparison, comparisons
from sennit.compare.verdicts import verdicts
from sennit.model.result import Result
from sennit.views import chart, result_charts
from sennit.views.columns import table
from sennit.views.origin import origin, repetitions

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


def html(result: Result) -> str:
    """The page."""
    title = f"sennit {result.kind}: {result.machine.name}"
    body = [f"<h1>{escape(title)}</h1>", f'<p class="origin">{escape(f"{origin(result)} {repetitions(result)}")}</p>']
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in result.warnings]
    for index, comparison in enumerate(comparisons(result)):
        # Many pairs make a long page: the first few are open, the others one click away.
        body.append(_case(comparison, opened=index < 4))
    body.append(_settings(result))
    return page(title, body)


def page(title: str, body: list[str]) -> str:
    """A whole page of these parts, in the style that all pages have."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{chart.STYLE}</style>\n" + "\n".join(body) + "\n</html>\n"
    )


def _case(comparison: Comparison, *, opened: bool) -> str:
    drawn = [
        picture
        for draw in (result_charts.bandwidth, result_charts.against_engine, result_charts.split)
        if (picture := draw(comparison))
    ]
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in verdicts(comparison))
    return (
        f"<details{' open' if opened else ''}><summary>{escape(comparison.case.title)}</summary>"
        f'<ul>{sentences}</ul><div class="charts">{"".join(drawn)}</div>'
        f'<div class="scroll">{_table(comparison)}</div></details>'
    )


def head_row(headings: list[str]) -> str:
    """The beginning of a table."""
    return "<table><thead><tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "</tr></thead>"


def plain_table(headings: list[str], rows: list[list[str]]) -> str:
    """A table of nothing but text: numbers, and in the last column names."""
    lines = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>" for cells in rows]
    return f'<div class="scroll">{head_row(headings)}{"".join(lines)}</table></div>'


def facts(items: dict[str, str]) -> str:
    """Names and what they are, of those that are anything."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items.items() if value)
    return f"<dl>{lines}</dl>"


def _table(comparison: Comparison) -> str:
    headings, rows = table(comparison)
    lines = [head_row(headings)]
    for size, cells in zip(comparison.sizes, rows, strict=True):
        line = []
        for heading, cell in zip(headings, cells, strict=True):
            ratio = comparison.ratio(size, heading[2:]) if heading.startswith("× ") else None
            mark = f' class="{ratio.verdict}" title="{ratio.verdict}"' if ratio else ""
            line.append(f"<td{mark}>{escape(cell)}</td>")
        lines.append(f"<tr>{''.join(line)}</tr>")
    return "".join(lines) + "</table>"


def _settings(result: Result) -> str:
    items = {name.replace("_", " "): str(value) for name, value in result.settings.items()}
    items |= {"machine fingerprint": result.machine.fingerprint, "date": result.date}
    return (
        f"<details><summary>How it was measured</summary>{facts(items)}"
        "<p>GB/s are 10<sup>9</sup> bytes/s, MiB are 2<sup>20</sup> bytes. “Of links” is the share of what the links "
        "allow all paths together, without any overhead. “× engine” is how many times as fast sennit is as the copy "
        "engine alone, measured in the same run; green and red are beyond the noise (two spreads).</p></details>"
    )
