"""Goals of the MPI drop-in beside what results show."""

from __future__ import annotations

import pytest
from mpi_goals import (
    DIRECT,
    DIRECT_ALLREDUCE,
    DIRECT_PUT,
    GOALS,
    Goal,
    beside_direct,
    direct_rows,
    host_overhead,
    small_latency,
    times_as_fast,
)
from sennit.model.result import BY_HAND, MPI, OWN, UCX, Row, Turns


def row(variant: str, operation: str, size: int, us: float, **more: object) -> Row:
    """A row of two ranks with GPU buffers, unless `more` says otherwise."""
    known = {"operation": operation, "variant": variant, "buffers": "gpu", "bytes": size, "ranks": 2, "median_us": us}
    return Row.model_validate(known | more)


def test_the_latency_of_8_bytes_is_beside_the_better_of_both() -> None:
    rows = [row(OWN, "latency", 8, 9), row(BY_HAND, "latency", 8, 18), row(OWN, "latency", 64, 1)]
    assert list(small_latency(rows)) == [], "UCX is missing"
    rows.append(row(UCX, "latency", 8, 12))
    assert list(small_latency(rows)) == [(8, 0.75)]


def test_the_figure_furthest_from_the_goal_stands_for_all() -> None:
    goal = Goal("bandwidth", 1, False, times_as_fast(UCX, "bandwidth", 1, lambda row: row.bytes >= 100))
    rows = []
    for size, own, peer in ((10, 9, 1), (100, 10, 20), (200, 10, 8), (300, 10, 9)):
        rows += [row(OWN, "bandwidth", size, own), row(UCX, "bandwidth", size, peer)]
    rows += [row(OWN, "bandwidth", 200, 9, nodes=2), row(UCX, "bandwidth", 200, 1, nodes=2)]
    assert goal.worst(rows) == (200, 0.8)
    assert not goal.is_met(0.8)
    assert goal.is_met(1)
    assert goal.worst([]) is None


def test_ratios_of_neighbouring_batches_come_before_those_of_medians() -> None:
    turns = Turns(times_as_fast=160, low=150, high=170)
    rows = [row(OWN, "allreduce", 8, 1), row(BY_HAND, "allreduce", 8, 155, sennit=turns)]
    figures = times_as_fast(BY_HAND, "allreduce", 1, lambda row: row.bytes == 8)
    assert list(figures(rows)) == [(8, 160)]


def test_what_sennit_adds_to_host_calls_is_in_per_cent() -> None:
    turns = Turns(times_as_fast=0.8, low=0.8, high=0.8)
    rows = [
        row(OWN, "latency", 8, 1.5, buffers="host"),
        row(MPI, "latency", 8, 1, buffers="host", sennit=turns),
        row(OWN, "bcast", 8, 2),
        row(MPI, "bcast", 8, 1),
    ]
    [(size, added)] = host_overhead(rows)  # and not of GPU buffers
    assert size == 8
    assert added == pytest.approx(25)


def test_calls_of_mpi_stand_beside_direct_ones_of_the_same_folder() -> None:
    direct = direct_rows(
        {
            DIRECT_PUT: {"rows": [{"variant": "engine", "bytes": 100, "median_us": 1}]},
            DIRECT_ALLREDUCE: {"rows": [{"variant": OWN, "bytes": 100, "median_us": 20}]},
            "other": {"rows": [{"variant": OWN, "bytes": 100, "median_us": 1}]},
        }
    )
    assert [(row.variant, row.operation, row.median_us) for row in direct] == [(DIRECT, "allreduce", 20)]
    rows = [row(OWN, "allreduce", 100, 25), row(OWN, "allreduce", 100, 99, in_place=True), *direct]
    longer = beside_direct(lambda own, direct: own.median_us - direct.median_us, lambda row: row.bytes == 100)
    assert list(longer(rows)) == [(100, 5)]
    assert list(longer([*rows[:1]])) == []
    [of_four] = direct_rows(
        {DIRECT_ALLREDUCE: {"rows": [{"variant": OWN, "bytes": 100, "median_us": 90, "ranks": 4, "in_place": True}]}}
    )
    assert list(longer([*rows, of_four])) == [(100, 5)]  # of two ranks
    assert list(longer([row(OWN, "allreduce", 100, 92, in_place=True, ranks=4), of_four])) == [(100, 2)]


def test_each_goal_says_what_it_is_and_finds_nothing_where_nothing_was_measured() -> None:
    assert len({goal.what for goal in GOALS}) == len(GOALS)
    assert all(goal.worst([]) is None for goal in GOALS)
