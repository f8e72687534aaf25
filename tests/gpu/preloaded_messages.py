"""Messages between ranks: in groups of many kinds, one by one, beside collectives, and in CUDA graphs."""

from __future__ import annotations

import torch
import torch.distributed as dist
from preloaded_calls import sum_of
from preloaded_place import Guarded, Place, expect

Ends = list[tuple[int, int]]  # who sends to whom


def messages(place: Place) -> dict[str, float]:
    """All of it."""
    ranks = place.ranks
    ring = [(rank, (rank + 1) % ranks) for rank in range(ranks)]
    everyone = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    counts = (1, 257, 4099) if place.shares else (1, 257, 4099, 60_001, (1 << 20) + 3, 24 << 20)
    for count in counts:
        for name, ends in (("a ring", ring), ("everyone", everyone), ("two of each", everyone + everyone)):
            in_one_group(place, ends, count, name)
    for round_ in range(3 if place.shares else 20):
        of_many_sizes(place, everyone, round_)
        around(place, round_)
        one_by_one(place, round_)
    captured(place, ring + ring)
    dist.barrier()
    dist.destroy_process_group()
    return {}


def exchange(place: Place, ends: Ends, given: list[torch.Tensor], got: list[Guarded | None]) -> None:
    """The messages of these ends as one group; message i is given[i]."""
    work = []
    for i, (source, target) in enumerate(ends):
        if source == place.rank:
            work.append(dist.P2POp(dist.isend, given[i], target))
        into = got[i]
        if target == place.rank and into is not None:
            work.append(dist.P2POp(dist.irecv, into.data, source))
    for each in dist.batch_isend_irecv(work) if work else []:
        each.wait()


def taken(place: Place, ends: Ends, counts: list[int]) -> list[Guarded | None]:
    """Where this rank's go."""
    return [
        Guarded(place, count, torch.float32) if target == place.rank else None
        for (_, target), count in zip(ends, counts, strict=True)
    ]


def verify(got: list[Guarded | None], given: list[torch.Tensor], what: str) -> None:
    """Ends the rank where one is not as it was sent."""
    for i, (into, sent) in enumerate(zip(got, given, strict=True)):
        if into is not None:
            into.expect(sent, f"message {i} of {what}")


def in_one_group(place: Place, ends: Ends, count: int, name: str) -> None:
    """All of one length."""
    given = [place.numbers(count, torch.float32, i) for i in range(len(ends))]
    got = taken(place, ends, [count] * len(ends))
    exchange(place, ends, given, got)
    verify(got, given, f"{name}, {count} numbers")


def of_many_sizes(place: Place, ends: Ends, round_: int) -> None:
    """Some small, some large, by plans of few blocks and of many."""
    largest = 30_000 if place.shares else 3_000_000
    counts = [
        1 + (i * 7919 + round_ * 104_729) % (largest if (i + round_) % 3 == 0 else 900) for i in range(len(ends))
    ]
    given = [place.numbers(count, torch.float32, i + round_) for i, count in enumerate(counts)]
    got = taken(place, ends, counts)
    exchange(place, ends, given, got)
    verify(got, given, f"many sizes, round {round_}")


def around(place: Place, round_: int) -> None:
    """Between collectives on the same stream, which read and write the same memory."""
    given = place.given(5000, torch.float32, round_)
    total = given[place.rank].clone()
    dist.all_reduce(total)
    target, source = (place.rank + 1) % place.ranks, (place.rank - 1) % place.ranks
    got = torch.empty_like(total)
    for work in dist.batch_isend_irecv([
        dist.P2POp(dist.isend, total * (place.rank + 1), target),
        dist.P2POp(dist.irecv, got, source),
    ]):  # fmt: skip
        work.wait()
    expect(got, sum_of(given) * (source + 1), f"a message behind an allreduce, round {round_}")
    dist.all_reduce(got, op=dist.ReduceOp.MAX)
    expect(got, sum_of(given) * place.ranks, f"an allreduce behind a message, round {round_}")


def one_by_one(place: Place, round_: int) -> None:
    """Along a chain, without groups."""
    data = place.numbers(40_001, torch.float32, round_)
    got = torch.zeros_like(data)
    if place.rank > 0:
        dist.recv(got, src=place.rank - 1)
        expect(got, data + place.rank - 1, f"along a chain, round {round_}")
    if place.rank < place.ranks - 1:
        dist.send(data + place.rank, dst=place.rank + 1)


def captured(place: Place, ends: Ends) -> None:
    """Replayed with fresh numbers, by turns with another graph and with calls outside."""
    made = []
    for count in (100, 50_000):
        given = [torch.zeros(count, device=place.device) for _ in ends]
        got = taken(place, ends, [count] * len(ends))
        exchange(place, ends, given, got)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            exchange(place, ends, given, got)
        made.append((graph, given, got))
    for round_ in range(3 if place.shares else 30):
        for graph, given, got in made:
            for i, each in enumerate(given):
                each.copy_(place.numbers(each.numel(), torch.float32, i + round_))
            graph.replay()
            verify(got, given, f"a graph, round {round_}")
        in_one_group(place, ends, 300, f"a ring between graphs, round {round_}")
