"""A result of any benchmark as parts of a page: titles, tables, sentences and plots; and these as text on a terminal,
as Markdown, and as a page of HTML that is self-contained, without scripts, for any browser, online or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module

from rich.console import Console
from rich.text import Text

from sennit.model.result import BENCH_MPI, COLLECTIVE, PATTERNS, TORCH, TRAINING, Result
from sennit.views.markdown import pipes
from sennit.views.origin import origin, repetitions
from sennit.views.page import facts, html_table, page
from sennit.views.text_table import Table, print_part

OPEN = 4  # of many parts of a page: the others are one click away
HOW = (
    "Medians, ± half the interquartile range. GB/s are 10<sup>9</sup> bytes/s, MiB are 2<sup>20</sup> bytes. “Of "
    "links” is the share of what the links allow all paths together, without any overhead. “× NAME” is how many "
    "times as fast sennit is as NAME; green and red are beyond the noise (two spreads)."
)
OF_PUTS = (
    " A window: how many messages are in flight. “Engine” is a GPU's copy engine alone, which cudaMemcpyAsync uses; "
    "“host” goes through host memory alone."
)
PRETENDED = "host executor device"  # the model of what stands for a GPU where there is none


@dataclass(frozen=True)
class Section:
    """A part: a title above tables, sentences below. Without a table it is its sentences alone. `charts` are drawn
    for pages."""

    title: str
    tables: Sequence[Table] = ()
    sentences: Sequence[str] = ()
    charts: Callable[[], Sequence[str]] = tuple


# Each is read when it is asked for: what it stands on takes time.
VIEWS = {COLLECTIVE: "collectives", BENCH_MPI: "mpi", PATTERNS: "patterns", TORCH: "torch", TRAINING: "training"}


def sections_of(result: Result) -> list[Section]:
    """The parts of a result. One of a kind that is not known here is shown as one of puts."""
    divide: Callable[[Result], list[Section]]
    divide = import_module(f"sennit.views.{VIEWS.get(result.kind, 'puts')}").sections
    return divide(result)


# ---- on a terminal ------------------------------------------------------------------------------------------------


def print_result(result: Result, out: Console) -> None:
    """Prints everything a reader needs to believe the figures."""
    out.print(Text(f"{result.kind}. {origin(result)} {repetitions(result)}"))
    if not result.rows:
        out.print(Text("\nNothing was measured."))
    for section in sections_of(result):
        print_part(section.title, section.tables, section.sentences, out)
    for warning in result.warnings:
        out.print(Text(f"\nwarning: {warning}", style="yellow"))


# ---- as Markdown --------------------------------------------------------------------------------------------------


def markdown(result: Result) -> str:
    """The whole result, for an issue."""
    warnings = "\n".join(f"- Warning: {warning}" for warning in result.warnings)
    parts = [f"## sennit {result.kind}", body_markdown(result).strip(), warnings]
    return "\n\n".join(filter(None, parts)) + "\n"


def body_markdown(result: Result) -> str:
    """Without its heading and its warnings, for docs/."""
    parts = [f"{origin(result)} {repetitions(result)}{'' if result.rows else ' Nothing was measured.'}"]
    for section in sections_of(result):
        parts += [f"**{section.title}.**"] if section.tables else []
        parts += map(table_markdown, section.tables)
        parts.append(("\n" if section.tables else "\n\n").join(section.sentences))
    return "\n\n".join(filter(None, parts)) + "\n"


def table_markdown(table: Table) -> str:
    """A table alone."""
    marks = ["---" if heading in table.left else "--:" for heading in table.headings]
    return pipes([table.headings, marks, *table.lines])


# ---- as a page ----------------------------------------------------------------------------------------------------


def html(result: Result) -> str:
    """The page."""
    title = f"sennit {result.kind}: {result.machine.name}"
    body = [f"<h1>{escape(title)}</h1>", f'<p class="origin">{escape(f"{origin(result)} {repetitions(result)}")}</p>']
    warnings = [*result.warnings]
    if PRETENDED in result.machine.devices:
        warnings.append("These GPUs are processes on a host: copies are real, their speed is not.")
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in warnings]
    body += [] if result.rows else ["<p>Nothing was measured.</p>"]
    body += [_part(section, opened=index < OPEN) for index, section in enumerate(sections_of(result))]
    settings = {name.replace("_", " "): str(value) for name, value in result.settings.items()}
    settings |= {"machine fingerprint": result.machine.fingerprint, "date": result.date}
    how = HOW + ("" if result.kind in VIEWS else OF_PUTS)
    body.append(f"<details><summary>How it was measured</summary>{facts(settings)}<p>{how}</p></details>")
    return page(title, body)


def _part(section: Section, *, opened: bool) -> str:
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.sentences)
    charts = "".join(section.charts())
    tables = "".join(html_table(one.headings, one.lines, one.verdict) for one in section.tables)
    drawn = f'<div class="charts">{charts}</div>' if charts else ""
    return (
        f"<details{' open' if opened else ''}><summary>{escape(section.title)}</summary>"
        f"<ul>{sentences}</ul>{drawn}{tables}</details>"
    )
