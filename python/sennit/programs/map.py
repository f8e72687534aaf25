"""Which rank on which GPU, as a record: the command line asks here, and so may programs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sennit.model.document import parse
from sennit.model.map import RankMap, RankOrder
from sennit.programs import process
from sennit.programs.problem import Exit, Problem
from sennit.programs.profiles import merged

PROGRAM = "sennit-map"
ORIGIN = f"the document of {PROGRAM}"


@dataclass(frozen=True)
class Question:
    """The traffic of one of three sources, on nodes that are this machine each. The program chooses what is None."""

    profile: Path | None = None
    matrix: Sequence[Path] = ()
    pattern: str | None = None
    size: str | None = None
    machine: str | None = None
    nodes: int | None = None
    gpus: str | None = None
    ranks_per_gpu: int | None = None
    pin: str | None = None
    keep_sockets: bool = False
    metric: str | None = None
    solver: str | None = None
    scotch: str | None = None
    costs: str | None = None

    def arguments(self) -> list[str]:
        """For sennit-map, without the profile."""
        names = (
            "pattern", "size", "machine", "nodes", "gpus", "ranks_per_gpu", "pin", "metric", "solver", "scotch",
            "costs",
        )  # fmt: skip
        options = {name.replace("_", "-"): getattr(self, name) for name in names}
        arguments = [
            part for name, value in options.items() if value is not None for part in (f"--{name}", str(value))
        ]
        arguments += ["--keep-sockets"] if self.keep_sockets else []
        return arguments + [part for file in self.matrix for part in ("--matrix", str(file))]


def better_order(profile: Any) -> list[int] | None:
    """Of each rank of a profile's document the one whose place it should take, for less to be sent between hosts;
    None where the mapper knows no better order. Raises Problem where it cannot be asked."""
    with tempfile.TemporaryDirectory(prefix="sennit-map-") as folder:
        file = Path(folder) / "profile.json"
        file.write_text(json.dumps(profile), encoding="utf-8")
        document, code = process.document(PROGRAM, "order", "--profile", str(file), title="mapping")
    return None if code else parse(RankOrder, document, ORIGIN).process or None


def ask(question: Question) -> tuple[RankMap, Any]:
    """The answer, and the document that it was read from. Raises Problem."""
    sources = [bool(question.profile), bool(question.matrix), bool(question.pattern)]
    if sum(sources) != 1:
        raise Problem(
            "what the ranks send is given more than once" if any(sources) else "what the ranks send is not given",
            "Give one of these: the folder of sennit profile -o FOLDER, --matrix FILE, or --pattern NAME",
            Exit.USAGE,
        )
    if question.profile is None:
        return _run(question.arguments())
    profile = merged(question.profile)
    if not isinstance(profile, dict) or profile.get("kind") != "profile":
        raise Problem(f"{question.profile} is no profile", "Name a folder that sennit profile wrote", Exit.USAGE)
    with tempfile.TemporaryDirectory(prefix="sennit-map-") as folder:
        file = Path(folder) / "profile.json"
        file.write_text(json.dumps(profile), encoding="utf-8")
        return _run([*question.arguments(), "--profile", str(file)])


def _run(arguments: list[str]) -> tuple[RankMap, Any]:
    document, _ = process.document(PROGRAM, "map", *arguments, title="mapping")
    return parse(RankMap, document, ORIGIN), document
