"""The document of a profile: the one that is in its folder, else made of what its processes wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sennit.model.document import read_json
from sennit.programs import process
from sennit.programs.problem import Exit, Problem

DOCUMENT = "profile.json"
OURS = "*.sennit-profile"  # what processes write


def merged(folder: Path) -> Any:
    """The folder's document: the one that is there, else made of what its processes wrote. Raises Problem."""
    try:
        if folder.is_file():
            return read_json(folder)
        if not folder.is_dir():
            raise Problem(f"{folder} does not exist", "Name a folder that sennit profile wrote", Exit.USAGE)
        if (folder / DOCUMENT).is_file():
            return read_json(folder / DOCUMENT)
    except OSError as error:
        raise unreadable(folder, error) from None
    document, _ = process.document("sennit-profile", str(folder), title="merging the profile")
    return document


def write_trace(folder: Path, file: Path) -> None:
    """Writes the single calls of the processes for a viewer of traces. Raises Problem."""
    if not any_of_processes(folder):
        raise Problem(f"{folder} has no single calls: those are in what the processes wrote",
                      "Name the folder that sennit profile wrote", Exit.USAGE)  # fmt: skip
    process.document("sennit-profile", str(folder), "--perfetto", str(file), title="writing the trace")


def any_of_processes(folder: Path) -> bool:
    """Tells if files of processes are in the folder. Raises Problem where they may not be looked for."""
    try:
        return folder.is_dir() and any(folder.glob(OURS))
    except OSError as error:
        raise unreadable(folder, error) from None


def unreadable(what: Path, error: OSError) -> Problem:
    """The problem of a folder or a file that may not be read."""
    return Problem(f"{what} cannot be read: {error.strerror}", "Ask its owner, or copy what you may read", Exit.USAGE)
