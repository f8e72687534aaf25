"""Partitioned messages, as tables, as Markdown, as a page and as CSV: the answer first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.partition_counts import Best, best_counts, wire_of
from sennit.model.partitioned import OWN, QUESTIONS, SINGLE, Answer, Figure, Partitioned, Probe, Row, reason
from sennit.units import NOTHING
from sennit.views import partitioned_patterns as patterns
from sennit.views.csv import lines_csv
from sennit.views.origin import place
from sennit.views.page import facts, html_table, page
from sennit.views.partitioned_charts import charts, whole_rate
from sennit.views.sections import Section, table_markdown
from sennit.views.text_table import Table, print_part

FIGURES = ("single_us", "transfer_us", "overhead", "perceived_gbps", "availability_percent", "early_bird_percent",
           "saved_us", "exposed_us", "last_us")  # fmt: skip
AXES = ("back_end", "bytes", "partitions", "threads", "compute_us", "computed", "noise", "order", "cache", "crowded",
        "state", "why", "messages", "rounds", "steady", "verified", "early_partitions_percent",
        "begin_us")  # fmt: skip
NAMES = {"persistent_partitions": "a persistent send a partition", "mpi": "MPI partitioned",
         "rma_flush": "put and flush", "rma_pscw": "put, start and complete", "threads": "a send a partition",
         "persistent": "persistent", SINGLE: "whole"}  # fmt: skip
ASKED = {
    "early": "A partition arrives before another one is ready",
    "start_all": "MPI_Startall of two partitioned messages",
    "before_start": "Partitions that are ready before the receiver's MPI_Start",
    "while_waiting": "Partitions that are ready while another thread waits",
}
HOW = (
    "Medians of rounds in which the partitions took turns with a whole message (MPI_Send once all threads have "
    "joined) of the same bytes after the same compute; in brackets where the median lies in 19 of 20 runs. Overhead: "
    "the time in which some partition travels, from its ready call to its arrival, over the whole message's. "
    "Perceived: bytes over the time from the last ready call to the last arrival. Exposed: from the threads' join to "
    "the last arrival. Saved: how much earlier the last partition is there than the whole message of the same round, "
    "compute and all. Early-bird: of the time in which some partition travels, what is before the join. Arrivals are "
    "taken by the clock that both ranks share. Every byte of every message was compared."
)


def spoken(back_end: str) -> str:
    """As tables say it."""
    return NAMES.get(back_end, back_end)


# ---- the answer ----------------------------------------------------------------------------------------------------


def verdict(found: Partitioned) -> str:
    """Whether partitioned messages help with this MPI, in one line."""
    if found.probe is not None:
        return probe_verdict(found.probe, found.mpi)
    if found.patterns and not found.rows:
        return patterns.verdict(found.patterns, found.mpi)
    rows = [row for row in found.measured if row.back_end == OWN and row.partitions > 1]
    if not rows:
        return "Whether partitioned messages help was not measured; add mpi to --vs, and 2 or more --partitions."
    better = [row for row in rows if sooner(row)]
    worse = [row for row in rows if later(row)]
    count = f"{len(better)} of {len(rows)} lines"
    if not better and not worse:
        return (
            f"Whether partitioned helps with {found.mpi} cannot be told: in none of {len(rows)} lines is the "
            "difference from a whole message beyond its interval; raise --seconds, or leave the machine alone."
        )
    if better and len(better) >= len(worse):
        best = max(better, key=saved_share)
        return (
            f"Partitioned helps with {found.mpi} in {count}: all is there sooner than a whole message, at best by "
            f"{saved_share(best):.2g} × what that takes ({_line(best)}){_worse(worse)}."
        )
    return f"Partitioned does not help with {found.mpi}: all is there sooner in {count}{_worse(worse)}."


def _worse(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    most = min(rows, key=saved_share)
    return f"; in {len(rows)} it is later, at worst by {-saved_share(most):.2g} × a whole message ({_line(most)})"


def _line(row: Row) -> str:
    return f"{units.size(row.bytes)} in {row.partitions}"


def saved_share(row: Row) -> float:
    """What is saved, in whole messages' times."""
    known = row.saved_us and row.single_us and row.single_us.median > 0
    return row.saved_us.median / row.single_us.median if known and row.saved_us and row.single_us else 0.0


