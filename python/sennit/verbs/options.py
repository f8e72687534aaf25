"""Options that several verbs share, and the writing of files that users name."""

from __future__ import annotations

import json
import os
import sys
from enum import Enum
from errno import EISDIR
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sennit.programs import console
from sennit.programs.problem import Exit, Problem

PANEL = "Many ranks"  # of verbs that are named after collectives


class Executor(str, Enum):
    """What moves the bytes."""

    AUTO = "auto"
    CUDA = "cuda"
    HOST = "host"


AsJson = Annotated[bool, typer.Option("--json", help="Print the document itself, for other programs to read.")]
OnExecutor = Annotated[
    Executor | None,
    typer.Option("--executor", show_default="auto", help="cuda: GPUs; host: needs none; auto: GPUs where they are."),
]
Launcher = Annotated[
    str | None,
    typer.Option("--launcher", metavar="COMMAND", help="What starts ranks, with its options; default: mpirun."),
]
MpiLibrary = Annotated[
    Path | None,
    typer.Option("--library", metavar="FILE", help="The MPI's library; default: the one beside the launcher."),
]
OnMachine = Annotated[
    str | None,
    typer.Option("--machine", help="A machine's name or file, instead of this machine.", metavar="NAME|FILE"),
]
# As text: to the loader ./libnccl.so.2 is that file, and libnccl.so.2, which a Path makes of it, any.
Nccl = Annotated[
    str | None,
    typer.Option("--nccl", metavar="FILE", help="libnccl.so.2 or its folder, where the loader does not find it."),
]
WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if", metavar="LINK.bandwidth=VALUE", help="Such as nvlink.bandwidth=2x, gpu0-gpu1.bandwidth=50."
    ),
]
OtherCosts = Annotated[
    str | None,
    typer.Option("--costs", metavar="NAME=µs,…", help="Other costs than the defaults, such as launch_us=2."),
]
Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Also write tables as Markdown.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the rows as CSV.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with plots; works offline.")
]
ResultFile = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write the result; - is stdout, instead of tables.")
]
AsPublished = Annotated[
    bool,
    typer.Option("--as-published", help="Also what the public suite of 2022 would say of partitioned messages."),
]
# Of jobs of a GPU a rank, which run in turns (turns.py).
RanksOnGpus = Annotated[int | None, typer.Option("--ranks", "-n", min=2, metavar="N", help="Default: one a GPU.")]
JobsInTurns = Annotated[int, typer.Option(min=1, metavar="N", help="Jobs of each library, in turns.")]
MostSeconds = Annotated[float, typer.Option(min=1, metavar="S", help="Most seconds of a job.")]


def executor_arguments(executor: Executor | None) -> list[str]:
    """For the C++ programs; nothing when the user said nothing, so that SENNIT_EXECUTOR decides."""
    return ["--executor", executor.value] if executor else []


def names(text: str) -> list[str]:
    """What stands between commas."""
    return [each.strip() for each in text.split(",") if each.strip()]


def examples(*lines: str) -> str:
    """The end of a verb's --help: whole command lines to copy, a line each."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(f"  $ {line}" for line in lines)


def print_json(document: Any) -> None:
    """A document on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def check_files(*files: Path | str | None) -> None:
    """Makes sure, before anything runs, that a verb will be able to write these files at its end; stdout (-) and what
    is not asked for count as well. Raises Problem."""
    for name in files:
        if name is None or name == "-":
            continue
        file = Path(name)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_file():
                file.open("ab").close()
            elif not file.exists():
                file.open("xb").close()
                file.unlink()
            elif file.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            # Else a pipe or a device: opening it could be noticed at its other end.
        except OSError as error:
            raise _unwritable(file, error) from None


def _unwritable(file: Path, error: OSError) -> Problem:
    return Problem(f"{file} cannot be written: {error.strerror}", "Name another file", Exit.USAGE)


def write(file: Path, text: str) -> None:
    """Writes a file that the user named, and says so on stderr. Raises Problem when it cannot be written."""
    write_bytes(file, text.encode("utf-8"))


def write_bytes(file: Path, content: bytes) -> None:
    """The same of what is no text."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    except OSError as error:
        raise _unwritable(file, error) from None
    console.messages().print(Text(f"wrote {file}"), soft_wrap=True)
