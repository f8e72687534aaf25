"""A collective that was enqueued, as PyTorch asks about it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

from sennit.capi import Code, SennitError


class Work(dist.Work):  # type: ignore[misc]
    """What runs on `stream` up to `event`; without an event up to wherever that stream is; without a stream it is
    done. `check` raises what ended the communicator."""

    def __init__(
        self, check: Callable[[], None], outputs: Sequence[torch.Tensor], stream: torch.cuda.Stream | None = None,
        event: torch.cuda.Event | None = None, kept: Sequence[object] = (),
    ) -> None:  # fmt: skip
        """`kept` and the outputs live until the caller's stream is ordered behind the work: memory that is freed is
        used again by what the caller enqueues next. InFlight keeps them for a caller that forgets the work."""
        super().__init__()
        self._check, self._outputs, self._stream, self._event = check, list(outputs), stream, event
        self._kept: list[object] = [*kept, *outputs]

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Orders the current stream behind the work, without blocking the host; with a timeout blocks it, too. Raises
        SennitError: what ended the communicator, TIMED_OUT."""
        self._check()
        if timeout:
            self._block(timeout)
        if self._stream is not None:
            current = torch.cuda.current_stream(self._stream.device)
            if self._event is not None:
                current.wait_event(self._event)
            elif current != self._stream:
                current.wait_stream(self._stream)
        self._kept.clear()
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is done, well or not."""
        if self._stream is None or self.exception() is not None:
            return True
        return bool(self._stream.query() if self._event is None else self._event.query())

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> SennitError | None:
        try:
            self._check()
        except SennitError as error:
            return error
        return None

    def result(self) -> list[torch.Tensor]:
        return self._outputs

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """Of the outputs. Who waits for it has their stream ordered behind the work, as wait() does."""
        if self._stream is None:
            future = torch.futures.Future()
            future.set_result(self._outputs)
            return future
        future = torch.futures.Future(devices=[self._stream.device])
        with torch.cuda.stream(self._stream):
            future.set_result(self._outputs)
        return future

    def block(self) -> None:
        """The host, until it is done. Raises SennitError: what ended the communicator."""
        if self._event is not None:
            self._event.synchronize()
        self._check()

    def _block(self, timeout: timedelta) -> None:
        until = time.monotonic() + timeout.total_seconds()
        while not self.is_completed():
            if time.monotonic() > until:
                raise SennitError(Code.TIMED_OUT, f"the work is not done after {timeout}", "", "Allow more time")
            time.sleep(20e-6)
        self._check()


class InFlight:
    """What works that are not done need, also when the caller has forgotten them."""

    def __init__(self) -> None:
        self._kept: deque[tuple[torch.cuda.Event, list[object]]] = deque()

    def add(self, work: Work) -> None:
        """One that has an event."""
        assert work._event is not None
        self._kept.append((work._event, work._kept))

    def let_go(self) -> None:
        """Of works that are done or waited for. Not while the stream is captured, which asking would end."""
        while self._kept and (not self._kept[0][1] or self._kept[0][0].query()):
            self._kept.popleft()

    def clear(self) -> None:
        self._kept.clear()


class Together(Work):
    """Several works as one, also of other backends', which tell no outputs before they are done."""

    def __init__(self, works: Sequence[dist.Work], outputs: Sequence[torch.Tensor]) -> None:
        super().__init__(lambda: None, outputs)
        self._works = works

    def wait(self, timeout: timedelta | None = None) -> bool:
        for work in self._works:
            work.wait(timeout) if timeout else work.wait()
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def exception(self) -> SennitError | None:
        return next((found for work in self._works if (found := work.exception()) is not None), None)

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        futures = [work.get_future() for work in self._works]
        return torch.futures.collect_all(futures).then(
            lambda done: [tensor for each in done.value() for tensor in each.value()]
        )


class Meet(Work):
    """A barrier: waiting for it blocks the host, until the streams of all ranks have come to it."""

    def __init__(self, work: Work) -> None:
        super().__init__(lambda: None, [])
        self._work = work

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Raises SennitError: what ended the communicator."""
        self._work.wait(timeout)
        self._work.block()
        return True

    def is_completed(self) -> bool:
        return self._work.is_completed()

    def exception(self) -> SennitError | None:
        return self._work.exception()

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        return self._work.get_future()
