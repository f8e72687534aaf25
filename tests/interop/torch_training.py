"""One rank of a test that trains over sennit and over the backend that PyTorch has, in one process: the same losses.
`python torch_training.py SCENARIO FOLDER`, on CPU tensors, or on GPUs as torch_ranks.py says."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import sennit.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch_ranks import DEVICE, ON_GPUS, RANK, SIZE, begin

STEPS = 10
WIDTH = 12 * SIZE  # each rank has as much of it


def model() -> nn.Sequential:
    """The same on every rank and in every run."""
    torch.manual_seed(0)
    layers = [nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.LayerNorm(WIDTH)]
    return nn.Sequential(*layers).to(DEVICE)


def train(spread: nn.Module, *, same_data: bool = False, silent_steps: int = 0) -> list[float]:
    """The losses; of `silent_steps` steps before each the gradients are gathered by the rank alone."""
    torch.manual_seed(1 if same_data else 1 + RANK)
    # Loops over many tensors, as on GPUs by default, take no mix of those that are spread over ranks and others.
    spread_ones = [each for each in spread.parameters() if isinstance(each, DTensor)]
    others = [each for each in spread.parameters() if not isinstance(each, DTensor)]
    groups = [{"params": group} for group in (spread_ones, others) if group]
    optimizer = torch.optim.SGD(groups, lr=0.1, foreach=True)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for number in range(silent_steps + 1):
            given = torch.randn(16, WIDTH, device=DEVICE)
            quiet: Any = spread.no_sync() if number < silent_steps else nullcontext()
            with quiet:
                loss = (spread(given) - given.sin()).square().mean()
                loss.backward()
        optimizer.step()
        losses.append(float(loss.item()))
    return losses


def ddp(group: dist.ProcessGroup, **options: Any) -> list[float]:
    silent_steps = options.pop("silent_steps", 0)
    devices = [RANK] if ON_GPUS else None
    spread = nn.parallel.DistributedDataParallel(
        model(), device_ids=devices, process_group=group, bucket_cap_mb=0.01, **options
    )  # fmt: skip
    return train(spread, silent_steps=silent_steps)


def buckets(group: dist.ProcessGroup) -> list[float]:
    return ddp(group)


def views(group: dist.ProcessGroup) -> list[float]:
    return ddp(group, gradient_as_bucket_view=True)


def static(group: dist.ProcessGroup) -> list[float]:
    return ddp(group, static_graph=True)


def gathered(group: dist.ProcessGroup) -> list[float]:
    return ddp(group, silent_steps=2)


def fsdp(group: dist.ProcessGroup) -> list[float]:
    """FSDP2, each layer by itself."""
    from torch.distributed.fsdp import fully_shard

    spread, mesh = model(), DeviceMesh.from_group(group, DEVICE.type)
    for layer in spread:
        if next(layer.parameters(), None) is not None:
            fully_shard(layer, mesh=mesh)
    fully_shard(spread, mesh=mesh)
    return train(spread)


def tensor_parallel(group: dist.ProcessGroup) -> list[float]:
    """Columns, then rows."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = DeviceMesh.from_group(group, DEVICE.type)
    spread = parallelize_module(model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return train(spread, same_data=True)


def main() -> None:
    torch.set_num_threads(1)
    begin(60)
    other = dist.new_group(backend="nccl" if ON_GPUS else "gloo")
    assert isinstance(dist.group.WORLD, sennit.torch.ProcessGroup)
    run = globals()[sys.argv[1]]
    ours, theirs = run(dist.group.WORLD), run(other)
    assert ours[-1] < ours[0], f"nothing was learnt: {ours}"
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-4, atol=1e-6)
    dist.destroy_process_group()
    print("all right")


main()
