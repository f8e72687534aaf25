"""`sennit bench mpi`: the program's own MPI with the drop-in and without it, in turns, in the ranks of one job."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from sennit import virtual_nodes
from sennit.baselines import ucx as under
from sennit.compare.groups import title
from sennit.model.document import parse
from sennit.model.result import UCX, Result
from sennit.programs import console, launcher, places, process
from sennit.programs.handed_on import preloaded
from sennit.programs.preloading import library_to_preload
from sennit.programs.problem import Exit, Problem
from sennit.programs.progress import Bar, Step
from sennit.verbs.options import Launcher, MpiLibrary, examples, names
from sennit.verbs.results import Files, show_result, with_files

PROGRAM = "sennit-bench-mpi"
PEERS = ("by_hand", "mpi", UCX, "none")
EXAMPLES = examples(
    "sennit bench mpi",
    "sennit bench mpi -n 4 --operations allreduce --sizes 64M,256M --in-place --vs by_hand,ucx",
    "sennit bench mpi --operations osu --type char --sizes 8,64K,4M --seconds 0.1",
    "sennit bench mpi --buffers host --sizes 8 --seconds 2",
    "sennit bench mpi --launcher /opt/mpich/bin/mpiexec --operations all --json mpi.json",
    "sennit bench mpi --operations bcast --sizes 4M,16M --virtual-nodes 2,4 --vs by_hand",
    "SENNIT_EMULATE=1 sennit bench mpi --sizes 8,64K",
)


class Bind(str, Enum):
    """Whether ranks are bound to cores."""

    AUTO = "auto"
    CORES = "cores"
    NONE = "none"


ON_ONE_HOST = (
    "Nodes are network namespaces of one host: all ranks share its cores, and its kernel copies what goes from node "
    "to node; figures compare ways of one such network, and are not those of a real one."
)

# Options of all verbs that sennit-bench-mpi does.
BoundRanks = Annotated[Bind | None, typer.Option("--bind", help="Ranks to cores of their own.", show_default="auto")]
RanksPerNode = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Take each N ranks of this machine for a node.", show_default="all"),
]
VirtualNodes = Annotated[
    str | None,
    typer.Option(
        "--virtual-nodes",
        metavar="N,…",
        help="Start the ranks on N nodes of one host that have a network between them alone: Linux namespaces.",
    ),
]
SecondsEach = Annotated[float | None, typer.Option(min=0.001, metavar="S", help="Time to measure each figure.")]


@dataclass(frozen=True)
class Start:
    """How ranks are started."""

    launcher: launcher.Launcher
    ranks: int
    library: str
    between: virtual_nodes.Between | None = None  # nodes, if they are virtual ones
    program: str = PROGRAM

    def command(self, environment: Mapping[str, str], arguments: Sequence[str]) -> list[str]:
        """The whole command line."""
        given = [name for name in environment if name.startswith("SENNIT_") and environment[name]]
        passed = [name for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", *sorted(given)) if environment.get(name)]
        own = ["--library", self.library] if self.library else []
        program = [str(places.find(self.program)), *own, *arguments]
        variables = {name: environment[name] for name in passed}
        if self.between is not None:
            return self.between.command(program, variables)
        return self.launcher.command(self.ranks, program, variables, root=os.geteuid() == 0, cores=launcher.cores())


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("mpi", epilog=EXAMPLES, rich_help_panel="Programs of MPI")(mpi)


@with_files
def mpi(
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…|osu|all",
            help="latency, bandwidth, put and the like, collectives by MPI's names, such as allreduce,ibcast, any by "
            "OSU's names, such as osu_bw,osu_put_latency, or a group.",
        ),
    ] = None,
    sizes: Annotated[str | None, typer.Option(metavar="SIZE,…", help="Of a message, for example 8,64K,4M.")] = None,
    buffers: Annotated[
        str | None,
        typer.Option(
            metavar="KIND,…",
            help="gpu, host, managed, and between two ranks gpu_host (the sender's or caller's, the other's) and "
            "host_gpu.",
        ),
    ] = None,
    window: Annotated[str | None, typer.Option(metavar="N,…", help="Messages in flight, for example 1,64.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Collectives in place as well.")] = False,
    element: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="Such as float32, int32, or by MPI's names: char, int, float."),
    ] = None,
    operator: Annotated[str | None, typer.Option("--op", metavar="OP", help="Such as sum, max, bit_and.")] = None,
    versus: Annotated[
        str | None,
        typer.Option(
            "--vs",
            metavar="PEER,…",
            help="by_hand and mpi, in turns with sennit (default both); ucx: a CUDA-built UCX under the same MPI; "
            "or none.",
        ),
    ] = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="This MPI takes GPU buffers itself: give them to it as well.")
    ] = False,
    ranks: Annotated[
        int | None, typer.Option("--ranks", "-n", min=2, metavar="N", help="Default: one a GPU, else two.")
    ] = None,
    start: Launcher = None,
    library: MpiLibrary = None,
    bind: BoundRanks = None,
    ranks_per_node: RanksPerNode = None,
    on_virtual_nodes: VirtualNodes = None,
    seconds: SecondsEach = None,
    ucx: Annotated[
        Path | None,
        typer.Option("--ucx", metavar="FOLDER", help="The libraries of a CUDA-built UCX; default: libucx-cu13's."),
    ] = None,
    *,
    files: Files,
) -> None:
    """Measure an MPI with sennit's drop-in and without it: latency, bandwidths and collectives, as the OSU benchmarks
    do, of GPU or host buffers.

    The same ranks measure both, in turns. Every byte is checked in a separate call before anything is timed."""
    named = _peers(versus)
    found = launcher.find(start)
    # Before ranks are started: wrong usage should be told at once.
    other = under.find(ucx) if UCX in named or ucx is not None else ""
    options: dict[str, object] = {
        "--sizes": sizes,
        "--window": window,
        "--type": element,
        "--op": operator,
        "--bind": bind.value if bind else None,
        "--ranks-per-node": ranks_per_node,
        "--seconds": seconds,
    }
    asked = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    asked += ["--in-place"] if in_place else []
    arguments = [*asked, *(["--operations", operations] if operations else [])]
    arguments += ["--buffers", buffers] if buffers else []
    arguments = [*arguments, *(["--vs", _in_turns(named)] if named else []), *(["--direct"] if direct else [])]
    counts = _counts(on_virtual_nodes, ranks_per_node)
    documents, worst = [], 0
    for count in counts or [0]:
        with _started(found, ranks, str(library or found.library() or ""), count) as (job, inherited):
            environment = inherited | {
                "LD_PRELOAD": preloaded(str(library_to_preload()), inherited.get("LD_PRELOAD", "")),
            }
            output = process.run_command(
                job.command(environment, [*arguments, "--progress"]), PROGRAM, "measuring", environment
            )
            document, code = process.document_of(output, PROGRAM)
            if UCX in named:
                result = parse(Result, document, f"the document of {PROGRAM}")
                document = _with_ucx(document, result, job, other, inherited, asked)
        documents.append(document)
        worst = max(worst, code)
    show_result(_of_all(documents, counts), f"the document of {PROGRAM}", files)
    if worst != 0:
        raise typer.Exit(worst)


@contextmanager
def _started(
    found: launcher.Launcher, ranks: int | None, library: str, nodes: int
) -> Iterator[tuple[Start, dict[str, str]]]:
    """How ranks are started, and what they see; 0 virtual nodes: those of the launcher. Raises Problem."""
    inherited = found.environment(os.environ)
    gpus = launcher.gpu_names(os.environ)
    if nodes == 0:
        yield Start(found, ranks or max(2, len(gpus)), library), inherited
        return
    whole = ranks or nodes * max(1, len(gpus) // nodes)
    # With fewer GPUs than nodes each is shown all of them, and the program says that ranks share them.
    shown = gpus if len(gpus) >= nodes else ()
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder, virtual_nodes.networks(nodes, shown) as made:
        between = virtual_nodes.between(found, made, whole, Path(folder))
        # A launcher leaves files of its own behind where it is made to end.
        yield Start(found, whole, library, between), inherited | {"TMPDIR": folder}


def _counts(text: str | None, ranks_per_node: int | None) -> list[int]:
    """The numbers of virtual nodes. Raises Problem (usage)."""
    if text is None:
        return []
    if ranks_per_node is not None:
        raise Problem(
            "--virtual-nodes starts ranks on nodes, and --ranks-per-node takes those of one host for nodes",
            "Use one of the two; -n says how many ranks there are on all virtual nodes together",
            Exit.USAGE,
        )
    words = names(text)
    if not words or not all(word.isdecimal() for word in words):
        raise Problem(f"--virtual-nodes {text}: no list of numbers", "Use such as 2 or 2,4", Exit.USAGE)
    return [int(word) for word in words]


def _of_all(documents: list[dict[str, Any]], counts: list[int]) -> dict[str, Any]:
    """One document of jobs on these numbers of virtual nodes; of another job the document as it is."""
    first = documents[0]
    if not counts:
        return first
    # What differs between the jobs stands in their rows.
    settings = {
        key: value
        for key, value in first["settings"].items()
        if all(each["settings"].get(key) == value for each in documents)
    }
    warnings = [ON_ONE_HOST, *(warning for each in documents for warning in each.get("warnings", []))]
    return first | {
        "rows": [row for each in documents for row in each["rows"]],
        "warnings": list(dict.fromkeys(warnings)),
        "settings": settings | {"virtual_nodes": counts},
    }


def _peers(versus: str | None) -> list[str]:
    named = [name.strip() for name in versus.split(",")] if versus is not None else []
    for name in named:
        if name not in PEERS:
            raise Problem(f"--vs: there is no peer {name!r}", f"Use any of {', '.join(PEERS)}", Exit.USAGE)
    return named


def _in_turns(named: list[str]) -> str:
    """What of --vs is for the C++ program."""
    return ",".join(name for name in named if name != UCX) or "none"


def _with_ucx(
    document: dict[str, Any],
    result: Result,
    job: Start,
    found: under.Ucx | str,
    inherited: Mapping[str, str],
    asked: list[str],
) -> dict[str, Any]:
    """The document with what the MPI does over a CUDA-built UCX for the same on GPU buffers, or a warning why not."""
    library = Path(job.library) if job.library else None
    why = found if isinstance(found, str) else ""
    why = why or under.cannot(job.launcher, library, str(result.settings.get("executor", "")))
    if why or isinstance(found, str):
        return document | {"warnings": [*result.warnings, f"ucx is left out: {why}."]}
    environment = found.environment(job.launcher.kind, inherited)
    on_gpus = [row for row in result.rows if "gpu" in row.buffers]
    operations = list(dict.fromkeys(row.operation for row in on_gpus))
    commands = {
        operation: job.command(
            environment,
            [*asked, "--operations", operation, "--vs", "mpi", "--direct", "--buffers",
             ",".join(dict.fromkeys(row.buffers for row in on_gpus if row.operation == operation))],
        )
        for operation in operations
    }  # fmt: skip
    seconds = result.settings.get("seconds")
    cases = len({(title(row), row.bytes) for row in result.rows})
    limit_s = 60 + cases * 10 * (float(seconds) if isinstance(seconds, int | float) else 1)
    with Bar("measuring UCX", console.messages()) as bar:
        rows, warnings = under.measure(
            commands, environment, limit_s,
            lambda operation: bar.update(Step(operations.index(operation), len(operations), f"{operation} by UCX")),
        )  # fmt: skip
    return document | {
        "rows": [*document["rows"], *rows],
        "warnings": [*result.warnings, *warnings],
        "versions": result.versions | {"ucx": found.version},
        "settings": result.settings | {"ucx": {"folder": found.named(), **under.SETTINGS[job.launcher.kind]}},
    }