def sooner(row: Row) -> bool:
    """Whether all is there sooner than the whole message, beyond the interval."""
    return row.saved_us is not None and row.saved_us.low > 0


def later(row: Row) -> bool:
    """Whether it is there later."""
    return row.saved_us is not None and row.saved_us.high < 0


def probe_verdict(probe: Probe, mpi: str) -> str:
    """Of what was asked: early or not comes first, then what must not be done."""
    traps = [
        said
        for said, answer in (
            ("start its messages one by one, as MPI_Startall of two does not work", probe.start_all),
            ("make no partition ready before the receiver has started", probe.before_start),
            ("make no partition ready while another thread waits", probe.while_waiting),
        )
        if answer is not None and answer.works is False
    ]
    trap = f"; {'; '.join(traps)}" if traps else ""
    early = [one for one in probe.early if one.early]
    if not probe.early:
        why = f": {probe.early_failed.why}" if probe.early_failed else ""
        return f"Partitioned cannot be used with {mpi}{why}{trap}."
    span = f"{units.size(probe.early[0].bytes)} to {units.size(probe.early[-1].bytes)}"
    if len(early) == len(probe.early):
        return f"Partitioned helps with {mpi}: a partition arrives before the others are ready, from {span}{trap}."
    if not early:
        return f"Partitioned does not help with {mpi}: no partition arrives before all are ready, from {span}{trap}."
    which = ", ".join(units.size(one.bytes) for one in early)
    return (
        f"Partitioned helps with {mpi} at some sizes: a partition arrives before the others are ready at "
        f"{which}{trap}."
    )


# ---- tables --------------------------------------------------------------------------------------------------------


def sections(found: Partitioned, *, as_published: bool = False) -> list[Section]:
    """What was asked, then a section for each noise, order, cache and compute."""
    made = [_asked(found.probe)] if found.probe is not None else []
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in found.rows:
        conditions = (
            f"{row.cache} cache, noise {row.noise}, order {row.order}, {units.time(row.compute_us)} of compute"
        )
        groups.setdefault((row.back_end, conditions), []).append(row)
    wires: dict[str, float] = {}  # the wire is the same for all who are measured under the same conditions
    for (_, conditions), rows in groups.items():
        wires[conditions] = max(wires.get(conditions, 0.0), whole_rate(rows))
    for (back_end, conditions), rows in groups.items():
        of_conditions = [row for (_, others), mine in groups.items() if others == conditions for row in mine]
        counts, said = _counts(rows, of_conditions)
        tables = [_table(rows, wires[conditions]), counts, *([_published(rows)] if as_published else [])]
        made.append(
            Section(f"{spoken(back_end)}: {conditions}", [one for one in tables if one.lines],
                    _sentences(rows) + said, partial(charts, rows, wires[conditions]))
        )  # fmt: skip
    return made + patterns.sections(found.patterns)


def _asked(probe: Probe) -> Section:
    lines = []
    for question in QUESTIONS:
        if question == "early" and probe.early:
            lines += [(f"{ASKED[question]}, {units.size(one.bytes)}", "yes" if one.early else "no",
                       f"{one.lead_us / 1e3:+.1f} ms") for one in probe.early]  # fmt: skip
            continue
        answer: Answer | None = getattr(probe, "early_failed" if question == "early" else question)
        if answer is not None:
            lines.append((ASKED[question], "not asked" if answer.works is None else "yes" if answer.works else "no",
                          answer.why or NOTHING))  # fmt: skip
    return Section(
        "What MPI's partitioned messages do",
        [Table(("what", "answer", "how much before the other is ready, or why"), lines,
               left=("what", "answer", "how much before the other is ready, or why"))],
        ["Of two partitions, the second is ready 20 ms after the first; what does not end within 5 s is a no."],
    )  # fmt: skip


