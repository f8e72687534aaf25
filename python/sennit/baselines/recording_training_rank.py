"""A rank that trains with a recorder and without, in turns: started by `sennit bench profile --training` with a job
as a file and the rank. Rank 0 tells what a step took."""

from __future__ import annotations

import gc
import statistics
from typing import Any

import torch
import torch.distributed as dist

from sennit.baselines.recording import FIRST, OWN_JOBS, SAMPLED, TORCH, TRACED_PAIRS, Job, order, paired
from sennit.baselines.recording_ways import Nothing, Profiled, Recorded, Way, paused
from sennit.baselines.torch_rank import Refused, begin, end_job, main, tell
from sennit.baselines.training import BLOCK, Case, left_out
from sennit.baselines.training_models import Trained
from sennit.baselines.training_rank import Step, eager


def block(step: Step, way: Way, from_idle: bool = False) -> tuple[Any, Any]:
    """The marks on the stream around the steps of a block, behind one step that does not count. `from_idle`: the GPU
    has nothing left to do then, as behind what torch.profiler does when it begins."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with way.around() as stepped:
        step()
        stepped()
        if from_idle:
            torch.cuda.synchronize()
        with way.within():
            first.record()
            for _ in range(BLOCK):
                step()
                stepped()
            last.record()
    return first, last


def steps_ms(marks: list[tuple[Any, Any]]) -> list[float]:
    """What a step took in each block."""
    torch.cuda.synchronize()
    return [first.elapsed_time(last) / BLOCK for first, last in marks]


def pairs(step: Step, way: Way, count: int, from_idle: bool = False) -> list[tuple[float, float]]:
    """What a step takes without the recorder and with it, in ms on this rank's GPU, of neighbouring blocks."""
    block(step, way, from_idle)
    blocks = order(count)
    marks = [block(step, way if is_recorded else Nothing(), from_idle) for is_recorded in blocks]
    return paired(blocks, steps_ms(marks))


def train(case: Case, job: Job, rank: int, device: torch.device, own: Recorded | None) -> None:
    """One model, and what becomes of its steps."""
    torch.manual_seed(0)
    trained = Trained(case, device)
    step = eager(case, trained, False, torch.optim.SGD(trained.parameters(), lr=1e-3))
    torch.manual_seed(1 + rank)
    for _ in range(job.warm_up):
        step()
    dist.barrier()
    if own is not None:
        with own.within():  # a long run has behind it that the first calls of a kind are all timed
            for _ in range(FIRST):
                step()
            torch.cuda.synchronize()
        found = pairs(step, own, job.pairs)
        tell(rank, row={"recorder": SAMPLED, "case": case.name, "pairs": found})
        alone = [off for off, _ in found]
    elif job.name == TORCH:
        found = pairs(step, Profiled(BLOCK), min(job.pairs, TRACED_PAIRS), from_idle=True)
        tell(rank, row={"recorder": TORCH, "case": case.name, "pairs": found})
        return
    else:
        alone = steps_ms([block(step, Nothing()) for _ in range(job.pairs)])
    tell(rank, row={"case": case.name, "alone_ms": statistics.median(alone)})


def run(text: str, rank: int) -> None:
    """All models."""
    job = Job.read(text)
    own = Recorded(paused(True)) if job.name in OWN_JOBS else None
    device = begin(rank, job.ranks, "nccl")
    for number, case in enumerate(job.cases):
        tell(rank, progress=[number, len(job.cases), case.name])
        gc.collect()  # the model before
        try:
            train(case, job, rank, device, own)
        except Refused as error:
            tell(rank, warning=f"{left_out(case)}: {error}")
        except torch.cuda.OutOfMemoryError as error:
            end_job(f"{case.name} does not fit rank {rank}: {str(error).splitlines()[0]}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(run, lambda text: Job.read(text).limit_s)
