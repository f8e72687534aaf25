"""A rank of a program of torch.distributed, by itself not aware of sennit: does a scenario, and compares every number
with what should come of it. preloaded.py starts it by torchrun."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable

import preloaded_calls
import preloaded_life
import preloaded_losses
import preloaded_messages
import preloaded_streams
import torch
import torch.distributed as dist
from preloaded_place import Place

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

SCENARIOS: dict[str, Callable[[Place], dict[str, float]]] = {
    "collectives": preloaded_calls.collectives,
    "bound": preloaded_calls.bound,
    "nonblocking": preloaded_calls.bound,
    "groups": preloaded_calls.groups,
    "messages": preloaded_messages.messages,
    "streams": preloaded_streams.streams,
    "graphs": preloaded_streams.graphs,
    "beside": preloaded_streams.beside,
    "beside_nccl": preloaded_streams.beside,
    "behind": preloaded_streams.behind,
    "communicators": preloaded_streams.communicators,
    "life": preloaded_life.life,
    "left": preloaded_life.left,
    "killed": preloaded_life.killed,
    "killed_in_graphs": preloaded_life.killed_in_graphs,
    "raised": preloaded_life.raised,
    "aborted_by_all": preloaded_losses.aborted_by_all,
    "shrunk": preloaded_losses.shrunk,
    "gone": preloaded_losses.gone,
    "operators": preloaded_losses.operators,
}


def main() -> None:
    """The program. It ends as the interpreter does: what a program leaves behind is cleaned up there, if anywhere."""
    watchdog = threading.Timer(float(os.environ["PRELOADED_LIMIT"]), lambda: os._exit(3))
    watchdog.daemon = True
    watchdog.start()
    shares = bool(os.environ["PRELOADED_SHARES"])
    if shares:
        # NCCL refuses two ranks on one GPU of a host: so they are of two, for all it knows, and meet by sockets.
        os.environ |= {"NCCL_HOSTID": f"preloaded-{RANK}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
    device = torch.device("cuda", 0 if shares else RANK)
    torch.cuda.set_device(device)
    scenario = sys.argv[1]
    bound = {"device_id": device} if scenario in ("bound", "nonblocking", "shrunk") else {}
    dist.init_process_group("nccl", **bound)
    told = SCENARIOS[scenario](Place(RANK, RANKS, device, shares))
    torch.cuda.synchronize()
    if RANK == 0:
        print(f"preloaded: {json.dumps({'done': 1, **told})}", flush=True)


if __name__ == "__main__":
    main()
