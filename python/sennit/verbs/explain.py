"""`sennit explain put`."""

from __future__ import annotations

from typing import Annotated

import typer

from sennit import console, programs
from sennit.model.document import parse
from sennit.model.explain import Explanation
from sennit.verbs.options import AsJson, examples, print_json
from sennit.views.explain_text import print_explanation

EXAMPLES = examples(
    "sennit explain put 256M --from gpu0 --to gpu1",
    "sennit explain put 64M --from host0 --to gpu0 --machine hgx-h200-4",
    'sennit explain put 256M --from gpu0 --to gpu1 --split "direct=0.9,host0 (sm)=0.1"',
)

app = typer.Typer(
    no_args_is_help=True,
    epilog=examples("sennit explain put 256M --from gpu0 --to gpu1"),
    help="Say why a message travels as it does.",
)


@app.command("put", epilog=EXAMPLES)
def put(
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Bytes, such as 4096, 64K, 256M or 1G.")],
    source: Annotated[str, typer.Option("--from", help="Where the message starts: gpu0, host0, …", metavar="DEVICE")],
    destination: Annotated[str, typer.Option("--to", help="Where it ends.", metavar="DEVICE")],
    machine: Annotated[
        str | None, typer.Option(help="A machine's name or file, instead of this machine.", metavar="NAME|FILE")
    ] = None,
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
    document, _ = programs.document("sennit-explain", *arguments, title="planning")
    found = parse(Explanation, document, "the document of sennit-explain")
    if as_json:
        print_json(document)
    else:
        print_explanation(found, console.results())
