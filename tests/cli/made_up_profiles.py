"""Profiles as sennit-profile writes them, of programs as there are many: made up, and changed by tests at will."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

KIB, MIB = 1 << 10, 1 << 20


def upper(size: int) -> int:
    """The largest size of a bin: (2^(n-1), 2^n]."""
    return 0 if size == 0 else 1 << (size - 1).bit_length()


def row(
    function: str, ranks: int, *, calls: int, seconds: float, size: int | None = None, memory: str = "none",
    out: str | None = None, processes: int | None = None, device: float | None = None, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """Calls of one kind: `calls` and `seconds` of each process, `device` its seconds on the GPU."""
    taking = processes or ranks
    total = (size or 0) * calls * taking
    mean_us = seconds / calls * 1e6
    bin_end = None if size is None else upper(size)
    return {
        "function": function, "communicator_size": ranks,
        "from_bytes": None if bin_end is None else bin_end // 2 + 1 if bin_end > 1 else bin_end, "to_bytes": bin_end,
        "memory_in": memory, "memory_out": out or memory, "reduction": None, "how": None, "phase": None,
        "calls": calls * taking, "processes": taking, "bytes_in": total, "bytes_out": total,
        "seconds": seconds * taking,
        "rank_seconds": {"least": seconds * 0.95, "mean": seconds * taking / ranks, "most": seconds * 1.05},
        "least_us": mean_us * 0.5, "most_us": mean_us * 2,
        "device_calls": 0 if device is None else calls * taking,
        "device_seconds": 0 if device is None else device * taking,
        "at_once": 0,
    } | more  # fmt: skip


def rank(number: int, host: str, seconds: float, inside: float, **more: Any) -> dict[str, Any]:
    """One process."""
    return {
        "rank": number, "host": host, "process": 4000 + number, "program": "/home/user/train.py",
        "ended": "finalized", "started_unix": 1764345600.0, "seconds": seconds, "inside_seconds": inside,
        "calls": 1000, "at_once": 0, "threads": 1,
        "calls_lost": 0, "classes_lost": 0, "clock_error_us": 0.0,
    } | more  # fmt: skip


def skew(
    function: str, ranks: int, *, calls: int, wait: float, inside: float, late: int | None = None, often: int = 0
) -> dict[str, Any]:
    """Waiting for the last rank: seconds of all ranks together."""
    return {"function": function, "communicator_size": ranks, "calls": calls, "wait_seconds": wait,
            "inside_seconds": inside, "latest_rank": late, "latest_calls": often}  # fmt: skip


def partner(sender: int, receiver: int, messages: int, size: int) -> dict[str, Any]:
    """Messages from one rank to another."""
    return {"from": sender, "to": receiver, "messages": messages, "bytes": messages * size}


def profile(
    ranks: Sequence[dict[str, Any]], rows: Iterable[dict[str, Any]], *, partners: Iterable[dict[str, Any]] = (),
    skews: Iterable[dict[str, Any]] = (), **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """The document."""
    return {
        "kind": "profile", "version": 1, "ranks_of_job": len(ranks), "accelerated": False, "mpi": None, "nccl": None,
        "ranks": list(ranks), "missing": [], "rows": list(rows), "partners": list(partners), "skew": list(skews),
    } | more  # fmt: skip


def over_time(document: dict[str, Any], bins: int = 60) -> dict[str, Any]:
    """The same with what is known over time: queues that grow on rank 0, and a last rank that is late."""
    numbers = [each["rank"] for each in document["ranks"]]
    seconds = max(each["seconds"] for each in document["ranks"])

    def queue(top: float) -> dict[str, Any]:
        lengths = [top * place / bins for place in range(bins)]
        most = [round(each + 0.5) for each in lengths]
        return {"mean": sum(lengths) / bins, "most": max(most), "mean_of_bin": lengths, "most_of_bin": most}

    queues = [
        {"rank": rank, "messages": 1000 + rank, "undecided": rank, "posted": queue(0.25 + rank % 5),
         "unexpected": queue(40.0 if rank == 0 else rank / 7)}
        for rank in numbers
    ]  # fmt: skip
    timeline = [
        {
            "rank": rank,
            "collective": [round(0.1 + 0.2 * (place % 3 == 0), 4) for place in range(bins)],
            "waiting": [round(0.3 * (rank + place) / (len(numbers) + bins), 4) for place in range(bins)],
            "message": [0.05] * bins, "other": [0.5, *[0.0] * (bins - 1)],
        }
        for rank in numbers
    ]  # fmt: skip
    lateness = [
        {"rank": rank, "calls": 2000, "last": 1900 if rank == numbers[-1] else rank % 3,
         "late_seconds": seconds / 10 if rank == numbers[-1] else 0.001 * (rank % 3)}
        for rank in numbers
    ]  # fmt: skip
    why_not = {
        "variables": "the MPI has no variable of a queue, or was not asked (--pvar)",
        "polls": "they tell how often a queue was empty",
    }
    return document | {
        "queues": {"shown": "reconstructed", "why_not": why_not, "bin_seconds": seconds / bins, "since_seconds": 3.0,
                   "sends_left": 2, "receives_left": 3, "starts_left_out": 4, "ranks": queues},
        "timeline": {"bin_seconds": seconds / bins, "ranks": timeline},
        "lateness": lateness,
    }  # fmt: skip


def polls(function: str, *, calls: int, misses: int, seconds: Sequence[float]) -> dict[str, Any]:
    """Questions for what was not there: `seconds` of each process that found nothing."""
    spread = {"least": min(seconds), "mean": sum(seconds) / len(seconds), "most": max(seconds)}
    return {"function": function, "calls": calls, "misses": misses, "seconds": sum(seconds) * 1.1,
            "missed_seconds": sum(seconds), "rank_missed_seconds": spread}  # fmt: skip


def server() -> dict[str, Any]:
    """A parameter server of 8 ranks that looks for messages all the time, as figures 3.1d, 3.11d and 3.12 of Temuçin
    2021 have it: up to 22 % of run time."""
    ranks = [rank(number, "node1", 50.0, 20.0, program="/home/user/cntk") for number in range(8)]
    rows = [
        row("MPI_Isend", 8, calls=4000, seconds=0.4, size=MIB, memory="host", requests=32000, flight_seconds=64.0,
            waited_seconds=16.0),
        row("MPI_Recv", 8, calls=4000, seconds=6.0, size=MIB, memory="host"),
        row("MPI_Iprobe", 8, calls=900_000, seconds=6.0),
        row("MPI_Wait", 8, calls=4000, seconds=2.0),
    ]  # fmt: skip
    pairs = [partner(0, other, 4000, MIB) for other in range(1, 8)] + [
        partner(other, 0, 4000, MIB) for other in range(1, 8)
    ]
    empty = polls(
        "MPI_Iprobe", calls=7_200_000, misses=7_190_000, seconds=[11.0, *[4.0 + number for number in range(7)]]
    )
    return over_time(profile(ranks, rows, partners=pairs, polls=[empty], mpi="Open MPI"))


def ddp(allreduce_us: float = 640.0, small: int = 2) -> dict[str, Any]:
    """Training by PyTorch's DDP on 4 GPUs: 1000 steps of 60 ms, four buckets of 25 MiB each and `small` ones of
    1 MiB. An allreduce of 25 MiB at `allreduce_us` has a bus bandwidth of 39.3e6 / allreduce_us GB/s."""
    ranks = [rank(number, "node1", 60.0, 1.2, threads=2) for number in range(4)]
    rows = [
        row(
            "ncclAllReduce",
            4,
            calls=4000,
            seconds=0.2,
            size=25 * MIB,
            memory="gpu",
            device=4 * allreduce_us / 1e3,
            reduction="sum",
        ),
        row(
            "ncclAllReduce",
            4,
            calls=1000 * small,
            seconds=0.05,
            size=MIB,
            memory="gpu",
            device=0.04e-3 * 1000 * small,
            reduction="sum",
        ),
        row("ncclAllReduce", 4, calls=1000, seconds=0.04, size=4, memory="gpu", device=0.012, reduction="sum"),
        row("ncclBroadcast", 4, calls=160, seconds=0.01, size=256 * KIB, memory="gpu", device=0.004),
        row("ncclCommInitRank", 4, calls=1, seconds=0.4),
    ]
    return profile(ranks, rows, nccl="NCCL 2.28.9")


def halo(hosts: Sequence[str] = ("node1", "node2")) -> dict[str, Any]:
    """16 ranks of a 4 × 4 grid that exchange halos of 256 KiB, 2000 times; hosts take turns, so that each neighbour
    to the left and right sits on another one. Rank 5 computes longer."""
    seconds = 40.0
    ranks = [
        rank(number, hosts[number % len(hosts)], seconds, 3.0 if number == 5 else 11.0, program="/home/user/halo")
        for number in range(16)
    ]
    rows = [
        row("MPI_Isend", 16, calls=8000, seconds=0.3, size=256 * KIB, memory="host"),
        row("MPI_Irecv", 16, calls=8000, seconds=0.2, size=256 * KIB, memory="host"),
        row("MPI_Waitall", 16, calls=2000, seconds=6.4),
        row("MPI_Allreduce", 16, calls=2000, seconds=4.1, size=8, memory="host", reduction="sum"),
        row("MPI_Bcast", 16, calls=4, seconds=0.01, size=400, memory="host"),
        row("MPI_Init", 16, calls=1, seconds=0.6),
    ]
    pairs = []
    for number in range(16):
        line, column = divmod(number, 4)
        near = {
            line * 4 + (column + 1) % 4,
            line * 4 + (column - 1) % 4,
            (line + 1) % 4 * 4 + column,
            (line - 1) % 4 * 4 + column,
        }
        pairs += [
            partner(number, other, 2000, 256 * KIB if other // 4 == line else 64 * KIB) for other in sorted(near)
        ]
    skews = [skew("MPI_Allreduce", 16, calls=2000, wait=56.0, inside=65.6, late=5, often=1840)]
    return profile(ranks, rows, partners=pairs, skews=skews, mpi="Open MPI v5.0.11")


def horovod() -> dict[str, Any]:
    """8 ranks of Horovod over MPI on CPUs: bits of 8 B in a thread of its own, and fused sums of up to 64 MB."""
    ranks = [rank(number, "node1", 100.0, 71.0, threads=2, at_once=40) for number in range(8)]
    rows = [
        row("MPI_Allreduce", 8, calls=19000, seconds=33.0, size=8, memory="host", reduction="band"),
        row("MPI_Allreduce", 8, calls=1900, seconds=1.0, size=24, memory="host", reduction="bor"),
        row("MPI_Allreduce", 8, calls=310, seconds=22.0, size=60 * MIB, memory="host", reduction="sum"),
        row("MPI_Allreduce", 8, calls=200, seconds=6.0, size=20 * MIB, memory="host", reduction="sum"),
        row("MPI_Bcast", 8, calls=900, seconds=5.0, size=48 * KIB, memory="host"),
        row("MPI_Gatherv", 8, calls=900, seconds=0.6, size=300, memory="host"),
        row("MPI_Iprobe", 8, calls=2_000_000, seconds=3.0),
    ]
    skews = [skew("MPI_Allreduce", 8, calls=21410, wait=99.2, inside=496.0, late=3, often=5000)]
    empty = polls("MPI_Iprobe", calls=16_000_000, misses=15_900_000, seconds=[2.9] * 8)
    return profile(ranks, rows, skews=skews, polls=[empty], mpi="MPICH 4.3.2")


def harmless() -> dict[str, Any]:
    """A program that computes."""
    ranks = [rank(number, "node1", 100.0, 0.9, program="/home/user/quiet") for number in range(4)]
    rows = [
        row("MPI_Allreduce", 4, calls=100, seconds=0.5, size=8, memory="host", reduction="sum"),
        row("MPI_Sendrecv", 4, calls=100, seconds=0.4, size=MIB, memory="host"),
    ]
    return profile(ranks, rows, partners=[partner(0, 1, 100, MIB), partner(1, 0, 100, MIB)], mpi="MPICH 4.3.2")


def large(ranks: int = 64) -> dict[str, Any]:
    """As much as a profile of so many ranks has: all talk with all, by every size, and 60 functions."""
    each = [rank(number, f"node{number // 8}", 300.0, 100.0 + number % 7, calls=123456) for number in range(ranks)]
    rows = [
        row(f"MPI_Function_{number}", ranks, calls=1000, seconds=0.4, size=1 << power, memory=memory, how="direct")
        for number in range(60) for power in range(0, 31, 3) for memory in ("host", "gpu")
    ]  # fmt: skip
    pairs = [
        partner(one, other, 1 + one, 1000 * (1 + other))
        for one in range(ranks)
        for other in range(ranks)
        if one != other
    ]
    skews = [skew(f"MPI_Function_{number}", ranks, calls=1000, wait=60.0, inside=100.0, late=number, often=500)
             for number in range(60)]  # fmt: skip
    return over_time(profile(each, rows, partners=pairs, skews=skews, mpi="MPICH 4.3.2", accelerated=True))
