"""`sennit bench profile`: what recording adds to a call of MPI, in turns with the same call unrecorded; of NCCL, and
of training, recording_gpus.py measures it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sennit import units
from sennit.baselines.recording import CALL_JOBS, CALLS_RANK, MODELS, TRAINING_JOBS, TRAINING_RANK, Job
from sennit.model.result import MONITORING, MPI, MPIP, RECORDED
from sennit.programs import launcher, places, process
from sennit.programs.handed_on import preloaded
from sennit.programs.preloading import library_to_preload
from sennit.programs.problem import Exit, Problem
from sennit.verbs.mpi import PROGRAM, Start
from sennit.verbs.options import Launcher, MostSeconds, MpiLibrary, examples, names
from sennit.verbs.profile import OBSERVER
from sennit.verbs.recording_gpus import SIZES, call_job, measure, ranks_here, training_job
from sennit.verbs.results import Files, show_result, with_files

EXAMPLES = examples(
    "sennit bench profile",
    "sennit bench profile --launcher /opt/mpich/bin/mpiexec --json cost.json",
    "sennit bench profile --gpu-times --json profile-gpu-times.json",
    "sennit bench profile --training --models resnet50,vgg16 --runs 3",
)
# A message there and back, many messages in flight, and a collective call.
OPERATIONS = "latency,bandwidth,allreduce"
MONITORED = {"OMPI_MCA_pml_monitoring_enable": "2"}  # of each message, as Open MPI's own monitoring counts it


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("profile", epilog=EXAMPLES, rich_help_panel="Programs of MPI")(profile)


@with_files
def profile(
    gpu_times: Annotated[
        bool,
        typer.Option(
            "--gpu-times",
            help="Of NCCL instead: what is added to allreduces by "
            "PyTorch, and how long they take on the GPU as each recorder says.",
        ),
    ] = False,
    training: Annotated[
        bool, typer.Option("--training", help="Of training by PyTorch instead: how much slower steps are.")
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE,…", help="Of a message, for example 8,64K.", show_default=f"8; with --gpu-times {SIZES}"
        ),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", "-n", min=1, metavar="N", help="Of the job.", show_default="2; of NCCL one a GPU"),
    ] = None,
    models: Annotated[str, typer.Option(metavar="MODEL,…", help="Of --training.")] = ",".join(MODELS),
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Of --training: samples a rank.")] = 32,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Of NCCL and training: jobs of each kind.")] = 2,
    limit: MostSeconds = 900,
    mpip: Annotated[
        Path | None,
        typer.Option(
            "--mpip",
            metavar="FILE",
            help="Of MPI: also measure mpiP, of this "
            "libmpiP.so, or another library that wraps MPI's calls; in a job of its own.",
        ),
    ] = None,
    start: Launcher = None,
    library: MpiLibrary = None,
    seconds: Annotated[float, typer.Option(min=0.001, metavar="S", help="Time to measure each figure.")] = 2.0,
    *,
    files: Files,
) -> None:
    """Measure what `sennit profile` adds to a call: host buffers, recorded and not, in turns in the same ranks. Open
    MPI's own monitoring is measured in a job of its own.

    --gpu-times and --training measure PyTorch on GPUs: nothing, sennit's recorder, torch.profiler and NCCL's Flight
    Recorder."""
    if gpu_times or training:
        of_nccl(gpu_times, training, sizes, ranks, models, batch, int(limit), runs, files)
        return
    ranks, sizes = 2 if ranks is None else ranks, sizes or "8"
    if ranks < 2:
        raise Problem("messages need two ranks", "--ranks 2", Exit.USAGE)
    if mpip is not None and not mpip.is_file():
        raise Problem(f"there is no {mpip}", "Name libmpiP.so, as built for this MPI", Exit.USAGE)
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
        add(document, beside, MPI, MONITORING)
    if mpip is not None and code == 0:
        with tempfile.TemporaryDirectory(prefix="sennit-mpip-") as folder:
            theirs = {
                "LD_PRELOAD": preloaded(str(mpip.absolute()), inherited.get("LD_PRELOAD", "")),
                "SENNIT_OBSERVER": str(mpip.absolute()),  # tells the program that somebody is before the MPI
                "MPIP": f"{inherited.get('MPIP', '')} -f {folder}".strip(),  # where its report goes
            }
            beside, code = measured(job, inherited | theirs, [*arguments, "--vs", f"{RECORDED},{MPI}"])
        add(document, beside, RECORDED, MPIP)
    show_result(document, f"the document of {PROGRAM}", files)
    if code != 0:
        raise typer.Exit(code)


def add(document: Any, beside: Any, variant: str, named: str) -> None:
    """Adds rows of a variant of another job, by another name; what that job warned of, too."""
    found = [row | {"variant": named} for row in beside["rows"] if row["variant"] == variant]
    document["rows"] += found
    document["warnings"] += [each for each in beside["warnings"] if each not in document["warnings"]]
    if not found:
        document["warnings"].append(f"Nothing was measured of {named}: no call of MPI reached its library first.")


def of_nccl(
    gpu_times: bool, training: bool, sizes: str | None, ranks: int | None, models: str, batch: int, limit_s: int,
    runs: int, files: Files,
) -> None:  # fmt: skip
    """Measures calls of NCCL, training, or both."""
    try:
        asked = [units.bytes_of(size) for size in names(sizes or SIZES)]
    except ValueError as error:
        raise Problem(f"--sizes: {error}", f"Such as --sizes {SIZES}", Exit.USAGE) from None
    call_job(1, asked, limit_s), training_job(1, models, batch, limit_s)  # what is wrong with them is said first
    count = ranks_here(ranks, "torch torchvision" if training else "torch")
    jobs: list[tuple[str, Job, Sequence[str]]] = []
    if gpu_times:
        jobs.append((CALLS_RANK, call_job(count, asked, limit_s), CALL_JOBS))
    if training:
        jobs.append((TRAINING_RANK, training_job(count, models, batch, limit_s), TRAINING_JOBS))
    measure(jobs, runs, files)


def measured(job: Start, environment: dict[str, str], arguments: list[str]) -> tuple[Any, int]:
    """The document of a job, and its exit code."""
    command = job.command(environment, [*arguments, "--progress"])
    return process.document_of(process.run_command(command, PROGRAM, "measuring", environment), PROGRAM)
