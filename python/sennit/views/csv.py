"""A result, or a profile, as CSV: one line a row of the document, figures as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sennit.model.profile import Profile
from sennit.model.profile_tables import OVER_TIME, columns, tables
from sennit.model.result import BENCH_MPI, COLLECTIVE, PATTERNS, PUT, TORCH, TRAINING, Result

# What the rows of each benchmark have, behind where and when they were measured.
COLUMNS = {
    PUT: "variant from to traffic window bytes repetitions median_us spread_us min_us p95_us gbps limit_gbps split "
    "verified",
    COLLECTIVE: "operation variant bytes type operator ranks in_place registered waited graph calls repetitions "
    "median_us spread_us min_us p95_us host_us gbps busbw_gbps plan blocks sms verified",
    BENCH_MPI: "operation osu variant buffers bytes window in_place type operator ranks nodes calls repetitions "
    "median_us spread_us min_us p95_us gbps sennit verified",
    PATTERNS: "pattern variant map over buffers bytes ranks nodes calls repetitions median_us spread_us min_us "
    "p95_us gbps saved predicted_us links_us found_ms verified",
    TORCH: "operation variant way bytes type ranks runs calls repetitions median_us spread_us host_us host_spread_us "
    "host_of_runs_us plan verified",
    TRAINING: "model parallel batch bucket_mb step variant ranks runs steps median_us spread_us silent_us "
    "silent_spread_us left_us left_spread_us gain gain_spread plan unit per_second losses repeatable",
}


def to_csv(result: Result) -> str:
    """The text. A split is written as route=share, separated by semicolons, as are other values that are several."""
    columns = ["machine", "date", *COLUMNS.get(result.kind, COLUMNS[PUT]).split()]
    lines = []
    for row in result.rows:
        values = row.model_dump(by_alias=True) | {"machine": result.machine.name, "date": result.date}
        lines.append(values | {"split": [f"{part.route}={part.share:g}" for part in row.split]})
    return lines_csv(columns, lines)


def profile_csv(profile: Profile) -> dict[str, str]:
    """The rows of a profile, one line each kind of calls; and of what is known over time, which there may be nothing
    of, a line each process and bin."""
    found = tables(profile)
    names = ["rows", *(name for name in OVER_TIME if found[name])]
    return {name: lines_csv(columns(name), found[name]) for name in names}


def lines_csv(columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> str:
    """The text of these columns of lines."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({column: _cell(line[column]) for column in columns})
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ";".join(f"{name}={_cell(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ";".join(str(_cell(each)) for each in value)
    return "" if value is None else value