def _interval(figure: Figure | None) -> str:
    if figure is None:
        return NOTHING
    three = units.three_digits
    return f"{three(figure.median)} ({three(figure.low)}…{three(figure.high)})"


def _median(figure: Figure | None) -> str:
    return NOTHING if figure is None else units.three_digits(figure.median)


def _percent(figure: Figure | None) -> str:
    return NOTHING if figure is None else f"{figure.median:.0f}"


def _table(rows: Sequence[Row], wire: float) -> Table:
    lines = []
    verdicts = []
    measured = [row for row in rows if row.is_measured]
    for row in measured:
        rate = row.perceived_gbps.median / wire if row.perceived_gbps and wire else 0
        lines.append(
            [units.size(row.bytes), str(row.partitions), f"{row.threads}{'*' if row.crowded else ''}",
             _median(row.single_us), _interval(row.overhead), _median(row.perceived_gbps),
             units.three_digits(rate) if rate else NOTHING, _percent(row.availability_percent),
             _percent(row.early_bird_percent), _median(row.exposed_us), _interval(row.saved_us), str(row.rounds)]
        )  # fmt: skip
        verdicts.append({"saved µs": "faster" if sooner(row) else "slower" if later(row) else ""})
    headings = ("size", "partitions", "threads", "whole µs", "overhead", "perceived GB/s", "× wire", "available %",
                "early-bird %", "exposed µs", "saved µs", "rounds")  # fmt: skip
    less = [["rounds"], ["× wire"], ["threads"], ["perceived GB/s"], ["available %"], ["exposed µs"]]
    return Table(headings, lines, verdicts, less=less)


def _counts(rows: Sequence[Row], of_conditions: Sequence[Row]) -> tuple[Table, list[str]]:
    """The best number of partitions by size, measured and by the model, and how often they agree."""
    wire = wire_of(of_conditions)
    cut = rows and rows[0].back_end not in (SINGLE, "persistent")
    found = best_counts(rows, wire) if wire is not None and cut else []
    lines = [(units.size(one.bytes), str(one.measured), str(one.modelled), one.verdict)
             for one in found]  # fmt: skip
    table = Table(("size", "best number of partitions", "by the model", "within 2 ×"), lines)
    if wire is None or not found:
        return table, []
    return table, [
        f"The model of one wire, {units.time(wire.start_us)} and {units.rate(1e-3 / wire.us_per_byte)} as whole "
        f"messages have it, finds the best number within a factor of 2 at {_agree(found)}."
    ]


def _agree(found: Sequence[Best]) -> str:
    """For example: 2 of 4 sizes; at 1 it cannot be told."""
    unknown = sum(one.verdict == "cannot be told" for one in found)
    more = f"; at {unknown} its number and the best one do not differ beyond their intervals" if unknown else ""
    return f"{sum(one.is_close for one in found)} of {len(found)} sizes{more}"


def _published(rows: Sequence[Row]) -> Table:
    lines = [
        (units.size(row.bytes), str(row.partitions), _median(row.overhead),
         units.three_digits(row.as_published.overhead), _median(row.perceived_gbps),
         units.three_digits(row.as_published.perceived_gbps), _percent(row.availability_percent),
         f"{row.as_published.availability_percent:.0f}", _percent(row.early_bird_percent),
         f"{row.as_published.early_bird_percent:.0f}")
        for row in rows if row.is_measured and row.as_published
    ]  # fmt: skip
    pair = ("overhead", "perceived GB/s", "available %", "early-bird %")
    return Table(("size", "partitions", *(each for one in pair for each in (one, "as published"))), lines)


