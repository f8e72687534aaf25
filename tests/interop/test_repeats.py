"""Which cases every run of the tests leaves out."""

from __future__ import annotations

import itertools

import pytest
import repeats

FAMILIES = (("a", "b"), ("x", "y", "z"))


NAMES = [name for family in FAMILIES for name in family]


def left(cases: list[repeats.Case], of_each: tuple[str, ...] = ()) -> list[repeats.Case]:
    again = repeats.again(cases, FAMILIES, of_each)
    return [case for place, case in enumerate(cases) if place not in again]


def test_every_case_is_tried_once_and_over_every_family_in_turn() -> None:
    cases: list[repeats.Case] = [("test", (("ranks", ranks),), name) for ranks in range(10) for name in NAMES]
    tried = left(cases)
    assert [others for _, others, _ in tried] == [(("ranks", ranks),) for ranks in range(10)]
    assert {name for _, _, name in tried} == set(NAMES), "each has its turn"
    for family in FAMILIES:
        assert sum(name in family for _, _, name in tried) == 5


@pytest.mark.parametrize("lengths", [(2, 7), (7, 2), (3, 3), (2, 2)])
def test_every_value_of_several_parameters_meets_every_family(lengths: tuple[int, int]) -> None:
    products = itertools.product(range(lengths[0]), range(lengths[1]), NAMES)
    tried = left([("test", (("a", a), ("b", b)), name) for a, b, name in products])
    assert len(tried) == lengths[0] * lengths[1]
    for each in {each for _, others, _ in tried for each in others}:
        for family in FAMILIES:
            assert any(each in others and name in family for _, others, name in tried), (each, family)


def test_a_test_that_asks_for_it_has_each_case_over_one_mpi_of_each_family() -> None:
    cases: list[repeats.Case] = [("test", (("ranks", ranks),), name) for ranks in range(6) for name in NAMES]
    tried = left(cases, ("test",))
    assert len(tried) == 6 * len(FAMILIES)
    for family in FAMILIES:
        assert {name for _, _, name in tried} >= set(family), "each has its turn"


def test_a_test_without_other_parameters_has_one_mpi_of_each_family() -> None:
    tried = left([("test", (), name) for name in NAMES])
    assert [sum(name in family for _, _, name in tried) for family in FAMILIES] == [1, 1]


def test_an_mpi_without_another_of_its_family_stays() -> None:
    assert repeats.again([("test", (), "a"), ("test", (), "y")], FAMILIES) == set()
