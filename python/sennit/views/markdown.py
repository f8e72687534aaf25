"""Tables as Markdown, for an issue or for docs/."""

from __future__ import annotations

from collections.abc import Sequence


def pipes(lines: Sequence[Sequence[str]]) -> str:
    """A table of its lines, the second of which says how columns are aligned."""
    return "\n".join("| " + " | ".join(escaped(cell) for cell in cells) + " |" for cells in lines)


def escaped(cell: str) -> str:
    """What would end the cell or its line, undone."""
    return " ".join(cell.replace("\\", "\\\\").replace("|", "\\|").splitlines())
