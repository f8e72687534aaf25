"""`sennit check` and `sennit sim`: what would happen, without the hardware."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import typer

from sennit.model.document import parse
from sennit.model.sim import Check, Replay, SimulatedPut
from sennit.operations import REGISTERED, VERBS, operation_of, works_in_place
from sennit.programs import console, process
from sennit.programs.problem import Exit, Problem
from sennit.programs.sim import PROGRAM, MessagesQuestion, Question, nodes_of
from sennit.verbs import formats
from sennit.verbs.options import (
    PANEL,
    AsJson,
    OnMachine,
    OtherCosts,
    WhatIf,
    examples,
    print_json,
)
from sennit.verbs.sim_answer import Views, answer, answer_messages, not_of_messages
from sennit.verbs.spelled import Spelled
from sennit.views.sim_text import print_check, print_put, print_replay

ROOTED = ("reduce", "broadcast", "gather", "scatter")
CHECK_EXAMPLES = examples("sennit check", "sennit check --ranks 4", "sennit check schedule.json")

app = typer.Typer(
    cls=Spelled,
    no_args_is_help=True,
    epilog=examples(
        "sennit sim allreduce 64M --machine mist", "sennit sim allreduce 1M --what-if nvlink.bandwidth=2x"
    ),
    help="Say what a collective would take on a machine, and what limits it.",
)


def check(
    schedule: Annotated[
        Path | None, typer.Argument(metavar="[SCHEDULE]", help="A schedule that --schedule wrote, instead of all.")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Numbers of ranks: 2 to N; default 8.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove every algorithm right for every order in which ranks and blocks could run: no deadlock, no race, no byte
    unread or unwritten, every result as promised. Takes half a minute of a processor, and needs no GPU."""
    arguments = ([str(schedule)] if schedule else []) + (["--ranks", str(ranks)] if ranks else [])
    document, code = process.document(PROGRAM, "check", "--progress", *arguments, title="checking")
    found = parse(Check, document, f"the document of {PROGRAM}")
    if as_json:
        print_json(document)
    else:
        print_check(found, console.results())
    raise typer.Exit(code)


@app.command(
    "put",
    epilog=examples(
        "sennit sim put 256M --from gpu0 --to gpu1 --machine cedar",
        "sennit sim put 1M --from gpu0 --to gpu1 --machine mist --window 64 --both-ways",
    ),
    rich_help_panel="One message",
)
def put(
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Bytes, such as 4096, 64K, 256M or 1G.")],
    source: Annotated[str, typer.Option("--from", help="Where the message starts: gpu0, host0, …", metavar="DEVICE")],
    destination: Annotated[str, typer.Option("--to", help="Where it ends.", metavar="DEVICE")],
    machine: OnMachine = None,
    split: Annotated[
        str | None, typer.Option(help="Shares to use instead of the computed ones.", metavar="PATH=SHARE,…")
    ] = None,
    window: Annotated[int | None, typer.Option(min=1, metavar="N", help="Messages on their way at a time.")] = None,
    both_ways: Annotated[
        bool, typer.Option("--both-ways", help="The same messages travel back at the same time.")
    ] = False,
    what_if: WhatIf = None,
    costs: OtherCosts = None,
    as_json: AsJson = False,
) -> None:
    """Say what a message over several paths would take, beside its best single path, and what limits it."""
    options = {"--machine": machine, "--split": split, "--window": window, "--costs": costs}
    arguments = ["--bytes", size, "--from", source, "--to", destination]
    arguments += [part for option, value in options.items() if value is not None for part in (option, str(value))]
    arguments += [part for text in what_if or [] for part in ("--what-if", text)]
    arguments += ["--both-ways"] if both_ways else []
    document, _ = process.document(PROGRAM, "put", *arguments, title="simulating")
    found = parse(SimulatedPut, document, f"the document of {PROGRAM}")
    if as_json:
        print_json(document)
    else:
        print_put(found, console.results())


@app.command("replay", epilog=examples("sennit sim replay schedule.json --machine cedar"), rich_help_panel="A file")
def replay(
    schedule: Annotated[Path, typer.Argument(metavar="SCHEDULE", help="A schedule that --schedule wrote.")],
    machine: OnMachine = None,
    costs: OtherCosts = None,
    as_json: AsJson = False,
) -> None:
    """Say what a schedule from a file would take on a machine."""
    arguments = ["--machine", machine] if machine else []
    arguments += ["--costs", costs] if costs else []
    document, _ = process.document(PROGRAM, "replay", str(schedule), *arguments, title="simulating")
    found = parse(Replay, document, f"the document of {PROGRAM}")
    if as_json:
        print_json(document)
    else:
        print_replay(str(schedule), found, console.results())


app.command("export", epilog=formats.EXPORT_EXAMPLES, rich_help_panel="A file")(formats.export)
app.command("import", epilog=formats.IMPORT_EXAMPLES, rich_help_panel="A file")(formats.import_)


