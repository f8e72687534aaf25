"""`sennit bench torch`: collectives as PyTorch programs call them, under NCCL alone and the drop-in, in turns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Annotated, Any

import typer

from sennit.baselines import torch_calls, torch_job
from sennit.baselines.run import Outcome
from sennit.baselines.torch_calls import EAGER, PASSED_ON, Case, Job
from sennit.baselines.torch_job import NCCL, SENNIT
from sennit.operations import known_as
from sennit.programs.preloading import library_to_preload
from sennit.verbs import torch_jobs
from sennit.verbs.options import (
    JobsInTurns,
    MostSeconds,
    RanksOnGpus,
    examples,
    names,
)
from sennit.verbs.results import Files, show_result, with_files
from sennit.verbs.turns import Outcomes, Progress, finished, measure_in_turns, take_turns

EXAMPLES = examples(
    "sennit tune collectives && sennit bench torch",
    "sennit bench torch --operations allreduce,allgather --sizes 1K,64K,1M --types bfloat16",
    "sennit bench torch --take all --runs 5 --json torch.json",
)


class Take(str, Enum):
    """Which calls the drop-in takes."""

    MEASURED = "measured"
    ALL = "all"


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("torch", epilog=EXAMPLES, rich_help_panel="Programs of NCCL")(bench_torch)


@with_files
def bench_torch(
    operations: Annotated[
        str, typer.Option(metavar="NAME,…", help="Any of allreduce, reduce_scatter, allgather, broadcast, "
                          "all_to_all.")
    ] = "allreduce",
    sizes: Annotated[
        str, typer.Option(metavar="SIZE,…", help="Of the larger buffer of a rank.")
    ] = torch_calls.SIZES,
    types: Annotated[str, typer.Option(metavar="TYPE,…", help="Of elements.")] = "float32,bfloat16",
    take: Annotated[
        Take | None, typer.Option(help="What sennit takes: what measured faster than NCCL's, or all it can.",
                                  show_default="SENNIT_TAKE, else measured")
    ] = None,
    ranks: RanksOnGpus = None,
    seconds: Annotated[
        float, typer.Option(min=0.001, metavar="S", help="Time to measure each figure in each job.")
    ] = 0.1,
    runs: JobsInTurns = 3,
    limit: MostSeconds = 600,
    *,
    files: Files,
) -> None:  # fmt: skip
    """Measure collectives as PyTorch programs call them, under NCCL alone and under sennit's drop-in, in turns: in
    CUDA graphs, queued behind other work, and call by call; and what the drop-in costs calls that it leaves to NCCL.

    Every number is checked before anything is timed."""
    known = [known_as(each, torch_calls.NAMES) or each for each in names(operations)]
    asked = known, names(sizes), names(types)
    torch_calls.check(*asked)
    torch_jobs.check_on(os.environ)
    count = torch_jobs.ranks_or_gpus(ranks, "torch.distributed's collectives need")
    found = torch_calls.cases(*asked, count)
    chosen = take.value if take else os.environ.get("SENNIT_TAKE") or Take.MEASURED.value
    job = Job(count, found, seconds, limit_s=int(limit))
    library = str(library_to_preload())
    hows = _explanations(job, chosen, library)
    under = replace(job, taken_bytes=torch_calls.taken_bytes(hows))
    small = Job(count, torch_calls.passed_on(found), seconds, (EAGER,), passing=True, limit_s=int(limit))

    def show(outcomes: Outcomes) -> None:
        document = document_of(job, finished(outcomes), hows, runs, chosen)
        show_result(document, "the result", files)

    measure_in_turns(
        "measuring", (NCCL, SENNIT, PASSED_ON), runs,
        lambda variant, progress, outcome: _job(
            {PASSED_ON: small, SENNIT: under}.get(variant, job), variant, chosen, library, progress, outcome
        ),
        show,
    )  # fmt: skip


def _job(job: Job, variant: str, take: str, library: str, progress: Progress, outcome: Outcome, **more: str) -> None:
    """One job of a variant, to its end."""
    environment = {**os.environ, **torch_calls.settings_of(variant, take), **more}
    preload = torch_jobs.preload("" if variant == NCCL else library, os.environ)
    limit_s = job.limit_s + torch_job.GRACE_S
    torch_job.run(torch_calls.RANK, job.text(), job.ranks, environment, preload, limit_s, progress, outcome)


def _explanations(job: Job, take: str, library: str) -> dict[Case, str]:
    """How calls of sennit go. Jobs of their own, as saying so takes time: one for each type, which is not said."""
    found: dict[Case, str] = {}
    for kind in dict.fromkeys(case.type for case in job.cases):
        of_kind = [case for case in job.cases if case.type == kind]
        asked = Job(job.ranks, of_kind, 0, job.ways, limit_s=job.limit_s)

        def verify(variant: str, progress: Progress, outcome: Outcome, asked: Job = asked) -> None:
            _job(asked, variant, take, library, progress, outcome, SENNIT_EXPLAIN="1")

        (outcome,) = take_turns("verifying", (SENNIT,), 1, verify)[SENNIT]
        found |= {case: torch_calls.explained(case, job.ranks, outcome.explained) for case in of_kind}
    return found


def document_of(
    job: Job, outcomes: Mapping[str, Sequence[Outcome]], hows: Mapping[Case, str], runs: int, take: str
) -> dict[str, Any]:
    """The result, of what the jobs of all variants told."""
    told = torch_job.told(outcome for each in outcomes.values() for outcome in each)
    warnings = list(told.warnings)
    if why := torch_job.why_none_is_sennits(hows.values()):
        warnings.append(torch_job.none_is_sennits(why, "--take all"))
    said = {variant: [outcome.rows for outcome in each] for variant, each in outcomes.items()}
    settings = {"runs": runs, "seconds": job.seconds, "take": take}
    rows = torch_calls.rows(job.cases, job.ranks, said, hows)
    return torch_jobs.document("bench torch", told, settings, rows, warnings) | {
        "added": torch_calls.added(said.get(PASSED_ON, []), "added_us", torch_calls.PASSED_BYTES),
        "made": torch_calls.made(said.get(SENNIT, [])),
        "met": torch_calls.met(said),
        "begun": torch_calls.begun(said),
        "added_to_taken": torch_calls.added(said.get(SENNIT, []), "added_to_taken_us", torch_calls.taken_bytes(hows)),
    }
