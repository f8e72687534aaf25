"""How many blocks of a GPU calls may take, so that those which run at the same time find room.

A kernel that waits for a peer keeps its place. Were there none left on the peer's GPU for the call that it waits
for, both would wait until the time limit. A GPU has room for two blocks on each SM, whatever plans they are of,
where a communicator limits them (src/coll/candidates.h). One collective runs at a time (stream_order.py), and has a
block for each SM; so have all messages of a group together, both ways with every peer, which may run at the same
time."""

from __future__ import annotations

import torch

_MOST_OF_A_MESSAGE = 32  # a default: more make large ones faster, and take what other groups may need


def of_a_collective(device: torch.device) -> int:
    """0: any number."""
    return _sms(device) if device.type == "cuda" else 0


def of_a_message(device: torch.device, size: int) -> int:
    """In a group of so many ranks."""
    if device.type != "cuda":
        return 0
    share = _sms(device) // (2 * max(size - 1, 1))
    return min(max(share, 1), _MOST_OF_A_MESSAGE)


def _sms(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
