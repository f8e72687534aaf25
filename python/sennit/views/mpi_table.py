"""The benchmark of MPI on the terminal, a table for each operation and kind of buffers, and as Markdown."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sennit import units
from sennit.compare.ratio import LARGEST, NOISE, Ratio, between_runs
from sennit.model.mpi import BARRIERS, MPI, OWN, MpiResult, MpiRow
from sennit.views.columns import NOTHING
from sennit.views.markdown import pipes
from sennit.views.origin import origin, repetitions

COLOURS = {"faster": "green", "slower": "red", "same": ""}
NAMES = {"by_hand": "by hand", "mpi": "MPI alone", "ucx": "UCX"}

Rows = list[MpiRow]  # of one table


def tables(result: MpiResult) -> list[Rows]:
    """The rows that share a table, in the document's order."""
    found: dict[tuple[str, str, int, bool], Rows] = {}
    for row in result.rows:
        found.setdefault((row.operation, row.buffers, row.window, row.in_place), []).append(row)
    return list(found.values())


def variants(rows: Rows) -> list[str]:
    """Who was measured: sennit first, then the others in the document's order."""
    return sorted(dict.fromkeys(row.variant for row in rows), key=lambda name: name != OWN)


def spoken(variant: str) -> str:
    """As headings say it."""
    return NAMES.get(variant, variant)


def sizes(rows: Rows) -> list[int]:
    """In the document's order."""
    return list(dict.fromkeys(row.bytes for row in rows))


def row_of(rows: Rows, variant: str, size: int) -> MpiRow | None:
    """The row of a variant."""
    return next((row for row in rows if row.variant == variant and row.bytes == size), None)


def ratio(own: MpiRow | None, other: MpiRow | None) -> Ratio | None:
    """How many times as fast sennit is: of batches that took turns where they did, else of two jobs."""
    if own is None or other is None:
        return None
    if (turns := other.sennit) is None:
        return between_runs(own.median_us, own.spread_us, other.median_us, other.spread_us)
    # A ratio is beyond the noise where its interval does not reach 1.
    spread = abs(turns.high - turns.low) / 2 / NOISE
    return Ratio(turns.times_as_fast, spread) if max(turns.times_as_fast, spread) <= LARGEST else None


def timed(rows: Rows) -> bool:
    """Whether a rate says nothing: of latencies, and where there is no size."""
    return rows[0].operation in ("latency", *BARRIERS)


def heading(rows: Rows) -> str:
    """What all rows of a table are, with the OSU benchmark of the same."""
    return rows[0].title + (f" ({rows[0].osu})" if rows[0].osu else "")


def headings(rows: Rows) -> list[str]:
    """The names of the columns."""
    first, *others = variants(rows)
    names = ["size", f"{spoken(first)} µs", *([] if timed(rows) else ["GB/s"])]
    for other in others:
        names += [f"{spoken(other)} µs", *([f"× {spoken(other)}"] if first == OWN else [])]
    return names


def cells(rows: Rows) -> list[list[str]]:
    """A line for every size."""
    first, *others = variants(rows)
    lines = []
    for size in sizes(rows):
        own = row_of(rows, first, size)
        line = [units.size(size) if rows[0].operation not in BARRIERS else NOTHING, _time(own)]
        if not timed(rows):
            line.append(units.three_digits(own.gbps) if own else NOTHING)
        for other in others:
            row = row_of(rows, other, size)
            line.append(_time(row))
            if first == OWN:
                line.append(str(ratio(own, row) or NOTHING))
        lines.append(line)
    return lines


def _time(row: MpiRow | None) -> str:
    return units.time(row.median_us, row.spread_us).removesuffix(" µs") if row else NOTHING


def sentences(rows: Rows) -> list[str]:
    """Than whom sennit is faster and where, where slower; and what it costs beside the MPI on host buffers."""
    first, *others = variants(rows)
    if first != OWN:
        return []
    said = []
    for other in others:
        if other == MPI and rows[0].buffers in ("host", ""):
            said += cost(rows)
            continue
        found: dict[str, list[str]] = {"faster": [], "slower": []}
        for size in sizes(rows):
            compared = ratio(row_of(rows, OWN, size), row_of(rows, other, size))
            if compared and compared.verdict in found:
                found[compared.verdict].append(f"{units.size(size)} ({compared})")
        said += [
            f"{verdict.capitalize()} than {spoken(other)} at {', '.join(those)}."
            for verdict, those in found.items()
            if those
        ]
    return said


def cost(rows: Rows) -> list[str]:
    """How much longer a call takes with the drop-in before the MPI, at the size where that may be most."""
    found = []
    for size in sizes(rows):
        row = row_of(rows, MPI, size)
        if row and row.sennit:
            turns = row.sennit
            found.append((1 / turns.low - 1, 1 / turns.times_as_fast - 1, 1 / turns.high - 1, size))
    if not found:
        return []
    most, median, least, size = max(found)
    where = f" of {units.size(size)}" if rows[0].operation not in BARRIERS else ""
    return [
        f"Before the MPI sennit costs {100 * median:.2f} % of a call{where} (between {100 * least:.2f} and "
        f"{100 * most:.2f} %){', less at other sizes' if len(found) > 1 else ''}."
    ]


def print_mpi(result: MpiResult, console: Console) -> None:
    """Prints everything a reader needs to believe the figures."""
    console.print(Text(f"{result.kind}. {origin(result)} {repetitions(result)}"))
    if not result.rows:
        console.print(Text("\nNothing was measured."))
    for rows in tables(result):
        console.print()
        console.print(Text(heading(rows), style="bold"))
        console.print(table(rows))
        for sentence in sentences(rows):
            console.print(Padding(Text(sentence), (0, 0, 0, 1)))
    for warning in result.warnings:
        console.print(Text(f"\nwarning: {warning}", style="yellow"))


def table(rows: Rows) -> Table:
    """The table of an operation."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    names = headings(rows)
    for name in names:
        # As Text: a variant's name is nothing for rich to find styles in.
        drawn.add_column(Text(name), justify="right", no_wrap=True)
    for size, line in zip(sizes(rows), cells(rows), strict=True):
        own = row_of(rows, OWN, size)
        judged = {f"× {spoken(other)}": ratio(own, row_of(rows, other, size)) for other in variants(rows)}
        texts = []
        for name, cell in zip(names, line, strict=True):
            found = judged.get(name)
            texts.append(Text(cell, style=COLOURS[found.verdict] if found else ""))
        drawn.add_row(*texts)
    return drawn


def mpi_markdown(result: MpiResult) -> str:
    """The same as Markdown."""
    parts = [f"{origin(result)} {repetitions(result)}"]
    if not result.rows:
        parts[0] += " Nothing was measured."
    for rows in tables(result):
        names = headings(rows)
        parts += [
            f"**{heading(rows)}.**",
            pipes([names, ["--:"] * len(names), *cells(rows)]),
            " ".join(sentences(rows)),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"
