"""ResNet-50 by Horovod and PyTorch on CPUs, with images of noise: what Horovod sends, to be looked at with a profile.

sennit profile -- mpiexec -n 2 python examples/horovod_resnet50.py --steps 10
"""

from __future__ import annotations

import argparse
import time

import horovod.torch as hvd
import torch
import torchvision


def main() -> None:
    """Trains, and rank 0 says how fast."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=2, help="images a rank")
    parser.add_argument("--pixels", type=int, default=96, help="of an image's side")
    asked = parser.parse_args()
    hvd.init()
    torch.manual_seed(hvd.rank())
    torch.set_num_threads(1)
    model = torchvision.models.resnet50()
    plain = torch.optim.SGD(model.parameters(), lr=1e-3)
    optimizer = hvd.DistributedOptimizer(plain, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    images = torch.randn(asked.batch, 3, asked.pixels, asked.pixels)
    labels = torch.randint(0, 1000, (asked.batch,))
    begun = time.monotonic()
    for _ in range(asked.steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    if hvd.rank() == 0:
        print(f"{asked.batch * hvd.size() * asked.steps / (time.monotonic() - begun):.2f} images/s")
    hvd.shutdown()


if __name__ == "__main__":
    main()
