"""`sennit bench training` with a budget, or where its user or a job ends it: what it measures, and what it keeps."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import Programs, fill
from made_up_training import call, row_of
from sennit.baselines import training
from sennit.baselines.budget import ENDING_S, LEAST_S, Did, Share, share
from sennit.baselines.run import Outcome
from sennit.baselines.training import Case, Job
from sennit.model.document import parse
from sennit.model.result import Result
from sennit.programs.problem import Exit, Problem
from sennit.verbs import training as verb
from sennit.verbs.turns import STOPPED, Outcomes, measure_in_turns

# ---- a job that ends early ----------------------------------------------------------------------------------------


def in_the_middle(fails: type[BaseException] | str, last: int, finishes: int) -> Any:
    """Jobs of which number `last` is stopped, or fails for that reason, once it has finished some cases."""
    ran: list[str] = []

    def run(job: Job, _: Any, library: str, __: Any, outcome: Outcome, ___: float) -> None:
        ran.append(library)
        is_last = len(ran) == last
        outcome.rows += map(row_of, job.cases[: finishes if is_last else None])
        if is_last and not isinstance(fails, str):
            raise fails
        outcome.reason = str(fails) if is_last else ""

    return run


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (KeyboardInterrupt, "It was stopped"),
        ("it ended with signal 9", "Training under {} failed: it ended with signal 9,"),
    ],
)
def test_cases_that_were_measured_are_kept_whatever_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: type[BaseException] | str, said: str
) -> None:
    def run_until(last: int, finishes: int) -> Path:
        monkeypatch.setattr(verb, "_job", in_the_middle(fails, last, finishes))
        file = tmp_path / f"after-{last}-{finishes}.json"
        with pytest.raises(Problem if isinstance(fails, str) else KeyboardInterrupt):
            call(models="resnet50,vgg16,alexnet", json_file=str(file))
        return file

    def kept(file: Path) -> Result:
        return parse(Result, json.loads(file.read_text(encoding="utf-8")), "it")

    assert not run_until(1, 2).exists(), "there is nothing to compare with"
    assert not run_until(2, 0).exists()
    first = kept(run_until(2, 1))
    assert [(row.model, row.variant, row.runs) for row in first.rows] == [
        ("resnet50", "nccl", 1),
        ("resnet50", "sennit", 1),
    ]
    assert first.warnings == [
        f"{said.format('sennit')} after 1 of 4 jobs.",
        "Left out, as no job under sennit finished it: vgg16 ddp, batch 4, buckets 25 MB; "
        "alexnet ddp, batch 4, buckets 25 MB. Measure it again.",
    ]
    third = kept(run_until(3, 2))
    assert [(row.model, row.runs) for row in third.rows if row.variant == "nccl"] == [
        ("resnet50", 2),
        ("vgg16", 2),
        ("alexnet", 1),
    ]
    assert third.warnings == [f"{said.format('nccl')} after 2 of 4 jobs."]


@pytest.mark.usefixtures("installed")
def test_a_job_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "this PyTorch sees no GPU"
    monkeypatch.setattr(verb, "_job", lambda *given: fill(given[4], Outcome(reason=reason)))
    with pytest.raises(Problem, match=f"training under nccl failed: {reason}") as caught:
        call()
    assert caught.value.exit_code == Exit.ENVIRONMENT


# ---- a budget -----------------------------------------------------------------------------------------------------


def test_a_case_is_begun_where_there_is_time_for_the_longest_so_far() -> None:
    job = Job(2, [], 40, until_s=100.0)
    case, one, other = (Case(model, "ddp", 8) for model in ("resnet50", "densenet201", "resnet152"))
    assert job.begins(case, {one: 1.0}, 99.0)
    assert job.begins(case, {}, 200.0), "the first one, always"
    assert job.begins(case, {one: 30.0, other: 30.0}, 70.0)
    assert not job.begins(case, {one: 31.0, other: 29.0}, 70.0)
    assert Job(2, [], 40).begins(case, {one: 1e9}, 1e9), "no budget"
    assert Job.read(job.text()) == job


def test_a_case_takes_no_longer_than_one_of_far_more_work() -> None:
    job = Job(2, [], 40, until_s=100.0)
    took = {Case("transformer", "fsdp", 32): 30.0, Case("vgg16", "fsdp", 32): 9.0}
    assert job.begins(Case("vgg16", "fsdp", 8), took, 90.0)
    assert job.begins(Case("alexnet", "fsdp", 32), took, 90.0)
    assert not job.begins(Case("alexnet", "fsdp", 32), took, 92.0)
    assert not job.begins(Case("vgg16", "fsdp", 16), took, 90.0), "so much less is not sure to take less"
    assert not job.begins(Case("alexnet", "ddp", 32), took, 90.0), "another way"
    compiled = {Case("vgg16", "ddp", 32, step="compile"): 9.0, Case("resnet152", "ddp", 32, step="compile"): 30.0}
    assert job.begins(Case("vgg16", "ddp", 8, step="compile"), compiled, 90.0)
    assert not job.begins(Case("densenet201", "ddp", 8, step="compile"), compiled, 90.0), "by its layers"
    refused = {Case("vgg16", "fsdp", 0): 40.0, Case("vgg16", "fsdp", 32): 9.0}
    assert job.begins(Case("vgg16", "fsdp", 8), refused, 90.0)
    assert not job.begins(Case("resnet50", "fsdp", 32), refused, 61.0), "a case that was refused took its time, too"
    assert all(Case(model, "ddp", 1).work > 0 for names in training.PARALLEL.values() for model in names)


def test_a_case_that_does_not_fit_leaves_the_others_their_time() -> None:
    made = MadeUp({"vgg16": 8.0, "resnet152": 30.0, "densenet201": 15.0, "alexnet": 2.0}, start_s=0)
    found = made.measure(180, 1)
    assert made.ran == ["nccl 3/4", "sennit 3/3"], "of 60 s 22 are left, and densenet201 may take 30, alexnet 8"
    assert {row.model for row in found.rows} == {"vgg16", "resnet152", "alexnet"}


@dataclass
class MadeUp:
    """Jobs on a clock of their own, whose ranks do as training_rank.py does."""

    case_s: dict[str, float]  # of a model, under NCCL
    slower: float = 2  # so many times as long sennit's take, in which both are timed
    start_s: float = 10.0
    hangs: str = ""  # a model whose case does not end under sennit
    now: float = 1000.0
    ran: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def start(self, job: Job, variant: str, _: Any, outcome: Outcome, most_s: float) -> None:
        end = self.now + most_s
        self.now += self.start_s
        took: dict[Case, float] = {}
        for case in job.cases:
            if not job.begins(case, took, self.now):
                continue
            begun = self.now
            never = math.inf if variant == "sennit" and case.model == self.hangs else 0
            self.now += self.case_s[case.model] * (self.slower if variant == "sennit" else 1) + never
            if self.now > end:
                self.now = end
                outcome.reason = f"it did not end within {most_s:g} s"
                break
            outcome.rows.append(row_of(case))
            took[case] = self.now - begun
        outcome.reason = "" if outcome.reason == STOPPED else outcome.reason
        self.ran.append(f"{variant} {len(outcome.rows)}/{len(job.cases)}")

    def measure(self, budget_s: float, runs: int) -> Result:
        job = Job(2, [Case(model, "ddp", 8) for model in self.case_s], 4)
        kept: list[Result] = []

        def show(outcomes: Outcomes) -> None:
            kept.append(parse(Result, verb.document_of(job, outcomes, runs, budget_s), "it"))

        began = self.now
        in_turn = verb.within(budget_s, job, runs, self.start, self.clock)
        measure_in_turns(
            "training", ("nccl", "sennit"), runs, in_turn, show,
            lambda outcomes: bool(verb.measured_by_both(job, outcomes)),
        )  # fmt: skip
        assert self.now <= began + budget_s
        (found,) = kept
        return found


FOUR = {"resnet50": 10.0, "vgg16": 10.0, "alexnet": 10.0, "resnet152": 10.0}


def test_a_budget_that_is_enough_changes_nothing() -> None:
    made = MadeUp(FOUR)
    found = made.measure(1000, 2)
    assert made.ran == ["nccl 4/4", "sennit 4/4", "nccl 4/4", "sennit 4/4"]
    assert (found.warnings, found.settings["budget_s"]) == ([], 1000)


def test_as_many_cases_as_there_is_time_for_are_measured_under_both() -> None:
    made = MadeUp(FOUR)
    found = made.measure(100, 1)
    assert made.ran == ["nccl 2/4", "sennit 2/2"], "a third of 100 s are the start and two cases"
    assert {row.model for row in found.rows} == {"resnet50", "vgg16"}
    assert found.warnings == [
        "Left out, as no job under nccl and sennit finished it: alexnet ddp, batch 8, buckets 25 MB; "
        "resnet152 ddp, batch 8, buckets 25 MB. Measure it again."
    ]


def test_all_runs_have_the_same_cases_and_share_the_budget() -> None:
    made = MadeUp(FOUR)
    found = made.measure(3 * 100, 3)
    assert made.ran == ["nccl 2/4", "sennit 2/2", *["nccl 2/2", "sennit 2/2"] * 2]
    assert {row.runs for row in found.rows} == {3}


def test_the_first_case_is_measured_however_small_its_share_is() -> None:
    made = MadeUp(FOUR)
    found = made.measure(70, 3)
    assert made.ran == ["nccl 1/4", "sennit 1/1"], "another run would take 50 s"
    assert found.warnings[0] == "Nothing more fits into the budget of 70 s, after 2 of 6 jobs."


def test_a_job_ends_with_the_budget_and_keeps_its_cases() -> None:
    made = MadeUp(FOUR, hangs="vgg16")
    found = made.measure(100, 1)
    assert made.ran == ["nccl 2/4", "sennit 1/2"]
    assert {row.model for row in found.rows} == {"resnet50"}
    assert found.warnings[0] == "Nothing more fits into the budget of 100 s, after 1 of 2 jobs."
    assert "no job under sennit finished it: vgg16" in found.warnings[1]


def test_sennits_job_begins_no_case_that_would_end_after_the_budget() -> None:
    made = MadeUp(FOUR, slower=4)
    found = made.measure(100, 1)
    assert made.ran == ["nccl 2/4", "sennit 1/2"]
    assert made.now == 1000 + 30 + 50
    assert "no job under sennit finished it: vgg16" in found.warnings[0]


def test_a_budget_in_which_nothing_is_measured_says_so() -> None:
    made = MadeUp(FOUR, hangs="resnet50")
    with pytest.raises(
        Problem, match="training measured nothing: nothing more fits into the budget of 60 s"
    ) as caught:
        made.measure(60, 1)
    assert caught.value.exit_code == Exit.ENVIRONMENT


def test_a_budget_that_pytorch_does_not_begin_in_is_refused(programs: Programs) -> None:
    done = programs.sennit("bench", "training", "--budget", str(LEAST_S - 1))
    assert done.returncode == Exit.USAGE
    assert "--budget" in done.stderr
    assert str(LEAST_S) in done.stderr


RANK = """
import json, os, sys, time
for case in json.load(open(sys.argv[1]))["cases"]:
    if case["model"] == "vgg16" and "LD_PRELOAD" in os.environ:
        time.sleep(60)
    name = f"{case['model']} ddp, batch 4, buckets 25 MB"
    row = {"case": name, "losses": [1.0], "steps_ms": [10.0], "silent_ms": []}
    if os.environ["RANK"] == "0":
        print("sennit-peer: " + json.dumps({"row": row}), flush=True)
