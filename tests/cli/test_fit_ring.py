"""Figures of a pipelined ring out of measured times."""

from __future__ import annotations

import random

import pytest
from sennit.fit import LONG, Ring, fit_ring, search

SIZES = [1 << power for power in range(10, 31, 2)]


def test_equation_2_by_hand() -> None:
    ring = Ring(ranks=5, start_us=2, chunk_bytes=100e3, gbps=1)
    assert ring.us(1e6) == pytest.approx((10 + 3) * (2 + 100))
    assert ring.us(50e3) == pytest.approx(4 * (2 + 50)), "shorter than a chunk"


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_a_ring_is_found_again(ranks: int) -> None:
    truth = Ring(ranks, 3.0, 512e3, 100)
    found = fit_ring([(size, truth.us(size)) for size in SIZES], ranks)
    assert found
    assert found.fitted == 6
    assert [size for size, _ in found.predicted] == SIZES[1::2]
    assert max(abs(ratio - 1) for _, ratio in found.predicted) < 0.02
    assert found.ring.start_us == pytest.approx(3, rel=0.05)
    if ranks > 2:
        assert found.ring.gbps == pytest.approx(100, rel=0.05)


def test_noise_stays_noise_in_what_is_predicted() -> None:
    generator = random.Random(1)
    truth = Ring(4, 2.0, 1e6, 400)
    found = fit_ring([(size, truth.us(size) * (1 + generator.gauss(0, 0.03))) for size in SIZES], 4)
    assert found
    assert found.median < 0.06
    assert len(found.errors) == sum(size >= LONG for size in SIZES[1::2])


def test_rows_that_say_too_little_give_nothing() -> None:
    assert fit_ring([(size, 1.0) for size in SIZES[:5]], 4) is None
    assert fit_ring([(size, 0.0) for size in SIZES], 4) is None
    assert fit_ring([(size, 1.0) for size in range(6)], 4) is None, "none is long"


def test_the_search_comes_to_the_bottom() -> None:
    assert search(lambda at: (at[0] - 1.5) ** 2 + (at[1] + 2) ** 2, [0, 0]) == pytest.approx([1.5, -2], abs=0.01)
