"""A rank that times allreduces with a recorder and without, in turns: started by `sennit bench profile --gpu-times`
with a job as a file and the rank. Rank 0 tells what calls took of the host's time and of the stream's."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from sennit.baselines.recording import (
    ALL,
    BOTH,
    CALLS,
    FIRST,
    KERNEL,
    OWN_JOBS,
    PROFILED_PAIRS,
    SAMPLED,
    TIMED,
    TORCH,
    Job,
    order,
    paired,
)
from sennit.baselines.recording_ways import Nothing, Profiled, Recorded, Way, paused
from sennit.baselines.torch_rank import begin, main, tell
from sennit.profile import phase

# The GPU sleeps longer than the host took to enqueue the last block of the kind: so many times, and ms; at first, and
# at most, so many ms, since a first block makes connections.
AHEAD, AHEAD_MS, FIRST_MS, MOST_MS = 1.5, 1.0, 20.0, 100.0
OPERATOR = dist.ReduceOp.AVG  # of one rank NCCL has a kernel for it, and nothing to do for a sum
CYCLES = 10_000_000  # of a sleep, by which the clock is known


class Stream:
    """Blocks of calls on a stream that is never empty: the GPU sleeps while the host enqueues them."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(2):  # the first one loads the kernel
            first.record()
            torch.cuda._sleep(CYCLES)
            last.record()
        torch.cuda.synchronize()
        self._cycles_a_ms = CYCLES / first.elapsed_time(last)
        self._host_ms: dict[type[Way], float] = {}  # of the last block of a kind

    def block(self, buffer: torch.Tensor, calls: int, way: Way) -> tuple[float, float]:
        """The µs of a call, of the host and of the stream. One call before is in neither: in it ranks meet."""
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        with way.around():
            ahead_ms = AHEAD * self._host_ms.get(type(way), FIRST_MS) + AHEAD_MS
            torch.cuda._sleep(int(min(ahead_ms, MOST_MS) * self._cycles_a_ms))
            dist.all_reduce(buffer, OPERATOR)
            with way.within():
                first.record()
                begun = time.perf_counter()
                for _ in range(calls):
                    dist.all_reduce(buffer, OPERATOR)
                host_ms = 1e3 * (time.perf_counter() - begun)
                last.record()
                torch.cuda.synchronize()  # kernels that begin in a pause would not count
        self._host_ms[type(way)] = host_ms
        return 1e3 * host_ms / calls, 1e3 * first.elapsed_time(last) / calls

    def pairs(self, buffer: torch.Tensor, calls: int, way: Way, pairs: int) -> list[tuple[Any, Any]]:
        """Of neighbouring blocks what a call took without the recorder and with it: (host, stream) of each."""
        for each in (Nothing(), way):
            for _ in range(-(-FIRST // calls)):
                self.block(buffer, calls, each)
        blocks = order(pairs)
        took = [self.block(buffer, calls, way if is_recorded else Nothing()) for is_recorded in blocks]
        host, stream = (paired(blocks, [each[part] for each in took]) for part in (0, 1))
        return [
            ((off, stream_off), (on, stream_on))
            for (off, on), (stream_off, stream_on) in zip(host, stream, strict=True)
        ]


def of_all_ranks(values: Sequence[float], device: torch.device) -> tuple[float, int]:
    """Their sum, and how many there are, on all ranks together."""
    both = torch.tensor([sum(values), len(values)], dtype=torch.float64, device=device)
    dist.all_reduce(both)
    total, count = both.tolist()
    return total, int(count)


def run(text: str, rank: int) -> None:
    """All sizes."""
    job = Job.read(text)
    own = paused(True) if job.name in OWN_JOBS else None
    device = begin(rank, job.ranks, "nccl")
    stream = Stream(device)
    gc.disable()
    for number, size in enumerate(job.sizes):
        tell(rank, progress=[number, len(job.sizes), f"allreduce of {size} B"])
        buffer, calls = torch.zeros(max(1, size // 4), device=device), CALLS
        found: list[tuple[Any, Any]] = []
        if job.name == TORCH:
            found = stream.pairs(buffer, calls, Profiled(), min(job.pairs, PROFILED_PAIRS))
            tell(rank, row={"recorder": TORCH, "bytes": size, "pairs": found})
        elif own is None:
            alone = [stream.block(buffer, calls, Nothing()) for _ in range(job.pairs)]
        elif job.name in (SAMPLED, ALL):
            with phase(TIMED):
                found = stream.pairs(buffer, calls, Recorded(own), job.pairs)
            alone = [off for off, _ in found]
            tell(rank, row={"recorder": job.name, "bytes": size, "pairs": found})
        if job.name not in (KERNEL, TORCH):
            middle = [statistics.median(each[part] for each in alone[len(alone) // 4 :]) for part in (0, 1)]
            tell(rank, row={"bytes": size, "alone": middle})
        if job.name in (ALL, KERNEL) and own is not None:
            way = Recorded(own, Profiled() if job.name == ALL else None)
            stream.block(buffer, calls, way)
            kernels: list[float] = []
            with phase(BOTH if job.name == ALL else TIMED):
                for _ in range(PROFILED_PAIRS):
                    stream.block(buffer, calls, way)
                    kernels += way.kernels_us()[1:]  # ranks meet in the first
            if job.name == ALL:
                us, count = of_all_ranks(kernels, device)
                tell(rank, row={"torch_profiler": True, "bytes": size, "us": us, "calls": count})
        del buffer
        gc.collect()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(run, lambda text: Job.read(text).limit_s)
