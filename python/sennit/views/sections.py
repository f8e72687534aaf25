"""A result of any benchmark as the parts of a page: what it is of, what it comes to, its tables and a plot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from sennit import units
from sennit.model.collective import CollectiveResult
from sennit.model.mpi import MpiResult
from sennit.model.torch import TorchResult
from sennit.model.training import TrainingResult
from sennit.views import collective_table, mpi_table, torch_table, training_table
from sennit.views.chart import COLOURS, Point, Series, line_chart, size_axis, time_axis
from sennit.views.html import facts, page, plain_table
from sennit.views.origin import origin

Other = CollectiveResult | MpiResult | TorchResult | TrainingResult  # results of puts have a page of their own
Line = tuple[str, int, float, float]  # who, bytes, µs, spread

OPEN = 4  # of many parts: the others are one click away


@dataclass(frozen=True)
class Section:
    """A part of the page; `times` are drawn over size."""

    title: str
    sentences: Sequence[str]
    tables: Sequence[tuple[list[str], list[list[str]]]]
    times: Sequence[Line] = ()


def collective(result: CollectiveResult) -> list[Section]:
    """A section for each operation."""
    found = []
    for rows in collective_table.by_operation(result):
        tables = [
            (collective_table.headings(rows, result.links_gbps), collective_table.cells(rows, result.links_gbps))
        ]
        if others := collective_table.alternatives(rows):
            tables.append((collective_table.ALTERNATIVES, others))
        times = [
            (row.variant, row.bytes, row.median_us, row.spread_us)
            for row in rows
            if collective_table.sized(row) and not row.is_forced
        ]
        found.append(Section(collective_table.title(rows), collective_table.sentences(rows), tables, times))
    return found


def mpi(result: MpiResult) -> list[Section]:
    """A section for each operation and kind of buffers."""
    return [
        Section(
            rows[0].title,
            mpi_table.sentences(rows),
            [(mpi_table.headings(rows), mpi_table.cells(rows))],
            [(mpi_table.spoken(row.variant), row.bytes, row.median_us, row.spread_us) for row in rows],
        )
        for rows in mpi_table.tables(result)
    ]


def torch(result: TorchResult) -> list[Section]:
    """A section for each operation, type and way of calling, and one for what the drop-in adds."""
    found = [
        Section(
            rows[0].title,
            torch_table.sentences(rows),
            [(torch_table.HEADINGS, [torch_table.cells(own, other) for own, other in torch_table.pairs(rows)])],
            [(row.variant, row.bytes, row.median_us, row.spread_us) for row in rows],
        )
        for rows in torch_table.tables(result)
    ]
    more = torch_table.added(result)
    return [*found, Section("What the drop-in adds", more, [])] if more else found


def training(result: TrainingResult) -> list[Section]:
    """One: a line for each model and batch."""
    lines = [training_table.cells(own, other) for own, other in training_table.pairs(result)]
    said = [*training_table.sentences(result), training_table.EXPLAINED]
    return [Section(training_table.title(result), said, [(training_table.HEADINGS, lines)])]


def sections_html(result: Other, divide: Callable[..., list[Section]]) -> str:
    """The page: self-contained, without scripts. `divide`: the function above for this kind of result."""
    title = f"sennit {result.kind}: {result.machine.name}"
    body = [f"<h1>{escape(title)}</h1>", f'<p class="origin">{escape(origin(result))}</p>']
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in result.warnings]
    if not result.rows:
        body.append("<p>Nothing was measured.</p>")
    body += [_section(one, opened=index < OPEN) for index, one in enumerate(divide(result))]
    settings = {name.replace("_", " "): str(value) for name, value in result.settings.items()}
    settings |= {"machine fingerprint": result.machine.fingerprint, "date": result.date}
    body.append(
        f"<details><summary>How it was measured</summary>{facts(settings)}<p>Medians, ± half the interquartile "
        "range. GB/s are 10<sup>9</sup> bytes/s, MiB are 2<sup>20</sup> bytes.</p></details>"
    )
    return page(title, body)


def _section(section: Section, *, opened: bool) -> str:
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.sentences)
    chart = f'<div class="charts">{_chart(section)}</div>' if section.times else ""
    tables = "".join(plain_table(names, lines) for names, lines in section.tables)
    return (
        f"<details{' open' if opened else ''}><summary>{escape(section.title)}</summary>"
        f"<ul>{sentences}</ul>{chart}{tables}</details>"
    )


def _chart(section: Section) -> str:
    """Time over size, of as many as there are colours."""
    points: dict[str, list[Point]] = {}
    for who, size, us, spread in _by_size(section.times):
        note = f"{units.size(size)}: {units.time(us, spread)}"
        points.setdefault(who, []).append(Point(max(1, size), us, spread, note))
    series = [Series(who, those) for who, those in points.items()][: len(COLOURS)]
    sizes = [size for _, size, _, _ in section.times]
    return line_chart("Time over size", size_axis(sizes), time_axis([us for _, _, us, _ in section.times]), series)


def _by_size(times: Iterable[Line]) -> list[Line]:
    return sorted(times, key=lambda line: line[1])
