"""What other tools recorded, found by what is in the files: dumps of PyTorch's Flight Recorder, logs of NCCL
Inspector. A file is of one rank or of several, a folder has those of all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sennit.formats.calls import MOST_RANKS, Process, profile_document
from sennit.formats.flight_recorder import GLOO, is_dump, read_dump, unpickled
from sennit.formats.nccl_inspector import is_log, read_log
from sennit.model.document import decode
from sennit.programs.problem import Exit, Problem

PICKLE = b"\x80"  # how all pickles of today begin
REMEDY = "Give a dump that torch.distributed wrote"


def recorded(what: Path) -> Any:
    """The document of a profile; None where there is no such file. In a folder a file that cannot be read is left
    out, and the document says so. Raises Problem where a single one cannot be read."""
    processes: dict[int, Process] = {}
    versions: set[str] = set()
    left_out: dict[str, str] = {}
    files = sorted(file for file in what.iterdir() if file.is_file()) if what.is_dir() else [what]
    for place, file in enumerate(files):
        try:
            found = _read(file, place, versions)
        except Problem as problem:
            if not what.is_dir():
                raise
            left_out[file.name] = problem.what.removeprefix(f"{file}: ").removeprefix(f"{file} ")
            continue
        for one in found:
            if one.rank in processes:  # a rank that wrote several files, one a communicator
                processes[one.rank].calls += one.calls
                processes[one.rank].seconds = max(processes[one.rank].seconds, one.seconds)
            else:
                processes[one.rank] = one
    if not processes:
        return None
    of_nccl = any(not call.function.startswith(GLOO) for one in processes.values() for call in one.calls)
    nccl = f"NCCL {', '.join(sorted(versions))}".strip() if of_nccl else None
    return profile_document(list(processes.values()), nccl, left_out)


def _read(file: Path, place: int, versions: set[str]) -> list[Process]:
    """What is in one file; nothing where it is of no kind that is known here."""
    try:
        with file.open("rb") as opened:
            first = opened.read(1)
            content = first + opened.read() if first in (PICKLE, b"{") else b""
    except OSError:
        return []
    if content.startswith(PICKLE):
        try:
            document = unpickled(content)
        except ValueError as error:
            raise Problem(f"{file} {error}", REMEDY, Exit.USAGE) from None
        if not is_dump(document):
            raise Problem(f"{file} is a pickle of something else", REMEDY, Exit.USAGE)
        return [_dump(document, file, place, versions)]
    text = content.decode("utf-8", "replace")
    if is_log(text):
        return read_log(text, str(file))
    try:
        document = decode(text)
    except ValueError:
        return []
    return [_dump(document, file, place, versions)] if is_dump(document) else []


def _dump(document: Any, file: Path, place: int, versions: set[str]) -> Process:
    """A dump says in its name which rank it is of."""
    number = re.search(r"(\d{1,12})(?:\.\w+)?$", file.name)
    rank = int(number[1]) if number and int(number[1]) < MOST_RANKS else place  # else it may be a date
    found, version = read_dump(document, str(file), rank)
    versions |= {version} - {""}
    return found
