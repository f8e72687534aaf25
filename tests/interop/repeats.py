"""What every run of the tests leaves out: the same again, over another MPI or with other ranks. Ranks of an MPI look
for each other's messages all the time, so on two cores these are most of what the tests take. `make test-all` runs
them."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Sequence
from typing import Any

import pytest

REPEATS = pytest.mark.repeats
FAMILIES = (("openmpi", "debian-openmpi"), ("mpich", "debian-mpich", "standard"))


def but(cases: Sequence[tuple[Any, ...]], kept: Callable[..., bool]) -> list[Any]:
    """Cases for parametrize(); those that are not kept repeat others."""
    return [pytest.param(*case, marks=() if kept(*case) else REPEATS) for case in cases]


def in_turn(names: Sequence[str], cases: Sequence[Any], times: int = 1) -> list[Any]:
    """Each name with each case, as cases for parametrize(): every run has each case with so many of the names, which
    take turns; the others repeat them."""
    step = len(names) // times
    kept = {(names[(i + k * step) % len(names)], i) for i in range(len(cases)) for k in range(times)}
    parts = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(name, *part, marks=() if (name, i) in kept else REPEATS)
        for i, part in enumerate(parts)
        for name in names
    ]


Case = tuple[str, tuple[Hashable, ...], str]  # a test, its other parameters by name and value, and the MPI


def again(cases: Sequence[Case], families: Sequence[Sequence[str]], of_each: Container[str] = ()) -> set[int]:
    """Which of a test's cases repeat others, by their places. Every run has each test with each of its other
    parameters over one MPI: of the family that has met the least of them, so that every value meets every family
    where it comes often enough. A test without other parameters, and one in `of_each`, has an MPI of each family.
    Within a family, MPIs take turns."""
    names: dict[tuple[str, tuple[Hashable, ...]], dict[str, int]] = defaultdict(dict)
    for place, (test, others, name) in enumerate(cases):
        names[test, others][name] = place
    parameters = Counter(test for test, _ in names)
    met: Counter[tuple[str, Hashable, int]] = Counter()  # how often a test's value met a family; (): any value
    kept: set[int] = set()
    for (test, others), places in names.items():
        there = [number for number, family in enumerate(families) if any(name in places for name in family)]
        if parameters[test] > 1 and test not in of_each:
            there = [min(there, key=lambda number: sum(met[test, each, number] for each in (*others, ())))]
        for number in there:
            given = [name for name in families[number] if name in places]
            kept.add(places[given[(zlib.crc32(test.encode()) + met[test, (), number]) % len(given)]])
            met.update((test, each, number) for each in (*others, ()))
    return set(range(len(cases))) - kept


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what repeats other cases of tests that have an MPI's `name`. Tests that say so themselves, by in_turn()
    or but(), are left alone; those marked `of_each_family` find in one family what they cannot find in another."""
    told = {item.nodeid.split("[")[0] for item in items if item.get_closest_marker("repeats")}
    cases: list[Case] = []
    marked = []
    for item in items:
        parameters = (
            dict(item.callspec.params) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        )
        name = parameters.pop("name", None)
        test = item.nodeid.split("[")[0]
        if any(name in family for family in FAMILIES) and test not in told:
            cases.append((test, tuple((key, repr(value)) for key, value in parameters.items()), str(name)))
            marked.append(item)
    of_each = {item.nodeid.split("[")[0] for item in items if item.get_closest_marker("of_each_family")}
    for place in again(cases, FAMILIES, of_each):
        marked[place].add_marker(REPEATS)
