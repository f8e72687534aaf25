"""How the ranks of a group tell each other things while they set up: over PyTorch's own store."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

from sennit.capi import Code, Communicator, SennitError

_LONGEST_PAUSE = 0.01  # seconds between looks into the store
_LONGEST_TIMEOUT = 1e6  # seconds: the C API's limit. Who asks for more means no limit


class Meeting:
    """An all-gather of bytes for Communicator.create(): every rank writes a key and reads those of all."""

    def __init__(
        self, store: dist.Store, rank: int, size: int, timeout: timedelta | None, names: Sequence[int] = ()
    ) -> None:
        """No timeout: without end. `names`: what ranks are called in errors, where that is not their number."""
        self._store, self._rank, self._size, self.timeout = store, rank, size, timeout
        self._names = names or range(size)
        self._round = 0
        # Raises where a rank is known to be gone.
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

    def create(
        self, device: torch.device, first: str, *, messages: bool = False, most_blocks: int = 0
    ) -> Communicator:
        """Collective: a communicator of those who meet so. `first`: what they came for. Raises SennitError."""
        try:
            return Communicator.create(
                device=-1 if device.type == "cpu" else device.index,
                timeout_seconds=min(self.timeout.total_seconds(), _LONGEST_TIMEOUT) if self.timeout else 0,
                place=(self._rank, self._size), gather=self, messages=messages, most_blocks=most_blocks,
            )  # fmt: skip
        except SennitError as error:
            if isinstance(error.__cause__, SennitError):
                raise error.__cause__ from None
            if not isinstance(error.__cause__, TimeoutError):
                raise
            raise SennitError(
                Code.TIMED_OUT, str(error.__cause__), first,
                "Make it on all of its ranks; the group's timeout allows more time",
            ) from error  # fmt: skip

    def note(self, why: str) -> None:
        """For ranks that have not met yet: this one will not come."""
        with contextlib.suppress(RuntimeError):  # whose process held the store may be gone
            self._store.set("aborted", why)

    def noted(self) -> str | None:
        """What another rank has noted so."""
        with contextlib.suppress(RuntimeError):
            if self._store.check(["aborted"]):
                return bytes(self._store.get("aborted")).decode()
        return None

    def end(self, communicator: Communicator) -> None:
        """Collective: destroys one that was made here. Whether it ended well nobody asks any more; where it did not,
        others are not waited for."""
        try:
            communicator.destroy()
        except SennitError:
            return
        with contextlib.suppress(RuntimeError):  # whose process held the store may be gone
            self._leave()

    def _leave(self) -> None:
        """After the last round: the rank whose process may hold the store stays until the others have read it all."""
        self._store.add("left", 1)
        until = time.monotonic() + 5
        while self._rank == 0 and self._store.add("left", 0) < self._size and time.monotonic() < until:
            time.sleep(0.001)

    def _read(self, number: int, rank: int) -> bytes:
        key = self._key(number, rank)
        since, pause = time.monotonic(), 1e-4
        # Looks instead of one wait: during a wait nobody else in this process can use the store.
        while not self._store.check([key]):
            self.check()
            if self.timeout is not None and time.monotonic() - since > self.timeout.total_seconds():
                raise TimeoutError(f"rank {self._names[rank]} did not come within {self.timeout}")
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        return bytes(self._store.get(key))

    def _key(self, number: int, rank: int) -> str:
        return f"{number}/{rank}"
