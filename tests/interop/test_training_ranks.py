"""Ranks of `sennit bench training` that cannot train a model, all of them or one alone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import needs_torch  # noqa: F401
from sennit.baselines import torch_job
from sennit.baselines.run import Outcome
from sennit.baselines.training import Case, Job

HERE = Path(__file__).resolve().parent
LIMIT_S = 60


def ran(*models: str | Case, limit_s: int = LIMIT_S) -> tuple[Outcome, float]:
    """What a job of three ranks told, and how long it took. `limit_s`: after which ranks end themselves."""
    cases = [each if isinstance(each, Case) else Case(each, "ddp", 4) for each in models]
    job = Job(3, cases, 4, limit_s=limit_s)
    began = time.monotonic()
    outcome = torch_job.run(
        "training_rank_cpu",
        job.text(),
        job.ranks,
        os.environ | {"PYTHONPATH": str(HERE)},
        "",
        LIMIT_S,
        lambda *_: None,
    )
    return outcome, time.monotonic() - began


def test_a_model_that_no_rank_has_room_for_is_left_out() -> None:
    outcome, _ = ran("mlp", "nowhere", "transformer")
    assert outcome.reason == "", outcome.errors
    assert [row["case"].split()[0] for row in outcome.rows] == ["mlp", "transformer"]
    (warning,) = outcome.warnings
    assert warning.startswith("nowhere ddp, batch 4")
    assert warning.endswith("is left out: CUDA out of memory.")


def test_one_that_a_rank_alone_has_no_room_for_ends_the_job() -> None:
    outcome, took_s = ran("mlp", "elsewhere", "transformer")
    assert took_s < LIMIT_S / 2, "the others waited for it in a collective"
    assert outcome.reason.startswith("elsewhere ddp, batch 4"), outcome.reason
    assert outcome.reason.endswith("cannot be trained on rank 2, while others go on: CUDA out of memory.")
    assert [row["case"].split()[0] for row in outcome.rows] == ["mlp"]


def test_a_job_that_reaches_its_limit_says_so() -> None:
    outcome, took_s = ran("endless", limit_s=10)
    assert outcome.reason == "it did not end within 10 s", outcome.errors
    assert took_s < LIMIT_S / 2


def compiled(batch: int) -> Case:
    return Case("alexnet", "ddp", batch, step="compile")


def test_a_model_that_does_not_compile_is_left_out() -> None:
    outcome, _ = ran("mlp", compiled(5), compiled(6), compiled(4), "transformer")
    assert outcome.reason == "", outcome.errors
    assert [row["case"].split()[0] for row in outcome.rows] == ["mlp", "alexnet", "transformer"]
    first, second = outcome.warnings
    assert first.startswith("alexnet ddp compile, batch 5")
    assert "is left out: torch.compile failed (" in first
    assert first.endswith("(backend='compiler' raised: ValueError: No such kernel.)")
    assert second.startswith("alexnet ddp compile, batch 6")
    assert "is left out: torch.compile failed (" in second


def test_what_is_no_failure_to_compile_ends_the_job() -> None:
    outcome, _ = ran("mlp", compiled(7), "transformer")
    assert "not of compiling" in outcome.reason
    assert [row["case"].split()[0] for row in outcome.rows] == ["mlp"]


def test_another_batch_is_compiled_for_itself() -> None:
    outcome, _ = ran(compiled(32), compiled(8), compiled(16))
    assert (outcome.reason, outcome.warnings) == ("", []), outcome.errors
    assert len(outcome.rows) == 3
