"""Threads for what may have to wait for other ranks while the program goes on."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator

from sennit.capi import Code, SennitError

_changed = threading.Condition()
_meeting = 0  # threads in such calls
_ends = False


class ProcessEndsError(SennitError):
    """What a thread began comes too late."""

    def __init__(self) -> None:
        super().__init__(Code.ABORTED, "the process ends", "", "Call torch.distributed.destroy_process_group() first")


def start(body: Callable[[], None]) -> threading.Thread:
    """Runs it in a thread that does not keep the process alive."""
    thread = threading.Thread(target=body, name="sennit", daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def meeting() -> Iterator[None]:
    """Around calls of such a thread into C++ that come back to Python, as those of PyTorch's stores and groups do and
    those that let ranks meet: after Python's end that would end the process badly. It waits for them at most 5 s;
    what is called back asks check() while it waits. Raises ProcessEndsError."""
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
    """Raises ProcessEndsError when the process is about to end."""
    if _ends:
        raise ProcessEndsError


@atexit.register
def _end() -> None:
    global _ends
    with _changed:
        _ends = True
        _changed.wait_for(lambda: _meeting == 0, 5)
