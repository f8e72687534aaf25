"""sennit.torch under PyTorch's own collectives, on CPU tensors over the host executor."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest
import rank_jobs

if util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed; pip install torch", allow_module_level=True)

SCENARIOS = ["reductions", "moves", "works", "messages", "groups", "functional", "errors"]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_ranks(scenario: str, ranks: int, tmp_path: Path) -> None:
    rank_jobs.expect_right(rank_jobs.run("torch_rank.py", scenario, ranks, tmp_path))


def test_a_rank_that_dies_is_named(tmp_path: Path) -> None:
    first, *others = rank_jobs.run("torch_rank.py", "lost", 3, tmp_path)
    assert (first.code, first.output) == (0, "")
    rank_jobs.expect_right(others)
