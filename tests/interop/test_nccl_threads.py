"""Programs of NCCL under the drop-in whose threads come to it at the same time."""

from __future__ import annotations

from nccl_programs import expect_right, have


def test_a_call_while_the_drop_in_attaches_for_another_thread() -> None:
    """It waits, and is seen."""
    program, library = have()
    job = program.run("at_once", 1, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0, job.errors[0]
