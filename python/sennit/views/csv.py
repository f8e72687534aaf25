"""A result as CSV: one line a row of the document, figures as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, get_args

from sennit.model.result import Result
from sennit.views.origin import Measured

COLUMNS = [
    "machine", "date", "variant", "from", "to", "traffic", "window", "bytes", "repetitions", "median_us", "spread_us",
    "min_us", "p95_us", "gbps", "limit_gbps", "split", "verified",
]  # fmt: skip


def to_csv(result: Measured) -> str:
    """The text. A split is written as route=share, separated by semicolons, as are other values that are several."""
    text = io.StringIO()
    columns = COLUMNS if isinstance(result, Result) else columns_of(result)
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in result.rows:
        values = {name: _cell(value) for name, value in row.model_dump(by_alias=True).items()}
        if isinstance(result, Result):
            values["split"] = ";".join(f"{part['route']}={part['share']:g}" for part in row.model_dump()["split"])
        values |= {"machine": result.machine.name, "date": result.date}
        writer.writerow({column: values[column] for column in columns})
    return text.getvalue()


def columns_of(result: Measured) -> list[str]:
    """Where it was measured, and what its kind of row has, in the document's order, also where there is no row."""
    (row,) = get_args(type(result).model_fields["rows"].annotation)
    return ["machine", "date", *row.model_fields]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ";".join(f"{name}={_cell(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ";".join(str(_cell(each)) for each in value)
    return "" if value is None else value
