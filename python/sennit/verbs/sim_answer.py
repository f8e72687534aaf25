"""What `sennit sim` does with a question: one answer in full, or a table of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.text import Text

from sennit.model.document import parse
from sennit.model.machine import Machine
from sennit.programs import console
from sennit.programs.machines import known_machine
from sennit.programs.problem import Exit, Problem
from sennit.programs.sim import (
    MessagesQuestion,
    Question,
    ask,
    ask_each,
    ask_messages,
    ask_messages_each,
    sizes_of,
)
from sennit.verbs.options import check_files, print_json, write
from sennit.views import messages_sweep, sim_html, sim_sweep
from sennit.views.charts.frame import standalone
from sennit.views.sim_text import print_messages, print_simulation


@dataclass(frozen=True)
class Views:
    """The files to write, and whether the document takes the table's place."""

    svg: Path | None
    html: Path | None
    as_json: bool


def answer(question: Question, machines: Sequence[str | None], views: Views) -> None:
    """Asks, and shows every view that was asked for. The question's size may be several."""
    sizes, machines = sizes_of(question.size), list(dict.fromkeys(machines))
    check_files(views.svg, views.html, question.timeline, question.schedule)
    if len(sizes) * len(machines) == 1:
        _answer_one(replace(question, size=sizes[0], machine=machines[0]), views)
        return
    for option, file in (("--timeline", question.timeline), ("--schedule", question.schedule)):
        if file:
            raise Problem(f"{option} writes one call to {file}", "Give one SIZE and one --machine", Exit.USAGE)
    sweep, document = ask_each(question, sizes, machines)
    if views.svg:
        write(views.svg, standalone(sim_sweep.bandwidth(sweep)))
    if views.html:
        write(views.html, sim_html.sweep_html(sweep))
    if views.as_json:
        print_json(document)
    else:
        sim_sweep.print_sweep(sweep, console.results())


def _answer_one(question: Question, views: Views) -> None:
    found, document = ask(question)
    for file in (question.timeline, question.schedule):
        if file:
            console.messages().print(Text(f"wrote {file}"), soft_wrap=True)
    if views.svg or views.html:
        machine = parse(Machine, known_machine(question.machine), f"the machine {found.machine}")
        if views.svg:
            write(views.svg, sim_html.picture(found, machine))
        if views.html:
            write(views.html, sim_html.simulation_html(found, machine))
    if views.as_json:
        print_json(document)
    else:
        print_simulation(found, console.results())


def not_of_messages(options: Mapping[str, object], machines: Sequence[str]) -> None:
    """Raises Problem for what means nothing where whole messages are sent."""
    for option, value in options.items():
        if value is not None:
            raise Problem(
                f"{option} is of kernels on one node, --nodes and --chunks are of whole messages",
                f"Leave out {option}, or --nodes and --chunks",
                Exit.USAGE,
            )
    if len(machines) > 1:
        raise Problem("--nodes and --chunks answer for one machine", "Give one --machine", Exit.USAGE)


def answer_messages(question: MessagesQuestion, nodes: Sequence[int], svg: Path | None, as_json: bool) -> None:
    """Asks, and shows the answer for whole messages: in full, or a table of several."""
    sizes = sizes_of(question.size)
    check_files(svg)
    if len(sizes) * len(nodes) == 1 and not svg:
        found, document = ask_messages(replace(question, size=sizes[0], nodes=nodes[0]))
        if as_json:
            print_json(document)
        else:
            print_messages(found, console.results())
        return
    sweep, document = ask_messages_each(question, sizes, nodes)
    if svg:
        write(svg, messages_sweep.picture(sweep))
    if as_json:
        print_json(document)
    else:
        messages_sweep.print_messages_sweep(sweep, console.results())
