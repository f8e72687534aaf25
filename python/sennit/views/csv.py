"""A result as CSV: one line a row of the document, figures as they are."""

from __future__ import annotations

import csv
import io

from sennit.model.result import Result

COLUMNS = [
    "machine", "date", "variant", "from", "to", "traffic", "window", "bytes", "repetitions", "median_us", "spread_us",
    "min_us", "p95_us", "gbps", "limit_gbps", "split", "verified",
]  # fmt: skip


def to_csv(result: Result) -> str:
    """The text. A split is written as route=share, separated by semicolons."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in result.rows:
        values = row.model_dump(by_alias=True)
        values["split"] = ";".join(f"{part.route}={part.share:g}" for part in row.split)
        values["verified"] = str(row.verified).lower()
        values |= {"machine": result.machine.name, "date": result.date}
        writer.writerow({column: values[column] for column in COLUMNS})
    return text.getvalue()
