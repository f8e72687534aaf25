"""`sennit sim export` and `sennit sim import`: schedules as other tools' documents, and theirs as schedules."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from sennit.formats.chakra import traces
from sennit.formats.goal import goal
from sennit.formats.msccl import read_algorithm, write_algorithm
from sennit.formats.msccl_export import algorithm_of, too_large
from sennit.formats.msccl_import import schedule_of
from sennit.formats.schedule import document, read_schedule
from sennit.programs import console
from sennit.programs.problem import Exit, Problem
from sennit.units import bytes_of
from sennit.verbs.options import examples, write, write_bytes

EXPORT_EXAMPLES = examples(
    "sennit sim export ring.json --to goal --output ring.goal",
    "sennit sim export ring.json --to chakra --output ring",
    "sennit sim export ring.json --to msccl --output ring.xml",
)
IMPORT_EXAMPLES = examples("sennit sim import ring.xml --bytes 1M --output ring.json")


class Format(str, Enum):
    """What a schedule is written as."""

    GOAL = "goal"
    CHAKRA = "chakra"
    MSCCL = "msccl"


def export(
    schedule: Annotated[Path, typer.Argument(metavar="SCHEDULE", help="A schedule that --schedule wrote, as JSON.")],
    to: Annotated[Format, typer.Option("--to", help="goal: LogGOPSim; chakra: ASTRA-sim; msccl: MSCCL and RCCL.")],
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="What to write; of chakra, FILE.0.et and so on, one a rank.")
    ],
) -> None:
    """Write a schedule as another tool's document."""
    read = read_schedule(schedule)
    if to is Format.GOAL:
        write(output, goal(read))
    elif to is Format.CHAKRA:
        for rank, trace in enumerate(traces(read)):
            write_bytes(output.with_name(f"{output.name}.{rank}.et"), trace)
    else:
        algorithm = algorithm_of(read, output.stem)
        write(output, write_algorithm(algorithm))
        if much := too_large(algorithm):
            warning = f"warning: MSCCL's runtimes have no room for {much}; use fewer --blocks, or a smaller message"
            console.messages().print(Text(warning), soft_wrap=True)


def import_(
    algorithm: Annotated[Path, typer.Argument(metavar="ALGORITHM", help="An algorithm of MSCCL's, as XML.")],
    size: Annotated[
        str, typer.Option("--bytes", metavar="SIZE", help="Bytes of one message, such as 4096, 64K or 64M.")
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The schedule to write; its name ends in .json.")],
    root: Annotated[int, typer.Option(min=0, metavar="RANK", help="The root, which the algorithm does not say.")] = 0,
) -> None:
    """Make a schedule of another tool's algorithm, for `sennit check` to prove and `sennit sim replay` to time."""
    if output.suffix != ".json":
        raise Problem(f"{output} would be no JSON", "Give --output a name that ends in .json", Exit.USAGE)
    schedule = schedule_of(read_algorithm(algorithm), bytes_of_message(size), root, algorithm)
    write(output, json.dumps(document(schedule), indent=1) + "\n")


def bytes_of_message(text: str) -> int:
    """Of --bytes. Raises Problem."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise Problem(f"--bytes: {error}", "Use 4096, 64K, 256M or 1G", Exit.USAGE) from None
