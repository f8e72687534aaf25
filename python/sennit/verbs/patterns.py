"""`sennit bench patterns`: what maps of ranks to GPUs gain in exchanges between neighbours, measured in turns in the
ranks of one job."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from sennit.model.result import NCCL
from sennit.programs import launcher, process
from sennit.programs.handed_on import preloaded
from sennit.programs.map import PROGRAM as MAPPER
from sennit.programs.preloading import library_to_preload
from sennit.programs.problem import Exit, Problem
from sennit.verbs.mpi import PROGRAM, BoundRanks, RanksPerNode, SecondsEach, Start
from sennit.verbs.options import Launcher, MpiLibrary, Nccl, OnMachine, examples
from sennit.verbs.results import Files, show_result, with_files
from sennit.verbs.tune import check_nccl, torchs_nccl

SIZES = "1K,4K,16K,64K,256K,1M,4M,16M"
FEWEST = 4  # ranks by default: of two, any order is as good
EXAMPLES = examples(
    "sennit bench patterns",
    "sennit bench patterns --pattern 2d-torus:2x2,w=3 --ranks-per-node 2 --html patterns.html",
    "sennit bench patterns --pattern 2d-torus:4x2 --pattern parallel:tp=2,dp=4 --sizes 64K,1M,16M --json p.json",
    "sennit bench patterns --over mpi,nccl",
    "sennit bench patterns --pattern 2d-stencil:2x2,w=3 --buffers host --machine dgx-1v",
)


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("patterns", epilog=EXAMPLES, rich_help_panel="Programs of MPI")(patterns)


@with_files
def patterns(
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:…",
            help="Who sends to whom, such as 2d-torus:2x2,w=3, as sennit map has it; may be given again. Default: "
            "stencil, tori and hypercube, each also with w=3.",
        ),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="SIZE,…", help="Of a message, for example 1K,1M.", show_default=SIZES)
    ] = None,
    buffers: Annotated[str | None, typer.Option(metavar="KIND,…", help="gpu, host or managed.")] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…", help="What carries messages: mpi, nccl (grouped sends) or both.", show_default="mpi"
        ),
    ] = None,
    nccl: Nccl = None,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", "-n", min=2, metavar="N", help="Default: the pattern's; else one a GPU, at least 4."),
    ] = None,
    ranks_per_node: RanksPerNode = None,
    machine: OnMachine = None,
    start: Launcher = None,
    library: MpiLibrary = None,
    bind: BoundRanks = None,
    seconds: SecondsEach = None,
    *,
    files: Files,
) -> None:
    """Measure what a map of ranks to GPUs gains: every rank sends to its neighbours at once, by MPI or NCCL, in the
    order as it is, by the map of each metric of sennit map, in a random order and in the worst, in turns.

    The ranks of one job play each other's parts, so nothing is started again in between. Every byte is checked in a
    separate exchange before anything is timed."""
    if nccl is not None:
        check_nccl(nccl)
    elif NCCL in (over or "").split(","):
        nccl = torchs_nccl(sys.path)
    found = launcher.find(start)
    asked = pattern or paper_patterns(ranks or max(FEWEST, launcher.gpus(os.environ)))
    maps = _maps(asked, sizes or SIZES, machine, ranks_per_node)
    whole = int(maps["cases"][0]["ranks"])
    if ranks not in (None, whole):
        raise Problem(f"the pattern {asked[0]} has {whole} ranks, and -n says {ranks}", "Leave -n out", Exit.USAGE)
    options: dict[str, object] = {
        "--buffers": buffers,
        "--over": over,
        "--nccl": nccl,
        "--bind": bind.value if bind else None,
        "--ranks-per-node": ranks_per_node,
        "--seconds": seconds,
    }
    arguments = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    job = Start(found, whole, str(library or found.library() or ""))
    inherited = found.environment(os.environ)
    environment = inherited | {
        "LD_PRELOAD": preloaded(str(library_to_preload()), inherited.get("LD_PRELOAD", "")),
    }
    with tempfile.TemporaryDirectory(prefix="sennit-patterns-") as folder:
        file = Path(folder) / "maps.json"
        file.write_text(json.dumps(maps), encoding="utf-8")
        command = job.command(environment, ["--patterns", str(file), *arguments, "--progress"])
        output = process.run_command(command, PROGRAM, "measuring", environment)
    document, code = process.document_of(output, PROGRAM)
    if machine is not None:
        said = f"Maps and predictions are of {maps['machine']}, as asked for; leave --machine out for this machine's."
        document["warnings"] = [*document.get("warnings", []), said]
    show_result(document, f"the document of {PROGRAM}", files)
    if code != 0:
        raise typer.Exit(code)


def paper_patterns(ranks: int) -> list[str]:
    """The four of Faraji, Mirsadeghi and Afsahi (2016) that so many ranks can be, each also with w = 3."""
    across = next(each for each in range(int(ranks**0.5), 0, -1) if ranks % each == 0)
    grid = f"{ranks // across}x{across}"
    named = [f"2d-stencil:{grid}", f"2d-torus:{grid}"]
    if ranks % 8 == 0:
        named.append(f"3d-torus:{ranks // 4}x2x2")
    weighted = [f"{each},w=3" for each in named]
    if ranks & (ranks - 1) == 0:
        cube = f"{ranks.bit_length() - 1}d-hypercube"
        named.append(cube)
        weighted.append(f"{cube}:w=3")
    return named + weighted


def _maps(patterns: list[str], sizes: str, machine: str | None, ranks_per_node: int | None) -> Any:
    """What sennit-map says of them: kind "map variants". Raises Problem."""
    arguments = [part for each in patterns for part in ("--pattern", each)] + ["--sizes", sizes]
    arguments += ["--machine", machine] if machine else []
    arguments += ["--ranks-per-node", str(ranks_per_node)] if ranks_per_node else []
    document, _ = process.document(MAPPER, "variants", *arguments, title="mapping")
    return document
