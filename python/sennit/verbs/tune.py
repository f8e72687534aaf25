"""`sennit tune`, and what other verbs need of it: a machine that is measured and tuned."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sennit.model.document import parse
from sennit.model.plans import KeptTable
from sennit.model.tuned import PutTable
from sennit.programs import console, process
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import (
    Executor,
    OnExecutor,
    check_files,
    examples,
    executor_arguments,
    print_json,
    write,
)
from sennit.views.plan_tables import print_kept
from sennit.views.tables import print_put_table

PROGRAM = "sennit-tune"
EXAMPLES = examples(
    "sennit tune",
    "sennit tune put --thorough",
    "sennit tune collectives --operations allreduce,allgather --budget 600",
    "sennit tune --show",
    "sennit tune collectives --json plans.json",
)
PANEL = "Of collectives"
LIBRARY_OF_NCCL = "libnccl.so.2"


class Operation(str, Enum):
    """What to tune."""

    PUT = "put"
    COLLECTIVES = "collectives"
    ALL = "all"


class Peer(str, Enum):
    """What collectives are measured beside."""

    NCCL = "nccl"
    NONE = "none"


def tune(
    operation: Annotated[
        Operation, typer.Argument(help="What to tune; all: puts, then collectives.")
    ] = Operation.ALL,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Every pair on its own, more sizes, types and repetitions.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Measure nothing; show what was kept.")] = False,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the table; - is stdout, instead of text.")
    ] = None,
    executor: OnExecutor = None,
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…", help="For example allreduce,allgather.", show_default="all", rich_help_panel=PANEL
        ),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="SIZE,…", help="Of one message, for example 4K,64M.", rich_help_panel=PANEL)
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Processes to start; default one a GPU.", rich_help_panel=PANEL),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="What does not fit is left for the next time.",
            show_default="120",
            rich_help_panel=PANEL,
        ),
    ] = None,
    versus: Annotated[
        Peer | None,
        typer.Option("--vs", help="Measured in the same run; default nccl with GPUs.", rich_help_panel=PANEL),
    ] = None,
    nccl: Annotated[
        str | None,
        typer.Option(
            "--nccl",
            metavar="FILE",
            help="libnccl.so.2 or its folder, where the loader does not find it.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also what was tuned before.", rich_help_panel=PANEL)
    ] = False,
) -> None:
    """Measure what is fastest on this machine, and keep it: from then on every message and collective follows it.

    Of puts the split for every size and pair, of collectives the plan for every operation and size. It is taken only
    where it beats, beyond the noise, what would be taken without it. Measures the machine first if that was never
    done."""
    options: dict[str, object] = {
        "--operations": operations,
        "--sizes": sizes,
        "--ranks": ranks,
        "--budget": budget,
        "--vs": versus.value if versus else None,
        "--nccl": nccl,
    }
    given = [name for name, value in options.items() if value is not None] + (["--again"] if again else [])
    how = [*given, *(["--thorough"] if thorough else [])]
    if show and how:
        raise Problem(f"{how[0]} says how to measure, and --show measures nothing", "Leave one out", Exit.USAGE)
    if operation == Operation.PUT and given:
        raise Problem(f"{given[0]} is of collectives, and means nothing for put", "Leave it out", Exit.USAGE)
    if operation == Operation.ALL and json_file:
        raise Problem(
            "--json writes one document, and puts and collectives have one each",
            "Name one: sennit tune put --json FILE, or sennit tune collectives --json FILE",
            Exit.USAGE,
        )
    if nccl is not None:
        check_nccl(nccl)
    arguments = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    arguments += ["--again"] if again else []
    if nccl is None and operation != Operation.PUT and (found := torchs_nccl(sys.path)):
        arguments += ["--nccl", found]
    if not show:
        # Wrong usage and files that cannot be written are told before minutes of measuring.
        check_files(json_file)
        asked = _arguments_of(Operation.COLLECTIVES, executor, thorough, arguments)
        if operation == Operation.ALL and given:
            check_arguments(PROGRAM, *asked)
        measure_once(
            executor, (lambda: check_arguments(PROGRAM, *asked)) if operation == Operation.COLLECTIVES else None
        )
    missing: list[Problem] = []
    for one in (Operation.PUT, Operation.COLLECTIVES) if operation == Operation.ALL else (operation,):
        try:
            document = _kept(one, executor) if show else _tune(one, executor, thorough, arguments)
        except Problem as problem:
            # The other may be there.
            if not (show and operation == Operation.ALL and problem.exit_code == Exit.WORSE):
                raise
            missing.append(problem)
            continue
        if operation == Operation.ALL and one == Operation.COLLECTIVES and not missing:
            console.results().print()
        _show(one, document, json_file)
    if missing:
        raise missing[0]


def check_nccl(given: str) -> None:
    """Raises Problem where what `--nccl` names is not there: a file, or a folder that holds none. A name alone is for
    the loader to find."""
    file = str(Path(given) / LIBRARY_OF_NCCL) if Path(given).is_dir() else given
    if "/" in file and not Path(file).exists():
        raise Problem(f"--nccl: {file} does not exist",
                      f"Give {LIBRARY_OF_NCCL} or its folder, or leave it out: PyTorch's or the loader's is taken",
                      Exit.ENVIRONMENT)  # fmt: skip


def torchs_nccl(places: Sequence[str]) -> str | None:
    """The folder of the NCCL that PyTorch's wheels bring, where it is installed in one of these. PyTorch uses that
    one, whatever the loader finds."""
    folders = [Path(place) / "nvidia" / "nccl" / "lib" for place in places]
    return next((str(folder) for folder in folders if (folder / LIBRARY_OF_NCCL).exists()), None)


def measure_once(executor: Executor | None, check: Callable[[], None] | None = None) -> None:
    """Measures this machine, saying so, unless that was done before; `check` comes first, and raises Problem where
    what is to follow would be refused. Raises Problem where it cannot be measured."""
    more = executor_arguments(executor)
    try:
        process.run("sennit-machine", "cached", *more, title="looking for earlier measurements")
    except Problem as problem:
        if problem.exit_code != Exit.WORSE:
            raise
        if check is not None:
            check()
        console.messages().print(Text("This machine was never measured: measuring its links first."))
        process.run("sennit-machine", "measure", "--progress", *more, title="measuring this machine")


def check_arguments(program: str, *arguments: str) -> None:
    """Raises Problem where a program would refuse what it is asked to do here, by what it says without doing it."""
    process.run(program, *arguments, "--check", title="checking what is asked")


def tune_once(executor: Executor | None, check: Callable[[], None]) -> None:
    """Tunes puts on this machine, saying so, unless that was done before, or the environment already says how
    messages are to travel. `check`: raises Problem where what is to follow would be refused, before minutes are
    spent. Raises Problem where it cannot be tuned."""
    if os.environ.get("SENNIT_MACHINE") or os.environ.get("SENNIT_SPLIT"):
        return
    try:
        _kept(Operation.PUT, executor)
    except Problem as problem:
        if problem.exit_code != Exit.WORSE:
            raise
        text = "Puts were never tuned on this machine: finding the fastest splits first (--no-tune leaves this out)."
        check()
        console.messages().print(Text(text), soft_wrap=True)
        measure_once(executor)
        _tune(Operation.PUT, executor, thorough=False)


def _kept(operation: Operation, executor: Executor | None) -> Any:
    what = "cached" if operation == Operation.PUT else "kept"
    return _document(what, executor, title="looking for earlier tuning")


def _tune(operation: Operation, executor: Executor | None, thorough: bool, arguments: Sequence[str] = ()) -> Any:
    """`arguments` are of collectives."""
    return process.document(PROGRAM, *_arguments_of(operation, executor, thorough, arguments), title="tuning")[0]


def _arguments_of(
    operation: Operation, executor: Executor | None, thorough: bool, arguments: Sequence[str]
) -> list[str]:
    more = [*(arguments if operation == Operation.COLLECTIVES else ()), *(["--thorough"] if thorough else [])]
    return [operation.value, "--progress", *more, *executor_arguments(executor)]


def _show(operation: Operation, document: Any, json_file: str | None) -> None:
    """As text unless stdout carries the document."""
    origin = f"the document of {PROGRAM}"
    draw: Callable[[Console], None]
    if operation == Operation.PUT:
        draw = partial(print_put_table, parse(PutTable, document, origin))
    else:
        draw = partial(print_kept, parse(KeptTable, document, origin, version=None))
    if json_file == "-":
        print_json(document)
        return
    draw(console.results())
    if json_file:
        write(Path(json_file), json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _document(what: str, executor: Executor | None, *options: str, title: str) -> Any:
    return process.document(PROGRAM, what, *options, *executor_arguments(executor), title=title)[0]
