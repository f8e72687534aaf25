"""Quantities as people read them."""

from __future__ import annotations

import pytest
from sennit import units


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (64 << 20, "64 MiB"), (4 << 30, "4 GiB")],
)
def test_size(count: int, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (394.6, "395"),
        (1234.5, "1234"),
        (float("inf"), "–"),
    ],
)
def test_three_digits(value: float, text: str) -> None:
    assert units.three_digits(value) == text


def test_time_shows_the_spread_to_the_precision_of_the_time() -> None:
    assert units.time(15.234, 0.31) == "15.2 ± 0.3 µs"
    assert units.time(2470, 4) == "2470 ± 4 µs"
    assert units.time(3.1) == "3.10 µs"


def test_a_small_share_is_not_called_nothing() -> None:
    assert units.percent(0.001) == "<1 %"
    assert units.percent(0) == "0 %"
    assert units.percent(0.914) == "91 %"
    assert units.percent(float("inf")) == "–"
