"""Tests that are parametrized by an MPI's `name` run over one MPI of each family, unless all are asked for."""

from __future__ import annotations

import pytest
import repeats

FAMILIES = (("openmpi", "debian-openmpi"), ("mpich", "debian-mpich", "standard"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what repeats other cases. Tests that say so themselves (repeats.in_turn, repeats.but) are left alone."""
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
    for place in repeats.again(cases, FAMILIES):
        marked[place].add_marker(repeats.REPEATS)
