"""Ranks that talk most, and the hosts that they sit on. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from sennit.model.profile import Profile

MUCH = 0.8  # another order has to leave less than this of the bytes between hosts
MOST_RANKS = 256  # whose order is looked for: the time grows with the third power
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


def apart(profile: Profile) -> Apart | None:
    """A better order of ranks, as many on each host as now; None where there is none that is worth it. Two ranks
    change their places as long as that helps: not the best order there is, and never a worse one."""
    host = {rank.rank: rank.host for rank in profile.ranks}
    if len(set(host.values())) < 2 or len(host) > MOST_RANKS:
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
    placed = dict(host)
    while swap := _best_swap(talk, placed):
        one, other = swap
        placed[one], placed[other] = placed[other], placed[one]
    after = _between(talk, placed)
    if after >= MUCH * before:
        return None
    hosts: dict[str, list[int]] = {}
    for rank in sorted(placed):
        hosts.setdefault(placed[rank], []).append(rank)
    return Apart(furthest, before / total, after / total, dict(sorted(hosts.items())))


def _between(talk: dict[int, dict[int, int]], host: dict[int, str]) -> int:
    return sum(count for one in talk for other, count in talk[one].items() if host[one] != host[other])


def _best_swap(talk: dict[int, dict[int, int]], host: dict[int, str]) -> tuple[int, int] | None:
    """The two ranks whose change of places saves most bytes between hosts; None where no change saves any."""
    near: dict[int, dict[str, int]] = {}
    for one in talk:
        near[one] = {}
        for other, count in talk[one].items():
            near[one][host[other]] = near[one].get(host[other], 0) + count
    best, found = 0, None
    ranks = sorted(talk)
    for place, one in enumerate(ranks):
        for other in ranks[place + 1 :]:
            here, there = host[one], host[other]
            if here == there:
                continue
            saved = near[one].get(there, 0) - near[one].get(here, 0) + near[other].get(here, 0)
            saved -= near[other].get(there, 0) + 2 * talk[one].get(other, 0)
            if saved > best:
                best, found = saved, (one, other)
    return found
