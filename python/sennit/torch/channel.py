"""The channel of the messages that one rank of a group sends to another: messages.py says what it is for."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import deque
from collections.abc import Callable

import torch

from sennit.capi import Code, Communicator, SennitError
from sennit.capi import Message as Bytes
from sennit.torch import background, streams
from sennit.torch.meeting import Meeting
from sennit.torch.member import handle
from sennit.torch.message import Message
from sennit.torch.tensors import bytes_of
from sennit.torch.work import InFlight, Work


class Channel:
    """Messages of one rank to another, on one of the two."""

    def __init__(
        self, meeting: Meeting, sender: int, receiver: int, sends: bool, device: torch.device, most_blocks: int,
        alive: Callable[[], None],
    ) -> None:  # fmt: skip
        """`alive` raises what ended the group, if anything did."""
        self._meeting, self._device, self._most_blocks, self._alive = meeting, device, most_blocks, alive
        self._names, self._sends = (sender, receiver), sends
        self._stream = streams.take(device) if device.type == "cuda" else None
        self._changed = threading.Condition()
        self._pending: deque[Message] = deque()
        self._in_flight = InFlight()
        self._communicator: Communicator | None = None
        self._error: SennitError | None = None  # why there is none, or none any more
        self._why: SennitError | None = None  # ranks need not meet, in the group's words
        self._closing = False
        meeting.check = self._go_on
        self._thread = background.start(self._run)

    def post(self, message: Message) -> None:
        """Begins it, or lets it begin as soon as there is a communicator. Raises SennitError."""
        if message.tensor.device != self._device:
            raise SennitError(
                Code.INVALID_ARGUMENT, f"a tensor is on {message.tensor.device}, and earlier ones on {self._device}",
                self._where(), "Use one device a rank; torch.cuda.set_device() selects it",
            )  # fmt: skip
        with self._changed:
            if self._error is not None:
                raise self._error.again()
            if self._stream is not None and self._communicator is not None and not self._pending:
                if not message.captured:  # nor in the thread: the program may be capturing
                    self._in_flight.let_go()
                self._enqueue(message, self._communicator, self._stream)
                return
            if message.captured:
                raise SennitError(Code.INVALID_ARGUMENT, "a graph has the first message", self._where(),
                                  "Send one before the capture, and wait for it")  # fmt: skip
            self._pending.append(message)
            self._changed.notify()

    def _run(self) -> None:
        """The thread's: makes the communicator, and does what it was made for. On the host executor, where a stream
        would, one message after the other: who waits for one must not wait for those behind it."""
        try:
            made = self._create()
        except SennitError as error:
            with self._changed:
                self._error = error
                failed, self._pending = self._pending, deque()
            for message in failed:
                message.fails(error)
            return
        self._meeting.check = made.check
        self._communicator = made
        if self._error is not None:  # abort() came too early to find it
            made.abort(self._error.what)
        with self._changed:
            if self._stream is not None:
                while self._pending:
                    self._try(self._pending.popleft(), made)
                return
        while (following := self._next()) is not None:
            self._try(following, made)
            del following  # its tensor may be the program's largest

    def _create(self) -> Communicator:
        try:
            if self._device.type == "cuda":
                torch.cuda.set_device(self._device)
            with background.meeting():
                return self._meeting.create(
                    self._device, f"first {self._where()}", messages=True, most_blocks=self._most_blocks
                )
        except SennitError as error:
            raise (error if error is self._why else self._named(error)) from error.__cause__
        except Exception as error:  # of whatever store
            raise SennitError(Code.SYSTEM_ERROR, f"the ranks did not meet: {error}", self._where()) from error

    def _next(self) -> Message | None:
        """Waits for one; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._closing)
            return self._pending.popleft() if self._pending else None

    def _try(self, message: Message, communicator: Communicator) -> None:
        try:
            if self._stream is not None:
                self._enqueue(message, communicator, self._stream)
                return
            communicator.send_receive([self._bytes(message)])
            communicator.synchronize()
            message.begins(Work(lambda: None, [message.tensor]))
        except SennitError as error:
            message.fails(self._named(error))
        except Exception as error:  # PyTorch's, of a device that failed
            message.fails(SennitError(Code.DEVICE_ERROR, str(error), self._where()))

    def _enqueue(self, message: Message, communicator: Communicator, stream: torch.cuda.Stream) -> None:
        assert message.behind is not None
        stream.wait_event(message.behind)
        communicator.send_receive([self._bytes(message)], handle(stream))
        work = Work(self._check, [message.tensor], stream, stream.record_event())
        if not message.captured:
            self._in_flight.add(work)
        message.begins(work)

    def _bytes(self, message: Message) -> Bytes:
        return Bytes(1 if self._sends else 0, self._sends, message.at, bytes_of(message.tensor))

    def _go_on(self) -> None:
        """While the ranks meet. Raises why they need not any more."""
        try:
            background.check()
            if self._error is not None:
                raise self._error.again()
            self._alive()
        except SennitError as error:
            self._why = error
            raise

    def _check(self) -> None:
        """Raises what ended the communicator, if anything did."""
        communicator = self._communicator  # another thread may close it
        try:
            if communicator is not None:
                communicator.check()
        except SennitError as error:
            raise self._named(error) from error
        if communicator is None and self._error is not None:
            raise self._error.again()

    def _where(self) -> str:
        return "message from rank {} to rank {}".format(*self._names)

    def _named(self, error: SennitError) -> SennitError:
        """With the ranks' names in the group: in the communicator they are 0 and 1."""
        if error.where == f"first {self._where()}":
            return error
        what, remedy = (re.sub(r"\brank ([01])\b", lambda found: f"rank {self._names[int(found[1])]}", text)
                        for text in (error.what, error.remedy))  # fmt: skip
        return SennitError(error.code, what, self._where(), remedy)

    def abort(self, why: str) -> None:
        """Waits for nothing: not for a post() either, which a full stream may hold."""
        self._error = self._error or SennitError(Code.ABORTED, why)
        communicator = self._communicator  # perhaps only now; another thread may close it
        if communicator is not None:
            with contextlib.suppress(SennitError):
                communicator.abort(why)

    def finish(self) -> None:
        """Nothing more is posted."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def close(self) -> None:
        """Collective for the two ranks, after finish(). Whether it ended well nobody asks any more."""
        self._thread.join()
        communicator = self._communicator
        if communicator is not None:
            try:
                self._meeting.end(communicator)
            finally:
                self._communicator = None  # not before: abort() ends the wait
        self._in_flight.clear()
        if self._stream is not None:
            streams.give_back(self._stream)
