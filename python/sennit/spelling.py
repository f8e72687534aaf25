"""Names of operations. Documents have one spelling, reduce_scatter; people may write any: reduce-scatter, as verbs
are called, reducescatter, and MPI's bcast for broadcast."""

from __future__ import annotations

from collections.abc import Iterable

OTHER = {"broadcast": "bcast", "bcast": "broadcast"}


def letters(name: str) -> str:
    """A name without what separates its words."""
    return name.replace("-", "").replace("_", "")


def known_as(text: str, names: Iterable[str]) -> str | None:
    """The one of these names that somebody means; None where there is none."""
    known = {letters(name): name for name in names}
    asked = letters(text)
    others = [asked.replace(name, other) for name, other in OTHER.items() if name in asked]
    return next((known[each] for each in (asked, *others) if each in known), None)
