"""Threads for what may have to wait for other ranks while the program goes on."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator

from sennit.capi import Code, SennitError

_changed = threading.Condition()
_meeting = 0  # threads in calls that call back
_ends = False


def start(body: Callable[[], None]) -> threading.Thread:
    """Runs it in a thread that does not keep the process alive."""
    thread = threading.Thread(target=body, name="sennit", daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def meeting() -> Iterator[None]:
    """Around calls of such a thread in which C++ calls Python back, to let ranks meet: after Python's end that would
    end the process badly. What is called back asks check() while it waits."""
    global _meeting
    with _changed:
        check()
        _meeting += 1
    try:
        yield
    finally:
        with _changed:
            _meeting -= 1
            _changed.notify_all()


def check() -> None:
    """Raises SennitError (ABORTED) when the process is about to end."""
    if _ends:
        raise SennitError(
            Code.ABORTED, "the process ends", "", "Call torch.distributed.destroy_process_group() first"
        )


@atexit.register
def _end() -> None:
    global _ends
    with _changed:
        _ends = True
        _changed.wait_for(lambda: _meeting == 0, 5)
