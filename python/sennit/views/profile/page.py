"""A profile as a page of HTML, and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import PurePath

from sennit.advice.advice import Advice
from sennit.model.machine import Machine
from sennit.model.profile import Profile
from sennit.units import percent
from sennit.views.charts.strip import strip
from sennit.views.page import html_table, page
from sennit.views.profile.part import Part
from sennit.views.profile.sections import parts, run_time
from sennit.views.profile_text import headline, run, warnings
from sennit.views.sections import table_markdown
from sennit.views.text_table import Table

MOST_LINES = 24  # of a table as Markdown
MOST_SHOWN = 16  # of one on the page that does not scroll by itself
NO_ADVICE = "Nothing was found that would be worth 2 % of run time."
HOW = (
    "Of run time: from the end of MPI_Init, or the first call of NCCL, to MPI_Finalize or the process’s end, in the "
    "mean over processes. Sizes are of what one rank has for another, or of what is reduced; a receive’s is what was "
    "posted. MiB are 2<sup>20</sup> bytes. docs/use/report.md says more."
)


def programs(profile: Profile) -> str:
    """The names of what ran."""
    names = dict.fromkeys(PurePath(rank.program).name for rank in profile.ranks if rank.program)
    return ", ".join(names) or "a program"


def profile_html(profile: Profile, advice: Sequence[Advice], machine: Machine | None = None) -> str:
    """The page. Its first sentence says what took the time."""
    title = f"sennit report: {programs(profile)}"
    said = escape(headline(profile)).replace(" %", "&nbsp;%")
    body = [
        f'<main class="report"><header><p class="of">{escape(title)}</p><h1>{said}</h1>'
        f'<p class="origin">{escape(run(profile))}</p></header>'
    ]
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in warnings(profile)]
    body += [_run_time(profile), _advice(advice), *map(_part, parts(profile, machine))]
    body.append(f"<details><summary>How to read this page</summary><p>{HOW}</p></details></main>")
    return page(title, body)


def _run_time(profile: Profile) -> str:
    bars = run_time(profile)
    key = "".join(
        '<li><svg viewBox="0 0 10 10" aria-hidden="true">'
        f'<rect class="{bar.kind}" width="10" height="10" rx="2"/></svg>'
        f"{escape(bar.name)} <strong>{escape(bar.said)}</strong></li>"
        for bar in bars
    )
    picture = strip("Run time by kind of memory", bars)
    return f'<section aria-label="Run time"><figure>{picture}</figure><ul class="key">{key}</ul></section>'


def _advice(advice: Sequence[Advice]) -> str:
    lines = "".join(
        f'<li><span class="share">{percent(one.share)}</span><div><p>{escape(one.what)}</p>'
        f'<p class="seen">{escape(one.evidence)}</p><p>{escape(one.remedy)}</p></div></li>'
        for one in advice
    )
    said = f'<ol class="advice">{lines}</ol>' if advice else f"<p>{NO_ADVICE}</p>"
    return f"<section><h2>What to do about it</h2>{said}</section>"


def _part(part: Part) -> str:
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in part.sentences)
    figures = "".join(f"<figure>{svg}</figure>" for svg in part.pictures.values())
    one = part.table
    table = html_table(
        one.headings, one.lines, left=one.left, name=f"Table: {part.title}", tall=len(one.lines) > MOST_SHOWN
    )
    drawn = f'<div class="pair"><div>{figures}</div>{table}</div>' if figures else table
    wide = "".join(f'<div class="drawing">{svg}</div>' for svg in part.drawings.values())
    return f"<section><h2>{escape(part.title)}</h2>{sentences}{wide}{drawn}</section>"


def profile_markdown(profile: Profile, advice: Sequence[Advice], machine: Machine | None = None) -> str:
    """The same for an issue, without pictures."""
    return f"## sennit report: {programs(profile)}\n\n{report_markdown(profile, advice, machine)}"


def report_markdown(
    profile: Profile,
    advice: Sequence[Advice],
    machine: Machine | None = None,
    picture: Callable[[str], str] | None = None,
) -> str:
    """Writes the same without a heading. `picture`: writes one by its name."""
    said = [f"**{headline(profile)}**", run(profile)]
    said += [f"- Warning: {warning}" for warning in warnings(profile)]
    said.append("\n".join(f"- {bar.said} {bar.name}" for bar in run_time(profile)))
    said.append("**What to do about it.**")
    lines = [f"- {percent(one.share)}: {one.what} {one.evidence} {one.remedy}" for one in advice]
    said.append("\n".join(lines) or NO_ADVICE)
    for part in parts(profile, machine):
        said += [f"**{part.title}.** {' '.join(part.sentences)}".strip(), _short(part.table)]
        said += [" ".join(map(picture, part.pictures))] if picture else []
    return "\n\n".join(filter(None, said)) + "\n"


def _short(table: Table) -> str:
    """As Markdown, where hundreds of lines are for nobody."""
    more = len(table.lines) - MOST_LINES
    said = table_markdown(replace(table, lines=table.lines[:MOST_LINES]))
    return f"{said}\n\nAnd {more} more lines, on the page." if more > 0 else said
