"""sennit.torch under PyTorch's own collectives, on CPU tensors over the host executor."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import needs_torch  # noqa: F401
import pytest
import rank_jobs


@pytest.fixture(autouse=True)
def _library() -> None:
    rank_jobs.need_library()


# The scenarios of each file that every rank goes through to its end.
FILES = {
    "torch_rank.py": ["reductions", "moves", "works", "functional", "functions", "windows", "copies", "errors"],
    "torch_messages_rank.py": ["messages", "orders", "itself"],
    "torch_groups_rank.py": [
        "groups",
        "outsiders",
        "forgotten",
        "ends",
        "restarts",
        "abandoned",
        "ends_at_once",
        "called_off",
        "unwanted",
        "patient",
        "together",
        "late",
        "aborted",
    ],
}
FILE_OF = {scenario: file for file, scenarios in FILES.items() for scenario in scenarios}


@pytest.mark.parametrize(("scenario", "ranks"), [(each, 3) for each in FILE_OF] + [("reductions", 2), ("moves", 2)])
def test_ranks(scenario: str, ranks: int, tmp_path: Path) -> None:
    rank_jobs.expect_right(rank_jobs.run(FILE_OF[scenario], scenario, ranks, tmp_path))


def test_messages_that_do_not_come_name_their_ranks(tmp_path: Path) -> None:
    *others, last = rank_jobs.run("torch_messages_rank.py", "no_message", 3, tmp_path)
    assert (last.code, last.output) == (0, "")
    rank_jobs.expect_right(others)


def test_a_process_ends_although_a_message_does_not_come(tmp_path: Path) -> None:
    ended = rank_jobs.run("torch_messages_rank.py", "left", 2, tmp_path)
    rank_jobs.expect_right(ended)
    assert "rror" not in ended[0].errors, ended[0].errors


def test_a_rank_that_dies_is_named(tmp_path: Path) -> None:
    first, *others = rank_jobs.run("torch_groups_rank.py", "lost", 3, tmp_path)
    assert (first.code, first.output) == (0, "")
    rank_jobs.expect_right(others)


@pytest.mark.parametrize("way", ["buckets", "views", "static", "gathered", "fsdp", "tensor_parallel"])
def test_training_is_the_same_as_over_gloo(way: str, tmp_path: Path) -> None:
    rank_jobs.expect_right(rank_jobs.run("torch_training.py", way, 2, tmp_path))


def test_the_example_learns() -> None:
    """Started by torchrun, whose ranks meet over a store that one of them may hold."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
               str(rank_jobs.HERE.parent.parent / "examples" / "train.py"), "--steps", "60"]  # fmt: skip
    done = subprocess.run(
        command, env=rank_jobs.environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss (\S+)$", done.stdout, re.MULTILINE)]
    assert len(losses) == 10
    assert losses[-1] < losses[0] / 10
