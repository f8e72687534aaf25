"""`sennit bench training` as tests call it, and what its jobs would tell."""

from __future__ import annotations

from typing import Any

from sennit.baselines.training import Case
from sennit.verbs import training as verb


def call(**options: Any) -> None:
    """The verb, with these options instead of a small job's."""
    defaults: dict[str, Any] = {
        "models": "resnet50",
        "batches": "4",
        "buckets": "25",
        "ranks": 2,
        "steps": 4,
        "losses": 20,
        "runs": 2,
        "limit": 60,
        "budget": None,
        "json_file": None,
        "markdown_file": None,
    }
    verb.bench_training(**(defaults | options))


def row_of(case: Case) -> dict[str, Any]:
    """What rank 0 tells of a case."""
    return {"case": case.name, "losses": [1.0], "steps_ms": [10.0, 10.0], "silent_ms": []}
