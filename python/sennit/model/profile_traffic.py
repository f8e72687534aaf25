"""The bytes of a profile on the links of its machine. Pure functions.

A profile says who sent whom how much, and how large collectives were; not which GPU a rank has, nor how a library
moves a collective. Ranks are taken to have the GPUs in their order, and a collective's bytes to be the least that its
ranks have to give, in equal parts to all others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sennit.model.machine import Link, Machine
from sennit.model.profile import Profile, Row

SENDS = ("MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend",
         "MPI_Sendrecv", "MPI_Isendrecv", "ncclSend")  # fmt: skip


MOST_BUSY = 1000.0  # times what a link carries: more is of a damaged file


@dataclass(frozen=True)
class Traffic:
    """`gpus`: of each rank. `links`: bytes by the names of a link's ends, from one to the other; in them the part of
    run time that the link needs for them. `left_out`: bytes of collectives among some of the ranks."""

    gpus: Mapping[int, str]
    bytes: Mapping[tuple[str, str], float]
    busy: Mapping[tuple[str, str], float]
    left_out: int


def traffic(profile: Profile, machine: Machine, given: Callable[[Row], float | None]) -> Traffic | None:
    """None where several hosts, or nothing in GPU memory, or no GPU is there. `given`: how many times its message
    each rank gives in calls such as these at least; None of what is no collective."""
    gpus = [device.id for device in machine.devices if device.kind == "gpu"]
    ranks = sorted(rank.rank for rank in profile.ranks)
    if len({rank.host for rank in profile.ranks}) != 1 or len(ranks) < 2 or len(gpus) < 2:
        return None
    place = {rank: gpus[number % len(gpus)] for number, rank in enumerate(ranks)}
    between: dict[tuple[str, str], float] = {}

    def add(sender: int, receiver: int, count: float) -> None:
        if sender in place and receiver in place and place[sender] != place[receiver] and count > 0:
            ends = place[sender], place[receiver]
            between[ends] = between.get(ends, 0.0) + count

    part = _on_gpus(profile)
    for pair in profile.partners:
        add(pair.sender, pair.receiver, pair.bytes * part)
    left_out = 0
    for row in profile.counted:
        times = given(row) if row.on_gpu else None
        if times is None:
            continue
        size = max(row.bytes_in, row.bytes_out)
        if row.communicator_size != len(ranks):
            left_out += size
            continue
        for sender in ranks:
            for receiver in ranks:
                if sender != receiver:
                    add(sender, receiver, size * times / len(ranks) / (len(ranks) - 1))
    if not between:
        return None
    on_links: dict[tuple[str, str], float] = {}
    for (one, other), count in between.items():
        for hop in route(machine, one, other):
            on_links[hop] = on_links.get(hop, 0.0) + count
    rates = {ends: rate for link in machine.links for ends, rate in _ways(link)}
    busy = {
        ends: min(MOST_BUSY, count / (rates[ends] * 1e9) / profile.seconds) if profile.seconds > 0 else 0.0
        for ends, count in on_links.items()
    }
    return Traffic(place, on_links, busy, left_out)


def _on_gpus(profile: Profile) -> float:
    """The part of the bytes of messages that lay on a GPU."""
    rows = [row for row in profile.counted if row.function.removesuffix("_c").removesuffix("_replace") in SENDS]
    total = sum(row.bytes_in for row in rows)
    return sum(row.bytes_in for row in rows if row.on_gpu) / total if total else 0.0


def route(machine: Machine, one: str, other: str) -> list[tuple[str, str]]:
    """The hops of the way that takes least time for a byte."""
    near: dict[str, list[tuple[float, str]]] = {}
    for link in machine.links:
        for (begin, end), rate in _ways(link):
            if rate > 0:
                near.setdefault(begin, []).append((1 / rate, end))
    reached: dict[str, str] = {}
    waiting = [(0.0, one, one)]
    while waiting:
        time, device, before = heapq.heappop(waiting)
        if device in reached:
            continue
        reached[device] = before
        if device == other:
            break
        for more, end in near.get(device, ()):
            if end not in reached:
                heapq.heappush(waiting, (time + more, end, device))
    hops: list[tuple[str, str]] = []
    at = other
    while at in reached and at != one:
        hops.append((reached[at], at))
        at = reached[at]
    return hops[::-1]


def _ways(link: Link) -> list[tuple[tuple[str, str], float]]:
    return [
        ((link.from_, link.to), link.forward_gbps.value), ((link.to, link.from_), link.backward_gbps.value),
    ]  # fmt: skip
