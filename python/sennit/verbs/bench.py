"""`sennit bench put`, and `sennit bench show` for results that were kept. collective.py adds the collectives, mpi.py
MPI, partitioned.py partitioned messages, project.py what programs gain by them, patterns.py maps of ranks, torch.py
PyTorch's collectives, training.py its training."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sennit.programs import process
from sennit.programs.problem import Exit, Problem
from sennit.verbs import partitioned, patterns, project, recording, torch, training
from sennit.verbs.collective import add_verbs
from sennit.verbs.mpi import add_verb
from sennit.verbs.options import (
    AsPublished,
    Nccl,
    OnExecutor,
    examples,
    executor_arguments,
)
from sennit.verbs.recording_gpus import show_cost
from sennit.verbs.results import Files, show_result, with_files
from sennit.verbs.spelled import Spelled
from sennit.verbs.tune import check_arguments, check_nccl, tune_once

if TYPE_CHECKING:
    from sennit.model.result import Result

PUT_EXAMPLES = examples(
    "sennit bench put",
    "sennit bench put --from gpu0 --to gpu1 --sizes 1M,64M,1G --vs engine,ucx",
    "sennit bench put --from host0 --to gpu0 --html host.html",
    "sennit bench put --executor host --ranks 4 --json put.json",
    "sennit bench put --at-least 0.99 --json - > put.json",
)
SHOW_EXAMPLES = examples("sennit bench show put.json", "sennit bench show put.json --html put.html --csv put.csv")

app = typer.Typer(
    cls=Spelled,
    no_args_is_help=True,
    epilog=examples("sennit bench put", "sennit bench allreduce", "sennit bench show put.json --html put.html"),
    help="Measure how fast it is, and against what.",
)


class Pairs(str, Enum):
    """Which pairs of devices to measure."""

    ALL = "all"
    FIRST = "first"


class Traffic(str, Enum):
    """Which ways messages travel at once."""

    ONE_WAY = "one_way"
    BOTH_WAYS = "both_ways"


AtLeast = Annotated[
    float | None,
    typer.Option("--at-least", metavar="RATIO", min=0, help="Exit 1 if slower than this many times the engine alone "
                 "at any size, beyond the noise."),
]  # fmt: skip


@app.command("put", epilog=PUT_EXAMPLES, rich_help_panel="One message")
@with_files
def put(
    source: Annotated[str | None, typer.Option("--from", metavar="DEVICE", help="Where messages start.")] = None,
    destination: Annotated[str | None, typer.Option("--to", metavar="DEVICE", help="Where they end.")] = None,
    pairs: Annotated[Pairs | None, typer.Option(help="Instead of --from and --to.", show_default="first")] = None,
    sizes: Annotated[str | None, typer.Option(metavar="SIZE,…", help="For example 4K,64K,1M,1G.")] = None,
    traffic: Annotated[Traffic | None, typer.Option(help="One way, or both at once.", show_default="one_way")] = None,
    window: Annotated[str | None, typer.Option(metavar="N,…", help="Messages in flight, for example 1,64.")] = None,
    versus: Annotated[
        str | None, typer.Option("--vs", metavar="PEER,…", help="Any of engine, host, nccl, ucx; in the same run.")
    ] = None,
    executor: OnExecutor = None,
    ranks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes to start.")] = None,
    setup: Annotated[
        bool, typer.Option("--setup", help="Also measure how long a communicator takes to set up.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, metavar="S", help="Longest time to measure each figure.")
    ] = None,
    *,
    files: Files,
    at_least: AtLeast = None,
    no_tune: Annotated[
        bool, typer.Option("--no-tune", help="Do not tune first on a machine where that was never done.")
    ] = False,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="As --no-tune, and do not measure the machine first either.")
    ] = False,
    nccl: Nccl = None,
    ucx_perftest: Annotated[
        str | None, typer.Option("--ucx-perftest", metavar="FILE", help="ucx_perftest, where it is not on PATH.")
    ] = None,
) -> None:
    """Measure one message over every path that pays, beside the copy engine alone and other peers.

    Every byte is checked in a separate pass before anything is timed."""
    if (source is None) != (destination is None):
        raise Problem("--from and --to belong together", "Give both, or --pairs", Exit.USAGE)
    if source is not None and pairs is not None:
        raise Problem("--pairs chooses the ends that --from and --to name", "Leave one out", Exit.USAGE)
    if nccl is not None:
        check_nccl(nccl)
    options: dict[str, object] = {
        "--from": source,
        "--to": destination,
        "--pairs": pairs.value if pairs else None,
        "--sizes": sizes,
        "--traffic": traffic.value if traffic else None,
        "--window": window,
        "--vs": versus,
        "--ranks": ranks,
        "--seconds": seconds,
        "--nccl": nccl,
        "--ucx-perftest": ucx_perftest,
    }
    arguments = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    arguments += [*executor_arguments(executor), "--progress", *(["--no-measure"] if no_measure else [])]
    arguments += ["--setup"] if setup else []
    # Tuning would begin by measuring the machine.
    if not (no_tune or no_measure):
        tune_once(executor, lambda: check_arguments("sennit-bench-put", *arguments))
    document, code = process.document("sennit-bench-put", *arguments, title="measuring")
    result = show_result(document, "the document of sennit-bench-put", files)
    _judge(result, at_least)
    if code != 0:
        raise typer.Exit(code)


add_verbs(app)
add_verb(app)
partitioned.add_verb(app)
project.add_verb(app)
patterns.add_verb(app)
recording.add_verb(app)
torch.add_verb(app)
training.add_verb(app)


@app.command("show", epilog=SHOW_EXAMPLES, rich_help_panel="Results that were kept")
@with_files
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A result that --json wrote.")],
    *,
    files: Files,
    at_least: AtLeast = None,
    as_published: AsPublished = False,
    gantt: Annotated[
        str | None,
        typer.Option("--gantt", metavar="SIZE:N[:NAME]", help="Of bench partitioned: draw that line, with --svg."),
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Where --gantt draws to.")] = None,
) -> None:
    """Show a result that was kept, and turn it into other formats."""
    from sennit.model.document import read_json
    from sennit.model.partitioned import PARTITIONED
    from sennit.model.recording_cost import RECORDING_COST
    from sennit.model.result import PUT

    document = read_json(file)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == PARTITIONED and at_least is None:
        if gantt is not None or svg is not None:
            partitioned.write_gantt(document, str(file), gantt or "", svg)
            return
        partitioned.show_partitioned(document, str(file), files, as_published=as_published)
        return
    if gantt is not None or svg is not None or as_published:
        raise Problem(f"--gantt, --svg and --as-published are of {PARTITIONED}", "Leave them out", Exit.USAGE)
    if isinstance(document, dict) and document.get("kind") == RECORDING_COST and at_least is None:
        show_cost(document, str(file), files)
        return
    if at_least is not None and isinstance(document, dict) and document.get("kind") != PUT:
        raise Problem("--at-least compares puts with the copy engine alone", "Leave it out", Exit.USAGE)
    _judge(show_result(document, str(file), files), at_least)


def _judge(result: Result, at_least: float | None) -> None:
    """Raises Problem (worse than asked) when a size falls short."""
    if at_least is None:
        return
    from sennit.compare.verdicts import below

    if short := below(result, at_least):
        more = f" (and {len(short) - 3} more)" if len(short) > 3 else ""
        raise Problem("; ".join(short[:3]) + more, "", Exit.WORSE)
