"""The document of a profile: the one that is in its folder, else made of what its processes wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sennit.model.document import read_json
from sennit.programs import process
from sennit.programs.problem import Exit, Problem

DOCUMENT = "profile.json"


def merged(folder: Path) -> Any:
    """The folder's document: the one that is there, else made of what its processes wrote. Raises Problem."""
    if folder.is_file():
        return read_json(folder)
    if not folder.is_dir():
        raise Problem(f"{folder} does not exist", "Name a folder that sennit profile wrote", Exit.USAGE)
    if (folder / DOCUMENT).is_file():
        return read_json(folder / DOCUMENT)
    document, _ = process.document("sennit-profile", str(folder), title="merging the profile")
    return document
