"""Ends of partitioned messages as objects. What a method does, and when it fails, is what sennit.h says of the
function of that name; ranges have both their ends."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int, c_uint32, c_void_p

from sennit.capi.library import Library


class Partitioned:
    """sennit_partitioned. Freed by free(), or with its communicator."""

    def __init__(self, handle: int, loaded: Library) -> None:
        self._handle, self._library = handle, loaded

    def start(self) -> None:
        self._library.call("sennit_partitioned_start", self._alone(), 1)

    def test(self) -> bool:
        done = c_int()
        self._library.call("sennit_partitioned_test", self._alone(), 1, ctypes.byref(done))
        return done.value == 1

    def wait(self) -> None:
        self._library.call("sennit_partitioned_wait", self._alone(), 1)

    def free(self) -> None:
        self._library.call("sennit_partitioned_free", self._handle)

    def _alone(self) -> ctypes.Array[c_void_p]:
        return (c_void_p * 1)(self._handle)


class PartitionedSend(Partitioned):
    """The end that sends."""

    def ready(self, first: int, last: int | None = None) -> None:
        """`last`: `first` where none is given, here and below."""
        self._library.call("sennit_partitioned_ready", self._handle, first, first if last is None else last)

    def ready_list(self, which: Sequence[int]) -> None:
        self._library.call("sennit_partitioned_ready_list", self._handle, (c_uint32 * len(which))(*which), len(which))

    def enqueue_ready(self, first: int, last: int | None = None, stream: int | None = None) -> None:
        until = first if last is None else last
        self._library.call("sennit_partitioned_enqueue_ready", self._handle, first, until, stream)


class PartitionedReceive(Partitioned):
    """The end that receives."""

    def arrived(self, first: int, last: int | None = None) -> bool:
        have = c_int()
        until = first if last is None else last
        self._library.call("sennit_partitioned_arrived", self._handle, first, until, ctypes.byref(have))
        return have.value == 1

    def enqueue_await(self, first: int, last: int | None = None, stream: int | None = None) -> None:
        until = first if last is None else last
        self._library.call("sennit_partitioned_enqueue_await", self._handle, first, until, stream)
