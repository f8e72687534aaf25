"""Documents of sennit that are no profiles, by the views that other verbs have of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from sennit.model.document import Part, parse
from sennit.model.machine import Machine
from sennit.model.map import RankMap
from sennit.model.partitioned import PARTITIONED
from sennit.model.plans import CollectiveTable, KeptTable
from sennit.model.recording_cost import RECORDING_COST
from sennit.model.result import KINDS as RESULTS
from sennit.model.sim import (
    Beyond,
    Check,
    Messages,
    MessagesSweep,
    Paper,
    Papers,
    Replay,
    Reproduction,
    SimulatedPut,
    Simulation,
    Sweep,
)
from sennit.model.tuned import PutTable
from sennit.programs import console
from sennit.programs.machines import known_machine
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import print_json, write
from sennit.verbs.partitioned import show_partitioned
from sennit.verbs.recording_gpus import show_cost
from sennit.verbs.results import Files, show_result
from sennit.views import sim_html
from sennit.views.beyond import beyond_markdown, print_beyond
from sennit.views.machine_text import print_machine
from sennit.views.map_text import print_map
from sennit.views.messages_sweep import print_messages_sweep
from sennit.views.paper import paper_markdown, papers_markdown, print_paper, print_papers
from sennit.views.plan_tables import print_kept, print_plan_table
from sennit.views.reproduction import print_reproduction, reproduction_markdown
from sennit.views.sim_sweep import print_sweep
from sennit.views.sim_text import print_check, print_messages, print_put, print_replay, print_simulation
from sennit.views.tables import print_put_table

View = Callable[[Any], str]
# Of each kind what reads it, what prints it, and, where there are some, its page and its Markdown.
KINDS: dict[str, tuple[type[Part], Callable[[Any, Console], None], View | None, View | None]] = {
    "collective table": (CollectiveTable, print_plan_table, None, None),
    "kept table": (KeptTable, print_kept, None, None),
    "put table": (PutTable, print_put_table, None, None),
    "machine": (Machine, print_machine, None, None),
    "map": (RankMap, print_map, None, None),
    "sim": (Simulation, print_simulation, lambda found: sim_html.simulation_html(found, machine_of(found)), None),
    "sim sweep": (Sweep, print_sweep, sim_html.sweep_html, None),
    "sim messages": (Messages, print_messages, None, None),
    "sim messages sweep": (MessagesSweep, print_messages_sweep, None, None),
    "sim replay": (Replay, partial(print_replay, "The schedule"), None, None),
    "sim put": (SimulatedPut, print_put, None, None),
    "sim paper": (Paper, print_paper, None, paper_markdown),
    "sim papers": (Papers, print_papers, None, papers_markdown),
    "sim beyond": (Beyond, print_beyond, None, beyond_markdown),
    "reproduction": (Reproduction, print_reproduction, None, reproduction_markdown),
    "check": (Check, print_check, None, None),
}


def machine_of(found: Simulation) -> Machine:
    """The machine that was reckoned with."""
    return parse(Machine, known_machine(found.machine), f"the machine {found.machine}")


def kind_of(document: Any) -> str:
    """What a document says that it is, or what its members say."""
    if not isinstance(document, dict):
        return ""
    if "kind" in document:
        return str(document["kind"])
    return "kept table" if "table" in document else "machine" if "devices" in document else ""


def show_document(
    document: Any,
    origin: str,
    as_json: bool,
    csv: Path | None,
    markdown: Path | None,
    html: Path | None,
    pictures: str,
) -> None:
    """Shows it in all views that were asked for. `pictures`: the option that asked for them. Raises Problem where
    there is no such view, or no such kind of documents."""
    kind = kind_of(document)
    if pictures:
        raise Problem(f"{pictures} is of profiles, and {origin} is none", "Leave it out", Exit.USAGE)
    if kind in RESULTS:
        show_result(document, origin, Files("-" if as_json else None, csv, markdown, html))
        return
    if kind == RECORDING_COST:
        show_cost(document, origin, Files("-" if as_json else None, csv, markdown, html))
        return
    if kind == PARTITIONED:
        show_partitioned(document, origin, Files("-" if as_json else None, csv, markdown, html))
        return
    if kind not in KINDS:
        raise Problem(
            f"{origin} is no document that sennit knows", "Give what a verb of sennit wrote with --json", Exit.USAGE
        )
    model, draw, page, text = KINDS[kind]
    found = parse(model, document, origin, version=None if kind == "kept table" else 1)
    for option, file, view in (("--csv", csv, None), ("--html", html, page), ("--markdown", markdown, text)):
        if file is not None and view is None:
            raise Problem(f"there is no {option} of a document of kind {kind}", "Leave it out", Exit.USAGE)
    if as_json:
        print_json(document)
    else:
        draw(found, console.results())
    for wanted, make in ((html, page), (markdown, text)):
        if wanted is not None and make is not None:
            write(wanted, make(found))
