"""Communicators and windows as objects. What a method does, and when it fails, is what sennit.h says of the function
of that name; here it says only what differs."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Sequence
from ctypes import c_uint64, c_void_p
from dataclasses import dataclass
from types import TracebackType

from sennit.capi.error import SennitError
from sennit.capi.library import AllGather, CMessage, Exchange, Library, library, options
from sennit.capi.names import Code, Operator, Type
from sennit.capi.partitioned import PartitionedReceive, PartitionedSend

# Gives every rank this rank's bytes, and returns those of all ranks, by rank: as many on each.
Gather = Callable[[bytes], Sequence[bytes]]

# What the scale of a premultiplied sum is read as.
_SCALES: dict[Type, type[ctypes._SimpleCData[int] | ctypes._SimpleCData[float]]] = {
    Type.INT8: ctypes.c_int8,
    Type.UINT8: ctypes.c_uint8,
    Type.INT16: ctypes.c_int16,
    Type.UINT16: ctypes.c_uint16,
    Type.INT32: ctypes.c_int32,
    Type.UINT32: ctypes.c_uint32,
    Type.INT64: ctypes.c_int64,
    Type.UINT64: ctypes.c_uint64,
    Type.FLOAT64: ctypes.c_double,
}


@dataclass(frozen=True)
class Message:
    """sennit_message: `count` bytes at `data` that this rank sends to the peer, or receives from it."""

    peer: int
    sends: bool
    data: int
    count: int


class _Meeting:
    """An exchange function of Python's as one of C's. What it raised is kept: nothing may be raised through C."""

    def __init__(self, rank: int, size: int, gather: Gather) -> None:
        self._size, self._gather = size, gather
        self._function = AllGather(self._all_gather)  # alive as long as the communicator
        self.exchange = Exchange(rank, size, self._function, None)
        self._here = threading.local()  # the function is called in the thread that called C

    @property
    def raised(self) -> BaseException | None:
        """What it raised in this thread."""
        return getattr(self._here, "raised", None)

    @raised.setter
    def raised(self, error: BaseException | None) -> None:
        self._here.raised = error

    def _all_gather(self, context: int | None, send: int, receive: int, count: int) -> int:  # noqa: ARG002
        try:
            told = list(self._gather(ctypes.string_at(send, count)))
            if len(told) != self._size or any(len(each) != count for each in told):
                raise ValueError(f"{len(told)} answers of {sorted({len(each) for each in told})} bytes, not "
                                 f"{self._size} of {count}")  # fmt: skip
            ctypes.memmove(receive, b"".join(told), self._size * count)
        except BaseException as error:
            self.raised = error
            return 1
        return 0


class Communicator:
    """sennit_comm. Destroyed by destroy(), at the end of a `with`, or with the process."""

    def __init__(self, handle: int, loaded: Library, meeting: _Meeting | None) -> None:
        self._handle, self._library, self._meeting = handle, loaded, meeting
        self.rank = loaded.number("sennit_comm_rank", handle)
        self.size = loaded.number("sennit_comm_size", handle)
        self.device = loaded.number("sennit_comm_device", handle)

    @classmethod
    def create(
        cls, *, device: int = -1, timeout_seconds: float = 0, place: tuple[int, int] | None = None,
        gather: Gather | None = None, messages: bool = False, most_blocks: int = 0,
    ) -> Communicator:  # fmt: skip
        """As sennit_comm_create(). `place` (this rank, the number of ranks) and `gather` go together: how ranks meet
        where the program has its own means. What `gather` raises is the cause of the SennitError."""
        loaded = library()
        meeting = None
        if place is not None and gather is not None:
            meeting = _Meeting(*place, gather)
        elif place is not None or gather is not None:
            raise SennitError(Code.INVALID_ARGUMENT, "place without gather, or gather without place", "", "Give both")
        made = c_void_p()
        given = options(device, timeout_seconds, meeting.exchange if meeting else None, messages, most_blocks)
        _call(loaded, meeting, "sennit_comm_create", ctypes.byref(given), ctypes.byref(made))
        assert made.value is not None
        return cls(made.value, loaded, meeting)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        if kind is None:
            self.destroy()
            return
        # Ranks that failed do not meet the others any more; their error is the one to hear of.
        with contextlib.suppress(SennitError):
            self.abort(str(error) or kind.__name__)
        with contextlib.suppress(SennitError):
            self.destroy()

    def destroy(self) -> None:
        """Ends it, also when it raises."""
        self._call("sennit_comm_destroy")

    @property
    def handle(self) -> int:
        """The address of the sennit_comm, for calls of C's own."""
        return self._handle

    def node_size(self) -> int:
        return self._library.number("sennit_comm_node_size", self._handle)

    def same_node(self, rank: int) -> bool:
        return self._library.number("sennit_comm_same_node", self._handle, rank) == 1

    def check(self) -> None:
        """Raises what ended the communicator, if anything did."""
        self._call("sennit_comm_check")

    def abort(self, why: str) -> None:
        self._call("sennit_comm_abort", why.encode())

    def meet(self) -> None:
        """As sennit_comm_barrier(): between hosts."""
        self._call("sennit_comm_barrier")

    def allocate(self, count: int) -> int:
        """The address of `count` bytes; 0 for none."""
        return self._made("sennit_memory_allocate", count)

    def allocate_pinned(self, count: int) -> int:
        """The address of `count` bytes of pinned host memory; 0 for none."""
        return self._made("sennit_memory_allocate_pinned", count)

    def free(self, data: int) -> None:
        self._call("sennit_memory_free", data)

    def register(self, data: int, count: int) -> Window:
        return self._window("sennit_register", data, count)

    def register_symmetric(self, data: int, count: int) -> Window:
        return self._window("sennit_register_symmetric", data, count)

    def copy(self, dst: int, src: int, count: int, stream: int | None = None) -> None:
        self._call("sennit_copy", dst, src, count, stream)

    def synchronize(self, stream: int | None = None) -> None:
        self._call("sennit_synchronize", stream)

    def allreduce(
        self, src: int, dst: int, count: int, kind: Type, op: Operator, *, scale: float = 1,
        stream: int | None = None,
    ) -> None:  # fmt: skip
        """`scale` is looked at for PREMULTIPLIED_SUM alone, here and below."""
        factor = _scale(kind, op, scale)
        self._call("sennit_allreduce", src, dst, count, kind, op, factor, stream)

    def reduce(
        self, src: int, dst: int, count: int, kind: Type, op: Operator, root: int, *, scale: float = 1,
        stream: int | None = None,
    ) -> None:  # fmt: skip
        factor = _scale(kind, op, scale)
        self._call("sennit_reduce", src, dst, count, kind, op, factor, root, stream)

    def reduce_scatter(
        self, src: int, dst: int, count: int, kind: Type, op: Operator, *, scale: float = 1,
        stream: int | None = None,
    ) -> None:  # fmt: skip
        factor = _scale(kind, op, scale)
        self._call("sennit_reduce_scatter", src, dst, count, kind, op, factor, stream)

    def allgather(self, src: int, dst: int, count: int, kind: Type, *, stream: int | None = None) -> None:
        self._call("sennit_allgather", src, dst, count, kind, stream)

    def broadcast(self, src: int, dst: int, count: int, kind: Type, root: int, *, stream: int | None = None) -> None:
        self._call("sennit_broadcast", src, dst, count, kind, root, stream)

    def gather(self, src: int, dst: int, count: int, kind: Type, root: int, *, stream: int | None = None) -> None:
        self._call("sennit_gather", src, dst, count, kind, root, stream)

    def scatter(self, src: int, dst: int, count: int, kind: Type, root: int, *, stream: int | None = None) -> None:
        self._call("sennit_scatter", src, dst, count, kind, root, stream)

    def all_to_all(self, src: int, dst: int, count: int, kind: Type, *, stream: int | None = None) -> None:
        self._call("sennit_all_to_all", src, dst, count, kind, stream)

    def all_to_all_v(
        self, src: int, sent: Sequence[int], sent_from: Sequence[int], dst: int, received: Sequence[int],
        received_to: Sequence[int], kind: Type, *, stream: int | None = None,
    ) -> None:  # fmt: skip
        """Counts and offsets in elements, one for each rank. Raises SennitError when there are more or fewer."""
        arrays = []
        for numbers in (sent, sent_from, received, received_to):
            if len(numbers) != self.size:
                raise SennitError(
                    Code.INVALID_ARGUMENT, f"{len(numbers)} counts for {self.size} ranks", "all_to_all_v",
                    "Give counts and places for every rank",
                )  # fmt: skip
            arrays.append((c_uint64 * self.size)(*numbers))
        self._call("sennit_all_to_all_v", src, *arrays[:2], dst, *arrays[2:], kind, stream)

    def barrier(self, stream: int | None = None) -> None:
        """As sennit_barrier(): between streams."""
        self._call("sennit_barrier", stream)

    def send_receive(self, messages: Sequence[Message], stream: int | None = None) -> None:
        """All at the same time."""
        given = [CMessage(each.peer, each.sends, each.data, each.count) for each in messages]
        self._call("sennit_send_receive", (CMessage * len(given))(*given), len(given), stream)

    def send_partitioned(self, data: int, partitions: int, bytes_each: int, peer: int, tag: int) -> PartitionedSend:
        made = self._end("sennit_send_partitioned", data, partitions, bytes_each, peer, tag)
        return PartitionedSend(made, self._library)

    def receive_partitioned(
        self, data: int, partitions: int, bytes_each: int, peer: int, tag: int
    ) -> PartitionedReceive:  # fmt: skip
        made = self._end("sennit_receive_partitioned", data, partitions, bytes_each, peer, tag)
        return PartitionedReceive(made, self._library)

    def _end(self, name: str, *arguments: int) -> int:
        made = c_void_p()
        self._call(name, *arguments, ctypes.byref(made))
        assert made.value is not None
        return made.value

    def _call(self, name: str, *arguments: object) -> None:
        _call(self._library, self._meeting, name, self._handle, *arguments)

    def _made(self, name: str, count: int) -> int:
        made = c_void_p()
        self._call(name, count, ctypes.byref(made))
        return made.value or 0

    def _window(self, name: str, data: int, count: int) -> Window:
        made = c_void_p()
        self._call(name, data, count, ctypes.byref(made))
        assert made.value is not None
        return Window(made.value, self._library, self._meeting)


