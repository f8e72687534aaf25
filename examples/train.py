"""Data-parallel training whose gradients travel by sennit. Nothing but the backend's name differs from NCCL's.

    torchrun --nproc-per-node 4 train.py [--steps 100]

Without GPUs it trains on the CPU, over shared memory.
"""

from __future__ import annotations

import argparse
import os

import sennit.torch  # registers the backend
import torch
import torch.distributed as dist
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=100)
options = parser.parse_args()

ON_GPU = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if ON_GPU else torch.device("cpu")
if ON_GPU:
    torch.cuda.set_device(device)
dist.init_process_group("cuda:sennit,cpu:gloo" if ON_GPU else "cpu:sennit")

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1)).to(device)
model = nn.parallel.DistributedDataParallel(network, device_ids=[device.index] if ON_GPU else None)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

torch.manual_seed(1 + dist.get_rank())  # every rank has data of its own
for step in range(1, options.steps + 1):
    given = torch.randn(256, 64, device=device)
    loss = (model(given) - given.square().sum(1, keepdim=True).sqrt()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(options.steps // 10, 1) == 0:
        mean = sennit.torch.allreduce(loss.detach().clone(), "average").item()
        if dist.get_rank() == 0:
            print(f"step {step}: loss {mean:.4f}")

dist.destroy_process_group()
