"""Messages of a rank to itself: no other rank has a part in them. Programs have some that send to all ranks alike."""

from __future__ import annotations

import threading
from collections import deque

import torch

from sennit.capi import Code, SennitError
from sennit.torch.message import Message
from sennit.torch.tensors import bytes_of
from sennit.torch.work import Work


class SelfMessages:
    """The first send and the first receive that have no other half yet belong together."""

    def __init__(self, rank: int) -> None:
        self._where = f"message from rank {rank} to itself"
        self._sent: deque[Message] = deque()
        self._received: deque[Message] = deque()
        self._aborted: SennitError | None = None
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Raises SennitError: INVALID_ARGUMENT where the other half has another length, why it was aborted."""
        with self._lock:
            self._post(message, self._sent, self._received)

    def receive(self, message: Message) -> None:
        """Raises SennitError as send() does."""
        with self._lock:
            self._post(message, self._received, self._sent)

    def _post(self, message: Message, own: deque[Message], others: deque[Message]) -> None:
        message.is_to_itself = True
        if self._aborted is not None:
            raise self._aborted.again()
        if not others:
            own.append(message)
            return
        other = others.popleft()
        sent, received = (message, other) if own is self._sent else (other, message)
        try:
            work = self._copy(sent.tensor, received.tensor, other)
        except Exception as error:  # PyTorch's, too: of a device that failed, of a capture
            told = (
                error if isinstance(error, SennitError) else SennitError(Code.DEVICE_ERROR, str(error), self._where)
            )
            other.fails(told.again())
            raise
        other.begins(work)
        message.begins(work)

    def _copy(self, source: torch.Tensor, target: torch.Tensor, earlier: Message) -> Work:
        """Behind both: on the current stream, which the later one is behind, too."""
        if source.device != target.device or bytes_of(source) != bytes_of(target):
            raise SennitError(
                Code.INVALID_ARGUMENT, f"{bytes_of(source)} bytes on {source.device} are sent, and "
                f"{bytes_of(target)} on {target.device} received", self._where, "Post the same length for both",
            )  # fmt: skip
        stream = torch.cuda.current_stream(target.device) if target.is_cuda else None
        if stream is not None and earlier.behind is not None:
            stream.wait_event(earlier.behind)
        if source.numel():
            target.view(-1).view(torch.uint8).copy_(source.view(-1).view(torch.uint8))
        if stream is None:
            return Work(lambda: None, [target])
        for tensor in (source, target):  # the caller may forget both messages
            tensor.record_stream(stream)
        return Work(lambda: None, [target], stream, stream.record_event(), [source])

    def abort(self, why: str) -> None:
        """Those whose other half has not come fail."""
        with self._lock:
            self._aborted = self._aborted or SennitError(Code.ABORTED, why, self._where)
            waiting = [*self._sent, *self._received]
            self._sent.clear()
            self._received.clear()
        for message in waiting:
            message.fails(self._aborted)
