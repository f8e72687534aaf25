"""Calls that other tools recorded, as a profile: the document that sennit-profile writes of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

# NCCL's functions by the names of others, in letters alone.
FUNCTIONS = {
    "allreduce": "ncclAllReduce", "allreducebarrier": "ncclAllReduce", "allreducecoalesced": "ncclAllReduce",
    "allgather": "ncclAllGather", "allgatherbase": "ncclAllGather", "allgatherintotensorcoalesced": "ncclAllGather",
    "reducescatter": "ncclReduceScatter", "reducescatterbase": "ncclReduceScatter",
    "reducescattertensorcoalesced": "ncclReduceScatter", "broadcast": "ncclBroadcast", "reduce": "ncclReduce",
    "alltoall": "ncclAlltoAll", "alltoallbase": "ncclAlltoAll", "send": "ncclSend", "recv": "ncclRecv",
    "gather": "ncclGather", "scatter": "ncclScatter",
}  # fmt: skip


MOST_RANKS = 1 << 16  # of a job: a larger number is no rank
LARGEST = 2**63 - 1  # bytes: more is no size


def function_named(name: str) -> str:
    """NCCL's function of that name, or the name itself."""
    return FUNCTIONS.get("".join(letter for letter in name.lower() if letter.isalpha()), name)


@dataclass(frozen=True)
class Call:
    """One call. `us`: on the GPU; None where it was not timed."""

    function: str
    ranks: int
    bytes_in: int
    bytes_out: int
    us: float | None
    peer: int | None = None  # of messages
    memory: str = "gpu"


# Of which a rank has a message for each, or of each, in its larger buffer.
_IN_PARTS = ("ncclAllGather", "ncclReduceScatter", "ncclAlltoAll", "ncclGather", "ncclScatter")


def message_bytes(function: str, ranks: int, larger: int) -> int | None:
    """The bytes of one rank's message, as profiles have it, where that is not the whole buffer. `larger`: of both
    buffers."""
    return larger // ranks if function in _IN_PARTS and ranks > 0 else None


@dataclass
class Process:
    """What one process recorded. `seconds`: from the first call to the last."""

    rank: int
    host: str = ""
    process: int = 0
    program: str = ""
    seconds: float = 0
    calls: list[Call] = field(default_factory=list)


def bin_end(size: int) -> int:
    """The largest size of a bin: those of src/profile/layout.h."""
    return 1 << (size - 1).bit_length() if size > 0 else 0


def profile_document(processes: Sequence[Process], nccl: str | None, left_out: dict[str, str]) -> dict[str, Any]:
    """The document. `left_out`: files that could not be read, and why."""
    ranks = sorted(processes, key=lambda one: one.rank)
    return {
        "kind": "profile",
        "version": 1,
        "ranks_of_job": max((one.rank for one in ranks), default=-1) + 1,
        "accelerated": False,
        "mpi": None,
        "nccl": nccl,
        "ranks": [_rank(one) for one in ranks],
        "missing": sorted(set(range(max((one.rank for one in ranks), default=0))) - {one.rank for one in ranks}),
        "rows": _rows(ranks),
        "partners": _partners(ranks),
        "skew": [],
        "unreadable": [{"file": file, "why": why} for file, why in left_out.items()],
    }


def _rank(one: Process) -> dict[str, Any]:
    known = {"rank": one.rank, "host": one.host, "process": one.process, "program": one.program}
    return known | {
        "ended": "exited", "seconds": one.seconds, "calls": len(one.calls), "at_once": 0, "threads": 1,
        "calls_lost": 0, "classes_lost": 0, "clock_error_us": 0,
    }  # fmt: skip


def _rows(ranks: Sequence[Process]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, int, int, str], list[tuple[int, Call]]] = {}
    for one in ranks:
        for call in one.calls:
            size = bin_end(max(call.bytes_in, call.bytes_out))
            groups.setdefault((call.function, call.ranks, size, call.memory), []).append((one.rank, call))
    rows = []
    for (function, size_of_group, size, memory), calls in groups.items():
        timed = [call.us for _, call in calls if call.us is not None]
        rows.append({
            "function": function, "communicator_size": size_of_group,
            "from_bytes": size // 2 + 1 if size > 1 else size, "to_bytes": size,
            "memory_in": memory, "memory_out": memory, "reduction": None, "how": None, "phase": None,
            "calls": len(calls), "processes": len({rank for rank, _ in calls}),
            "bytes_in": sum(call.bytes_in for _, call in calls),
            "bytes_out": sum(call.bytes_out for _, call in calls),
            # The host's time is not known.
            "seconds": 0, "rank_seconds": {"least": 0, "mean": 0, "most": 0},
            "least_us": min(timed, default=0), "most_us": max(timed, default=0),
            # Those without a time are taken to last as long in the mean.
            "device_calls": len(calls) if timed else 0,
            "device_seconds": sum(timed) / 1e6 * len(calls) / max(1, len(timed)), "at_once": 0,
        })  # fmt: skip
    return rows


def _partners(ranks: Iterable[Process]) -> list[dict[str, Any]]:
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for one in ranks:
        for call in one.calls:
            if call.function == "ncclSend" and call.peer is not None:
                messages, total = found.get((one.rank, call.peer), (0, 0))
                found[one.rank, call.peer] = messages + 1, total + call.bytes_in
    return [
        {"from": sender, "to": receiver, "messages": messages, "bytes": total}
        for (sender, receiver), (messages, total) in found.items()
    ]
