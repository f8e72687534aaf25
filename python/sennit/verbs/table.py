"""`sennit table`: tables of tuned collectives, as they are kept, and as others keep them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from sennit.compare.table_diff import diff_document, table_diff
from sennit.model.document import parse, read_json
from sennit.model.plans import CollectiveTable, KeptTable
from sennit.model.tuned import PutTable
from sennit.programs import console, process
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import AsJson, Executor, OnExecutor, examples, executor_arguments, print_json
from sennit.verbs.tune import PROGRAM
from sennit.views.changes_text import print_table_diff
from sennit.views.plan_tables import check_text, print_kept, print_plan_table
from sennit.views.tables import print_put_table

VARIABLE = "SENNIT_TABLE"  # as communicators read it: a file, or none

SHOW_EXAMPLES = examples("sennit table show", "sennit table show plans.json")
DIFF_EXAMPLES = examples(
    "sennit table diff before.json after.json", "sennit table diff before.json after.json --json"
)
CHECK_EXAMPLES = examples("sennit table check", "sennit table check plans.json --executor cuda")

app = typer.Typer(
    no_args_is_help=True,
    epilog=examples("sennit table show", "sennit table diff before.json after.json", "sennit table check"),
    help="Show, compare and check what was tuned.",
)

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="A table, instead of this machine's.")]


@app.command("show", epilog=SHOW_EXAMPLES)
def show(file: File = None, executor: OnExecutor = None) -> None:
    """Show the tuned collectives of this machine, or a table of collectives or puts in a file."""
    if file is None:
        print_kept(_kept(None, executor), console.results())
        return
    if executor is not None:
        raise Problem("--executor says which table of this machine to show", "Leave it or the file out", Exit.USAGE)
    table = _read(file)
    if isinstance(table, PutTable):
        print_put_table(table, console.results())
    else:
        print_plan_table(table, console.results())


@app.command("diff", epilog=DIFF_EXAMPLES)
def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A table of collectives.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    as_json: AsJson = False,
) -> None:
    """Compare two tables of collectives, case by case: which plan is taken, and is it the same, faster or slower?"""
    tables = collectives_of(first), collectives_of(second)
    found = table_diff(*tables)
    files = str(first), str(second)
    if as_json:
        print_json(diff_document(found, files))
    else:
        print_table_diff(found, tables, files, console.results())


@app.command("check", epilog=CHECK_EXAMPLES)
def check(file: File = None, executor: OnExecutor = None) -> None:
    """Say whether communicators on this machine follow a table: this machine's, the one that SENNIT_TABLE names, or
    the file. Exits with 1 where they do not."""
    named = os.environ.get(VARIABLE, "")
    if file is None and named == "none":
        _say(f"Communicators on this machine follow no table: {VARIABLE} is none.")
        raise typer.Exit(Exit.WORSE)
    kept = _kept(file, executor)
    _say(check_text(kept, named=file is not None and str(file) != named))
    if not kept.used or not kept.table.entries:
        raise typer.Exit(Exit.WORSE)


def _say(sentence: str) -> None:
    console.results().print(Text(sentence), soft_wrap=True)


def _kept(file: Path | None, executor: Executor | None) -> KeptTable:
    """As the program finds it. Raises Problem where nothing was tuned."""
    arguments = ["kept", *(["--table", str(file)] if file is not None else []), *executor_arguments(executor)]
    document, _ = process.document(PROGRAM, *arguments, title="looking for earlier tuning")
    return parse(KeptTable, document, f"the document of {PROGRAM}", version=None)


def _read(file: Path) -> CollectiveTable | PutTable:
    """A table in a file, also one that --json of sennit tune collectives wrote around it."""
    document = read_json(file)
    if isinstance(document, dict) and "kind" not in document and "table" in document:
        document = document["table"]
    if isinstance(document, dict) and document.get("kind") == "put table":
        return parse(PutTable, document, str(file))
    return parse(CollectiveTable, document, str(file))


def collectives_of(file: Path) -> CollectiveTable:
    """A table of collectives in a file. Raises Problem where it has none."""
    table = _read(file)
    if isinstance(table, PutTable):
        raise Problem(f"{file} is a table of puts", "Give a table of collectives", Exit.USAGE)
    return table
