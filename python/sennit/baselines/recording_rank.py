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
    CALLS,
    FIRST,
    KERNEL,
    OWN_JOBS,
    PROFILED_PAIRS,
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

    def block(self, buffer: torch.Tensor, way: Way) -> tuple[float, float]:
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
                for _ in range(CALLS):
                    dist.all_reduce(buffer, OPERATOR)
                host_ms = 1e3 * (time.perf_counter() - begun)
                last.record()
                torch.cuda.synchronize()  # kernels that begin in a pause would not count
        self._host_ms[type(way)] = host_ms
        return 1e3 * host_ms / CALLS, 1e3 * first.elapsed_time(last) / CALLS

    def pairs(self, buffer: torch.Tensor, way: Way, pairs: int) -> list[tuple[Any, Any]]:
        """Of neighbouring blocks what a call took without the recorder and with it: (host, stream) of each."""
        for each in (Nothing(), way):
            for _ in range(-(-FIRST // CALLS)):
                self.block(buffer, each)
        blocks = order(pairs)
        took = [self.block(buffer, way if is_recorded else Nothing()) for is_recorded in blocks]
        host, stream = (paired(blocks, [each[part] for each in took]) for part in (0, 1))
        return [
            ((off, stream_off), (on, stream_on))
            for (off, on), (stream_off, stream_on) in zip(host, stream, strict=True)
        ]


def middle(blocks: Sequence[tuple[float, float]]) -> list[float]:
    """The medians of blocks' host and stream, without the first quarter, in which a job warms up."""
    return [statistics.median(each[part] for each in blocks[len(blocks) // 4 :]) for part in (0, 1)]


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
        buffer = torch.zeros(max(1, size // 4), device=device)
        if job.name == TORCH:
            way = Profiled()
            found = stream.pairs(buffer, way, min(job.pairs, PROFILED_PAIRS))
            tell(rank, row={"recorder": TORCH, "bytes": size, "pairs": found})
            kernels: list[float] = []
            for _ in range(PROFILED_PAIRS):
                stream.block(buffer, way)
                kernels += way.kernels_us()[1:]  # ranks meet in the first
            us, count = of_all_ranks(kernels, device)
            tell(rank, row={"torch_profiler": True, "bytes": size, "us": us, "calls": count})
        elif own is None:
            alone = [stream.block(buffer, Nothing()) for _ in range(job.pairs)]
            tell(rank, row={"bytes": size, "alone": middle(alone)})
        elif job.name == KERNEL:
            stream.block(buffer, Recorded(own))
            with phase(TIMED):
                for _ in range(PROFILED_PAIRS):
                    stream.block(buffer, Recorded(own))
        else:
            with phase(TIMED):
                found = stream.pairs(buffer, Recorded(own), job.pairs)
            tell(rank, row={"recorder": job.name, "bytes": size, "pairs": found})
            tell(rank, row={"bytes": size, "alone": middle([off for off, _ in found])})
        del buffer
        gc.collect()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(run, lambda text: Job.read(text).limit_s)
