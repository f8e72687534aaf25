"""What a program would gain by partitioned messages, on the terminal and as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.partitioned import Partitioned
from sennit.model.projection import Projection, best
from sennit.units import NOTHING
from sennit.views.text_table import Table, print_part

MOST_WAYS = 12  # lines of the table of ways


def answer(found: Sequence[Projection], mpi: str) -> str:
    """In one line."""
    one = best(found)
    median, low, high = one.speedup
    said = f"{_factor(median)} × as fast ({_factor(low)} to {_factor(high)})"
    if low > 1:
        return f"With partitioned messages of {mpi} the run would be {said}, at best: {one.way}."
    if high < 1:
        return f"With partitioned messages of {mpi} the run would become slower in every way, at best {said}."
    return f"Whether partitioned messages of {mpi} help this run cannot be told: at best it would be {said}."


def print_projection(found: Sequence[Projection], measured: Partitioned, console: Console) -> None:
    """The answer, the best way by size, and all ways."""
    console.print(Text(answer(found, measured.mpi), style="bold"))
    one = best(found)
    print_part(f"The best way: {one.way}", [_sizes(one)], _sentences(one), console)
    if len(found) > 1:
        print_part("All ways", [_ways(found)], _left_out(found), console)


def _sentences(one: Projection) -> list[str]:
    in_messages = sum(line.seconds for line in one.lines)
    said = [
        f"The run took {units.three_digits(one.seconds)} s, {units.percent(in_messages / one.seconds)} of it in "
        "messages between two ranks."
    ]
    if one.covered < 1:
        said.append(
            f"{units.percent(1 - one.covered)} of that is in sizes that were not measured, and stays as it is; "
            "measure them with --sizes."
        )
    said.append("The ends take every size at the same end of its interval; time that others wait for is not counted.")
    return said


def _sizes(one: Projection) -> Table:
    lines = []
    for line in one.lines:
        share = units.percent(line.seconds / one.seconds)
        if line.gain is None:
            lines.append((units.size(line.bytes), units.three_digits(line.seconds), share, NOTHING, NOTHING))
            continue
        median, low, high = line.gain.speedup
        lines.append(
            (units.size(line.bytes), units.three_digits(line.seconds), share,
             f"{_factor(median)} ({_factor(low)}…{_factor(high)})", f"{line.seconds * line.gain.median:.3g}")
        )  # fmt: skip
    return Table(("size", "in messages s", "of the run", "× as fast", "saved s"), lines)


def _ways(found: Sequence[Projection]) -> Table:
    lines = []
    for one in _by_speedup(found)[:MOST_WAYS]:
        median, low, high = one.speedup
        covered = units.percent(one.covered)
        lines.append((str(one.way), f"{_factor(median)} ({_factor(low)}…{_factor(high)})", covered))
    return Table(("way", "run × as fast", "covered"), lines, left=("way",))


def _by_speedup(found: Sequence[Projection]) -> list[Projection]:
    return sorted(found, key=lambda each: -each.speedup[1])


def _left_out(found: Sequence[Projection]) -> list[str]:
    more = len(found) - MOST_WAYS
    return [f"And {more} more that gain less; --json has all."] if more > 0 else []


def _factor(value: float) -> str:
    return "∞" if math.isinf(value) else units.three_digits(value)


def projection_document(found: Sequence[Projection], files: tuple[str, str]) -> dict[str, Any]:
    """For other programs to read. A factor without end is null."""
    return {
        "version": 1,
        "kind": "projection",
        "profile": files[0],
        "measured": files[1],
        "ways": [
            {
                "way": str(one.way),
                "back_end": one.way.back_end,
                "partitions": one.way.partitions,
                "run_seconds": one.seconds,
                "speedup": _ends(one.speedup),
                "covered": one.covered,
                "sizes": [
                    {"bytes": line.bytes, "seconds": line.seconds,
                     "speedup": _ends(line.gain.speedup) if line.gain else None}
                    for line in one.lines
                ],
            }
            for one in _by_speedup(found)
        ],
    }  # fmt: skip


def _ends(factors: tuple[float, float, float]) -> dict[str, float | None]:
    return {
        name: None if math.isinf(value) else value
        for name, value in zip(("median", "low", "high"), factors, strict=True)
    }
