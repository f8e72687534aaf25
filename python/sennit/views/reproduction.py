"""The simulator beside measured results: how far off it is, by operation and size."""

from __future__ import annotations

import math
import statistics

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.sim import HeldRow, Reproduction
from sennit.units import NOTHING
from sennit.views.markdown import pipes

SMALLEST = 64 << 10  # bytes: below, launches decide, and a tenth of a microsecond is 3 %
BAND = 0.25  # beyond it a row is named
HEADINGS = ["operation", "ranks", "size", "plan", "measured µs", "simulated µs", "ratio", "most of a call"]


def error(row: HeldRow) -> float:
    """How far off, as part of what was measured."""
    return abs(row.ratio - 1)


def judged(rows: list[HeldRow]) -> list[HeldRow]:
    """Those of the sizes that count."""
    return [row for row in rows if row.bytes >= SMALLEST]


def sentences(found: Reproduction) -> list[str]:
    """How far off all are, those that count and the small ones apart, and the worst by name."""
    lines = []
    small = [row for row in found.rows if row.bytes < SMALLEST]
    for rows, which in ((judged(found.rows), "of 64 KiB and more"), (small, "below")):
        if not rows:
            continue
        errors = sorted(map(error, rows))
        median, worst = statistics.median(errors), errors[-1]
        most = errors[math.ceil(0.9 * len(errors)) - 1]
        lines.append(
            f"{len(rows)} cases {which}: median error {units.percent(median)}, "
            f"nine of ten within {units.percent(most)}, worst {units.percent(worst)}."
        )
    if beyond := [row for row in judged(found.rows) if error(row) > BAND]:
        named = [f"{row.operation} {units.size(row.bytes)} by {row.plan} ({row.ratio:.2f})" for row in beyond]
        lines.append(f"Beyond {units.percent(BAND)}: {'; '.join(named)}.")
    return lines


def lines_of(rows: list[HeldRow]) -> list[list[str]]:
    """A line of the table for each row."""
    return [
        [
            row.operation.replace("_", "-") + (", registered" if row.registered else ""),
            str(row.ranks),
            units.size(row.bytes) if row.bytes else NOTHING,
            row.plan,
            units.three_digits(row.measured_us),
            units.three_digits(row.us),
            f"{row.ratio:.2f}",
            f"{units.percent(row.limit_share)} {row.limit}",
        ]
        for row in rows
    ]


def print_reproduction(found: Reproduction, console: Console) -> None:
    """The sentences, and the rows that are furthest off."""
    console.print(Text(f"The simulator beside {', '.join(found.sources)} of {found.machine}", style="bold"))
    for sentence in sentences(found):
        console.print(Text(sentence))


def reproduction_markdown(found: Reproduction) -> str:
    """Everything, as a table."""
    marks = ["---", "--:", "--:", "---", "--:", "--:", "--:", "---"]
    costs = ", ".join(f"{name} {value:g}" for name, value in found.costs.items())
    parts = [
        "\n".join(sentences(found)),
        f"Measured: {', '.join(f'`{source}`' for source in found.sources)}. Fitted, once for all of them: {costs}.",
        pipes([HEADINGS, marks, *lines_of(found.rows)]),
    ]
    return "\n\n".join(parts) + "\n"
