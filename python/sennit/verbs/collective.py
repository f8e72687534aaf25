"""`sennit bench allreduce` and its family: a verb an operation, all made by one function."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from sennit.operations import REDUCING, REGISTERED, VERBS, operation_of, works_in_place
from sennit.programs import process
from sennit.verbs.options import (
    PANEL,
    Nccl,
    OnExecutor,
    examples,
    executor_arguments,
)
from sennit.verbs.results import Files, show_result, with_files
from sennit.verbs.tune import check_nccl

PROGRAM = "sennit-bench-collective"
FAMILY = "collectives"  # the verb for several operations

MEASURED = "Measured as programs get it, beside NCCL and, with --algorithms, beside every algorithm there is."
CHECKED = "Every number is checked in a separate call before anything is timed."


def left_out(verb: str) -> set[str]:
    """The parameters of verb() below that would mean nothing."""
    if verb == FAMILY:
        return set()
    out = {"operations"}
    if operation_of(verb) not in REGISTERED:
        out.add("registered")
    if operation_of(verb) not in REDUCING:
        out.add("operator")
    if not works_in_place(verb):
        out.add("out_of_place")
    if verb == "barrier":
        out |= {"sizes", "element", "out_of_place"}
    return out


def add_verbs(app: typer.Typer) -> None:
    """Adds every operation, and the whole family, to `sennit bench`."""
    for name, does in VERBS.items():
        sizes = [] if name == "barrier" else [f"sennit bench {name} --sizes 1K,64K,1M --type bfloat16 --eager"]
        _add_verb(
            app,
            name,
            f"{name.capitalize()}: {does}.",
            examples(
                f"sennit bench {name}",
                *sizes,
                f"sennit bench {name} --algorithms all --blocks 16,64 --vs none",
                f"sennit bench {name} --executor host --ranks 4 --json -",
            ),
        )
    _add_verb(
        app,
        FAMILY,
        "All of these, or some, in one run.",
        examples(
            f"sennit bench {FAMILY}",
            f"sennit bench {FAMILY} --operations allgather,reduce-scatter --sizes 1K,64K,1M",
            f"sennit bench {FAMILY} --executor host --ranks 4 --json -",
        ),
    )


def _add_verb(app: typer.Typer, name: str, explained: str, epilog: str) -> None:
    """One verb, with the options that mean something for it."""

    @with_files
    def verb(
        operations: Annotated[
            str, typer.Option(metavar="NAME,…|all", help="Which, for example allgather,reduce-scatter.")
        ] = "all",
        sizes: Annotated[str | None, typer.Option(metavar="SIZE,…", help="For example 8,1K,1M,1G.")] = None,
        element: Annotated[
            str | None, typer.Option("--type", metavar="TYPE", help="Such as float32, bfloat16, int64.")
        ] = None,
        operator: Annotated[str | None, typer.Option("--op", metavar="OP", help="Such as sum, max, average.")] = None,
        versus: Annotated[
            str | None,
            typer.Option(
                "--vs",
                metavar="PEER,…",
                help="nccl (default with GPUs), nccl_windows, nccl_nowin and torch on GPUs, openmpi and mpich on the "
                "host executor; or none.",
            ),
        ] = None,
        algorithms: Annotated[
            str | None, typer.Option(metavar="NAME,…|all", help="Also each of these, whatever would be chosen.")
        ] = None,
        blocks: Annotated[str | None, typer.Option(metavar="N,…", help="Blocks for --algorithms.")] = None,
        threads: Annotated[
            str | None, typer.Option(metavar="N,…", help="Threads of a block for --algorithms.")
        ] = None,
        out_of_place: Annotated[
            bool, typer.Option("--out-of-place", help="Into another buffer, instead of in place.")
        ] = False,
        registered: Annotated[
            bool, typer.Option("--registered", help="Buffers in symmetric windows, registered once with all ranks.")
        ] = False,
        eager: Annotated[bool, typer.Option("--eager", help="Call by call, instead of as a CUDA graph.")] = False,
        waited: Annotated[
            bool, typer.Option("--waited", help="Call by call, each waited for before the next, as in MPI.")
        ] = False,
        executor: OnExecutor = None,
        ranks: Annotated[
            int | None, typer.Option(min=2, metavar="N", help="Processes to start; default one a GPU.")
        ] = None,
        seconds: Annotated[
            float | None, typer.Option(min=0.001, metavar="S", help="Longest time to measure each figure.")
        ] = None,
        skew: Annotated[
            float | None, typer.Option(min=0, metavar="US", help="By which the last rank starts each run later.")
        ] = None,
        nccl: Nccl = None,
        *,
        files: Files,
    ) -> None:
        if nccl is not None:
            check_nccl(nccl)
        from sennit.baselines import versus as baselines  # here, so that --help does not wait for it

        program_versus, others = baselines.split(versus)
        options: dict[str, object] = {
            "--operations": operations if name == FAMILY else operation_of(name),
            "--sizes": sizes,
            "--type": element,
            "--op": operator,
            "--vs": program_versus,
            "--algorithms": algorithms,
            "--blocks": blocks,
            "--threads": threads,
            "--ranks": ranks,
            "--seconds": seconds,
            "--skew": skew,
            "--nccl": nccl,
        }
        arguments = [part for option, value in options.items() if value is not None for part in (option, str(value))]
        arguments += [*executor_arguments(executor), "--progress"]
        arguments += ["--out-of-place"] if out_of_place else []
        arguments += ["--registered"] if registered else []
        arguments += ["--eager"] if eager else []
        arguments += ["--waited"] if waited else []
        document, code = process.document(PROGRAM, *arguments, title="measuring")
        if others:
            document = baselines.add(document, f"the document of {PROGRAM}", others, skew or 0)
        show_result(document, f"the document of {PROGRAM}", files)
        if code != 0:
            raise typer.Exit(code)

    # Typer reads the options from the signature.
    signature = inspect.signature(verb, eval_str=True)
    kept = [part for part in signature.parameters.values() if part.name not in left_out(name)]
    verb.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    said = f"{explained}\n\n{MEASURED}{f' {CHECKED}' if name != 'barrier' else ''}"
    app.command(name, help=said, epilog=epilog, rich_help_panel=PANEL)(verb)
