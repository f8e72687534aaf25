"""The drop-in for NCCL over several nodes: such communicators are NCCL's, whole."""

from __future__ import annotations

import pytest
from nccl_programs import expect_right, have

TWO_NODES = {rank: {"SENNIT_NODE": str(rank // 2)} for rank in range(4)}
WHY = "NCCL: its ranks are not all on this machine, with this sennit"


def test_ranks_of_two_machines_are_left_to_nccl() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, own=TWO_NODES)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4
    assert job.asked("CommSplit") == 0, "NCCL is asked for nothing that the program does not ask for"
    assert WHY in job.errors[0], job.errors[0]


@pytest.mark.parametrize("test", ["groups", "windows", "early"])
def test_programs_over_two_nodes_are_right(test: str) -> None:
    program, library = have()
    job = program.run(test, 4, library, own=TWO_NODES)
    expect_right(job)
