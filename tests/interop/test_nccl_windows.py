"""Buffers that a program registers with NCCL, under the drop-in."""

from __future__ import annotations

import re

import pytest
from nccl_programs import expect_right, have


@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_between_windows_go_straight(ranks: int) -> None:
    """Those of ncclCommWindowRegister, as long as they are registered, where the program promises equal offsets."""
    program, library = have()
    job = program.run("windows", ranks, library)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("AllGather") == 0
    said = job.errors[0]
    # Three rounds with four calls between windows each. Behind two of them are two without, a fourth registers none
    # that is symmetric, and at last one buffer alone is registered.
    assert re.search(r"allreduce +to \d+ KiB +12 .*two_shot_windows", said), said
    assert re.search(r"allreduce +to \d+ KiB +10 .*two_shot_whole", said), said


def test_windows_where_a_rank_does_not_block_are_nccls() -> None:
    """Nobody waits for a rank that does not come."""
    program, library = have()
    settings = {"SENNIT_TIMEOUT": "1", "SENNIT_LOG": "info"}
    job = program.run("windows", 2, library, settings, own={1: {"NCCL_COMM_BLOCKING": "0"}})
    expect_right(job)
    assert "_windows" not in job.errors[0], job.errors[0]
    assert all("used by NCCL alone" not in each for each in job.errors), "a rank waited for the other in vain"


def test_windows_where_a_rank_has_no_drop_in() -> None:
    program, library = have()
    job = program.run("windows", 3, library, without=(1,))
    expect_right(job)
    assert "windows" not in job.errors[0], job.errors[0]
