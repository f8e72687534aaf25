"""The drop-in for NCCL over several nodes."""

from __future__ import annotations

import re

import pytest
from nccl_programs import expect_right, have

RAILS = {"SENNIT_RAILS": "1"}
TWO_NODES = {rank: {"SENNIT_NODE": str(rank // 2)} for rank in range(4)}


def test_ranks_of_two_machines_are_left_to_nccl() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, own=TWO_NODES)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4


def test_allreduces_over_two_nodes_go_by_rails() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, RAILS, own=TWO_NODES)
    expect_right(job)
    said = job.errors[0]
    assert re.search(r"allreduce .* rails over 2 nodes", said), said
    assert re.search(r"allreduce .* NCCL: a type or operator that is not tried over several nodes", said), said
    assert re.search(r"allgather .* NCCL: over several nodes", said), said
    # Maxima and averages are NCCL's alone.
    asked = [line.split() for calls in job.calls for line in calls]
    assert sum(words[0] == "AllReduce" and words[3] != "0" for words in asked) == 4 * 8


@pytest.mark.parametrize("order", [(0, 1, 0, 1), (0, 1, 1, 0)])
def test_ranks_of_nodes_in_any_order(order: tuple[int, ...]) -> None:
    program, library = have()
    nodes = {rank: {"SENNIT_NODE": str(node)} for rank, node in enumerate(order)}
    job = program.run("groups", 4, library, RAILS, own=nodes)
    expect_right(job)
    assert "rails over 2 nodes" in job.errors[0], job.errors[0]


@pytest.mark.parametrize("test", ["streams", "types", "divided", "patient", "pairs", "wrong", "forked", "aborted",
                                  "early"])  # fmt: skip
def test_programs_over_two_nodes_are_right(test: str) -> None:
    program, library = have()
    job = program.run(test, 4, library, RAILS | {"SENNIT_OPS": "allreduce"}, own=TWO_NODES)
    expect_right(job)


def test_rails_are_tried_when_a_communicator_is_made() -> None:
    program, library = have()
    job = program.run("collectives", 4, library, RAILS | {"SENNIT_TAKE": "measured"}, own=TWO_NODES)
    expect_right(job)
    tried = r"rails over 2 nodes|NCCL: faster over these nodes when the communicator was made"
    assert re.search(rf"allreduce +to 4 MiB .*({tried})", job.errors[0]), job.errors[0]
    assert re.search(r"allreduce +to 1 KiB .*NCCL: faster over these nodes", job.errors[0]), job.errors[0]


@pytest.mark.parametrize("without", [(2, 3), (0, 1), (3,)])
def test_a_node_without_the_drop_in_leaves_all_to_nccl(without: tuple[int, ...]) -> None:
    program, library = have()
    job = program.run("collectives", 4, library, RAILS, without=without, own=TWO_NODES)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4
    assert job.asked("CommSplit") == 0


def test_a_rank_that_was_told_of_no_rails_leaves_all_to_nccl() -> None:
    program, library = have()
    own = TWO_NODES | {3: {"SENNIT_NODE": "1", "SENNIT_RAILS": "0"}}
    job = program.run("collectives", 4, library, RAILS, own=own)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4
    assert job.asked("CommSplit") == 0


def test_a_rank_that_wants_no_kernels_leaves_all_to_nccl() -> None:
    """On the nodes whose ranks do want them, too; and nobody is warned of what was asked for."""
    program, library = have()
    own = TWO_NODES | {3: {"SENNIT_NODE": "1", "NCCL_CTA_POLICY": "2"}}
    job = program.run("collectives", 4, library, RAILS, own=own)
    expect_right(job)
    assert job.asked("AllReduce") == 4 * 4 * 4
    assert job.asked("CommSplit") == 0
    assert "NCCL: a rank wants no CTAs (NCCL_CTA_POLICY)" in job.errors[0], job.errors[0]
    assert "warning" not in "".join(job.errors), job.errors


def test_nodes_that_differ_in_size_are_nccls() -> None:
    program, library = have()
    job = program.run("collectives", 3, library, RAILS, own={2: {"SENNIT_NODE": "1"}})
    expect_right(job)
    assert job.asked("CommSplit") == 0
    assert "its nodes do not have as many ranks each" in job.errors[0], job.errors[0]


def test_one_node_needs_no_rails() -> None:
    program, library = have()
    job = program.run("collectives", 2, library, RAILS)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("CommSplit") == 0


def test_windows_of_ranks_on_two_nodes_are_nccls() -> None:
    program, library = have()
    job = program.run("windows", 4, library, RAILS, own=TWO_NODES)
    expect_right(job)
    assert "_windows" not in job.errors[0], job.errors[0]
