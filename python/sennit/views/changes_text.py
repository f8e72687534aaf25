"""What changed between two runs, or two tables, on the terminal: a table each, then what it comes to."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sennit import units
from sennit.compare.changes import Judged, Verdict, counted, geometric_mean
from sennit.compare.runs import Comparison, RowPair
from sennit.compare.table_diff import CaseDiff, TableDiff
from sennit.model.plans import CollectiveTable
from sennit.model.result import Result
from sennit.units import NOTHING
from sennit.views import plan_tables
from sennit.views.origin import origin

COLOURS = {Verdict.SAME: "", Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.UNCLEAR: "yellow"}
MOST = 5  # things that a sentence lists

Alone = list[tuple[str, str]]  # kinds and sizes of cases that one side has alone


def print_comparison(
    found: Comparison, runs: tuple[Result, Result], files: tuple[str, str], console: Console
) -> None:
    """Prints how the second run compares with the first."""
    _head([f"{file}. {origin(run)}" for file, run in zip(files, runs, strict=True)], found.differences, console)
    for title, pairs in found.by_title().items():
        console.print()
        console.print(Text(title, style="bold"))
        console.print(_pairs(pairs))
    console.print()
    for sentence in sentences(found):
        console.print(Text(sentence))


def sentences(found: Comparison) -> list[str]:
    """What it comes to."""
    said = [counted(found.all_judged, "row")]
    means = found.geometric_means()
    if means:
        figures = ", ".join(f"{variant} {mean:.3f}" for variant, mean in means.items())
        said.append(f"Geometric mean of how many times as fast B is: {figures}.")
    alone = [
        [(f"{case.title}, {case.variant}", case.size) for case in cases]
        for cases in (found.only_first, found.only_second)
    ]
    return said + _only(*alone)


def print_table_diff(
    diff: TableDiff, tables: tuple[CollectiveTable, CollectiveTable], files: tuple[str, str], console: Console
) -> None:
    """Prints how the second table compares with the first."""
    origins = [f"{file}, {plan_tables.origin(table)}." for file, table in zip(files, tables, strict=True)]
    _head(origins, diff.differences, console)
    for kind, cases in diff.by_kind().items():
        console.print()
        console.print(Text(kind.title, style="bold"))
        console.print(_cases(cases))
    console.print()
    for sentence in diff_sentences(diff):
        console.print(Text(sentence))


def diff_sentences(diff: TableDiff) -> list[str]:
    """What it comes to."""
    changed = sum(case.plan_changed for case in diff.cases)
    said = [f"{counted(diff.all_judged, 'case')} The plan changed in {changed}."]
    if (mean := geometric_mean(diff.all_judged)) is not None:
        said.append(f"Geometric mean of how many times as fast B is: {mean:.3f}.")
    alone = [
        [(kind.title, units.size(size)) for kind, size in cases] for cases in (diff.only_first, diff.only_second)
    ]
    return said + _only(*alone)


def _head(origins: list[str], differences: list[str], console: Console) -> None:
    """What differs is said first; then what A and B are."""
    if differences:
        text = f"A and B differ in {', '.join(differences)}: changes may come from that."
        console.print(Text(text, style="yellow"))
    for name, where in zip("AB", origins, strict=True):
        console.print(Text(f"{name}: {where}"))


def _only(first: Alone, second: Alone) -> list[str]:
    """Cases that one of them lacks, those of one kind together."""
    said = []
    for name, cases in (("A", first), ("B", second)):
        kinds: dict[str, list[str]] = {}
        for what, size in cases:
            kinds.setdefault(what, []).append(size)
        parts = [f"{what} ({_few(sizes)})" for what, sizes in kinds.items()]
        more = f"; and {len(parts) - MOST} more kinds" if len(parts) > MOST else ""
        said += [f"Only in {name}: {'; '.join(parts[:MOST])}{more}."] if parts else []
    return said


def _few(sizes: list[str]) -> str:
    return ", ".join(sizes) if len(sizes) <= MOST else f"{len(sizes)} sizes"


def _pairs(pairs: list[RowPair]) -> Table:
    unit, us = ("ms", 1e3) if pairs[0].case.batch else ("µs", 1.0)  # a step of training takes long
    drawn = _table("size", "by", f"A {unit}", f"B {unit}", "× A", "verdict", "")
    for pair in pairs:
        first, second = (
            units.plain_time(row.median_us / us, row.spread_us / us) for row in (pair.first, pair.second)
        )
        drawn.add_row(
            pair.case.size,
            Text(pair.case.variant),
            first,
            second,
            _ratio(pair.judged),
            _verdict(pair.judged),
            Text(pair.remark),
        )
    return drawn


def _cases(cases: list[CaseDiff]) -> Table:
    drawn = _table("size", "A µs", "B µs", "× A", "verdict", "plan")
    for case in cases:
        first, second = case.first, case.second
        drawn.add_row(
            units.size(case.bytes),
            units.plain_time(first.us, first.spread_us),
            units.plain_time(second.us, second.spread_us),
            _ratio(case.judged),
            _verdict(case.judged),
            Text(f"{first.name} → {second.name}" if case.plan_changed else first.name),
        )
    return drawn


def _table(*headings: str) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        left = heading in ("by", "verdict", "plan", "")
        drawn.add_column(heading, justify="left" if left else "right", no_wrap=heading not in ("plan", ""))
    return drawn


def _ratio(one: Judged) -> str:
    return str(one.ratio) if one.ratio else NOTHING


def _verdict(one: Judged) -> Text:
    return Text(one.verdict.value.upper(), style=COLOURS[one.verdict])
