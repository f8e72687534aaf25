"""Groups of NCCL that are only simulated, under the drop-in."""

from __future__ import annotations

import re

from nccl_programs import expect_right, have


def test_a_communicator_and_a_window_that_begin_in_one_are_there_at_its_end() -> None:
    program, library = have()
    expect_right(program.run("begun_in_simulation", 2, None))
    job = program.run("begun_in_simulation", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 2, "one of each rank is simulated"
    assert re.search(r"allreduce +to 16 KiB +1 .* \d+x256", job.errors[0]), job.errors[0]
    assert re.search(r"allreduce +to 256 KiB +1 .*_windows", job.errors[0]), job.errors[0]