class Window:
    """sennit_window."""

    def __init__(self, handle: int, loaded: Library, meeting: _Meeting | None) -> None:
        self._handle, self._library, self._meeting = handle, loaded, meeting

    def bytes_of(self, rank: int) -> int:
        found = c_uint64()
        self._library.call("sennit_window_bytes", self._handle, rank, ctypes.byref(found))
        return found.value

    def put(self, peer: int, offset: int, src: int, count: int, stream: int | None = None) -> None:
        self._library.call("sennit_put", self._handle, peer, offset, src, count, stream)

    def get(self, peer: int, offset: int, dst: int, count: int, stream: int | None = None) -> None:
        self._library.call("sennit_get", self._handle, peer, offset, dst, count, stream)

    def deregister(self) -> None:
        """Ends it, also when it raises."""
        _call(self._library, self._meeting, "sennit_deregister", self._handle)


def _call(loaded: Library, meeting: _Meeting | None, name: str, *arguments: object) -> None:
    """Calls a function. An error that comes of the exchange function has what that raised as its cause; Ctrl-C goes
    on as such."""
    try:
        loaded.call(name, *arguments)
    except SennitError as error:
        raised = meeting.raised if meeting else None
        if meeting is None or raised is None:
            raise
        meeting.raised = None
        if not isinstance(raised, Exception):
            raise raised from None
        raise error from raised


def _scale(kind: Type, op: Operator, scale: float) -> object:
    """One element of the type, where the operator has a scale."""
    if op != Operator.PREMULTIPLIED_SUM:
        return None
    as_c = _SCALES.get(kind, ctypes.c_float)
    whole = as_c not in (ctypes.c_float, ctypes.c_double)
    return ctypes.byref(as_c(int(scale) if whole else scale))  # type: ignore[arg-type]
