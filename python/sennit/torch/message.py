"""A message that was posted, as PyTorch asks about it."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import torch

from sennit.capi import Code, SennitError
from sennit.torch.member import capturing
from sennit.torch.tensors import address
from sennit.torch.work import Work


class Message(Work):
    """One that was posted. It has begun when its stream has it; on the host executor when it is done."""

    def __init__(self, tensor: torch.Tensor, sender: int) -> None:
        super().__init__(lambda: None, [tensor])
        self.tensor, self._sender = tensor, sender
        self.at = address(tensor, "message")
        self.captured = tensor.is_cuda and capturing(tensor.device)
        # It begins behind what the stream has on which it was posted.
        self.behind = torch.cuda.current_stream(tensor.device).record_event() if tensor.is_cuda else None
        self.is_to_itself = False  # who waits for it before it begins is who would have to begin it
        self._begun = threading.Event()
        self._work: Work | None = None
        self._error: SennitError | None = None
        self._lock = threading.Lock()
        self._futures: list[torch.futures.Future[list[torch.Tensor]]] = []

    def begins(self, work: Work) -> None:
        """`work` tells how it goes on."""
        self._work = work
        self._tell()

    def fails(self, error: SennitError) -> None:
        self._error = error
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            self._begun.set()
        for future in self._futures:
            self._settle(future)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """As Work's. Blocks the host until it has begun, which a first message between two ranks does when both are
        there."""
        since = time.monotonic()
        if not self._begun.wait(timeout.total_seconds() if timeout else None):
            raise SennitError(Code.TIMED_OUT, f"the message is not done after {timeout}", "", "Allow more time")
        if self._error is not None:
            raise self._error.again()
        assert self._work is not None
        left = (
            max(timeout - timedelta(seconds=time.monotonic() - since), timedelta(microseconds=1)) if timeout else None
        )
        return self._work.wait(left)

    def is_completed(self) -> bool:
        return self._begun.is_set() and (self._work is None or self._work.is_completed())

    def exception(self) -> SennitError | None:
        return self._error or (self._work.exception() if self._work is not None else None)

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        if self.tensor.is_cuda:  # PyTorch's waits for streams, which it must have when it is made
            if self.is_to_itself and not self._begun.is_set():
                raise SennitError(Code.INVALID_ARGUMENT, "a message to itself has no other half yet", "",
                                  "Post both, then ask for futures")  # fmt: skip
            self._begun.wait()
            if self._work is not None:
                return self._work.get_future()
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        with self._lock:
            if not self._begun.is_set():
                self._futures.append(future)
                return future
        self._settle(future)
        return future

    def _settle(self, future: torch.futures.Future[list[torch.Tensor]]) -> None:
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result([self.tensor])

    def source_rank(self) -> int:
        return self._sender

    _source_rank = source_rank
