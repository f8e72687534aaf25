"""A rank of `sennit bench training` without a GPU, whose models train as their names say. `python -m`, as the verb
starts one."""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from sennit.baselines import torch_rank, training_rank
from sennit.baselines.training import Case, Job


def begin(rank: int, ranks: int, _: str) -> torch.device:
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    return torch.device("cpu")


def compiles(case: Case) -> None:
    """A model whose shapes are to be known, by a compiler that cannot do one batch. What it cannot do may be an error
    of Inductor's own, or of no compiler."""

    def compiler(graph: Any, given: list[Any]) -> Any:
        symbolic = [each for each in given if isinstance(each, torch.SymInt)]
        assert not symbolic, "it is compiled for any batch"
        if case.batch == 5:
            raise ValueError("No such kernel.\nAnd so on")
        return graph.forward

    if case.batch == 6:
        from torch._inductor.exc import InvalidCxxCompiler  # takes seconds

        raise InvalidCxxCompiler
    if case.batch == 7:
        raise ValueError("not of compiling")
    torch.compile(double, backend=compiler)(torch.ones(case.batch, 3))


def double(given: torch.Tensor) -> torch.Tensor:
    """The same function for all batches, as models of one kind have."""
    return given + given


def train(case: Case, _: Job, rank: int, *__: Any) -> dict[str, Any]:
    """Of a model that fits nowhere, or not on the last rank: the others are in a collective then. One never
    ends."""
    if case.model == "endless":
        print("Some warning of PyTorch's", file=sys.stderr, flush=True)
        time.sleep(600)
    if case.model == "nowhere" or (case.model == "elsewhere" and rank == dist.get_world_size() - 1):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.\nAnd so on")
    if case.step == "compile":
        compiles(case)
    dist.barrier()
    return {"case": case.name, "silent_ms": []}


for module, stand_ins in (
    (training_rank, {"begin": begin, "train": train}),
    (torch_rank, {"ALIKE_S": 3.0}),
    (torch.cuda, {"reset_peak_memory_stats": lambda: None, "synchronize": lambda: None}),
):
    for name, stand_in in stand_ins.items():
        setattr(module, name, stand_in)
torch_rank.main(training_rank.run, lambda text: Job.read(text).limit_s)
