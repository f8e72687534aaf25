"""A page of HTML: self-contained, without scripts, for any browser, online or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from html import escape

from sennit.views.charts.frame import NARROW_STYLE
from sennit.views.charts.frame import STYLE as STYLE_OF_CHARTS

# What a page may load, whatever a document names: nothing but its own style.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

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
    "th:last-child,td:last-child,.left{text-align:left}.faster{color:var(--good)}.slower{color:var(--bad);font-weight:600}"
    ".warning{border-left:3px solid var(--warn);padding-left:.8rem}dt{float:left;clear:left;width:11rem;"
    "color:var(--soft)}dd{margin-left:11.5rem}:focus-visible{outline:2px solid #2a6fbb;outline-offset:2px}"
    # Of profiles.
    ".report{max-width:1120px;margin:0 auto;line-height:1.55}.report header{margin:2.5rem 0 2rem}"
    ".report .of{color:var(--soft);margin:0 0 .6rem;overflow-wrap:anywhere}"
    ".report h1{font-size:clamp(1.35rem,3.4vw,1.9rem);line-height:1.25;"
    "font-weight:650;text-wrap:balance;max-width:46rem}.report h2{font-size:1.15rem;margin:0 0 .4rem}"
    ".report section{margin:3.2rem 0}.report section>p{max-width:44rem;margin:.4rem 0}"
    ".strip{display:block;width:100%;height:22px;border-radius:4px}.key{display:flex;flex-wrap:wrap;"
    "gap:.3rem 1.6rem;list-style:none;padding:0;margin:.8rem 0 0}.key svg{width:.7rem;"
    "height:.7rem;margin-right:.5rem}.key strong{font-weight:600;margin-left:.4rem}"
    ".pair{display:grid;gap:1rem 3rem;grid-template-columns:minmax(0,1fr);align-items:start;margin-top:1rem}"
    ".drawing{margin:1rem 0}.drawing svg{display:block;width:100%;height:auto;max-width:46rem}"
    "figure{margin:0}figure+figure{margin-top:1.8rem}.pair figure svg{display:block;width:100%;max-width:440px}"
    "@media(min-width:900px){.pair{grid-template-columns:minmax(0,400px) minmax(0,1fr)}}"
    ".tall{max-height:34rem;overflow:auto;content-visibility:auto;contain-intrinsic-size:auto 34rem}"
    ".report table{margin:.1rem 0;font-size:.87rem;min-width:100%}"
    ".report thead th{font-weight:500;color:var(--soft);vertical-align:bottom;white-space:normal}"
    ".report th,.report td{padding:.28rem .55rem}.report thead th{line-height:1.3}"
    ".report th:first-child,.report td:first-child{padding-left:0}"
    ".report th:last-child:not(.left),.report td:last-child:not(.left){text-align:right;padding-right:.2rem}"
    "ol.advice{list-style:none;padding:0;margin:1rem 0 0;max-width:50rem}.advice li{display:grid;"
    "grid-template-columns:4.2rem 1fr;padding:.9rem 0;border-top:1px solid var(--rule)}"
    ".advice .share{font-size:1.15rem;font-weight:650;font-variant-numeric:tabular-nums}.advice p{margin:0 0 .25rem}"
    ".advice p:first-child{font-weight:550}"
    ".advice .seen{color:var(--soft)}"
    "@media print{.tall{max-height:none}.report section{break-inside:avoid}}"
)


def page(title: str, body: list[str]) -> str:
    """A whole page of these parts, in the style that all pages have."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{STYLE_OF_CHARTS}{NARROW_STYLE}</style>\n"
        + "\n".join(body)
        + "\n</html>\n"
    )


def html_table(
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    verdict: Callable[[int, str], str] = lambda *_: "",
    left: Collection[str] = (),
    name: str = "Table",
    tall: bool = False,
) -> str:
    """A table of numbers, and in the last column and those of `left` names. `verdict`: of the cell of a line under a
    heading. `name`: for people who hear the page. A `tall` one scrolls by itself."""
    of_names = [' class="left"' if heading in left else "" for heading in headings]
    head = "".join(f"<th{kind}>{escape(heading)}</th>" for kind, heading in zip(of_names, headings, strict=True))
    body = []
    for number, line in enumerate(lines):
        marks = [
            f' class="{said}" title="{said}"' if (said := verdict(number, each)) else kind
            for kind, each in zip(of_names, headings, strict=True)
        ]
        cells = (f"<td{mark}>{escape(cell)}</td>" for mark, cell in zip(marks, line, strict=True))
        body.append(f"<tr>{''.join(cells)}</tr>")
    # Its own stop for the Tab key, so that the arrows move what does not fit.
    return (
        f'<div class="scroll{" tall" if tall else ""}" tabindex="0" role="region" aria-label="{escape(name)}"><table>'
        f"<thead><tr>{head}</tr></thead>{''.join(body)}</table></div>"
    )


def facts(items: dict[str, str]) -> str:
    """Names and what they are, of those that are anything."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items.items() if value)
    return f"<dl>{lines}</dl>"
