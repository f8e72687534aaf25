"""A rank that trains, by PyTorch's own means and on made-up data: started by `sennit bench training` with a file of
cases and the rank. What its collectives go through, its environment decides. Rank 0 tells what a step took."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist

from sennit.baselines.torch_rank import Refused, alike, begin, end_job, main, tell
from sennit.baselines.training import BLOCK, Case, Job, by_turns, left_out, times_on, turns
from sennit.baselines.training_models import Trained

Step = Callable[[], torch.Tensor]  # one step of training; its loss

# Steps before one is captured: DistributedDataParallel times its first ten, by events that no graph may have.
BEFORE_CAPTURE = 11
COMPILERS = ("torch._dynamo.", "torch._inductor.", "triton.")  # modules whose exceptions torch.compile lets through


def eager(case: Case, trained: Trained, silent: bool, optimizer: Any) -> Step:
    """A step, call by call. `silent`: without communication, where it can be left out."""

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        for batch in range(case.batches):
            with trained.silent(silent or batch + 1 < case.batches):
                found = trained.loss()
                (found / case.batches).backward()
        optimizer.step()
        return found

    return step


def captured(step: Step) -> Step:
    """The step as a CUDA graph, on the current stream. Raises Refused."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        # PyTorch's watchdog asks for events in another thread meanwhile.
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
            found = step()
    except RuntimeError as error:
        raise Refused(f"a step cannot be captured ({str(error).splitlines()[0]})") from None

    def replay() -> torch.Tensor:
        graph.replay()
        return found

    return replay


@contextmanager
def compiling(case: Case) -> Iterator[None]:
    """Around a case whose model may be compiled: nothing is known of the case before then, or another batch's size
    would be compiled as one that may change. Raises Refused for what torch.compile raises in it."""
    if case.step != "compile":
        yield
        return
    torch.compiler.reset()
    try:
        yield
    except Exception as error:
        if not any(each.__module__.startswith(COMPILERS) for each in type(error).__mro__):
            raise
        # The first line may only say who raised it.
        said = [line.strip() for line in str(error).splitlines() if line.strip()][:2]
        raise Refused(f"torch.compile failed ({' '.join(said)[:300] or type(error).__name__})") from None


