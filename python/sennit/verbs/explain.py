"""`sennit explain put` and `send`, and a verb for each collective, all made by one function."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from sennit.model.collective_plan import CollectivePlan
from sennit.model.document import parse
from sennit.model.explain import Explanation
from sennit.model.send_plan import SendPlan
from sennit.operations import REDUCING, REGISTERED, VERBS, operation_of
from sennit.programs import console, process
from sennit.programs.problem import Exit, Problem
from sennit.programs.sim import MessagesQuestion, ask_messages
from sennit.verbs.options import PANEL, AsJson, OnExecutor, OnMachine, examples, executor_arguments, print_json
from sennit.verbs.spelled import Spelled
from sennit.views.collective_plan_text import print_collective_plan
from sennit.views.explain_text import print_explanation
from sennit.views.send_plan_text import print_send_plan
from sennit.views.sim_text import print_messages

PROGRAM = "sennit-explain"
EXAMPLES = examples(
    "sennit explain put 256M --from gpu0 --to gpu1",
    "sennit explain put 64M --from host0 --to gpu0 --machine hgx-h200-4",
    'sennit explain put 256M --from gpu0 --to gpu1 --split "direct=0.9,host0 (sm)=0.1"',
)

app = typer.Typer(
    cls=Spelled,
    no_args_is_help=True,
    epilog=examples(
        "sennit explain put 256M --from gpu0 --to gpu1", "sennit explain send 64K", "sennit explain allreduce 64M"
    ),
    help="Say why a message travels, or a collective works, as it does.",
)


@app.command("put", epilog=EXAMPLES, rich_help_panel="One message")
def put(
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Bytes, such as 4096, 64K, 256M or 1G.")],
    source: Annotated[str, typer.Option("--from", help="Where the message starts: gpu0, host0, …", metavar="DEVICE")],
    destination: Annotated[str, typer.Option("--to", help="Where it ends.", metavar="DEVICE")],
    machine: OnMachine = None,
    both_ways: Annotated[
        bool, typer.Option("--both-ways", help="The same message travels back at the same time.")
    ] = False,
    split: Annotated[
        str | None, typer.Option(help="Shares to use instead of the computed ones.", metavar="PATH=SHARE,…")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which paths a put takes, how much goes over each, why the others carry nothing, and what to expect."""
    arguments = ["put", "--bytes", size, "--from", source, "--to", destination]
    arguments += ["--machine", machine] if machine else []
    arguments += ["--both-ways"] if both_ways else []
    arguments += ["--split", split] if split else []
    document, _ = process.document(PROGRAM, *arguments, title="planning")
    found = parse(Explanation, document, f"the document of {PROGRAM}")
    if as_json:
        print_json(document)
    else:
        print_explanation(found, console.results())


@app.command("send", epilog=examples("sennit explain send 64K"), rich_help_panel="One message")
def send(
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Bytes, such as 4096, 64K, 256M or 1G.")],
    as_json: AsJson = False,
) -> None:
    """Say which protocol a two-sided message between GPUs takes under a drop-in, by situation and size, and why."""
    document, _ = process.document(PROGRAM, "send", "--bytes", size, title="planning")
    found = parse(SendPlan, document, f"the document of {PROGRAM}")
    if as_json:
        print_json(document)
    else:
        print_send_plan(found, console.results())


def not_between_nodes(options: dict[str, object]) -> None:
    """Raises Problem for what means nothing over several nodes."""
    for option, value in options.items():
        if value is not None:
            raise Problem(f"{option} is of one node", f"Leave out {option}, or --nodes", Exit.USAGE)


def between_nodes(question: MessagesQuestion, as_json: bool) -> None:
    """What each scheme of a broadcast over several nodes should take, by its equation."""
    found, document = ask_messages(question, "planning")
    if as_json:
        print_json(document)
    else:
        print_messages(found, console.results())


# These have one plan for all sizes.
UNDECIDED = ("all-to-all-v", "barrier")


def _add_verb(name: str) -> None:
    """One collective, with the options that mean something for it."""

    def verb(
        size: Annotated[str, typer.Argument(metavar="SIZE", help="Bytes of one message, such as 4096, 64K or 64M.")],
        ranks: Annotated[
            int | None, typer.Option(min=2, metavar="N", help="How many; default one a GPU of the machine.")
        ] = None,
        machine: OnMachine = None,
        element: Annotated[
            str | None, typer.Option("--type", metavar="TYPE", help="Such as float32, bfloat16, int64.")
        ] = None,
        operator: Annotated[str | None, typer.Option("--op", metavar="OP", help="Such as sum, max, average.")] = None,
        registered: Annotated[
            bool, typer.Option("--registered", help="The buffers lie in symmetric windows.")
        ] = False,
        nodes: Annotated[
            int | None, typer.Option(min=2, metavar="N", help="So many of the machine: what each scheme should take.")
        ] = None,
        executor: OnExecutor = None,
        as_json: AsJson = False,
    ) -> None:
        if nodes:
            not_between_nodes({"--ranks": ranks, "--registered": registered or None, "--executor": executor})
            between_nodes(MessagesQuestion(operation_of(name), size, machine, nodes, equations=True), as_json)
            return
        options: dict[str, object] = {
            "--operation": operation_of(name),
            "--bytes": size,
            "--ranks": ranks,
            "--machine": machine,
            "--type": element,
            "--op": operator,
        }
        arguments = [part for option, value in options.items() if value is not None for part in (option, str(value))]
        more = executor_arguments(executor) + (["--registered"] if registered else [])
        document, _ = process.document(PROGRAM, "collective", *arguments, *more, title="planning")
        found = parse(CollectivePlan, document, f"the document of {PROGRAM}")
        if as_json:
            print_json(document)
        else:
            print_collective_plan(found, console.results())

    # Typer reads the options from the signature. What is only moved has no type, and no operator.
    reduces = operation_of(name) in REDUCING
    signature = inspect.signature(verb, eval_str=True)
    out = set() if reduces else {"element", "operator"}
    if operation_of(name) not in REGISTERED:
        out.add("registered")
    if name != "broadcast":
        out.add("nodes")
    kept = [part for part in signature.parameters.values() if part.name not in out]
    verb.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    said = f"Say which plan {name} takes, what every other one should cost, and what decided."
    over = [f"sennit explain {name} 64M --machine dgx-h100 --nodes 16"] if name == "broadcast" else []
    types = [f"sennit explain {name} 1M --type float64 --op max"] if reduces else []
    shown = examples(
        f"sennit explain {name} 64M", *types, *over, f"sennit explain {name} 64M --machine hgx-h200-4 --ranks 4"
    )
    app.command(name, help=said, epilog=shown, rich_help_panel=PANEL)(verb)


for _name in VERBS:
    if _name not in UNDECIDED:
        _add_verb(_name)