def _sentences(rows: Sequence[Row]) -> list[str]:
    said = []
    cut = [row for row in rows if row.is_measured and row.partitions > 1]
    if cut and cut[0].back_end != SINGLE:
        early = sum(row.early_partitions_percent >= 50 for row in cut)
        said.append(
            f"Of {len(cut)} lines of more than one partition all is there sooner than a whole message in "
            f"{sum(map(sooner, cut))}, later in {sum(map(later, cut))}; most partitions are early in {early}."
        )
    for row in rows:
        if not row.is_measured:
            said.append(f"{spoken(row.back_end)}, {_line(row)}: {reason(row)}")
    if any(row.crowded for row in rows):
        said.append("* More threads than cores for them: they slept instead of computing.")
    return said


# ---- views ---------------------------------------------------------------------------------------------------------


def origin(found: Partitioned) -> str:
    """Where it was measured."""
    return f"Measured {found.date[:10]} on {place(found.machine, found.versions)}."


def print_partitioned(found: Partitioned, out: Console, *, as_published: bool = False) -> None:
    """On a terminal."""
    out.print(Text(verdict(found), style="bold"))
    out.print(Text(f"{found.kind}. {origin(found)}"))
    for section in sections(found, as_published=as_published):
        print_part(section.title, section.tables, section.sentences, out)
    for row in found.lines:
        if row.command:
            out.print(Text(f"\n{row.state}: {row.command}"), soft_wrap=True)
    for warning in found.warnings:
        out.print(Text(f"\nwarning: {warning}", style="yellow"))


def partitioned_markdown(found: Partitioned) -> str:
    """For an issue, and for docs/."""
    said = [f"**{verdict(found)}**", origin(found)]
    for section in sections(found):
        said += [f"**{section.title}.**", *map(table_markdown, section.tables), " ".join(section.sentences)]
    said += [f"- {row.state}: `{row.command}`" for row in found.lines if row.command]
    said += [f"- Warning: {warning}" for warning in found.warnings]
    return "\n\n".join(filter(None, said)) + "\n"


def partitioned_html(found: Partitioned) -> str:
    """The page."""
    title = f"sennit {found.kind}: {found.machine.name}"
    body = [f"<h1>{escape(verdict(found))}</h1>", f'<p class="origin">{escape(origin(found))}</p>']
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in found.warnings]
    for section in sections(found, as_published=True):
        drawn = "".join(section.charts())
        tables = "".join(
            html_table(one.headings, one.lines, one.verdict, one.left, section.title) for one in section.tables
        )
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.sentences)
        pictures = f'<div class="charts">{drawn}</div>' if drawn else ""
        said = f"<summary>{escape(section.title)}</summary><ul>{sentences}</ul>"
        body.append(f"<details open>{said}{pictures}{tables}</details>")
    settings = {name.replace("_", " "): str(value) for name, value in found.settings.items()}
    commands = "".join(
        f"<p>{row.state}: <code>{escape(row.command)}</code></p>"
        for row in found.lines if row.command
    )  # fmt: skip
    body.append(f"{commands}<details><summary>How it was measured</summary>{facts(settings)}<p>{HOW}</p></details>")
    return page(title, body)


def partitioned_csv(found: Partitioned) -> str:
    """A line a row; of each figure its median and its interval. Of patterns, where there are no others."""
    if found.patterns and not found.rows:
        return patterns.patterns_csv(found.patterns)
    columns = [*AXES, *(f"{name}{end}" for name in FIGURES for end in ("", "_low", "_high"))]
    lines = []
    for row in found.rows:
        line = {name: getattr(row, name) for name in AXES}
        for name in FIGURES:
            figure: Figure | None = getattr(row, name)
            for end, value in (("", "median"), ("_low", "low"), ("_high", "high")):
                line[f"{name}{end}"] = getattr(figure, value) if figure else ""
        lines.append(line)
    return lines_csv(columns, lines)
