"""How many blocks of a GPU calls may take, so that those which run at the same time find room.

A kernel that waits for a peer keeps its place. Were there none left on the peer's GPU for the call that it waits for,
both would wait until the time limit. A GPU runs two of sennit's blocks an SM, some only one. One collective runs at a
time (turns.py), and takes half an SM's; all messages of a group at the same time, both ways with every peer, take one
of each SM."""

from __future__ import annotations

import torch

_MOST_OF_A_MESSAGE = 32  # a default: more make large ones faster, and take what other groups may need


def of_a_collective(device: torch.device) -> int:
    """0: any number."""
    return max(_sms(device) // 2, 1) if device.type == "cuda" else 0


def of_a_message(device: torch.device, size: int) -> int:
    """In a group of so many ranks."""
    if device.type != "cuda":
        return 0
    share = _sms(device) // (2 * max(size - 1, 1))
    return min(max(share, 1), _MOST_OF_A_MESSAGE)


def _sms(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
