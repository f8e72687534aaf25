"""Ranks that abort, shrink or are gone: what NCCL takes of the others is no error under sennit either."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from preloaded_calls import sum_of
from preloaded_place import Place, expect
from torch.distributed import distributed_c10d

SLEEP_CYCLES = 1_000_000_000  # of the GPU: most of a second


class Meeting:
    """Ranks that wait for each other without NCCL."""

    def __init__(self) -> None:
        self.store = distributed_c10d._get_default_store()

    def meet(self, name: str, ranks: int) -> None:
        """Returns when so many ranks have come."""
        self.store.add(name, 1)
        while int(self.store.add(name, 0)) < ranks:
            time.sleep(0.01)


def begin(place: Place) -> Meeting:
    """A first allreduce, so that NCCL and sennit have all they need."""
    meeting = Meeting()
    added_up(place, 1000, None, 0)
    meeting.meet("begun", place.ranks)
    return meeting


def added_up(place: Place, count: int, group: dist.ProcessGroup | None, seed: int, ranks: int | None = None) -> None:
    """An allreduce of the first `ranks`."""
    given = place.given(count, torch.float32, seed)
    dist.all_reduce(given[place.rank], group=group)
    wanted = sum_of(place.given(count, torch.float32, seed)[: ranks or place.ranks])
    expect(given[place.rank], wanted, f"allreduce of {count}")


def aborted_by_all(place: Place) -> dict[str, float]:
    """Each rank aborts when it likes, with calls behind other work."""
    meeting = begin(place)
    torch.cuda._sleep(SLEEP_CYCLES)
    if place.rank != 0:
        time.sleep(0.3)  # rank 0 has aborted by now
        dist.all_reduce(torch.ones(200_000, device=place.device))
    distributed_c10d._abort_process_group()
    meeting.meet("aborted", place.ranks)
    return {}


def shrunk(place: Place) -> dict[str, float]:
    """The last rank aborts; the others have a call that waits for it, and make a smaller communicator."""
    meeting = begin(place)
    last = place.ranks - 1
    if place.rank == last:
        distributed_c10d._abort_process_group()
    else:
        time.sleep(0.3)
        dist.all_reduce(torch.ones(1000, device=place.device), async_op=True)
        less = distributed_c10d.shrink_group([last], shrink_flags=distributed_c10d.SHRINK_ABORT)
        added_up(place, 3000, less, 1, last)
    meeting.meet("shrunk", place.ranks)
    return {}


def gone(place: Place) -> dict[str, float]:
    """The last rank's process ends; the others notice later, abort, and begin anew without it."""
    meeting = begin(place)
    last = place.ranks - 1
    if place.rank == last:
        os._exit(0)
    time.sleep(0.5)
    dist.all_reduce(torch.ones(60_000, device=place.device))
    time.sleep(1.5)
    distributed_c10d._abort_process_group()
    torch.cuda.synchronize()
    store = dist.PrefixStore("smaller", meeting.store)
    dist.init_process_group("nccl", store=store, rank=place.rank, world_size=last, timeout=timedelta(seconds=60))
    added_up(place, 300_000, None, 1, last)
    meeting.meet("began anew", last)
    return {}


def operators(place: Place) -> dict[str, float]:
    """An operator is made, used and destroyed inside one group; NCCL gets the call at the group's end."""
    group = dist.group.WORLD
    assert group is not None
    for call in range(10):
        sums, scaled = (place.given(40_000, torch.float32, seed) for seed in (call, call + 100))
        group._start_coalescing(place.device)
        for data, operator in (
            (sums[place.rank], dist.ReduceOp.SUM),
            (scaled[place.rank], dist._make_nccl_premul_sum(2.0)),
        ):
            options = dist.AllreduceOptions()
            options.reduceOp, options.asyncOp = operator, True
            group.allreduce([data], options)
        group._end_coalescing(place.device).wait()
        torch.cuda.synchronize()
        expect(sums[place.rank], sum_of(place.given(40_000, torch.float32, call)), f"sum {call}")
        expect(scaled[place.rank], 2 * sum_of(place.given(40_000, torch.float32, call + 100)), f"scaled sum {call}")
    dist.destroy_process_group()
    return {}
