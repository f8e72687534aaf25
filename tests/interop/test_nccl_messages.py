"""Sends and receives of NCCL under the drop-in."""

from __future__ import annotations

import re

import nccl_programs
import pytest
from nccl_programs import expect_right, have


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_messages_are_sennits_and_right(ranks: int) -> None:
    """In groups as an all-to-all, on several streams, without groups, and grouped at one end alone."""
    program, library = have()
    job = program.run("messages", ranks, library)
    expect_right(job)
    assert job.asked("Send") == job.asked("Recv") == 0
    assert re.search(r"send +to 1 KiB .* direct", job.errors[0]), job.errors[0]
    assert re.search(r"recv +to 1 KiB .* direct", job.errors[0]), job.errors[0]


def test_messages_that_did_not_measure_faster_are_nccls() -> None:
    program, library = have()
    job = program.run("messages", 2, library, {"SENNIT_TAKE": "measured"})
    expect_right(job)
    assert job.asked("Send") == job.asked("Recv") > 0
    assert re.search("send .*NCCL: no plan was measured here beside this NCCL", job.errors[0]), job.errors[0]


def test_messages_of_a_group_go_at_the_same_time() -> None:
    program, library = have()
    job = program.run("crossed", 3, library)
    expect_right(job)
    assert job.asked("Send") == 0


def test_messages_of_a_group_by_both_libraries_go_at_the_same_time() -> None:
    """Whose a message is, both of its ends know; what else is in the group of one, the other does not."""
    program, library = have()
    cache = nccl_programs.tuned({64: 0.5, 1024: 1e6}, "sendrecv")
    job = program.run("shared_out", 2, library, {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)})
    expect_right(job)
    # Beside those of a rank to itself, by which a call comes behind one of NCCL's on another stream.
    assert all(sum(line.startswith("Send 32768") for line in calls) == 4 for calls in job.calls), job.calls
    for end in ("send", "recv"):
        assert re.search(rf"{end} +to 4 MiB +4 .* direct", job.errors[0]), job.errors[0]
        assert re.search(rf"{end} +to 256 KiB +4 .* NCCL: measured faster", job.errors[0]), job.errors[0]
