"""`sennit bench profile --gpu-times` and `--training`: what recording adds to calls of NCCL and to training, beside
torch.profiler and NCCL's Flight Recorder. Jobs of PyTorch take turns."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

from sennit.baselines import recording, torch_job
from sennit.baselines.recording import NOTHING, OWN_JOBS, Job
from sennit.baselines.run import Outcome
from sennit.baselines.training import cases
from sennit.model.document import parse
from sennit.model.recording_cost import RECORDING_COST, RecordingCost
from sennit.programs import console, launcher, places
from sennit.programs.packages import install
from sennit.programs.preloading import library_to_preload
from sennit.programs.problem import Exit, Problem
from sennit.programs.profiles import merged
from sennit.verbs import torch_jobs
from sennit.verbs.options import names, print_json, write
from sennit.verbs.profile import OBSERVER, recording_environment
from sennit.verbs.results import Files
from sennit.verbs.turns import Outcomes, Progress, measure_in_turns

SIZES = "1K,16K,256K,4M,16M,64M,256M"
TRAINED_PAIRS = 24  # of blocks of steps: as many as show half a per cent, in a minute a model; a guess


def call_job(ranks: int, sizes: Sequence[int], limit_s: int) -> Job:
    """That of `--gpu-times`. Raises Problem where sizes cannot be told apart in a profile."""
    bins = [recording.bin_of(size) for size in sizes if size > 0]
    if len(set(bins)) != len(sizes) or not sizes:
        raise Problem("--sizes has two that a profile counts as one, or none",
                      f"Give one between two powers of two, such as {SIZES}", Exit.USAGE)  # fmt: skip
    return Job(ranks, NOTHING, sizes=list(sizes), limit_s=limit_s)


def training_job(ranks: int, models: str, batch: int, limit_s: int) -> Job:
    """That of `--training`. Raises Problem."""
    found = cases(names(models), [batch], [25])
    return Job(ranks, NOTHING, cases=found, pairs=TRAINED_PAIRS, limit_s=limit_s)


def ranks_here(asked: int | None, packages: str) -> int:
    """One a GPU, or as asked. Raises Problem where PyTorch or a GPU is missing."""
    if util.find_spec("torch") is None:
        raise Problem("torch is not installed", install(packages), Exit.ENVIRONMENT)
    there = launcher.gpus(os.environ)
    if there == 0 or (asked or 1) > there:
        raise Problem(f"calls of NCCL need a GPU for each rank, and {there} are here",
                      "Run it where they are, or ask for fewer: --ranks", Exit.ENVIRONMENT)  # fmt: skip
    return asked or there


def measure(jobs: Sequence[tuple[str, Job, Sequence[str]]], runs: int, files: Files) -> None:
    """Runs jobs of each kind in turns, and shows what they come to. `jobs`: the module of a rank, what it is asked,
    and the names of its jobs."""
    places.find_library(OBSERVER)
    library_to_preload()
    kinds = {f"{module.rpartition('.')[2]} {name}": (module, job, name)
             for module, job, each in jobs for name in each}  # fmt: skip

    def start(kind: str, progress: Progress, outcome: Outcome) -> None:
        module, job, name = kinds[kind]
        run_one(module, replace(job, name=name), progress, outcome)
        if outcome.reason and name != NOTHING:
            # What others told is still worth showing.
            outcome.warnings.append(f"{name} is left out: {outcome.reason}")
            outcome.rows.clear()
            outcome.reason = ""

    def show(outcomes: Outcomes) -> None:
        show_cost(document_of(jobs, kinds, outcomes, runs), "the result", files)

    def is_worth(outcomes: Outcomes) -> bool:
        return any(outcome.rows for each in outcomes.values() for outcome in each)

    measure_in_turns("recording", list(kinds), runs, start, show, is_worth)


def run_one(module: str, job: Job, progress: Progress, outcome: Outcome) -> None:
    """One job, to its end; of one with sennit's recorder also what the profile says of times on GPUs."""
    inherited = dict(os.environ) | recording.flight(job.name)
    limit_s = job.limit_s + torch_job.GRACE_S
    if job.name not in OWN_JOBS:
        preload = torch_jobs.preload("", inherited)
        torch_job.run(module, job.text(), job.ranks, inherited, preload, limit_s, progress, outcome)
        return
    with tempfile.TemporaryDirectory(prefix="sennit-recording-") as folder:
        recorder = places.find_library(OBSERVER)
        environment = recording_environment(inherited, Path(folder), recorder, job.name)
        preload = torch_jobs.preload(str(library_to_preload()), inherited)
        torch_job.run(module, job.text(), job.ranks, environment, preload, limit_s, progress, outcome)
        if outcome.reason or not job.sizes:
            return
        try:
            outcome.rows += recording.timed_rows(merged(Path(folder)), job.sizes)
        except Problem as problem:
            outcome.warnings.append(f"The profile of job {job.name} cannot be read: {problem.what}")


def document_of(
    jobs: Sequence[tuple[str, Job, Sequence[str]]], kinds: Mapping[str, tuple[str, Job, str]], outcomes: Outcomes,
    runs: int,
) -> dict[str, Any]:  # fmt: skip
    """The result."""
    told = torch_job.told(outcome for each in outcomes.values() for outcome in each)
    found: dict[str, Any] = {"calls": [], "times": [], "training": []}
    warnings = list(told.warnings)
    for module, job, _ in jobs:
        of_job = {
            name: [outcome.rows for outcome in outcomes.get(kind, [])]
            for kind, (its_module, _, name) in kinds.items()
            if its_module == module
        }
        found["calls"] += recording.call_costs(of_job, job.sizes)
        found["times"] += recording.gpu_times(of_job, job.sizes)
        found["training"] += recording.training_costs(of_job, job.cases)
    ranks = jobs[0][1].ranks
    if ranks == 1:
        warnings.append("One rank alone: NCCL moves nothing between GPUs, and no rank waits. On two: --ranks 2.")
    settings = {"runs": runs, "pairs": {module.rpartition(".")[2]: job.pairs for module, job, _ in jobs}}
    document = torch_jobs.document(RECORDING_COST, told, settings, [], warnings)
    del document["rows"]
    return document | {"ranks": ranks} | found


def show_cost(document: Any, origin: str, files: Files) -> None:
    """In all views. Raises Problem where it is no such document, or a file cannot be written."""
    from sennit.views.recording_cost import cost_csv, cost_html, cost_markdown, print_cost

    found = parse(RecordingCost, document, origin)
    if files.json == "-":
        print_json(document)
    else:
        print_cost(found, console.results())
    if files.json not in (None, "-"):
        write(Path(str(files.json)), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for file, view in ((files.csv, cost_csv), (files.markdown, cost_markdown), (files.html, cost_html)):
        if file is not None:
            write(file, view(found))