def _add_verb(name: str) -> None:
    """One collective, with the options that mean something for it."""

    def verb(
        size: Annotated[
            str,
            typer.Argument(
                metavar="SIZE,…", help="Bytes of one message, such as 64K; several: 64K,1M or 64K:64M (each × 4)."
            ),
        ],
        machine: Annotated[
            list[str] | None,
            typer.Option(help="A machine's name or file, instead of this machine; or several.", metavar="NAME|FILE"),
        ] = None,
        algorithm: Annotated[
            str | None, typer.Option(metavar="NAME", help="One algorithm; default: all, the fastest first.")
        ] = None,
        blocks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Blocks of its kernels.")] = None,
        ranks: Annotated[
            int | None, typer.Option(min=2, metavar="N", help="On the first so many GPUs; default all.")
        ] = None,
        nodes: Annotated[
            str | None,
            typer.Option(
                metavar="N|A:B", help="So many of the machine, joined by their NICs: whole messages; A, 2A, … B."
            ),
        ] = None,
        chunks: Annotated[
            int | None,
            typer.Option(min=1, metavar="N", help="Whole messages, in so many pieces that follow each other."),
        ] = None,
        root: Annotated[int | None, typer.Option(min=0, metavar="RANK", help="The root; default 0.")] = None,
        sources: Annotated[
            str | None, typer.Option(metavar="K|all", help="Whole messages, from so many roots at the same time.")
        ] = None,
        k: Annotated[
            int | None,
            typer.Option("--k", min=2, metavar="K", help="Of k-nomial trees of whole messages; default 4."),
        ] = None,
        out_of_place: Annotated[bool, typer.Option("--out-of-place", help="Into another buffer.")] = False,
        registered: Annotated[
            bool, typer.Option("--registered", help="The buffers lie in symmetric windows.")
        ] = False,
        what_if: WhatIf = None,
        costs: OtherCosts = None,
        epsilon: Annotated[
            float | None, typer.Option(min=0, metavar="µs", help="Take ends of flows within it together; default 0.")
        ] = None,
        timeline: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Also write who does what when; opens in ui.perfetto.dev.")
        ] = None,
        schedule: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Also write every step; JSON where it ends in .json.")
        ] = None,
        svg: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Also draw how busy the machine's links were; of several, plot them."),
        ] = None,
        html_file: Annotated[
            Path | None,
            typer.Option("--html", metavar="FILE", help="Also write a page with all of it; works offline."),
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        if nodes or chunks:
            not_of_messages(
                {
                    "--blocks": blocks,
                    "--ranks": ranks,
                    "--out-of-place": out_of_place or None,
                    "--registered": registered or None,
                    "--timeline": timeline,
                    "--schedule": schedule,
                    "--html": html_file,
                },
                machine or [],
            )
            messages = MessagesQuestion(
                operation=operation_of(name),
                size=size,
                machine=machine[0] if machine else None,
                algorithm=algorithm,
                chunks=chunks,
                root=root,
                sources=sources,
                k=k,
                what_if=what_if or [],
                costs=costs,
                epsilon=epsilon,
            )
            answer_messages(messages, nodes_of(nodes or "1"), svg, as_json)
            return
        if sources or k:
            raise Problem("--sources and --k are of whole messages", "Add --nodes N", Exit.USAGE)
        question = Question(
            operation=operation_of(name),
            size=size,
            algorithm=algorithm,
            blocks=blocks,
            ranks=ranks,
            root=root,
            out_of_place=out_of_place,
            registered=registered,
            what_if=what_if or [],
            costs=costs,
            epsilon=epsilon,
            timeline=timeline,
            schedule=schedule,
        )
        answer(question, machine or [None], Views(svg, html_file, as_json))

    signature = inspect.signature(verb, eval_str=True)
    out = set()
    if operation_of(name) not in REGISTERED:
        out.add("registered")
    if name not in ROOTED:
        out.add("root")
    if name != "broadcast":
        out |= {"sources", "k"}
    if not works_in_place(name):
        out.add("out_of_place")
    kept = [part for part in signature.parameters.values() if part.name not in out]
    verb.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    shown_examples = examples(
        f"sennit sim {name} 64M --machine hgx-h200-4",
        f"sennit sim {name} 64M --machine mist --what-if nvlink.bandwidth=2x",
        f"sennit sim {name} 64M --machine mist --svg loads.svg",
        f"sennit sim {name} 64M --machine dgx-h100 --nodes 128",
        f"sennit sim {name} 2M,64M --machine dgx-h100 --nodes 2:128 --svg scale.svg",
        f"sennit sim {name} 64K:64M --machine mist --machine cedar --html {name}.html",
    )
    app.command(
        name, help=f"Say what {name} would take: {VERBS[name]}.", epilog=shown_examples, rich_help_panel=PANEL
    )(verb)


for _name in VERBS:
    if _name not in ("all-to-all-v", "sendrecv", "barrier"):
        _add_verb(_name)
