"""`sennit tune`, and what other verbs need of it: a machine that is measured and tuned."""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sennit import console, programs
from sennit.model.document import parse
from sennit.model.tuned import PutTable
from sennit.problem import Exit, Problem
from sennit.verbs.options import Executor, OnExecutor, examples, executor_arguments, print_json, write
from sennit.views.tables import print_put_table

PROGRAM = "sennit-tune"
EXAMPLES = examples("sennit tune", "sennit tune put --thorough", "sennit tune --show", "sennit tune --json put.json")


class Operation(str, Enum):
    """What to tune."""

    PUT = "put"


def tune(
    operation: Annotated[Operation, typer.Argument(help="What to tune.")] = Operation.PUT,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Every pair on its own, more sizes and repetitions.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Measure nothing; show what was kept.")] = False,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the table; - is stdout, instead of text.")
    ] = None,
    executor: OnExecutor = None,
) -> None:
    """Measure the fastest split for every size and pair, and keep it: from then on every message follows it.

    A split is kept only where it beats the single path beyond the noise. Measures the machine first if that was never
    done."""
    if show and thorough:
        raise Problem("--thorough says how to measure, and --show measures nothing", "Leave one out", Exit.USAGE)
    if show:
        document = _document("cached", executor, title="looking for earlier tuning")
    else:
        measure_once(executor)
        document = _tune(operation, executor, thorough)
    table = parse(PutTable, document, f"the document of {PROGRAM}")
    if json_file == "-":
        print_json(document)
        return
    print_put_table(table, console.results())
    if json_file:
        write(Path(json_file), json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def measure_once(executor: Executor | None) -> None:
    """Measures this machine, saying so, unless that was done before. Raises Problem where it cannot be measured."""
    more = executor_arguments(executor)
    try:
        programs.run("sennit-machine", "cached", *more, title="looking for earlier measurements")
    except Problem as problem:
        if problem.exit_code != Exit.WORSE:
            raise
        console.messages().print(Text("This machine was never measured: measuring its links first."))
        programs.run("sennit-machine", "measure", "--progress", *more, title="measuring this machine")


def tune_once(executor: Executor | None) -> None:
    """Tunes puts on this machine, saying so, unless that was done before, or the environment already says how
    messages are to travel. Raises Problem where it cannot be tuned."""
    if os.environ.get("SENNIT_MACHINE") or os.environ.get("SENNIT_SPLIT"):
        return
    try:
        _document("cached", executor, title="looking for earlier tuning")
    except Problem as problem:
        if problem.exit_code != Exit.WORSE:
            raise
        text = "Puts were never tuned on this machine: finding the fastest splits first (--no-tune leaves this out)."
        console.messages().print(Text(text), soft_wrap=True)
        measure_once(executor)
        _tune(Operation.PUT, executor, thorough=False)


def _tune(operation: Operation, executor: Executor | None, thorough: bool) -> Any:
    more = ["--thorough"] if thorough else []
    return _document(operation.value, executor, "--progress", *more, title="tuning")


def _document(what: str, executor: Executor | None, *options: str, title: str) -> Any:
    return programs.document(PROGRAM, what, *options, *executor_arguments(executor), title=title)[0]
