"""`sennit map`: which rank of a program on which GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sennit.model.document import parse
from sennit.model.machine import Machine
from sennit.model.map import kept
from sennit.programs import console
from sennit.programs.machines import known_machine
from sennit.programs.map import Question, ask
from sennit.verbs.options import AsJson, Html, OnMachine, OtherCosts, check_files, examples, print_json, write

EXAMPLES = examples(
    "sennit map run1",
    "sennit map --matrix talk.csv --machine helios --metric contention --solver all",
    "sennit map --pattern 3d-torus:4x2x2,w=3 --machine helios --size 1M --svg before-after.svg -o map.json",
    "sennit map --pattern parallel:tp=2,pp=4,dp=4,tp_bytes=64M --machine dgx-h100 --nodes 4",
    "sennit map run1 --nodes 4 --hosts hosts.txt --emit rankfile > rankfile",
)


def map_ranks(
    profile: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="What sennit profile wrote, or its document.")
    ] = None,
    matrix: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Bytes from rank to rank: n lines of n numbers; or, once a file, what Open MPI's monitoring wrote.",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:…",
            help="Such as 2d-stencil:4x4, 3d-torus:4x2x2,w=3, 4d-hypercube, ring:16, all-pairs:8, "
            "parallel:tp=2,pp=4,dp=2.",
        ),
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="SIZE", help="Of a pattern's messages; default 1M.")] = None,
    machine: OnMachine = None,
    nodes: Annotated[int | None, typer.Option(min=1, metavar="N", help="So many of the machine.")] = None,
    gpus: Annotated[
        str | None, typer.Option(metavar="GPU,…", help="Of the machine, in the order of local ranks; default: all.")
    ] = None,
    ranks_per_gpu: Annotated[
        int | None, typer.Option("--ranks-per-gpu", min=1, metavar="N", help="For so many a GPU has room; default 1.")
    ] = None,
    pin: Annotated[
        str | None,
        typer.Option(
            metavar="RANK=GPU,…",
            help="Ranks that stay: 3=gpu1; on node 2 3=2/gpu1; on any GPU of a socket 0-7=host0.",
        ),
    ] = None,
    keep_sockets: Annotated[
        bool,
        typer.Option(
            "--keep-sockets",
            help="Ranks of a profile stay on GPUs of the socket that their launcher bound them to.",
        ),
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="contention, or the paper's latency, bandwidth or distance; default contention."
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…", help="swaps, exact, scotch (where it is installed) or all; default swaps,exact."
        ),
    ] = None,
    scotch: Annotated[
        str | None, typer.Option(metavar="FILE", help="Scotch's library; default: the system's.")
    ] = None,
    costs: OtherCosts = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Keep the map, for programs to use.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw the machine before and after.")] = None,
    html: Html = None,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORM", help="Print what a launcher reads instead: rankfile, hostfile, slurm or env (one node)."
        ),
    ] = None,
    hosts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names of the nodes for --emit, a line each.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which rank belongs on which GPU, by what the ranks send each other: a profile of a run, a matrix, or a
    pattern. The ten cheapest maps are simulated, and the fastest is advised if it is faster than as it is by more
    than predictions may be off."""
    check_files(out, svg, html)
    found, document = ask(
        Question(
            profile,
            matrix or [],
            pattern,
            size,
            machine,
            nodes,
            gpus,
            ranks_per_gpu,
            pin,
            keep_sockets,
            metric,
            solver,
            scotch,
            costs,
        )
    )
    if out is not None:
        # Here, so that --help does not wait for it.
        import json

        write(out, json.dumps(kept(document), indent=2, ensure_ascii=False) + "\n")
    if emit is not None:
        from sennit.programs.launch_files import hosts_of, launch_file

        sys.stdout.write(launch_file(found, emit, hosts_of(hosts) if hosts else []))
    elif as_json:
        print_json(document)
    else:
        from sennit.views.map_text import print_map

        print_map(found, console.results(), str(out or ""))
    if svg is None and html is None:
        return
    from sennit.views.map_html import map_html
    from sennit.views.map_svg import before_and_after

    drawn = parse(Machine, known_machine(machine), f"the machine {found.machine}")
    if svg is not None:
        write(svg, before_and_after(found, drawn))
    if html is not None:
        write(html, map_html(found, drawn))
