"""`sennit topo`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sennit.model.document import parse
from sennit.model.machine import Catalogue, Machine
from sennit.programs import console, process
from sennit.programs.machines import PROGRAM, named_machine, this_machine
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import (
    AsJson,
    Executor,
    OnExecutor,
    check_files,
    examples,
    executor_arguments,
    print_json,
    write,
)
from sennit.views.machine_svg import machine_svg
from sennit.views.machine_text import print_machine

EXAMPLES = examples(
    "sennit topo",
    "sennit topo --measure",
    "sennit topo --machine mist --svg mist.svg",
    "sennit topo --machine nccl_topo.xml --json > mine.json",
)


def topo(
    machine: Annotated[
        str | None,
        typer.Option(help="Another machine: a name (see --list), a machine file, or NCCL's topology dump (.xml)."),
    ] = None,
    measure: Annotated[bool, typer.Option("--measure", help="Measure the links, and keep the figures.")] = False,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="With --measure: more sizes, more repetitions.")
    ] = False,
    list_machines: Annotated[bool, typer.Option("--list", help="List the machines that come with sennit.")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw the machine.")] = None,
    nccl: Annotated[
        Path | None, typer.Option("--nccl", metavar="FILE", help="Also write it as a topology for NCCL_TOPO_FILE.")
    ] = None,
    executor: OnExecutor = None,
    as_json: AsJson = False,
) -> None:
    """Show a machine: its devices, their links, and what each link really delivers.

    Without options, this machine: as it was last measured, else as it describes itself."""
    if list_machines:
        others = {"--machine": machine, "--measure": measure, "--thorough": thorough, "--svg": svg, "--nccl": nccl,
                  "--executor": executor}  # fmt: skip
        if wrong := next((name for name, value in others.items() if value), None):
            raise Problem(f"{wrong} is of one machine, --list of all", "Leave one out", Exit.USAGE)
        _list(as_json)
        return
    check_files(svg, nccl)
    if machine and (measure or executor):
        raise Problem("--machine shows another machine, so it cannot be measured here", "Leave one out", Exit.USAGE)
    if thorough and not measure:
        raise Problem("--thorough says how to measure", "Add --measure", Exit.USAGE)
    document = _document(machine, measure, thorough, executor)
    found = parse(Machine, document, f"the machine {machine}" if machine else "this machine's description")
    if svg:
        write(svg, machine_svg(found))
    if nccl:
        write(nccl, _as_nccl(machine, document))
    if as_json:
        print_json(document)
        return
    print_machine(found, console.results())
    if not machine and not found.curves:
        hint = "Not measured yet: sennit topo --measure takes a few seconds and makes every figure exact."
        console.messages().print(Text(hint))


def _document(machine: str | None, measure: bool, thorough: bool, executor: Executor | None) -> Any:
    if machine and machine.endswith(".xml"):
        return process.document(PROGRAM, "convert", "--from-nccl", machine, title=f"reading {machine}")[0]
    if machine:
        return named_machine(machine)
    more = executor_arguments(executor)
    if measure:
        options = ["--progress", *(["--thorough"] if thorough else []), *more]
        return process.document(PROGRAM, "measure", *options, title="measuring this machine")[0]
    return this_machine(*more)


def _as_nccl(machine: str | None, document: Any) -> str:
    """NCCL's XML of a machine. The program reads machines from files, so one that has none is given one."""
    if machine and not machine.endswith(".xml"):
        return process.run(PROGRAM, "convert", "--to-nccl", machine, title="converting").text
    with tempfile.TemporaryDirectory(prefix="sennit-") as folder:
        file = Path(folder) / "machine.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        return process.run(PROGRAM, "convert", "--to-nccl", str(file), title="converting").text


def _list(as_json: bool) -> None:
    document, _ = process.document(PROGRAM, "list", title="listing machines")
    found = parse(Catalogue, document, f"the list of {PROGRAM}", version=None)
    if as_json:
        print_json(document)
        return
    # The first sentence says what it is; the others, where figures come from.
    machines = [(one.name, one.description.split(". ")[0]) for one in found.machines]
    width = max((len(name) for name, _ in machines), default=0)
    for name, description in machines:
        console.results().print(Text(f"{name:<{width}}  {description}"), soft_wrap=True)
