"""Messages between two ranks of a group.

A message is a broadcast between two ranks, each direction of a pair by a communicator of its own. It starts when
somebody waits for one, or when the group's next collective is called; what was posted until then starts together, in
the same order on every rank. So ranks may post what they send and receive in whatever order, as they do with
batch_isend_irecv(): neither their hosts nor their GPUs wait for each other in a circle."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

from sennit.capi import Communicator, SennitError, Type
from sennit.torch.member import Member
from sennit.torch.tensors import address, bytes_of
from sennit.torch.work import Work


class Message(Work):
    """One that was posted. Asking about it starts it."""

    def __init__(self, messages: Messages, tensor: torch.Tensor, sender: int, receiver: int) -> None:
        super().__init__(lambda: None, [tensor])
        self.tensor, self.sender, self.receiver = tensor, sender, receiver
        self.at = address(tensor, "message")
        self.behind = torch.cuda.current_stream(tensor.device) if tensor.is_cuda else None
        self.started: Work | None = None
        self._messages = messages

    def _work(self) -> Work:
        self._messages.start()
        assert self.started is not None
        return self.started

    def wait(self, timeout: timedelta | None = None) -> bool:
        return self._work().wait(timeout)

    def is_completed(self) -> bool:
        return self._work().is_completed()

    def exception(self) -> SennitError | None:
        return self._work().exception()

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        return self._work().get_future()

    def source_rank(self) -> int:
        return self.sender

    _source_rank = source_rank


class Messages:
    """Those of one rank of a group."""

    def __init__(self, store: dist.Store, rank: int, timeout: timedelta) -> None:
        self._store, self._rank, self._timeout = store, rank, timeout
        self._pairs: dict[tuple[int, int], Member] = {}
        self._posted: list[Message] = []

    def post(self, tensor: torch.Tensor, sender: int, receiver: int) -> Message:
        """From or to this rank. Raises SennitError (INVALID_ARGUMENT) where the tensor is not contiguous."""
        self._posted.append(Message(self, tensor, sender, receiver))
        return self._posted[-1]

    def start(self) -> None:
        """All that were posted. Raises SennitError; those that it did not come to are dropped."""
        posted, self._posted = self._posted, []
        for message in sorted(posted, key=lambda each: (each.sender, each.receiver)):
            # Behind what the stream had that it was posted on, whichever starts it.
            behind = message.behind
            with torch.cuda.stream(behind) if behind is not None else contextlib.nullcontext():
                message.started = self._start(message)

    def _start(self, message: Message) -> Work:
        def call(communicator: Communicator, stream: int | None) -> None:
            communicator.broadcast(message.at, message.at, bytes_of(message.tensor), Type.UINT8, 0, stream=stream)

        pair = self._pair(message.sender, message.receiver)
        tensors: Sequence[torch.Tensor] = [message.tensor]
        return pair.run(message.tensor.device, call, tensors, tensors, asynchronous=True)

    def _pair(self, sender: int, receiver: int) -> Member:
        if (sender, receiver) not in self._pairs:
            store = dist.PrefixStore(f"{sender}>{receiver}/", self._store)
            rank = 0 if sender == self._rank else 1
            self._pairs[sender, receiver] = Member(store, rank, 2, self._timeout)
        return self._pairs[sender, receiver]

    def abort(self, why: str) -> None:
        for pair in self._pairs.values():
            pair.abort(why)

    def close(self) -> None:
        """Collective over each pair that had messages; what was posted and never waited for starts first."""
        with contextlib.suppress(SennitError):
            self.start()
        for _, pair in sorted(self._pairs.items()):
            pair.close()
        self._pairs.clear()
