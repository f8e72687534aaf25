"""Ranks that talk most, and the hosts that they sit on: what an order that the mapper found would change. Pure
functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sennit.model.profile import Profile

MUCH = 0.8  # another order has to leave less than this of the bytes between hosts
MOST_SAID = 16  # ranks of a host that a sentence lists


@dataclass(frozen=True)
class Apart:
    """`before`, `after`: of all bytes, those between hosts. `pair`: which of the ranks on two hosts talk most."""

    pair: tuple[int, int]
    before: float
    after: float
    hosts: dict[str, list[int]]

    def said(self) -> str:
        """For example: node1 0, 2; node2 1, 3."""
        shown = [
            f"{host} {', '.join(map(str, ranks[:MOST_SAID]))}{'…' if len(ranks) > MOST_SAID else ''}"
            for host, ranks in self.hosts.items()
        ]
        return "; ".join(shown)


def on_several_hosts(profile: Profile) -> bool:
    """Whether all ranks are known, were on several hosts and sent messages: else there is no order to look for."""
    return len({rank.host for rank in profile.ranks}) > 1 and bool(profile.partners) and not profile.missing


def apart(profile: Profile, order: Sequence[int]) -> Apart | None:
    """What another order of ranks saves, as many on each host as now; None where it is not worth it. `order`: of each
    rank the one whose place it takes (sennit-map order)."""
    host = {rank.rank: rank.host for rank in profile.ranks}
    if len(set(host.values())) < 2 or set(host) != set(range(len(order))):
        return None
    talk: dict[int, dict[int, int]] = {rank: {} for rank in host}
    for pair in profile.partners:
        one, other = pair.sender, pair.receiver
        if one != other and one in host and other in host:
            talk[one][other] = talk[one].get(other, 0) + pair.bytes
            talk[other][one] = talk[other].get(one, 0) + pair.bytes
    total = sum(sum(each.values()) for each in talk.values())
    before = _between(talk, host)
    if total == 0 or before == 0:
        return None
    furthest = max(((one, other) for one in talk for other in talk[one] if host[one] != host[other] and one < other),
               key=lambda ends: (talk[ends[0]][ends[1]], -ends[0], -ends[1]))  # fmt: skip
    placed = {rank: host[place] for rank, place in enumerate(order)}
    after = _between(talk, placed)
    if after >= MUCH * before:
        return None
    hosts: dict[str, list[int]] = {}
    for rank in sorted(placed):
        hosts.setdefault(placed[rank], []).append(rank)
    return Apart(furthest, before / total, after / total, dict(sorted(hosts.items())))


def _between(talk: dict[int, dict[int, int]], host: dict[int, str]) -> int:
    return sum(count for one in talk for other, count in talk[one].items() if host[one] != host[other])
