"""Memory that a program has registered, in a profile."""

from __future__ import annotations

from sennit import units
from sennit.model.profile import Profile
from sennit.views.text_table import Table


def by_registration(profile: Profile) -> Table:
    """Memory that the program gave to a library, or had it allocate."""
    lines = [
        (
            one.function,
            str(one.processes),
            str(one.calls),
            units.size(one.bytes),
            units.size(one.most_bytes),
            units.size(one.left_bytes),
        )
        for one in profile.registered
    ]
    headings = ("function", "processes", "calls", "bytes", "most at once, of a process", "never ended")
    return Table(headings, lines, left=("function",))


def registered_said(profile: Profile) -> list[str]:
    """Says who had most."""
    most = max(profile.ranks, key=lambda rank: rank.registered_most_bytes)
    return [f"Rank {most.rank} had most at once: {units.size(most.registered_most_bytes)}."]
