"""What every run of the tests leaves out: the same again, over another MPI or with other ranks. Ranks of an MPI look
for each other's messages all the time, so on two cores these are most of what the tests take. `make test-all` runs
them."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
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


def again(cases: Sequence[tuple[str, Hashable, str]], families: Sequence[Sequence[str]]) -> set[int]:
    """Which of a test's cases repeat others, by their places. A case is its test, its other parameters, and the MPI.
    Every run has each test with each of its other parameters over one MPI of each family, which take turns."""
    names: dict[tuple[str, Hashable], dict[str, int]] = defaultdict(dict)
    for place, (test, others, name) in enumerate(cases):
        names[test, others][name] = place
    repeated: set[int] = set()
    turns: dict[str, int] = {}
    for (test, _), places in names.items():
        turn = turns[test] = turns.get(test, zlib.crc32(test.encode())) + 1
        for family in families:
            given = [places[name] for name in family if name in places]
            repeated.update(place for i, place in enumerate(given) if i != turn % len(given))
    return repeated


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what repeats other cases of tests that have an MPI's `name`. Tests that say so themselves, by in_turn()
    or but(), are left alone."""
    told = {item.nodeid.split("[")[0] for item in items if item.get_closest_marker("repeats")}
    cases, marked = [], []
    for item in items:
        parameters = (
            dict(item.callspec.params) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        )
        name = parameters.pop("name", None)
        test = item.nodeid.split("[")[0]
        if any(name in family for family in FAMILIES) and test not in told:
            cases.append((test, repr(parameters), str(name)))
            marked.append(item)
    for place in again(cases, FAMILIES):
        marked[place].add_marker(REPEATS)
