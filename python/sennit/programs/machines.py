"""The machine that a question is about: one that is named, else this one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sennit.model.document import read_json
from sennit.programs import process
from sennit.programs.problem import Exit, Problem

PROGRAM = "sennit-machine"


def named_machine(name: str) -> Any:
    """The document of a machine that comes with sennit, or of a file. Raises Problem where there is none."""
    try:
        return process.document(PROGRAM, "show", name, title=f"reading {name}")[0]
    except Problem:
        if kind := kind_of_file(Path(name)):
            raise Problem(
                f"{name} is a document of kind {kind}, no machine",
                "Give the name of a machine (sennit topo --list) or its document",
                Exit.USAGE,
            ) from None
        raise


def kind_of_file(file: Path) -> str:
    """Which document of sennit's it is that says of itself what it is; empty where it is none."""
    try:
        kind = read_json(file).get("kind", "") if file.is_file() else ""
    except (Problem, AttributeError):
        return ""
    return str(kind)


def this_machine(*executor: str) -> Any:
    """This machine's document: as it was last measured, else as it describes itself."""
    try:
        return process.document(PROGRAM, "cached", *executor, title="looking for earlier measurements")[0]
    except Problem as problem:
        # Never measured is no error here: the machine still describes itself.
        if problem.exit_code != Exit.WORSE:
            raise
    return process.document(PROGRAM, "discover", *executor, title="looking at this machine")[0]


def known_machine(name: str | Path | None) -> Any:
    """As src/machine/known.h finds it, so that a picture is of the machine that was reckoned with."""
    name = name or os.environ.get("SENNIT_MACHINE")
    return named_machine(str(name)) if name else this_machine()
