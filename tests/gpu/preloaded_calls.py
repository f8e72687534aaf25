"""Every collective of torch.distributed, of many types and sizes, alone and in groups."""

from __future__ import annotations

import os
from functools import reduce

import torch
import torch.distributed as dist
from preloaded_place import Guarded, Place, expect
from torch.distributed.distributed_c10d import _coalescing_manager

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
# PyTorch 2.11 takes it for an error that an all-to-all of such a communicator is still beginning.
NONBLOCKING = os.environ.get("TORCH_NCCL_USE_COMM_NONBLOCKING") == "1"
TYPES = (*FLOATS, torch.int8, torch.uint8, torch.int32, torch.int64)


def collectives(place: Place) -> dict[str, float]:
    """All of them."""
    counts = (1, 257, 4096, 65537) if place.shares else (1, 3, 257, 4096, 65537, (1 << 20) + 3, 5 << 20)
    for kind in TYPES:
        for count in counts:
            allreduces(place, count, kind)
            with_roots(place, count, kind)
            gathers(place, count, kind)
            scatters(place, count, kind)
    moved_bytes(place)
    dist.barrier()
    dist.destroy_process_group()
    return {}


def bound(place: Place) -> dict[str, float]:
    """As programs have it that name their GPU when they begin; and parts of that communicator."""
    for count in (1, 4096, 65537):
        allreduces(place, count, torch.float32)
        with_roots(place, count, torch.float32)
        gathers(place, count, torch.float32)
        if not NONBLOCKING:
            scatters(place, count, torch.float32)
    part = dist.new_group(list(range(place.ranks)))
    data = place.numbers(1000, torch.float32, place.rank)
    dist.all_reduce(data, group=part)
    expect(data, sum_of(place.given(1000, torch.float32)), "allreduce in a part")
    dist.destroy_process_group()
    return {}


def sum_of(given: list[torch.Tensor]) -> torch.Tensor:
    """In their own type."""
    return reduce(torch.add, given)


def allreduces(place: Place, count: int, kind: torch.dtype) -> None:
    """Every operator."""
    given = place.given(count, kind)
    operators = {
        "sum": (dist.ReduceOp.SUM, sum_of(given)),
        "min": (dist.ReduceOp.MIN, reduce(torch.minimum, given)),
        "max": (dist.ReduceOp.MAX, reduce(torch.maximum, given)),
    }
    if place.ranks <= 4:
        operators["product"] = (dist.ReduceOp.PRODUCT, reduce(torch.mul, given))
    if kind in FLOATS and place.ranks in (2, 4, 8):
        operators["average"] = (dist.ReduceOp.AVG, sum_of(given) / place.ranks)
    if kind in FLOATS and kind != torch.bfloat16:  # NCCL's own; PyTorch 2.11 gives it another factor for bfloat16
        operators["half of the sum"] = (dist._make_nccl_premul_sum(0.5), sum_of(given) / 2)
    for name, (operator, wanted) in operators.items():
        buffer = Guarded(place, count, kind)
        buffer.data.copy_(given[place.rank])
        dist.all_reduce(buffer.data, op=operator)
        buffer.expect(wanted, f"allreduce, {name}, of {count} {kind}")


def with_roots(place: Place, count: int, kind: torch.dtype) -> None:
    """Broadcast and reduce, from and to every rank; gather and scatter."""
    given = place.given(count, kind, 1)
    for root in range(place.ranks):
        what = f"of {count} {kind}, root {root}"
        buffer = Guarded(place, count, kind)
        buffer.data.copy_(given[place.rank])
        dist.broadcast(buffer.data, src=root)
        buffer.expect(given[root], f"broadcast {what}")
        buffer.data.copy_(given[place.rank])
        dist.reduce(buffer.data, dst=root)
        buffer.expect(sum_of(given) if place.rank == root else given[place.rank], f"reduce {what}")
        parts = [torch.empty_like(given[0]) for _ in given] if place.rank == root else None
        dist.gather(given[place.rank], parts, dst=root)
        for part, wanted in zip(parts or [], given, strict=False):
            expect(part, wanted, f"gather {what}")
        own = torch.empty_like(given[0])
        dist.scatter(own, given if place.rank == root else None, src=root)
        expect(own, given[place.rank], f"scatter {what}")


def gathers(place: Place, count: int, kind: torch.dtype) -> None:
    """Into one tensor, also in place, into several, and of several lengths."""
    given = place.given(count, kind, 2)
    what = f"of {count} {kind}"
    whole = Guarded(place, count * place.ranks, kind)
    dist.all_gather_into_tensor(whole.data, given[place.rank])
    whole.expect(torch.cat(given), f"allgather {what}")
    whole = Guarded(place, count * place.ranks, kind)
    own = whole.data[place.rank * count : (place.rank + 1) * count]
    own.copy_(given[place.rank])
    dist.all_gather_into_tensor(whole.data, own)
    whole.expect(torch.cat(given), f"allgather in place {what}")
    parts = [torch.empty_like(each) for each in given]
    dist.all_gather(parts, given[place.rank])
    for part, wanted in zip(parts, given, strict=True):
        expect(part, wanted, f"allgather into several {what}")
    uneven = [place.numbers(count + rank, kind, rank) for rank in range(place.ranks)]
    parts = [torch.empty_like(each) for each in uneven]
    dist.all_gather(parts, uneven[place.rank])
    for part, wanted in zip(parts, uneven, strict=True):
        expect(part, wanted, f"allgather of several lengths {what}")


