"""How measured times compare."""

from __future__ import annotations

import math

import pytest
from sennit.compare.ratio import DRIFT, Ratio, between_runs, speedup


def test_a_shorter_time_is_a_ratio_above_one() -> None:
    ratio = speedup(100, 1, 110, 1)
    assert ratio is not None
    assert ratio.value == pytest.approx(1.10)
    assert ratio.spread == pytest.approx(1.1 * math.hypot(0.01, 1 / 110))
    assert str(ratio) == "1.10 ± 0.01"
    assert str(Ratio(1.1, 0.0042)) == "1.100 ± 0.004"


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (Ratio(1.10, 0.01), "faster"),
        (Ratio(1.01, 0.01), "same"),
        (Ratio(0.99, 0.01), "same"),
        (Ratio(0.95, 0.01), "slower"),
    ],
)
def test_a_difference_within_the_noise_is_none(ratio: Ratio, verdict: str) -> None:
    assert ratio.verdict == verdict


def test_below_gives_the_benefit_of_the_noise() -> None:
    assert not Ratio(0.985, 0.01).below(1)
    assert Ratio(0.97, 0.01).below(1)


def test_what_reaches_a_ratio_does_so_where_noise_is_against_it() -> None:
    assert Ratio(1.5, 0.25).reaches(1)
    assert not Ratio(1.5, 0.26).reaches(1)


@pytest.mark.parametrize("us", [0, -1, math.nan, math.inf])
def test_a_broken_time_gives_no_ratio(us: float) -> None:
    assert speedup(us, 0, 10, 0) is None
    assert speedup(10, 0, us, 0) is None


@pytest.mark.parametrize(("us", "spread_us"), [(5e-324, 0), (1e-9, 0), (10, 1e12), (5e-324, 1e19)])
def test_a_ratio_beyond_all_reason_is_none(us: float, spread_us: float) -> None:
    assert speedup(us, spread_us, 10, 0) is None


def test_two_runs_differ_by_more_than_their_spreads() -> None:
    assert (ratio := speedup(100, 0.1, 101, 0.1)) is not None
    assert ratio.verdict == "faster"
    assert (ratio := between_runs(100, 0.1, 101, 0.1)) is not None
    assert ratio.verdict == "same"
    assert ratio.spread == pytest.approx(1.01 * math.hypot(0.001, 0.1 / 101, DRIFT))
    assert (ratio := between_runs(100, 0.1, 103, 0.1)) is not None
    assert ratio.verdict == "faster"
    assert between_runs(0, 0, 1, 0) is None
