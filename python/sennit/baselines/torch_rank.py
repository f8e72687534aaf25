"""What ranks of PyTorch share, whatever they measure: how they begin, how they end, and what they ran on."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from sennit.baselines.job import ERROR, message

ALIKE_S = 60.0  # between the first and the last rank that find out the same; a guess: each compiles by itself


class Refused(Exception):
    """What cannot be measured here, with the reason."""


def machine() -> dict[str, Any]:
    """What it runs on, as a result names it."""
    models = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    driver = Path("/sys/module/nvidia/version")
    return {
        "name": platform.node(),
        "driver": driver.read_text(encoding="utf-8").strip() if driver.exists() else "",
        "cuda": torch.version.cuda or "",
        "devices": models,
        "cores": os.cpu_count() or 0,
    }


def begin(rank: int, ranks: int, backend: str) -> torch.device:
    """Meets the other ranks, on the GPU of its number; rank 0 tells versions and the machine. Raises Refused."""
    if not torch.cuda.is_available():
        raise Refused("this PyTorch sees no GPU")
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    torch.cuda.synchronize()  # CUDA's own beginning is not the communicator's
    # Rank 0 goes on when all have come: what the last one takes to start is not the communicator's either.
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), ranks, is_master=rank == 0)
    start = time.perf_counter()
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, device_id=device)
    tell(rank, row={"met_ms": (time.perf_counter() - start) * 1e3})
    nccl = ".".join(map(str, torch.cuda.nccl.version()))
    tell(rank, versions={"torch": torch.__version__, "nccl": nccl})
    tell(rank, row={"machine": machine()})
    return device


def alike(what: str, ranks: int) -> bool:
    """Whether all ranks call it for the same reason, having done the same until then; once for each `what`. False
    after a while (ALIKE_S): another one may be in a collective, waiting for this one. That is asked through the store
    by which ranks have met, as no collective can tell."""
    torch.cuda.synchronize()  # ends when the others have called all collectives that this rank has
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    until = time.monotonic() + ALIKE_S
    here: int = store.add(what, 1)
    while here < ranks and time.monotonic() < until:
        time.sleep(0.02)
        here = store.add(what, 0)
    return here >= ranks


def end_job(why: str) -> NoReturn:
    """Ends this rank, and with it the job, for that reason. At once: a collective that waits would keep it here."""
    print(ERROR + why, file=sys.stderr, flush=True)
    os._exit(1)


def tell(rank: int, **said: Any) -> None:
    """Rank 0 tells for all."""
    if rank == 0:
        print(message(**said), flush=True)


def main(run: Callable[[str, int], None], limit_of: Callable[[str], int]) -> None:
    """The program of a rank: `run` gets what is asked and the rank. `limit_of`: seconds after which it ends itself,
    as a rank whose peers died may wait inside a library for ever."""
    file, rank = sys.argv[1:]
    text = Path(file).read_text(encoding="utf-8")
    limit_s = limit_of(text)
    watchdog = threading.Timer(limit_s, lambda: end_job(f"it did not end within {limit_s:g} s"))
    watchdog.daemon = True
    watchdog.start()
    try:
        run(text, int(rank))
    except Refused as error:
        raise SystemExit(ERROR + str(error)) from None
