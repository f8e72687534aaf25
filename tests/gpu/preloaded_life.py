"""Communicators that come and go, and a program that leaves without a word."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from preloaded_calls import sum_of
from preloaded_place import Place, expect

LOOPS = 20
BEFORE = 205  # allreduces before a rank is gone: some are in flight then
FIRST = 5  # after so many everything that is kept for the next time is there


def now(place: Place) -> dict[str, float]:
    """What this process holds, and of the GPU all who use it."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    dist.barrier()  # the others, too, are done with what is not counted
    free, total = torch.cuda.mem_get_info(place.device)
    dist.barrier()
    return {
        "memory_mib": (total - free) / 2**20,
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }


def life(place: Place) -> dict[str, float]:
    """Groups, and the whole of torch.distributed, begun and ended again and again: what grew meanwhile."""
    folder = Path(os.environ["PRELOADED_FOLDER"])
    before: dict[str, float] = {}
    for loop in range(LOOPS):
        for group in [dist.new_group(list(range(place.ranks))) for _ in range(2)]:
            added_up(place, loop, group)
            replayed(place, loop, group)
            dist.destroy_process_group(group)
        dist.barrier()
        dist.destroy_process_group()
        # A store of its own: what ranks told each other the last time is not to be found there.
        dist.init_process_group(
            "nccl", init_method=f"file://{folder}/{loop}", rank=place.rank, world_size=place.ranks
        )
        added_up(place, loop, None)
        if loop == FIRST:
            before = now(place)
    after = now(place)
    dist.destroy_process_group()
    return {name: after[name] - before[name] for name in before}


def added_up(place: Place, loop: int, group: dist.ProcessGroup | None) -> None:
    """An allreduce, small and not so small."""
    for count in (10, 60000):
        given = place.given(count, torch.float32, loop)
        dist.all_reduce(given[place.rank], group=group)
        expect(given[place.rank], sum_of(place.given(count, torch.float32, loop)), f"allreduce in loop {loop}")


def replayed(place: Place, loop: int, group: dist.ProcessGroup) -> None:
    """A graph, which ends before its group: it keeps nothing of it."""
    data = torch.zeros(60000, device=place.device)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        dist.all_reduce(data, group=group)
    given = place.given(data.numel(), torch.float32, loop)
    data.copy_(given[place.rank])
    graph.replay()
    expect(data, sum_of(given), f"replay in loop {loop}")


def left(place: Place) -> dict[str, float]:
    """Ends without destroy_process_group."""
    data = place.numbers(60000, torch.float32, place.rank)
    dist.all_reduce(data)
    expect(data, sum_of(place.given(60000, torch.float32)), "allreduce")
    for _ in range(10):
        dist.all_reduce(data, op=dist.ReduceOp.MAX)
    return {}


def killed(place: Place) -> dict[str, float]:
    """A rank is gone without a word, while the others go on."""
    return until_one_goes(place, lambda: os.kill(os.getpid(), signal.SIGKILL))


def killed_in_graphs(place: Place) -> dict[str, float]:
    """The same of a program that replays a graph."""
    data = place.numbers(60000, torch.float32, place.rank)
    dist.all_reduce(data, op=dist.ReduceOp.MAX)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        dist.all_reduce(data, op=dist.ReduceOp.MAX)
    return until_one_goes(place, lambda: os.kill(os.getpid(), signal.SIGKILL), graph.replay)


def raised(place: Place) -> dict[str, float]:
    """A rank raises, and nobody catches it."""

    def go() -> None:
        raise RuntimeError("this rank raises, as it should")

    return until_one_goes(place, go)


def until_one_goes(
    place: Place, go: Callable[[], None], step: Callable[[], object] | None = None
) -> dict[str, float]:
    """Allreduces without end: the last rank leaves them, and notes when; the others wait there until they are ended,
    by torchrun or by their watchdog. `step`: one of them, made beforehand."""
    data = place.numbers(60000, torch.float32, place.rank)
    step = step or (lambda: dist.all_reduce(data, op=dist.ReduceOp.MAX))
    for call in itertools.count():
        if call == BEFORE and place.rank == place.ranks - 1:
            (Path(os.environ["PRELOADED_FOLDER"]) / "gone").write_text(repr(time.time()), encoding="utf-8")
            go()
        step()
        if call % 10 == 0:
            torch.cuda.synchronize()
    return {}
