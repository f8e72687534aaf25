"""libsennit.so as ctypes sees it: every function of sennit.h that this face uses, with its types."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from sennit.capi.error import SennitError, error_of
from sennit.capi.names import Code
from sennit.programs.places import find_library
from sennit.programs.problem import Problem

NAME = "libsennit.so.0"

# int (*all_gather)(void* context, const void* send, void* receive, size_t bytes)
AllGather = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t)


class Exchange(ctypes.Structure):
    """sennit_exchange."""

    _fields_ = [("rank", c_int), ("size", c_int), ("all_gather", AllGather), ("context", c_void_p)]


class Options(ctypes.Structure):
    """sennit_options. Made by options()."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_int),
        ("timeout_seconds", c_double),
        ("machine", c_void_p),
        ("exchange", POINTER(Exchange)),
        ("messages", c_int),
        ("most_blocks", c_int),
    ]


class CMessage(ctypes.Structure):
    """sennit_message."""

    _fields_ = [("peer", c_int), ("sends", c_int), ("data", c_void_p), ("bytes", c_uint64)]


def options(
    device: int, timeout_seconds: float, exchange: Exchange | None, messages: bool = False, most_blocks: int = 0
) -> Options:
    """SENNIT_OPTIONS_INIT with these."""
    given = ctypes.pointer(exchange) if exchange is not None else None
    return Options(ctypes.sizeof(Options), device, timeout_seconds, None, given, messages, most_blocks)


# By name: what it takes. Those of RESULTS return a sennit_result, which Library.call() makes an exception of.
_BUFFERS = [c_void_p, c_void_p, c_void_p, c_uint64, c_int]  # comm, input, output, count, type
RESULTS: dict[str, list[Any]] = {
    "sennit_comm_create": [POINTER(Options), POINTER(c_void_p)],
    "sennit_comm_destroy": [c_void_p],
    "sennit_comm_check": [c_void_p],
    "sennit_comm_abort": [c_void_p, c_char_p],
    "sennit_comm_barrier": [c_void_p],
    "sennit_memory_allocate": [c_void_p, c_uint64, POINTER(c_void_p)],
    "sennit_memory_allocate_pinned": [c_void_p, c_uint64, POINTER(c_void_p)],
    "sennit_memory_free": [c_void_p, c_void_p],
    "sennit_register": [c_void_p, c_void_p, c_uint64, POINTER(c_void_p)],
    "sennit_register_symmetric": [c_void_p, c_void_p, c_uint64, POINTER(c_void_p)],
    "sennit_deregister": [c_void_p],
    "sennit_window_bytes": [c_void_p, c_int, POINTER(c_uint64)],
    "sennit_put": [c_void_p, c_int, c_uint64, c_void_p, c_uint64, c_void_p],
    "sennit_get": [c_void_p, c_int, c_uint64, c_void_p, c_uint64, c_void_p],
    "sennit_copy": [c_void_p, c_void_p, c_void_p, c_uint64, c_void_p],
    "sennit_synchronize": [c_void_p, c_void_p],
    "sennit_allreduce": [*_BUFFERS, c_int, c_void_p, c_void_p],
    "sennit_reduce": [*_BUFFERS, c_int, c_void_p, c_int, c_void_p],
    "sennit_reduce_scatter": [*_BUFFERS, c_int, c_void_p, c_void_p],
    "sennit_allgather": [*_BUFFERS, c_void_p],
    "sennit_broadcast": [*_BUFFERS, c_int, c_void_p],
    "sennit_gather": [*_BUFFERS, c_int, c_void_p],
    "sennit_scatter": [*_BUFFERS, c_int, c_void_p],
    "sennit_all_to_all": [*_BUFFERS, c_void_p],
    "sennit_all_to_all_v": [
        c_void_p, c_void_p, POINTER(c_uint64), POINTER(c_uint64), c_void_p, POINTER(c_uint64), POINTER(c_uint64),
        c_int, c_void_p,
    ],
    "sennit_barrier": [c_void_p, c_void_p],
    "sennit_send_receive": [c_void_p, c_void_p, c_int, c_void_p],
    "sennit_send_partitioned": [c_void_p, c_void_p, c_uint32, c_uint64, c_int, c_int, POINTER(c_void_p)],
    "sennit_receive_partitioned": [c_void_p, c_void_p, c_uint32, c_uint64, c_int, c_int, POINTER(c_void_p)],
    "sennit_partitioned_start": [POINTER(c_void_p), c_int],
    "sennit_partitioned_ready": [c_void_p, c_uint32, c_uint32],
    "sennit_partitioned_ready_list": [c_void_p, POINTER(c_uint32), c_uint32],
    "sennit_partitioned_enqueue_ready": [c_void_p, c_uint32, c_uint32, c_void_p],
    "sennit_partitioned_arrived": [c_void_p, c_uint32, c_uint32, POINTER(c_int)],
    "sennit_partitioned_enqueue_await": [c_void_p, c_uint32, c_uint32, c_void_p],
    "sennit_partitioned_test": [POINTER(c_void_p), c_int, POINTER(c_int)],
    "sennit_partitioned_wait": [POINTER(c_void_p), c_int],
    "sennit_partitioned_free": [c_void_p],
}  # fmt: skip
NUMBERS: dict[str, list[Any]] = {
    "sennit_comm_rank": [c_void_p],
    "sennit_comm_size": [c_void_p],
    "sennit_comm_device": [c_void_p],
    "sennit_comm_node_size": [c_void_p],
    "sennit_comm_same_node": [c_void_p, c_int],
}
TEXTS: dict[str, list[Any]] = {"sennit_last_error": [], "sennit_version": []}


class Library:
    """The loaded library. Every call releases Python's lock while it lasts."""

    def __init__(self, path: str) -> None:
        """Raises SennitError (NOT_FOUND) when it does not load, or is older than this package."""
        try:
            self._library = ctypes.CDLL(path)
            for names, answer in ((RESULTS, c_int), (NUMBERS, c_int), (TEXTS, c_char_p)):
                for name, arguments in names.items():
                    function = getattr(self._library, name)
                    function.argtypes, function.restype = arguments, answer
        except (OSError, AttributeError) as error:
            raise SennitError(Code.NOT_FOUND, f"{path} does not load: {error}", "", "Build it again") from None

    def call(self, name: str, *arguments: Any) -> None:
        """One of RESULTS. Raises SennitError when it fails."""
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            raise error_of(result, self._library.sennit_last_error().decode("utf-8", "replace"))

    def number(self, name: str, *arguments: Any) -> int:
        """One of NUMBERS. Raises SennitError when the handle is invalid."""
        found = int(getattr(self._library, name)(*arguments))
        if found < 0:
            raise error_of(Code.INVALID_ARGUMENT, self._library.sennit_last_error().decode("utf-8", "replace"))
        return found

    def version(self) -> str:
        """MAJOR.MINOR.PATCH."""
        return str(self._library.sennit_version().decode())


@cache
def library() -> Library:
    """The library of this package, loaded at the first call. Raises SennitError (NOT_FOUND) with the remedy."""
    try:
        return Library(str(find_library(NAME)))
    except Problem as problem:
        raise SennitError(Code.NOT_FOUND, problem.what, "", problem.remedy) from None
