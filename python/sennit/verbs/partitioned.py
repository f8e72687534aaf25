"""`sennit bench partitioned`: messages whose partitions become ready one after the other, by all ways of an MPI."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sennit import __version__, units
from sennit.baselines import partitioned as jobs
from sennit.model.document import parse, read_json
from sennit.model.partitioned import BACK_ENDS, BETWEEN_TWO, OWN, PARTITIONED, PATTERNS, QUESTIONS, Partitioned
from sennit.programs import console, launcher
from sennit.programs.problem import Exit, Problem
from sennit.programs.progress import Bar, Step
from sennit.verbs.mpi import Start
from sennit.verbs.options import (
    AsPublished,
    Launcher,
    MpiLibrary,
    check_files,
    examples,
    names,
    print_json,
    write,
)
from sennit.verbs.partitioned_asked import PLANES, Asked, kept, refuse_elsewhere, refuse_others
from sennit.verbs.results import Files, with_files

SIZES = "4K,64K,1M,16M"
FACES = "4K,64K,1M"  # of a pattern: with 16 partitions, the public suite's pairs
ROUND_S = 5.0  # that a round of a pattern may take where ranks are more than cores
PARTITIONS = "1,4,16"
VERSUS = f"{OWN},persistent_partitions"
GROUPS = {"partitioned": (OWN,), "rma": ("rma_flush", "rma_pscw"), "all": BACK_ENDS}
RANKS = 4  # of a pattern
SECONDS = 0.5
HANGS_S = 10.0
EXAMPLES = examples(
    "sennit bench partitioned --probe",
    "sennit bench partitioned --sizes 64K:64M --partitions 1,2,4,8,16,32 --threads 16 --compute 10ms "
    "--noise uniform:4 --cache hot,cold --html p.html",
    "sennit bench partitioned --noise laggard:100us/MB --order linear,inverse,random --vs all",
    "sennit bench partitioned --launcher /opt/mpich/bin/mpiexec --json p.json",
    "sennit bench partitioned --resume p.json",
    "sennit bench partitioned --pattern sweep3d -n 4 --send single,threads,partitioned --json s.json",
    "sennit bench show p.json --gantt 16M:16 --svg gantt.svg",
)


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("partitioned", epilog=EXAMPLES, rich_help_panel="Programs of MPI")(partitioned)


@with_files
def partitioned(
    context: typer.Context,
    pattern: Annotated[
        str,
        typer.Option(
            metavar="|".join(PATTERNS), help="Instead: a pattern of applications, whose faces have these --sizes."
        ),
    ] = "",
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, metavar="N", help="Of a pattern.")] = RANKS,
    planes: Annotated[
        int, typer.Option(min=1, max=1024, metavar="N", help="Of a sweep's octant; of a halo iterations.")
    ] = PLANES,
    probe: Annotated[
        bool, typer.Option("--probe", help="Only what MPI's partitioned messages do here, in seconds.")
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE,…|FROM:TO",
            help="Of a message, for example 64K,1M, or from one size to another, doubled.",
            show_default=f"{SIZES}; of a pattern {FACES}",
        ),
    ] = None,
    partitions: Annotated[
        str, typer.Option(metavar="N,…", help="Partitions of a message that become ready one by one.")
    ] = PARTITIONS,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="That make partitions ready.",
            show_default="one a partition, as far as there are cores",
        ),
    ] = None,
    compute: Annotated[str, typer.Option(metavar="TIME", help="Of each thread, for example 10ms.")] = "1ms",
    noise: Annotated[
        str,
        typer.Option(
            metavar="KIND,…",
            help="none, single:4, uniform:4, gaussian:4, exponential:4 (% of the compute), laggard:100us/MB (the "
            "last partition), or replay:FILE (µs of each thread, a line an iteration).",
        ),
    ] = "none",
    order: Annotated[
        str, typer.Option(metavar="KIND,…", help="Of partitions: linear, inverse, stride:4, random, burst:8.")
    ] = "linear",
    cache: Annotated[str, typer.Option(metavar="KIND,…", help="hot, cold, or both.")] = "hot",
    versus: Annotated[
        str,
        typer.Option(
            "--vs",
            "--send",
            metavar="NAME,…",
            help=f"Who is measured, each in turns with the whole message: {', '.join(BACK_ENDS)}; partitioned (mpi), "
            "rma (both) or all.",
        ),
    ] = VERSUS,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of noise and random orders.")] = 1,
    seconds: Annotated[
        float, typer.Option(min=0.001, metavar="S", help="Longest time to measure each figure.")
    ] = SECONDS,
    limit: Annotated[
        float, typer.Option("--hangs-after", min=0.1, metavar="S", help="Seconds after which a message hangs.")
    ] = HANGS_S,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What --json FILE holds of a run that was interrupted: measure what is missing, with its options.",
        ),
    ] = None,
    as_published: AsPublished = False,
    start: Launcher = None,
    library: MpiLibrary = None,
    *,
    files: Files,
) -> None:
    """Measure whether partitioned messages help with this MPI: partitions that leave as soon as a thread is done with
    them, beside the whole message once all threads are.

    Two ranks on one node, host buffers. Every byte of every message is checked, outside what is timed. FILE of --json
    is written line by line: where a run is interrupted, --resume FILE goes on."""
    if probe and (resume is not None or pattern):
        raise Problem("a probe has no lines and no pattern", "Leave --probe out", Exit.USAGE)
    if resume is not None and files.json is None:
        files = replace(files, json=str(resume))
        files.check()
    sizes_asked = ",".join(sizes_of(sizes)) if sizes else ""
    found = launcher.find(start)
    environment = found.environment(os.environ)
    # Jobs run in a folder of their own.
    chosen = library.absolute() if library else found.library()

    def command_of(count: int) -> jobs.Command:
        job = Start(found, count, str(chosen or ""), program=jobs.PROGRAM)
        return lambda arguments: job.command(environment, list(arguments))

    if probe:
        document = _probed(command_of(2), environment, sizes_asked.split(",") if sizes else [])
    else:
        asked = Asked(
            sizes=sizes_asked or (FACES if pattern else SIZES), partitions=partitions, threads=threads or 0,
            compute=compute, noise=noise, order=order, cache=cache,
            versus=back_ends(versus, BETWEEN_TWO if pattern else BACK_ENDS), seed=seed, seconds=seconds, limit=limit,
            pattern=pattern, planes=planes, ranks=ranks if pattern else 2,
        )  # fmt: skip
        begun = None
        if resume is not None:
            given = {name: value for name, value in asked if _is_given(context, name)}
            asked, begun = _begun(command_of, environment, resume, given)
        try:
            document = _measured(command_of(asked.ranks), environment, asked, begun, _keeper(files.json, found.kind))
        except KeyboardInterrupt:
            if files.json not in (None, "-"):
                console.messages().print(Text(f"to go on: --resume {files.json}"), soft_wrap=True)
            raise
        document = _sorted(document, asked)
    document["settings"] |= {"launcher": found.kind}
    show_partitioned(document, "what was measured", files, as_published=as_published)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _begun(
    command_of: Callable[[int], jobs.Command], environment: Mapping[str, str], file: Path, given: Mapping[str, Any]
) -> tuple[Asked, jobs.Document]:
    """What a run that was interrupted was asked, and what it has. Raises Problem where its lines and those of this
    machine, MPI or command line would not be of the same thing."""
    document = read_json(file)
    found = parse(Partitioned, document, str(file))
    asked = kept(found, str(file))
    refuse_others(asked, given, str(file))
    head = jobs.head(command_of(asked.ranks), environment, asked.versus[0], asked.arguments())
    refuse_elsewhere(found, head, str(file))
    return asked, head | {"date": document["date"], "rows": document["patterns" if asked.pattern else "rows"]}


def _sorted(document: jobs.Document, asked: Asked) -> jobs.Document:
    """The same with the rows of a pattern where documents have them; jobs print one kind of rows."""
    return document | {"patterns": document["rows"], "rows": []} if asked.pattern else document


def _keeper(file: str | None, kind: str) -> Callable[[jobs.Document, Asked], None]:
    """Writes the document after each line, whole or not at all: a run may end at any time."""

    def keep(document: jobs.Document, asked: Asked) -> None:
        if file in (None, "-"):
            return
        settings = document["settings"] | asked.settings() | {"launcher": kind}
        text = json.dumps(_sorted(document, asked) | {"settings": settings}, indent=1, ensure_ascii=False) + "\n"
        half = Path(f"{file}.new")
        with suppress(OSError):  # what cannot be written is told at the end
            half.write_text(text, encoding="utf-8")
            half.replace(str(file))

    return keep


def sizes_of(text: str) -> list[str]:
    """Those asked for; FROM:TO is every doubling. Raises Problem (usage)."""
    found: list[str] = []
    try:
        for each in names(text):
            low, colon, high = each.partition(":")
            first = units.bytes_of(low)
            last = units.bytes_of(high) if colon else first
            if not 0 < first <= last:
                raise ValueError(f"'{each}' is no size, and no range of sizes")
            while first <= last:
                found.append(str(first))
                first *= 2
    except ValueError as error:
        raise Problem(f"--sizes: {error}", "Such as --sizes 64K,1M or --sizes 64K:64M", Exit.USAGE) from None
    return list(dict.fromkeys(found))


def back_ends(text: str, known: Sequence[str] = BACK_ENDS) -> list[str]:
    """Those of `known` that --vs names, in the order of BACK_ENDS. Raises Problem (usage)."""
    asked: set[str] = set()
    for name in names(text):
        if name not in (*known, *GROUPS):
            raise Problem(
                f"--vs: there is no back end {name!r} here", f"Use any of {', '.join((*known, *GROUPS))}", Exit.USAGE
            )
        asked |= set(GROUPS.get(name, (name,))) & set(known)
    if not asked:
        raise Problem("--vs names nobody", f"Such as --vs {VERSUS}", Exit.USAGE)
    return [each for each in BACK_ENDS if each in asked]


def _measured(
    command: jobs.Command, environment: Mapping[str, str], asked: Asked, begun: jobs.Document | None,
    keep: Callable[[jobs.Document, Asked], None],
) -> jobs.Document:  # fmt: skip
    arguments = asked.arguments()
    count = jobs.lines(arguments)
    # Beside what is timed, each message is made and checked; a hang ends the job that it is in.
    rounds_s = jobs.FEWEST_ROUNDS * 2 * ROUND_S if asked.pattern else 5
    limit_s = jobs.START_S + asked.limit + count * (10 * asked.seconds + rounds_s)
    with Bar("measuring", console.messages()) as bar:
        document = jobs.measure(
            command, environment, asked.versus, arguments, limit_s,
            lambda done, _, what: bar.update(Step(done, count, what)), begun=begun,
            keep=lambda so_far: keep(so_far, asked),
        )  # fmt: skip
    jobs.add_commands(document, command)
    document["settings"] |= {"back_ends": asked.versus} | asked.settings()
    unsteady = [row for row in document["rows"] if row["state"] == "measured" and not row["steady"]]
    if unsteady:
        document["warnings"].append(
            f"{len(unsteady)} of {len(document['rows'])} figures are not known to ± 5 % after {asked.seconds:g} s: "
            "raise --seconds, or leave the machine alone."
        )
    if crowded := [row for row in document["rows"] if row["crowded"]]:
        document["warnings"].append(
            f"{len(crowded)} lines had more threads than cores for them: their threads slept instead of computing. "
            "Bind ranks to fewer processes a core (mpirun --bind-to none), or use fewer --threads."
        )
    return document


def _probed(command: jobs.Command, environment: Mapping[str, str], sizes: list[str]) -> dict[str, Any]:
    with Bar("asking", console.messages()) as bar:
        answers, document = jobs.ask(
            command, environment, QUESTIONS, sizes, lambda done, total, what: bar.update(Step(done, total, what))
        )
    if not document:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        document = {"version": 1, "kind": PARTITIONED, "date": now, "machine": {"name": platform.node()},
                    "versions": {"sennit": __version__}, "settings": {}, "rows": [], "warnings": []}  # fmt: skip
    return document | {"probe": answers}


def show_partitioned(document: Any, origin: str, files: Files, *, as_published: bool = False) -> None:
    """Shows it in all views. Raises Problem where it is none, or a file cannot be written."""
    from sennit.views import partitioned as views

    found = parse(Partitioned, document, origin)
    if files.json == "-":
        print_json(document)
    else:
        views.print_partitioned(found, console.results(), as_published=as_published)
    if files.json not in (None, "-"):
        write(Path(str(files.json)), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for file, view in (
        (files.csv, views.partitioned_csv),
        (files.markdown, views.partitioned_markdown),
        (files.html, views.partitioned_html),
    ):
        if file is not None:
            write(file, view(found))


def write_gantt(document: Any, origin: str, asked: str, svg: Path | None) -> None:
    """The timeline of one row, SIZE:PARTITIONS or with :BACK_END, as a picture. Raises Problem."""
    from sennit.views.charts.frame import standalone
    from sennit.views.partitioned_charts import gantt

    check_files(svg)
    found = parse(Partitioned, document, origin)
    size, _, rest = asked.partition(":")
    partitions, _, back_end = rest.partition(":")
    try:
        wanted = units.bytes_of(size), int(partitions)
    except ValueError:
        raise Problem(f"--gantt: {asked!r} is no SIZE:PARTITIONS", "Such as --gantt 16M:16", Exit.USAGE) from None
    rows = [row for row in found.measured if (row.bytes, row.partitions) == wanted and row.timeline]
    named = [row for row in rows if row.back_end == (back_end or OWN)] or ([] if back_end else rows)
    if not named:
        there = sorted({f"{units.size(row.bytes)}:{row.partitions}" for row in found.measured if row.timeline})
        raise Problem(
            f"{origin} has no line of {asked}", f"It has {', '.join(there) or 'none with a timeline'}", Exit.USAGE
        )
    picture = standalone(gantt(named[0]))
    if svg is None:
        raise Problem("--gantt draws a picture, and nobody says where to", "Add --svg FILE", Exit.USAGE)
    write(svg, picture)
