"""The results in results/, as the docs are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sennit.model.document import parse, read_json
from sennit.model.result import Result

PAPER, MESSAGES, BEYOND, REPRODUCTION = "sim paper", "sim messages", "sim beyond", "reproduction"
NONE_YET = "No measurement is kept in `results/` yet."


@dataclass(frozen=True)
class Kept:
    """A result in results/, and what it is called."""

    name: str  # MACHINE-NAME
    path: str  # results/MACHINE/NAME.json
    result: Result


def documents(root: Path, kind: str) -> list[tuple[str, str, Any]]:
    """Name, path and content of the documents of a kind in results/, by machine and name."""
    found = []
    for file in sorted((root / "results").glob("*/*.json")):
        document = read_json(file)
        if isinstance(document, dict) and document.get("kind") == kind:
            found.append((f"{file.parent.name}-{file.stem}", str(file.relative_to(root)), document))
    return found


def kept_results(root: Path, kind: str) -> list[Kept]:
    """The results of a benchmark."""
    return [Kept(name, path, parse(Result, document, path)) for name, path, document in documents(root, kind)]
