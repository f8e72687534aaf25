"""Streams that nothing else of this process uses.

PyTorch's pool has 32 of each priority, and gives them in turn to everybody who asks: two that shall not wait for each
other may get the same one. Those of high priority hardly any program asks for."""

from __future__ import annotations

import threading

import torch

_POOL = 32
_taken: dict[int, list[int]] = {}  # by GPU
_taking = threading.Lock()


def take(device: torch.device) -> torch.cuda.Stream:
    """One that nobody has taken; when all are, one of those."""
    with _taking:
        taken = _taken.setdefault(device.index, [])
        for _ in range(_POOL):
            stream = torch.cuda.Stream(device, priority=-1)
            if stream.cuda_stream not in taken:
                break
        taken.append(stream.cuda_stream)
        return stream


def give_back(stream: torch.cuda.Stream) -> None:
    """One that was taken."""
    with _taking:
        _taken[stream.device.index].remove(stream.cuda_stream)
