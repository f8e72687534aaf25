"""How the ranks of a group tell each other things while they set up: over PyTorch's own store."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import torch.distributed as dist

# How long a wait in the store lasts before it is asked whether the others are alive.
_SLICE = timedelta(seconds=1)


class Meeting:
    """An all-gather of bytes for Communicator.create(): every rank writes a key and reads those of all."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        self._store, self._rank, self._size, self._timeout = store, rank, size, timeout
        self._round = 0
        # Raises where a rank is known to be gone; set once there is a communicator that would know.
        self.check: Callable[[], None] = lambda: None

    def __call__(self, mine: bytes) -> list[bytes]:
        """Raises what the store does, TimeoutError, and what check() does."""
        number, self._round = self._round, self._round + 1
        self._store.set(self._key(number, self._rank), mine)
        told = [mine if rank == self._rank else self._read(number, rank) for rank in range(self._size)]
        # Who wrote for this round has read all of the one before.
        if number > 0:
            self._store.delete_key(self._key(number - 1, self._rank))
        return told

    def leave(self) -> None:
        """After the last round: the rank whose process may hold the store stays until the others have read it all."""
        self._store.add("left", 1)
        until = time.monotonic() + 5
        while self._rank == 0 and self._store.add("left", 0) < self._size and time.monotonic() < until:
            time.sleep(0.001)

    def _read(self, number: int, rank: int) -> bytes:
        key = self._key(number, rank)
        until = time.monotonic() + self._timeout.total_seconds()
        while True:
            since = time.monotonic()
            try:
                self._store.wait([key], min(_SLICE, self._timeout))
                return bytes(self._store.get(key))
            except RuntimeError as error:
                self.check()
                if time.monotonic() > until:
                    raise TimeoutError(f"rank {rank} did not come within {self._timeout}") from error
                if time.monotonic() - since < min(_SLICE, self._timeout).total_seconds() / 2:
                    raise  # not for the time: the store is gone

    def _key(self, number: int, rank: int) -> str:
        return f"{number}/{rank}"
