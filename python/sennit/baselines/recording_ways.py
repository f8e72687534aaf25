"""How a block of calls is recorded: not at all, by sennit, or by torch.profiler. What takes long to start is
begun around the block, what is a switch within it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from sennit.baselines.torch_rank import Refused

PAUSE = "sennit_profile_pause"
KERNELS = ("ncclDevKernel", "ncclKernel", "oneRankReduce")  # of these names one is in that of each kernel of NCCL


def paused(is_paused: bool) -> Callable[[bool], None]:
    """What pauses the recorder in this process, or goes on; it is called once with that. Raises Refused."""
    function = getattr(ctypes.CDLL(None), PAUSE, None)
    if function is None or not function(int(is_paused)):
        raise Refused(f"sennit's recorder is not in this process: {PAUSE} does nothing")

    def pause(yes: bool) -> None:
        function(int(yes))

    return pause


class Way:
    """Nothing is recorded."""

    @contextmanager
    def around(self) -> Iterator[Callable[[], object]]:
        """Around a block and what leads to it; what is to be called after each step of training."""
        yield lambda: None

    @contextmanager
    def within(self) -> Iterator[None]:
        """Around the calls that count."""
        yield


class Nothing(Way):
    """No recorder."""


class Profiled(Way):
    """By torch.profiler. `steps`: of training that it has a schedule for, after one to warm up; 0: no steps."""

    def __init__(self, steps: int = 0) -> None:
        self._steps = steps
        self._profiler: Any = None

    @contextmanager
    def around(self) -> Iterator[Callable[[], object]]:
        """Begins and ends it, which is in no block's time."""
        schedule = torch.profiler.schedule(wait=0, warmup=1, active=self._steps) if self._steps else None
        with torch.profiler.profile(schedule=schedule) as profiler:
            yield profiler.step if self._steps else lambda: None
        self._profiler = profiler

    def kernels_us(self) -> list[float]:
        """How long NCCL's kernels of the last block took, in their order."""
        events = [each for each in self._profiler.events() if any(name in each.name for name in KERNELS)]
        events = [each for each in events if each.device_type == torch.autograd.DeviceType.CUDA]
        return [each.time_range.elapsed_us() for each in sorted(events, key=lambda each: each.time_range.start)]


class Recorded(Way):
    """By sennit."""

    def __init__(self, pause: Callable[[bool], None]) -> None:
        self._pause = pause

    @contextmanager
    def within(self) -> Iterator[None]:
        """Goes on with recording, and pauses it again."""
        self._pause(False)
        try:
            yield
        finally:
            self._pause(True)
