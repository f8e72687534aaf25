"""Which cases every run of the tests leaves out."""

from __future__ import annotations

import repeats

FAMILIES = (("a", "b"), ("x", "y", "z"))


def test_every_case_is_tried_over_one_mpi_of_each_family() -> None:
    names = [name for family in FAMILIES for name in family]
    cases = [("test", ranks, name) for ranks in range(6) for name in names]
    left = [case for place, case in enumerate(cases) if place not in repeats.again(cases, FAMILIES)]
    assert len(left) == 6 * len(FAMILIES)
    for family in FAMILIES:
        assert [ranks for _, ranks, name in left if name in family] == list(range(6))
        assert {name for _, _, name in left} >= set(family), "each has its turn"


def test_an_mpi_without_another_of_its_family_stays() -> None:
    assert repeats.again([("test", (), "a"), ("test", (), "y")], FAMILIES) == set()
