"""The line through measured transfers."""

from __future__ import annotations

import math
import random

import pytest
from fit import fit

SIZES = [1 << power for power in range(12, 31, 2)]


def test_a_line_is_found_again() -> None:
    found = fit([(size, 7.5 + size / 395e3) for size in SIZES])
    assert found
    assert found.alpha_us == pytest.approx(7.5)
    assert found.gbps == pytest.approx(395)
    assert found.alpha_half < 1e-6
    assert found.points == len(SIZES)


def test_the_interval_holds_the_truth_19_times_of_20() -> None:
    generator = random.Random(1)
    held = 0
    for _ in range(400):
        found = fit([(size, (5 + size / 100e3) * (1 + generator.gauss(0, 0.03))) for size in SIZES])
        assert found
        held += abs(found.alpha_us - 5) <= found.alpha_half and abs(found.gbps - 100) <= found.gbps_half
    assert 330 < held < 396  # both at once: 0.95 to 0.95 squared


def test_two_points_give_a_line_and_no_interval() -> None:
    found = fit([(1000, 2.0), (2000, 3.0)])
    assert found
    assert found.alpha_us == pytest.approx(1)
    assert math.isinf(found.alpha_half)


@pytest.mark.parametrize(
    "points", [[], [(1000, 1.0)], [(1000, 1.0), (1000, 2.0)], [(1000, 2.0), (2000, 1.0)], [(1, 0)]]
)
def test_what_is_no_line_is_none(points: list[tuple[int, float]]) -> None:
    assert fit(points) is None
