"""What changed between two runs, or two tables, on the terminal: a table each, then what it comes to."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.compare.changes import Judged, counted, geometric_mean
from sennit.compare.runs import Comparison, RowPair, without_time
from sennit.compare.table_diff import CaseDiff, TableDiff
from sennit.model.plans import CollectiveTable
from sennit.model.result import Result
from sennit.units import NOTHING
from sennit.views import plan_tables
from sennit.views.origin import origin
from sennit.views.text_table import READABLE, Table, print_part

MOST = 5  # things that a sentence lists

Alone = list[tuple[str, str]]  # kinds and sizes of cases that one side has alone


def print_comparison(
    found: Comparison, runs: tuple[Result, Result], files: tuple[str, str], console: Console
) -> None:
    """Prints how the second run compares with the first."""
    _head([f"{file}. {origin(run)}" for file, run in zip(files, runs, strict=True)], found.differences, console)
    for title, pairs in found.by_title().items():
        print_part(title, [_pairs(pairs)], [], console)
    print_part("", [], sentences(found), console)


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
        print_part(kind.title, [_cases(cases)], [], console)
    print_part("", [], diff_sentences(diff), console)


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
        parts = [what if sizes == [NOTHING] else f"{what} ({_few(sizes)})" for what, sizes in kinds.items()]
        more = f"; and {len(parts) - MOST} more kinds" if len(parts) > MOST else ""
        said += [f"Only in {name}: {'; '.join(parts[:MOST])}{more}."] if parts else []
    return said


def _few(sizes: list[str]) -> str:
    return ", ".join(sizes) if len(sizes) <= MOST else f"{len(sizes)} sizes"


def _pairs(pairs: list[RowPair]) -> Table:
    unit, us = ("ms", 1e3) if pairs[0].case.batch else ("µs", 1.0)  # a step of training takes long
    lines = []
    for pair in pairs:
        times = (
            NOTHING if without_time(row) else units.plain_time(row.median_us / us, row.spread_us / us)
            for row in (pair.first, pair.second)
        )  # fmt: skip
        lines.append([pair.case.size, pair.case.variant, *times, *_verdict(pair.judged), pair.remark])
    headings = ["size", "by", f"A {unit}", f"B {unit}", "× A", "verdict", ""]
    remarks = [f"{pair.case.size} {pair.case.variant}: {pair.remark}" for pair in pairs if pair.remark]
    return _table(headings, lines, [pair.judged for pair in pairs], remarks)


def _cases(cases: list[CaseDiff]) -> Table:
    lines = []
    for case in cases:
        times = (units.plain_time(plan.us, plan.spread_us) for plan in (case.first, case.second))
        plan = f"{case.first.name} → {case.second.name}" if case.plan_changed else case.first.name
        lines.append([units.size(case.bytes), *times, *_verdict(case.judged), plan])
    return _table(["size", "A µs", "B µs", "× A", "verdict", "plan"], lines, [case.judged for case in cases])


def _table(headings: list[str], lines: list[list[str]], verdicts: list[Judged], remarks: Sequence[str] = ()) -> Table:
    judged = [{"verdict": one.verdict.value} for one in verdicts]
    left, wraps = ("by", "verdict", "plan", ""), {"plan": READABLE, "": READABLE}
    return Table(headings, lines, judged, left, wraps, less=[[""]], instead=remarks)


def _verdict(one: Judged) -> tuple[str, str]:
    return str(one.ratio or NOTHING), one.verdict.value.upper()
