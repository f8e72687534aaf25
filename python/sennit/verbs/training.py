"""`sennit bench training`: PyTorch programs under NCCL alone and under the drop-in, in turns."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from sennit.baselines import torch_job, training
from sennit.baselines.budget import LEAST_S, Did, share
from sennit.baselines.run import Outcome
from sennit.baselines.torch_job import NCCL, SENNIT
from sennit.baselines.training import Case, Job
from sennit.programs.preloading import library_to_preload
from sennit.programs.problem import Exit, Problem
from sennit.verbs import torch_jobs
from sennit.verbs.options import (
    JobsInTurns,
    MostSeconds,
    RanksOnGpus,
    examples,
    names,
)
from sennit.verbs.results import Files, show_result, with_files
from sennit.verbs.turns import Enough, JobInTurns, Outcomes, Progress, measure_in_turns

EXAMPLES = examples(
    "sennit tune collectives && sennit bench training",
    "sennit bench training --models resnet50:ddp,vgg16:ddp --batches 32,4 --buckets 25,100",
    "sennit bench training --models transformer:fsdp,resnet50:fsdp,transformer:tensor --json training.json",
    "sennit bench training --models resnet50,resnet50:compile,resnet50:graph,resnet50:accumulate --batches 8",
    "SENNIT_TAKE=all sennit bench training -n 4 --runs 5",
    "sennit bench training --budget 300 --runs 1 --json training.json",
)


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("training", epilog=EXAMPLES, rich_help_panel="Programs of NCCL")(bench_training)


@with_files
def bench_training(
    models: Annotated[
        str, typer.Option(metavar="MODEL[:WAY][:STEP],…", help="torchvision's resnet50, resnet152, densenet201, "
                          "vgg16 and alexnet, and transformer, with ddp or fsdp; transformer and mlp with tensor. "
                          "Steps: compile, graph, accumulate.")
    ] = ",".join(training.DEFAULT),
    batches: Annotated[str, typer.Option(metavar="N,…", help="Samples a rank.")] = "32",
    buckets: Annotated[str, typer.Option(metavar="MB,…", help="Of DDP: gradients that are reduced together.")] = "25",
    ranks: RanksOnGpus = None,
    steps: Annotated[int, typer.Option(min=4, metavar="N", help="Timed in each run at least.")] = 40,
    losses: Annotated[
        int, typer.Option(min=1, metavar="N", help="Steps before, whose losses are compared.")
    ] = 50,
    runs: JobsInTurns = 3,
    limit: MostSeconds = 1800,
    budget: Annotated[
        float | None, typer.Option(min=LEAST_S, metavar="S", help="Most seconds of all jobs, each of which loads "
                                   "PyTorch first: cases are measured as named, as many as there is time for.")
    ] = None,
    *,
    files: Files,
) -> None:  # fmt: skip
    """Train PyTorch models on made-up data under NCCL alone and under sennit's drop-in, in turns: how fast, what part
    of a step communication takes, and whether the losses are the same.

    sennit takes what `sennit tune collectives` measured faster; SENNIT_TAKE=all takes all it can."""
    found = training.cases(names(models), _numbers(batches, "--batches"), _numbers(buckets, "--buckets"))
    torch_jobs.check_on(os.environ)
    count = torch_jobs.ranks_or_gpus(ranks, "training needs", "torch torchvision")
    job = Job(count, found, steps, losses=losses, limit_s=int(limit))
    library = str(library_to_preload())

    def show(outcomes: Outcomes) -> None:
        document = document_of(job, outcomes, runs, budget)
        show_result(document, "the result", files)

    def start(asked: Job, variant: str, progress: Progress, outcome: Outcome, most_s: float = math.inf) -> None:
        _job(asked, os.environ, library if variant == SENNIT else "", progress, outcome, most_s)

    measure_in_turns(
        "training", (NCCL, SENNIT), runs,
        within(budget, job, runs, start) if budget else
        lambda variant, progress, outcome: start(job, variant, progress, outcome),
        show, lambda outcomes: bool(measured_by_both(job, outcomes)),
    )  # fmt: skip


def within(
    budget_s: float, job: Job, runs: int, start: Callable[[Job, str, Progress, Outcome, float], object],
    clock: Callable[[], float] = time.monotonic,
) -> JobInTurns:  # fmt: skip
    """What does one job after the other within a budget (baselines/budget.py), which begins now. `start` runs one,
    for so many seconds at most."""
    spent = f"nothing more fits into the budget of {budget_s:g} s"
    began = clock()
    did: list[Did] = []

    def next_job(variant: str, progress: Progress, outcome: Outcome) -> None:
        now = clock() - began
        found = share(job.cases, runs, budget_s, did, now)
        if found is None:
            raise Enough(spent)
        asked = replace(job, cases=found.cases, until_s=began + found.until_s)
        start(asked, variant, progress, outcome, found.end_s - now)
        ended = clock() - began
        did.append(Did(ended - now, training.told_of(found.cases, outcome.rows)))
        if outcome.reason and ended >= found.end_s:
            raise Enough(spent)

    return next_job


def _numbers(text: str, option: str) -> list[int]:
    found = names(text)
    if not found or not all(each.isascii() and each.isdecimal() and int(each) > 0 for each in found):
        raise Problem(f"{option} {text!r} is no list of numbers", f"Such as {option} 4,32", Exit.USAGE)
    return [int(each) for each in found]


def _job(
    job: Job, inherited: Mapping[str, str], library: str, progress: Progress, outcome: Outcome, most_s: float
) -> None:
    """One job, to its end or a limit."""
    preload = torch_jobs.preload(library, inherited)
    limit_s = min(job.limit_s + torch_job.GRACE_S, most_s)
    torch_job.run(training.RANK, job.text(), job.ranks, inherited, preload, limit_s, progress, outcome)


def measured_by(variant: str, job: Job, outcomes: Mapping[str, list[Outcome]]) -> list[Case]:
    """The cases that some job of a variant finished, whatever became of it afterwards."""
    return training.told_of(job.cases, [row for outcome in outcomes[variant] for row in outcome.rows])


def measured_by_both(job: Job, outcomes: Mapping[str, list[Outcome]]) -> list[Case]:
    """Those that can be compared."""
    return [case for case in measured_by(NCCL, job, outcomes) if case in measured_by(SENNIT, job, outcomes)]


def missing(job: Job, outcomes: Mapping[str, list[Outcome]], warnings: list[str]) -> list[str]:
    """Told of cases that cannot be compared, where no warning says already that they are left out."""
    found: dict[str, list[str]] = {}
    for case in job.cases:
        lacks = [variant for variant in outcomes if case not in measured_by(variant, job, outcomes)]
        if lacks and not any(warning.startswith(training.left_out(case)) for warning in warnings):
            found.setdefault(" and ".join(lacks), []).append(case.name)
    return [training.unfinished(lacks, names) for lacks, names in found.items()]


def all_left(told: Sequence[Mapping[str, Any]]) -> bool:
    """Whether sennit did no call of these rows of its jobs. Unknown is false."""
    return bool(told) and all(row.get("taken") == 0 for row in told)


def document_of(
    job: Job, outcomes: Mapping[str, list[Outcome]], runs: int, budget_s: float | None = None
) -> dict[str, Any]:
    """The result, of what the jobs of both variants told: of cases that both finished, be it in jobs that did not
    come to their end."""
    told = torch_job.told(outcome for each in outcomes.values() for outcome in each)
    rows, comparable = [], measured_by_both(job, outcomes)
    for variant, each in outcomes.items():
        for case in comparable:
            of_case = [row for outcome in each for row in outcome.rows if row.get("case") == case.name]
            is_left = variant == SENNIT and all_left(of_case)
            rows.append(training.row(case, variant, job.ranks, of_case) | ({"plan": "NCCL"} if is_left else {}))
    settings = {
        "runs": runs,
        "steps": job.steps,
        "warm_up": job.warm_up,
        "losses": job.losses,
        "take": os.environ.get("SENNIT_TAKE") or "measured",
        **({"budget_s": budget_s} if budget_s else {}),
    }
    warnings = told.warnings + missing(job, outcomes, told.warnings)
    if all_left([row for outcome in outcomes[SENNIT] for row in outcome.rows]):
        warnings.append(torch_job.none_is_sennits("SENNIT_EXPLAIN=1 says why", "SENNIT_TAKE=all"))
    return torch_jobs.document("bench training", told, settings, rows, warnings)
