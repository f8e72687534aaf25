"""Where the C++ programs and libraries are: beside this package where it is installed, else in the build folder of
its source tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sennit.programs.problem import Exit, Problem

VARIABLE = "SENNIT_PROGRAMS"  # a folder of programs to use instead of those that belong to this package


def folders() -> Iterator[Path]:
    """Where the programs may be, best first: the folder asked for, else beside this package, else the build folder
    of the source tree that this package belongs to."""
    if asked := os.environ.get(VARIABLE):
        yield Path(asked)
        return
    package = Path(__file__).resolve().parent.parent
    yield package / "bin"
    tree = package.parent.parent
    if (tree / "CMakePresets.json").is_file():
        yield tree / "build" / "release" / "bin"


def find(name: str) -> Path:
    """The program. Raises Problem (environment) with what to do when it is in none of the folders."""
    looked = list(folders())
    for folder in looked:
        program = folder / name
        if program.is_file() and os.access(program, os.X_OK):
            return program
    raise _absent(f"the program {name}", looked, "the folder that holds it")


def find_library(name: str) -> Path:
    """The library, in the folder lib beside one of the programs' folders. Raises Problem as find() does."""
    looked = [folder.parent / "lib" for folder in folders()]
    for folder in looked:
        if (folder / name).is_file():
            return folder / name
    raise _absent(f"the library {name}", looked, "the folder bin beside the folder lib that holds it")


def _absent(what: str, looked: list[Path], place: str) -> Problem:
    if os.environ.get(VARIABLE):
        remedy = f"Set {VARIABLE} to {place}, or unset it"
    elif len(looked) > 1:
        remedy = "Build it: make build"
    else:
        remedy = "Install the package again: pip install ."
    return Problem(f"{what} is not in {', '.join(str(f) for f in looked)}", remedy, Exit.ENVIRONMENT)