def measured(step: Step, job: Job) -> list[float]:
    """What steps take, in ms on this rank's GPU."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(job.steps + 1)]
    for _ in range(job.warm_up):
        step()
    dist.barrier()
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in pairwise(marks)]


def leave_to_nccl() -> Callable[[int], int] | None:
    """What has the calls of this process left to NCCL (1) or not (0); none where there is no drop-in for it."""
    leave = getattr(ctypes.CDLL(None), "sennit_leave_to_nccl", None)
    return leave if leave is not None and leave(0) else None


def calls_taken() -> int:
    """How many calls of this process the drop-in has done so far."""
    taken = getattr(ctypes.CDLL(None), "sennit_calls_taken", None)
    if taken is None:
        return 0
    taken.restype = ctypes.c_ulong
    return int(taken())


def decided(yes: bool, device: torch.device) -> bool:
    """What rank 0 decides, for all."""
    told = torch.tensor([int(yes)], device=device)
    dist.broadcast(told, 0)
    return bool(told.item())


def in_turns(
    own: Step, left: Step, leave: Callable[[int], int], job: Job, device: torch.device, until_s: float
) -> list[tuple[float, float]]:
    """What a step takes, in ms on this rank's GPU, of neighbouring blocks: one whose calls are left to NCCL, and one
    of sennit's. In rounds of as many steps as asked for, until that is enough or its time is over."""

    def block(is_left: bool) -> None:
        leave(int(is_left))
        for _ in range(BLOCK):
            (left if is_left else own)()

    def round_() -> list[tuple[float, float]]:
        order = turns(job.steps)
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(len(order) + 1)]
        dist.barrier()
        torch.cuda.synchronize()
        block(not order[0])  # of the other library, as before every block that counts
        marks[0].record()
        for is_left, mark in zip(order, marks[1:], strict=True):
            block(is_left)
            mark.record()
        torch.cuda.synchronize()
        leave(0)
        return by_turns(order, [a.elapsed_time(b) / BLOCK for a, b in pairwise(marks)])

    for _ in range(-(-job.warm_up // BLOCK)):
        block(True)
        block(False)
    found: list[tuple[float, float]] = []
    goes, rounds = True, 0
    while goes:
        begun = time.monotonic()
        found += round_()
        rounds += 1
        now = time.monotonic()
        goes = decided(times_on(found, rounds, now - begun, until_s - now), device)
    return found


def train(
    case: Case, job: Job, rank: int, device: torch.device, silent_ms: list[float] | None, until_s: float
) -> dict[str, Any]:
    """The losses of the first steps, and what later ones took, with their communication and, where it can be left
    out, without; under the drop-in in turns with steps that are left to NCCL. `silent_ms`: what they take without
    communication, where it is known already; `until_s`: when the case has had its share of the job's time."""
    torch.manual_seed(0)
    trained = Trained(case, device)
    optimizer = torch.optim.SGD(trained.parameters(), lr=1e-3)
    # Of a tensor that is spread over the ranks, all ranks have the same data.
    torch.manual_seed(1 if case.parallel == "tensor" else 1 + rank)
    step = left = eager(case, trained, False, optimizer)
    is_graph = case.step == "graph"
    leave = leave_to_nccl()
    taken = calls_taken()
    losses = [step().item() for _ in range(BEFORE_CAPTURE if is_graph else job.losses)]
    if is_graph:
        called = step
        step = captured(called)
        losses += [step().item() for _ in range(job.losses - len(losses))]
    taken = calls_taken() - taken
    if is_graph and leave is not None:
        leave(1)
        left = captured(called)
        leave(0)
    turns_ms = in_turns(step, left, leave, job, device, until_s) if leave is not None else []
    steps_ms = [own for _, own in turns_ms] or measured(step, job)
    if case.parallel == "ddp" and silent_ms is None:
        silent = eager(case, trained, True, optimizer)
        silent_ms = measured(captured(silent) if is_graph else silent, job)
    return {
        "case": case.name,
        "losses": losses[: job.losses],
        "steps_ms": steps_ms,
        "turns_ms": turns_ms,
        "silent_ms": silent_ms or [],
        "taken": taken,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def begins(job: Job, case: Case, took_s: dict[Case, float], device: torch.device) -> bool:
    """Whether another case is begun: rank 0's clock decides for all."""
    if not job.until_s:
        return True
    return decided(job.begins(case, took_s, time.monotonic()), device)


def run(text: str, rank: int) -> None:
    """All cases, one after the other, or those that there is time for."""
    job = Job.read(text)
    torch.backends.cudnn.deterministic = True  # two runs are compared bit by bit
    device = begin(rank, job.ranks, "nccl")
    known: dict[Case, list[float]] = {}  # steps without communication, which are the same whatever the buckets
    took_s: dict[Case, float] = {}
    for number, case in enumerate(job.cases):
        if not begins(job, case, took_s, device):
            continue  # another one may take less
        begun_s = time.monotonic()
        tell(rank, progress=[number, len(job.cases), case.name])
        gc.collect()  # models and graphs of the case before
        torch.cuda.reset_peak_memory_stats()
        same = replace(case, bucket_mb=0)
        # What a graph is captured on, the model has to be made on as well.
        on = torch.cuda.stream(torch.cuda.Stream(device)) if case.step == "graph" else nullcontext()
        try:
            with on, compiling(case):
                found = train(case, job, rank, device, known.get(same), job.share_s(begun_s, number))
        except (Refused, torch.cuda.OutOfMemoryError) as error:
            why = str(error).splitlines()[0]
            if not alike(f"{number} is left out", job.ranks):  # a GPU may have less memory left than the others
                end_job(f"{case.name} cannot be trained on rank {rank}, while others go on: {why}")
            tell(rank, warning=f"{left_out(case)}: {why}")
            took_s[replace(case, batch=0)] = time.monotonic() - begun_s  # says nothing of cases of less work
            continue
        known[same] = found["silent_ms"]
        tell(rank, row=found)
        took_s[case] = time.monotonic() - begun_s
    gc.collect()  # graphs end before the communicator that they use
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(run, lambda text: Job.read(text).limit_s)
