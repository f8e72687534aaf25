"""sennit.torch under PyTorch's own collectives, on CPU tensors over the host executor."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest
import rank_jobs

if util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed; pip install torch", allow_module_level=True)


@pytest.fixture(autouse=True)
def _library() -> None:
    rank_jobs.need_library()


SCENARIOS = ["reductions", "moves", "works", "messages", "groups", "functional", "functions", "windows", "copies",
             "errors"]  # fmt: skip


@pytest.mark.parametrize(("scenario", "ranks"), [(each, 3) for each in SCENARIOS] + [("reductions", 2), ("moves", 2)])
def test_ranks(scenario: str, ranks: int, tmp_path: Path) -> None:
    rank_jobs.expect_right(rank_jobs.run("torch_rank.py", scenario, ranks, tmp_path))


def test_a_rank_that_dies_is_named(tmp_path: Path) -> None:
    first, *others = rank_jobs.run("torch_rank.py", "lost", 3, tmp_path)
    assert (first.code, first.output) == (0, "")
    rank_jobs.expect_right(others)


@pytest.mark.parametrize("way", ["buckets", "views", "static", "gathered", "fsdp", "tensor_parallel"])
def test_training_is_the_same_as_over_gloo(way: str, tmp_path: Path) -> None:
    rank_jobs.expect_right(rank_jobs.run("torch_training.py", way, 2, tmp_path))
