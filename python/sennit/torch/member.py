"""This rank's part in a group: the communicator, made at first use, and on which stream its calls run."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

from sennit.capi import Code, Communicator, SennitError
from sennit.torch import background, stream_order
from sennit.torch.block_budget import of_a_collective
from sennit.torch.meeting import Meeting
from sennit.torch.work import InFlight, Work

# What a call does, given the communicator and the stream as a number (None: the host executor's lane).
Call = Callable[[Communicator, "int | None"], None]

_LEGACY_STREAM = 1  # cudaStreamLegacy, which PyTorch calls 0; to sennit that is no stream
_LOOK = 0.2  # seconds between looks at whether another rank has aborted: a default
_numbers = itertools.count(1)


def handle(stream: torch.cuda.Stream) -> int:
    """A stream as sennit takes it."""
    return int(stream.cuda_stream) or _LEGACY_STREAM


def capturing(device: torch.device) -> bool:
    """Whether the device's current stream is in a graph that is being captured."""
    if torch.cuda.current_device() == device.index:
        return bool(torch.cuda.is_current_stream_capturing())
    with torch.cuda.device(device):
        return bool(torch.cuda.is_current_stream_capturing())


class Member:
    """One rank of a group. All ranks make their calls in the same order."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        self._meeting = Meeting(store, rank, size, timeout)
        self.timeout = timeout  # of what is not made yet
        self._communicator: Communicator | None = None
        self._device: torch.device | None = None
        self._number = next(_numbers)
        self._in_flight = InFlight()
        self._lock = threading.RLock()
        self._aborted: SennitError | None = None
        self._looked = time.monotonic()  # for a note of an abort
        self._meeting.check = self._go_on
        self.lends_memory = False  # tensors are of the communicator's memory

    @property
    def device(self) -> torch.device | None:
        """The device of its communicator, once there is one."""
        return self._device

    def communicator(self, device: torch.device) -> Communicator:
        """Collective at first use. Raises SennitError, INVALID_ARGUMENT for another device than at first."""
        with self._lock:
            if self._communicator is None:
                self._go_on()
                self._meeting.timeout = self.timeout
                most_blocks = of_a_collective(device)
                made = self._meeting.create(device, "first call of the group", most_blocks=most_blocks)
                self._communicator, self._device = made, device
                self._meeting.check = made.check
                if self._aborted is not None:  # abort() came too early to find it
                    made.abort(self._aborted.what)
                if device.type == "cuda":
                    stream_order.of(device).join()
            elif device != self._device:
                raise SennitError(
                    Code.INVALID_ARGUMENT, f"a tensor is on {device}, and this group's are on {self._device}", "",
                    "Use one device a rank; torch.cuda.set_device() selects it",
                )  # fmt: skip
            return self._communicator

    def _go_on(self) -> None:
        """While there is no communicator. Raises why there will be none."""
        now = time.monotonic()
        if self._aborted is None and self._device is None and now - self._looked > _LOOK:
            self._looked = now
            if (why := self._meeting.noted()) is not None:
                self._aborted = SennitError(Code.ABORTED, why)
        if self._aborted is not None:
            raise self._aborted.again()

    def check(self) -> None:
        """Raises what ended the communicator, if anything did."""
        communicator = self._communicator  # another thread may close it
        if communicator is not None:
            communicator.check()
        else:
            self._go_on()

    def run(
        self, device: torch.device, call: Call, outputs: Sequence[torch.Tensor], kept: Sequence[object],
        *, asynchronous: bool,
    ) -> Work:  # fmt: skip
        """Enqueues a call behind what the current stream has: on that stream, or, asynchronously, on one beside it.
        `outputs` are what it writes, `kept` whatever must live until it is done. On the host executor it is done at
        return. Raises SennitError."""
        with self._lock:
            communicator = self.communicator(device)
            if device.type == "cpu":
                call(communicator, None)
                communicator.synchronize()
                return Work(self.check, outputs)
            return self._enqueue(communicator, device, call, outputs, kept, asynchronous)

    def _enqueue(
        self, communicator: Communicator, device: torch.device, call: Call, outputs: Sequence[torch.Tensor],
        kept: Sequence[object], asynchronous: bool,
    ) -> Work:  # fmt: skip
        order = stream_order.of(device)
        current = torch.cuda.current_stream(device)
        captured = capturing(device)
        # In a graph the order of several communicators is that of one stream.
        beside = asynchronous or (captured and order.members > 1)
        stream = order.stream if beside else current
        if beside:
            stream.wait_stream(current)
        if not captured:
            self._in_flight.let_go()
            order.begin(self._number, stream)
        with torch.cuda.stream(stream) if beside else contextlib.nullcontext():
            call(communicator, handle(stream))
        event = stream.record_event() if beside else None
        if not captured:
            order.end(self._number, stream, event)
        work = Work(self.check, outputs, stream, event, kept)
        if event is not None and not asynchronous:
            work.wait()
        elif event is not None and not captured:
            self._in_flight.add(work)
        return work

    def abort(self, why: str) -> None:
        """Ends the communicator on every rank, or its making on this one. Waits for nothing: no call either."""
        self._aborted = self._aborted or SennitError(Code.ABORTED, why)
        communicator = self._communicator  # perhaps only now; another thread may close it
        if communicator is not None:
            with contextlib.suppress(SennitError):
                communicator.abort(why)

    def outlive(self) -> None:
        """In a thread of its own, once this rank makes no call any more: ends it when that is so on all ranks,
        however long that takes. The others may still read this rank's memory: it cannot be let go before."""
        known = self._meeting.check

        def check() -> None:
            background.check()
            known()

        self._meeting.check, self._meeting.timeout = check, None
        with contextlib.suppress(SennitError), background.meeting():
            self.close()

    def end_aborted(self) -> None:
        """After abort(), in a thread of its own: tells ranks that still make their communicator, and frees this
        one's, unless the program has tensors in its memory."""
        if self._aborted is not None:
            self._meeting.note(self._aborted.what)
        if not self.lends_memory:
            self.close()

    def close(self) -> None:
        """Collective: waits for what was enqueued, then for all ranks. Whether it ended well nobody asks any more."""
        with self._lock:
            communicator = self._communicator
            if communicator is None:
                return
            try:
                self._meeting.end(communicator)
            finally:
                self._communicator = None  # not before: abort() ends the wait
            self._in_flight.clear()
            if self._device is not None and self._device.type == "cuda":
                stream_order.of(self._device).leave()
