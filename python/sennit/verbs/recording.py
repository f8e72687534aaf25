"""`sennit bench profile`: what recording adds to a call of MPI, in turns with the same call unrecorded."""

from __future__ import annotations

import os
import tempfile
from typing import Annotated, Any

import typer

from sennit.model.result import MONITORING, MPI, RECORDED
from sennit.programs import launcher, places, process
from sennit.programs.handed_on import preloaded
from sennit.programs.preloading import library_to_preload
from sennit.verbs.mpi import PROGRAM, Start
from sennit.verbs.options import Csv, Html, Launcher, Markdown, MpiLibrary, ResultFile, examples
from sennit.verbs.profile import OBSERVER
from sennit.verbs.results import Files, show_result

EXAMPLES = examples("sennit bench profile", "sennit bench profile --launcher /opt/mpich/bin/mpiexec --json cost.json")
# A message there and back, many messages in flight, and a collective call.
OPERATIONS = "latency,bandwidth,allreduce"
MONITORED = {"OMPI_MCA_pml_monitoring_enable": "2"}  # of each message, as Open MPI's own monitoring counts it


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("profile", epilog=EXAMPLES, rich_help_panel="Programs of MPI")(profile)


def profile(
    sizes: Annotated[str, typer.Option(metavar="SIZE,…", help="Of a message, for example 8,64K.")] = "8",
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=2, metavar="N", help="Of the job.")] = 2,
    start: Launcher = None,
    library: MpiLibrary = None,
    seconds: Annotated[float, typer.Option(min=0.001, metavar="S", help="Time to measure each figure.")] = 2.0,
    json_file: ResultFile = None,
    csv: Csv = None,
    markdown_file: Markdown = None,
    html_file: Html = None,
) -> None:
    """Measure what `sennit profile` adds to a call: host buffers, recorded and not, in turns in the same ranks. Open
    MPI's own monitoring is measured in a job of its own."""
    files = Files(json_file, csv, markdown_file, html_file)
    files.check()
    found = launcher.find(start)
    places.find_library(OBSERVER)
    job = Start(found, ranks, str(library or found.library() or ""))
    inherited = found.environment(os.environ)
    arguments = ["--operations", OPERATIONS, "--sizes", sizes, "--window", "64", "--buffers", "host",
                 "--seconds", str(seconds)]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="sennit-recording-") as folder:
        ours = {
            "LD_PRELOAD": preloaded(str(library_to_preload()), inherited.get("LD_PRELOAD", "")),
            "SENNIT_OBSERVER": OBSERVER,
            "SENNIT_DISABLE": "1",
            "SENNIT_PROFILE": folder,
        }
        document, code = measured(job, inherited | ours, [*arguments, "--vs", f"{RECORDED},{MPI}"])
    if found.kind == launcher.OPENMPI and code == 0:
        beside, code = measured(job, inherited | MONITORED, [*arguments, "--vs", MPI])
        document["rows"] += [row | {"variant": MONITORING} for row in beside["rows"]]
        document["warnings"] += [each for each in beside["warnings"] if each not in document["warnings"]]
    show_result(document, f"the document of {PROGRAM}", files)
    if code != 0:
        raise typer.Exit(code)


def measured(job: Start, environment: dict[str, str], arguments: list[str]) -> tuple[Any, int]:
    """The document of a job, and its exit code."""
    command = job.command(environment, [*arguments, "--progress"])
    return process.document_of(process.run_command(command, PROGRAM, "measuring", environment), PROGRAM)