def scatters(place: Place, count: int, kind: torch.dtype) -> None:
    """Reduce-scatter from one tensor and from several, all-to-all of equal parts and of others."""
    ranks, rank = place.ranks, place.rank
    given = place.given(count * ranks, kind, 3)
    what = f"of {count} {kind}"
    wanted = sum_of(given)[rank * count : (rank + 1) * count]
    own = Guarded(place, count, kind)
    dist.reduce_scatter_tensor(own.data, given[rank])
    own.expect(wanted, f"reduce-scatter {what}")
    several = torch.empty(count, dtype=kind, device=place.device)
    dist.reduce_scatter(several, list(given[rank].chunk(ranks)))
    expect(several, wanted, f"reduce-scatter from several {what}")
    whole = Guarded(place, count * ranks, kind)
    dist.all_to_all_single(whole.data, given[rank])
    parts = torch.cat([each[rank * count : (rank + 1) * count] for each in given])
    whole.expect(parts, f"all-to-all {what}")
    # Rank a gives rank b so many more: a + b.
    lengths = [[count + a + b for b in range(ranks)] for a in range(ranks)]
    uneven = [place.numbers(sum(lengths[a]), kind, a) for a in range(ranks)]
    taken = [lengths[a][rank] for a in range(ranks)]
    got = torch.empty(sum(taken), dtype=kind, device=place.device)
    dist.all_to_all_single(got, uneven[rank], taken, lengths[rank])
    expect(got, torch.cat([uneven[a].split(lengths[a])[rank] for a in range(ranks)]), f"all-to-all, uneven {what}")


def moved_bytes(place: Place) -> None:
    """Types that nothing is computed with."""
    for kind in (torch.bool, torch.float8_e4m3fn):
        given = [(each == 2).to(kind) for each in place.given(1000, torch.float32)]
        data = given[place.rank].clone()
        dist.broadcast(data, src=0)
        expect(data.view(torch.uint8), given[0].view(torch.uint8), f"broadcast of {kind}")
        whole = torch.empty(1000 * place.ranks, dtype=kind, device=place.device)
        dist.all_gather_into_tensor(whole, given[place.rank])
        expect(whole.view(torch.uint8), torch.cat(given).view(torch.uint8), f"allgather of {kind}")


def groups(place: Place) -> dict[str, float]:
    """What PyTorch puts between ncclGroupStart and ncclGroupEnd."""
    for round_ in range(3 if place.shares else 10):
        coalesced(place, round_)
        of_several_kinds(place, round_)
        messages(place, round_)
    dist.destroy_process_group()
    return {}


def coalesced(place: Place, round_: int) -> None:
    """Many of a kind."""
    counts = (5, 1000, 70001, 12)
    ranks, rank = place.ranks, place.rank
    given = [place.given(count * ranks, torch.float32, round_ + count) for count in counts]
    data = [each[rank].clone() for each in given]
    with _coalescing_manager(async_ops=True) as manager:
        for each in data:
            dist.all_reduce(each)
    manager.wait()
    for each, of_all in zip(data, given, strict=True):
        expect(each, sum_of(of_all), f"allreduce in a group, round {round_}")
    gathered = [torch.empty(each[0].numel() * ranks, device=place.device) for each in given]
    with _coalescing_manager():
        for each, of_all in zip(gathered, given, strict=True):
            dist.all_gather_into_tensor(each, of_all[rank])
    for each, of_all in zip(gathered, given, strict=True):
        expect(each, torch.cat(of_all), f"allgather in a group, round {round_}")
    scattered = [torch.empty(count, device=place.device) for count in counts]
    with _coalescing_manager(async_ops=True) as manager:
        for each, of_all in zip(scattered, given, strict=True):
            dist.reduce_scatter_tensor(each, of_all[rank])
    manager.wait()
    for each, of_all in zip(scattered, given, strict=True):
        expect(each, sum_of(of_all).chunk(ranks)[rank], f"reduce-scatter in a group, round {round_}")


def of_several_kinds(place: Place, round_: int) -> None:
    """Broadcasts from several roots and an all-to-all."""
    ranks, rank = place.ranks, place.rank
    given = place.given(3000 * ranks, torch.bfloat16, round_)
    data = [given[rank].clone() for _ in range(ranks)]
    exchanged = torch.empty_like(given[rank])
    with _coalescing_manager(device=place.device, async_ops=True) as manager:
        for root in range(ranks):
            dist.broadcast(data[root], src=root, async_op=True)
        dist.all_to_all_single(exchanged, given[rank], async_op=True)
    manager.wait()
    for root in range(ranks):
        expect(data[root], given[root], f"broadcast in a group, root {root}, round {round_}")
    expect(exchanged, torch.cat([each.chunk(ranks)[rank] for each in given]), f"all-to-all in a group, {round_}")


def messages(place: Place, round_: int) -> None:
    """Around a ring, with collectives before and behind."""
    ranks, rank = place.ranks, place.rank
    given = place.given(5000, torch.float32, round_)
    total = given[rank].clone()
    dist.all_reduce(total)
    got = torch.empty_like(total)
    for work in dist.batch_isend_irecv([
        dist.P2POp(dist.isend, total * (rank + 1), (rank + 1) % ranks),
        dist.P2POp(dist.irecv, got, (rank - 1) % ranks),
    ]):  # fmt: skip
        work.wait()
    expect(got, sum_of(given) * ((rank - 1) % ranks + 1), f"messages around a ring, round {round_}")
    dist.all_reduce(got, op=dist.ReduceOp.MAX)
    expect(got, sum_of(given) * ranks, f"allreduce behind messages, round {round_}")
