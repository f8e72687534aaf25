"""Windows: tensors that the other ranks of a group write to and read from, one-sided and over every path."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import torch
import torch.distributed as dist

from sennit import capi
from sennit.capi import Code, Communicator, SennitError
from sennit.torch import autograd, pinned
from sennit.torch.attach import expect_member, member_of
from sennit.torch.group import on_host
from sennit.torch.member import handle
from sennit.torch.tensors import address, bytes_of


class Window:
    """A tensor of every rank of a group, registered with all. Ended by close(), which all ranks call, or at the end
    of a `with`."""

    def __init__(
        self, tensor: torch.Tensor, window: capi.Window, comm: Communicator, group: object, check: Callable[[], None]
    ) -> None:  # fmt: skip
        """`group`: with which the communicator would end; `check` raises what has ended it."""
        self.tensor, self._window, self._comm, self._group, self._check = tensor, window, comm, group, check

    def __enter__(self) -> Window:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        # Ranks that failed do not meet the others any more; their error is the one to hear of.
        if kind is None:
            self.close()

    def put(self, peer: int, src: torch.Tensor, offset: int = 0, stream: torch.cuda.Stream | None = None) -> None:
        """Writes `src` to the peer's tensor, `offset` of its elements into it. It returns when that is enqueued on
        `stream`, by default the current one. Until it is done `src` must not be written; pinned memory of torch's may
        be let go at once, and is used again when it is done. The peer learns of it by arrive(), or by what the
        program does; autograd learns of it on neither side. Raises SennitError."""
        self._expect_type(src)
        place, at = offset * self.tensor.element_size(), address(src, "source")
        on = self._stream(stream)
        with self._named():
            self._window.put(peer, place, at, bytes_of(src), _number(on))
            self._settle(src, on)

    def get(
        self, peer: int, dst: torch.Tensor, offset: int = 0, stream: torch.cuda.Stream | None = None
    ) -> torch.Tensor:
        """Reads the peer's tensor, from `offset` of its elements on, into `dst`, and returns that; as put() does. To
        autograd that is a change of `dst` in place, which it cannot record: INVALID_ARGUMENT in grad mode where
        `dst` requires grad."""
        self._expect_type(dst)
        autograd.expect_no_say(dst, "destination")
        place, at = offset * self.tensor.element_size(), address(dst, "destination")
        on = self._stream(stream)
        with self._named():
            self._window.get(peer, place, at, bytes_of(dst), _number(on))
            autograd.written(dst)
            self._settle(dst, on)
        return dst

    def arrive(self, stream: torch.cuda.Stream | None = None) -> None:
        """Collective: after it every rank's host knows that what all put on `stream` before is there. Raises
        SennitError."""
        with self._named():
            self._comm.synchronize(_number(self._stream(stream)))
            self._comm.meet()

    def close(self) -> None:
        """Collective. Raises SennitError, and has ended the window also then."""
        with self._named():
            self._window.deregister()
        self._group = None

    @contextmanager
    def _named(self) -> Iterator[None]:
        """An abort frees what the group had, its windows too: what they say then is not why."""
        try:
            yield
        except SennitError:
            self._check()
            raise

    def _stream(self, stream: torch.cuda.Stream | None) -> torch.cuda.Stream | None:
        """None on the host executor."""
        return (stream or torch.cuda.current_stream(self.tensor.device)) if self.tensor.is_cuda else None

    def _settle(self, other: torch.Tensor, stream: torch.cuda.Stream | None) -> None:
        """Behind a transfer from or to `other`: its memory is not used again before that is done. No stream sees to
        that on the host executor: there it waits."""
        if stream is None:
            self._comm.synchronize()
        elif not other.is_cuda and other.is_pinned():
            pinned.keep(other, stream)

    def _expect_type(self, other: torch.Tensor) -> None:
        if other.dtype != self.tensor.dtype:
            raise SennitError(
                Code.INVALID_ARGUMENT, f"a tensor of {other.dtype} for a window of {self.tensor.dtype}", "",
                "Use one type",
            )  # fmt: skip


def _number(stream: torch.cuda.Stream | None) -> int | None:
    return None if stream is None else handle(stream)


def register(tensor: torch.Tensor, group: dist.ProcessGroup | None = None) -> Window:
    """Collective: makes a contiguous tensor of each rank one that the others put to and get from. Types and sizes may
    differ between ranks. On the host executor it must come from empty(). The window keeps the tensor. Raises
    SennitError."""
    member = member_of(group)
    comm = member.communicator(tensor.device)
    window = comm.register(address(tensor, "tensor"), bytes_of(tensor))
    return Window(tensor, window, comm, group or dist.group.WORLD, member.check)


def put(
    window: Window, peer: int, src: torch.Tensor, offset: int = 0, stream: torch.cuda.Stream | None = None
) -> None:
    """As Window.put()."""
    window.put(peer, src, offset, stream)


def get(
    window: Window, peer: int, dst: torch.Tensor, offset: int = 0, stream: torch.cuda.Stream | None = None
) -> torch.Tensor:
    """As Window.get()."""
    return window.get(peer, dst, offset, stream)


def empty(
    size: Sequence[int], dtype: torch.dtype = torch.float32, group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """A tensor that register() takes on every executor: on the current GPU torch's own, on the host executor shared
    memory, which lives as long as the group. Raises SennitError."""
    expect_member(group)  # on every executor
    count = math.prod(size) * dtype.itemsize
    if not on_host():
        return torch.empty(tuple(size), dtype=dtype, device="cuda")
    member = member_of(group)
    at = member.communicator(torch.device("cpu")).allocate(count)
    member.lends_memory = True
    if count == 0:
        return torch.empty(tuple(size), dtype=dtype)
    memory = (ctypes.c_char * count).from_address(at)
    setattr(memory, "group", group or dist.group.WORLD)  # noqa: B010
    return torch.frombuffer(memory, dtype=dtype).view(tuple(size))
