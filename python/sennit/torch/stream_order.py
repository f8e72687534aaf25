"""The order of collectives of several communicators on one GPU.

A large collective takes all the room that messages leave on a GPU (block_budget.py). Two of different communicators
that ran at once could each take that of one GPU, and wait there for a peer that has none left for it. So one begins
when the call that this rank made before it is done: as every rank makes its calls in an order that fits the others',
none waits for ever."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import torch


@dataclass
class StreamOrder:
    """Of one GPU. `stream` is where calls run that the caller does not wait for."""

    stream: torch.cuda.Stream
    members: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _owner: int = 0
    _stream: torch.cuda.Stream | None = None
    _end: torch.cuda.Event | None = field(default=None, repr=False)

    def join(self) -> None:
        """Another communicator makes calls here."""
        with self._lock:
            self.members += 1

    def leave(self) -> None:
        """It does not any more; from any thread."""
        with self._lock:
            self.members -= 1

    def begin(self, owner: int, stream: torch.cuda.Stream) -> None:
        """Before a call of `owner` on `stream`. Not in captures: nothing outside of one can be waited for inside."""
        if self._stream is None or owner == self._owner or stream == self._stream:
            return
        if self._end is not None:
            stream.wait_event(self._end)
        else:  # there was one communicator then
            stream.wait_stream(self._stream)

    def end(self, owner: int, stream: torch.cuda.Stream, event: torch.cuda.Event | None) -> None:
        """After it; `event`, if any, marks its end already."""
        if self.members > 1 and event is None:
            event = stream.record_event()
        self._owner, self._stream, self._end = owner, stream, event


_all: dict[int, StreamOrder] = {}
_making = threading.Lock()


def of(device: torch.device) -> StreamOrder:
    """Those of a GPU, the same for every group."""
    with _making:
        if device.index not in _all:
            _all[device.index] = StreamOrder(torch.cuda.Stream(device))
        return _all[device.index]
