"""Communicators of one rank: a GPU's own, by which a process copies between its memories."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch

from sennit.capi import Communicator

_made: dict[int, Communicator] = {}
_lock = threading.Lock()


def communicator(device: torch.device) -> Communicator:
    """That of a GPU, made at first use, which lives as long as the process. Raises SennitError."""
    with _lock:
        if device.index not in _made:

            def alone(mine: bytes) -> Sequence[bytes]:
                return [mine]

            _made[device.index] = Communicator.create(device=device.index, place=(0, 1), gather=alone)
        return _made[device.index]
