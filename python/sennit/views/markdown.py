"""A result as Markdown, for an issue or for docs/."""

from __future__ import annotations

from sennit.compare.comparison import Comparison, comparisons
from sennit.compare.verdicts import verdicts
from sennit.model.result import Result
from sennit.views.columns import table
from sennit.views.origin import origin, repetitions


def markdown(result: Result) -> str:
    """The whole result, with a heading a case."""
    parts = [f"## sennit {result.kind}", f"{origin(result)} {repetitions(result)}"]
    for comparison in comparisons(result):
        parts += [f"### {comparison.case.title}", case_table(comparison), " ".join(verdicts(comparison))]
    if result.warnings:
        parts.append("\n".join(f"- Warning: {warning}" for warning in result.warnings))
    return "\n\n".join(part for part in parts if part) + "\n"


def case_table(comparison: Comparison) -> str:
    """The table of one case."""
    headings, rows = table(comparison)
    lines = [headings, ["---" if heading == "split" else "---:" for heading in headings], *rows]
    return pipes(lines)


def pipes(lines: list[list[str]]) -> str:
    """A table of its lines, the second of which says how columns are aligned."""
    return "\n".join("| " + " | ".join(escaped(cell) for cell in cells) + " |" for cells in lines)


def escaped(cell: str) -> str:
    """What would end the cell or its line, undone."""
    return " ".join(cell.replace("\\", "\\\\").replace("|", "\\|").splitlines())
