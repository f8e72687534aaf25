"""A rank that trains, by PyTorch's own means and on made-up data: started by `sennit bench training` with a file of
cases and the rank. What its collectives go through, its environment decides. Rank 0 tells what a step took."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from sennit.peers.torch_rank import Refused, begin, main, tell
from sennit.peers.training import TENSOR_WIDTH, TOKENS, WIDTH, Case, Job

CLASSES = 1000
SIDE = 224  # pixels of an image


def blocks(layers: int) -> nn.Module:
    """A transformer without dropout, so that two runs compute the same."""
    layer = nn.TransformerEncoderLayer(WIDTH, WIDTH // 64, 4 * WIDTH, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def build(case: Case, device: torch.device) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """The model, spread over the ranks as the case says, and its loss on fresh data."""
    if case.model == "transformer":
        model = blocks(case.layers).to(device)

        def loss() -> torch.Tensor:
            given = torch.randn(case.batch, TOKENS, WIDTH, device=device)
            return (model_of()(given).float() - given).square().mean()
    elif case.model == "mlp":
        model = nn.Sequential(nn.Linear(TENSOR_WIDTH, 4 * TENSOR_WIDTH), nn.GELU(),
                              nn.Linear(4 * TENSOR_WIDTH, TENSOR_WIDTH)).to(device)  # fmt: skip

        def loss() -> torch.Tensor:
            given = torch.randn(case.batch * TOKENS, TENSOR_WIDTH, device=device)
            return (model_of()(given) - given).square().mean()
    else:
        try:
            import torchvision
        except ImportError:
            raise Refused("torchvision is not installed; pip install torchvision") from None
        model = getattr(torchvision.models, case.model)(num_classes=CLASSES).to(device)

        def loss() -> torch.Tensor:
            images = torch.randn(case.batch, 3, SIDE, SIDE, device=device)
            wanted = torch.randint(0, CLASSES, (case.batch,), device=device)
            return nn.functional.cross_entropy(model_of()(images), wanted)

    spread = model
    if case.parallel == "ddp":
        spread = nn.parallel.DistributedDataParallel(model, device_ids=[device.index], bucket_cap_mb=case.bucket_mb)
    elif case.parallel == "fsdp":
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in model.layers:
            fully_shard(layer, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        mesh = init_device_mesh("cuda", (dist.get_world_size(),))
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

    def model_of() -> nn.Module:
        return spread

    return spread, loss


def train(case: Case, job: Job, rank: int, device: torch.device) -> dict[str, Any]:
    """The losses of the first steps, and what later ones took, with their communication and, where it can be left
    out, without."""
    torch.manual_seed(0)
    model, loss = build(case, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    # Of a tensor that is spread over the ranks, all ranks have the same data.
    torch.manual_seed(1 if case.parallel == "tensor" else 1 + rank)

    def step(silent: bool = False) -> torch.Tensor:
        optimizer.zero_grad()
        with model.no_sync() if silent else nullcontext():
            found = loss()
            found.backward()
        optimizer.step()
        return found

    losses = [step().item() for _ in range(job.losses)]

    def measure(silent: bool) -> list[float]:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(job.steps + 1)]
        for _ in range(job.warm_up):
            step(silent)
        dist.barrier()
        torch.cuda.synchronize()
        marks[0].record()
        for mark in marks[1:]:
            step(silent)
            mark.record()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in pairwise(marks)]

    return {
        "case": case.name,
        "losses": losses,
        "steps_ms": measure(False),
        "silent_ms": measure(True) if case.parallel == "ddp" else [],
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def run(text: str, rank: int) -> None:
    """All cases, one after the other."""
    job = Job.read(text)
    torch.backends.cudnn.deterministic = True  # two runs are compared bit by bit
    device = begin(rank, job.ranks, "nccl")
    for number, case in enumerate(job.cases):
        tell(rank, progress=[number, len(job.cases), case.name])
        torch.cuda.reset_peak_memory_stats()
        try:
            found = train(case, job, rank, device)
        except (Refused, torch.cuda.OutOfMemoryError) as error:  # on all ranks alike
            tell(rank, warning=f"{case.name} is left out: {str(error).splitlines()[0]}")
            continue
        tell(rank, row=found)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(run, lambda text: Job.read(text).limit_s)
