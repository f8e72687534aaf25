"""The model of how many partitions a message should have."""

from __future__ import annotations

import math
from typing import Any

import pytest
from conftest import data
from sennit.model.document import parse
from sennit.model.partition_counts import Best, Wire, after_last_us, best_counts, ready_times, wire_of
from sennit.model.partitioned import Row


def row(size: int, partitions: int, threads: int = 1, **changes: Any) -> Row:
    made = data("partitioned")["rows"][0] | {
        "bytes": size, "partitions": partitions, "threads": threads, "compute_us": 800.0, "noise": "none",
        "order": "linear",
    }  # fmt: skip
    return parse(Row, made | changes, "a row", version=None)


def around(median: float) -> dict[str, float]:
    return {"median": median, "low": median - 1, "high": median + 1}


@pytest.mark.parametrize(("count", "gain"), [(2, 2.00), (4, 2.67), (8, 1.45), (32, 1.08)])
def test_the_gain_is_that_of_gillis(count: int, gain: float) -> None:
    """No start-up, 25 GB/s, and a laggard of 100 µs for each 10^6 bytes of a partition."""
    wire, each = Wire(0.0, 1 / 25e3), 1e6
    ready = [0.0] * (count - 1) + [100.0]
    assert count * wire.us(each) / after_last_us(ready, each, wire) == pytest.approx(gain, abs=0.005)


def test_a_start_up_is_paid_by_each_partition() -> None:
    wire = Wire(5.0, 0.001)
    assert after_last_us([0.0] * 4, 1000, wire) == 4 * 6
    assert after_last_us([0.0], 4000, wire) == 9
    assert after_last_us([0, 100, 200, 300], 1000, wire) == 6, "all but the last are there before"
    assert after_last_us([300, 0, 200, 100], 1000, wire) == 6


def test_partitions_are_ready_as_threads_compute_them() -> None:
    assert ready_times(row(4096, 4)) == [200, 400, 600, 800]
    assert ready_times(row(4096, 4, threads=2)) == [400, 800, 400, 800]
    assert ready_times(row(4096, 4, threads=4)) == [800] * 4
    assert ready_times(row(4096, 2, threads=5)) == [800, 800]
    assert ready_times(row(4096, 4, order="burst:2")) == [400, 400, 800, 800]
    assert ready_times(row(10**6, 2, threads=2, noise="laggard:100us/MB")) == [800, 900]
    assert ready_times(row(4096, 3, threads=2)) == [800, 400, 800]
    assert ready_times(row(4096, 3, threads=3, noise="uniform:4")) == pytest.approx([808, 816, 824])
    assert ready_times(row(4096, 2, threads=2, noise="single:10")) == pytest.approx([880, 800])
    assert ready_times(row(4096, 1, threads=1, noise="gaussian:10")) == pytest.approx([800])
    assert ready_times(row(4096, 1, threads=1, noise="exponential:10")) == pytest.approx(
        [800 * (1 + 0.1 * math.log(2))]
    )


def test_the_wire_is_that_of_whole_messages() -> None:
    rows = [row(1000, 1, single_us=around(10)), row(101_000, 1, single_us=around(110))]
    wire = wire_of(rows)
    assert wire is not None
    assert [wire.start_us, wire.us_per_byte] == pytest.approx([9, 0.001])
    assert wire_of(rows[:1]) is None
    assert wire_of([row(1000, 1, single_us=around(10)), row(2000, 1, single_us=around(9))]) is None


def test_the_best_number_is_measured_and_modelled() -> None:
    wire = Wire(5.0, 0.001)
    rows = [row(1_000_000, count, saved_us=around(saved)) for count, saved in ((1, 0), (8, 90), (16, 100), (64, 10))]
    # The model waits for 1005, 340, 330 and 533 µs: 64 start-ups fill the wire.
    assert best_counts(rows, wire) == [Best(1_000_000, 16, 16, can_be_told=False)]
    other = [row(1_000_000, count, saved_us=around(saved)) for count, saved in ((1, 100), (8, 0), (16, 1.5))]
    (found,) = best_counts(other, wire)
    assert (found.measured, found.modelled, found.verdict) == (1, 16, "no")
    unclear = [row(1_000_000, 1, saved_us=around(100)), row(1_000_000, 16, saved_us=around(98.5))]
    assert best_counts(unclear, wire)[0].verdict == "cannot be told"
    assert best_counts(rows[:1], wire) == [], "one number is no choice"
    assert Best(1, 16, 8).is_close
    assert not Best(1, 16, 4).is_close
