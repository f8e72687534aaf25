"""What the ranks of tests of sennit.torch have in common: each is `python FILE SCENARIO FOLDER`. On the host executor
they are for CPU tensors; where SENNIT_TEST_GPUS is set, for tensors of the GPU of the rank's number."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import sennit.torch
import torch
import torch.distributed as dist
from sennit.capi import Code
from sennit.torch import SennitError

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FOLDER = Path(sys.argv[2])
ON_GPUS = bool(os.environ.get("SENNIT_TEST_GPUS"))
DEVICE = torch.device("cuda", RANK) if ON_GPUS else torch.device("cpu")
BACKEND = "cuda:sennit,cpu:gloo" if ON_GPUS else "cpu:sennit"
NEXT, LAST = (RANK + 1) % SIZE, (RANK - 1) % SIZE
RANKS = range(SIZE)


def begin(seconds: float = 30) -> None:
    """The default group, whose calls wait for so long at most."""
    store = dist.FileStore(str(FOLDER / "store"), SIZE)
    if ON_GPUS:
        torch.cuda.set_device(DEVICE)
    dist.init_process_group(BACKEND, store=store, rank=RANK, world_size=SIZE, timeout=timedelta(seconds=seconds))


def of(rank: int, count: int = 1000, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """What a rank has: small whole numbers, whose sums are exact in every type."""
    return (torch.arange(count, device=DEVICE) % 7 + rank).to(dtype)


def expect(found: torch.Tensor, wanted: torch.Tensor) -> None:
    assert torch.equal(found, wanted), f"{found[:8]} instead of {wanted[:8]}"


def say(what: str) -> None:
    """To the other ranks, by no collective."""
    (FOLDER / f"{what} {RANK}").touch()


def wait_for(what: str, ranks: list[int]) -> None:
    """Until these have said it."""
    while not all((FOLDER / f"{what} {rank}").exists() for rank in ranks):
        time.sleep(0.01)


def expect_error(code: Code | None, part: str, call: Callable[[], object]) -> SennitError:
    """The call fails so, by whatever code where that is None."""
    raised = None
    try:
        call()
    except SennitError as error:
        raised = error
    assert raised is not None, "it did not fail"
    assert code in (raised.code, None), str(raised)
    assert part in str(raised), str(raised)
    return raised


def main(scenarios: Mapping[str, Callable[[], None]]) -> None:
    """Runs the one that is asked for."""
    torch.set_num_threads(1)
    assert sennit.torch.NAME in dist.Backend.backend_list
    scenarios[sys.argv[1]]()
    dist.destroy_process_group()
    print("all right")
