"""Options that several verbs share, and the writing of files that users name."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sennit import console
from sennit.problem import Exit, Problem


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
OnMachine = Annotated[
    str | None,
    typer.Option("--machine", help="A machine's name or file, instead of this machine.", metavar="NAME|FILE"),
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


def executor_arguments(executor: Executor | None) -> list[str]:
    """For the C++ programs; nothing when the user said nothing, so that SENNIT_EXECUTOR decides."""
    return ["--executor", executor.value] if executor else []


def examples(*lines: str) -> str:
    """The end of a verb's --help: whole command lines to copy, a line each."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(f"  $ {line}" for line in lines)


def print_json(document: Any) -> None:
    """A document on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def write(file: Path, text: str) -> None:
    """Writes a file that the user named, and says so on stderr. Raises Problem when it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{file} cannot be written: {error.strerror}", "Name another file", Exit.USAGE) from None
    console.messages().print(Text(f"wrote {file}"), soft_wrap=True)