"""


@pytest.mark.usefixtures("installed")
def test_ranks_are_ended_with_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "made_up_rank.py").write_text(RANK)
    monkeypatch.setattr(training, "RANK", "made_up_rank")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    file = tmp_path / "training.json"
    began = time.monotonic()
    call(models="resnet50,vgg16", runs=1, budget=ENDING_S + 6, json_file=str(file))
    assert 5.9 < time.monotonic() - began < 6 + ENDING_S
    kept = parse(Result, json.loads(file.read_text(encoding="utf-8")), "it")
    assert [(row.model, row.variant) for row in kept.rows] == [("resnet50", "nccl"), ("resnet50", "sennit")]
    assert kept.warnings[0] == "Nothing more fits into the budget of 11 s, after 1 of 2 jobs."
    assert "no job under sennit finished it: vgg16" in kept.warnings[1]


def test_shares_are_counted_from_what_is_left() -> None:
    first, second = Case("resnet50", "ddp", 8), Case("vgg16", "ddp", 8)
    both = [first, second]
    end = 120 - ENDING_S
    assert share(both, 2, 120, [], 0.0) == Share(both, 20, end), "a third of the first run's half"
    one = Did(20, [first])
    assert share(both, 2, 120, [one], 20.0) == Share([first], end, end)
    assert share(both, 2, 120, [one, Did(30, [first])], 50.0) == Share([first], end, end)
    assert share(both, 2, 120, [one, Did(50, [first])], 70.0) is None, "the first run took 70 s"
    assert share(both, 2, 120, [one, Did(30, [])], 50.0) is None, "there is nothing to compare"
    assert share(both, 2, 120, [one], end) is None
