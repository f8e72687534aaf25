"""What views and advice reckon of a profile alike. Pure functions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sennit.model.profile import Profile, Row

# The memory that says most about a call that has several.
BY_RANK = ("gpu", "managed", "pinned", "host")

# Functions that libraries of deep learning make buckets for, and their names in sennit's tables.
OPERATIONS = {
    "MPI_Allreduce": "allreduce", "MPI_Allgather": "allgather", "MPI_Reduce_scatter_block": "reduce_scatter",
    "MPI_Bcast": "broadcast", "MPI_Reduce": "reduce", "MPI_Alltoall": "all_to_all", "ncclAllReduce": "allreduce",
    "ncclAllGather": "allgather", "ncclReduceScatter": "reduce_scatter", "ncclBroadcast": "broadcast",
    "ncclReduce": "reduce", "ncclAlltoAll": "all_to_all",
}  # fmt: skip


def kind(row: Row) -> str:
    """Of memory, one of BY_RANK, or none."""
    sides = (row.memory_in, row.memory_out)
    return next((each for each in BY_RANK if each in sides), "none")


def plain(function: str) -> str:
    """A function's name without what tells its counts of 64 bits (MPI_Allreduce_c), which does the same."""
    return function.removesuffix("_c")


def on_gpu_clock(row: Row) -> bool:
    """Whether calls were timed on the GPU. A call of NCCL only enqueues work, so the host's time says little."""
    return row.device_calls > 0


def spent(row: Row, processes: int) -> float:
    """Seconds of one process in the mean: on the GPU where calls were timed there, else the host's. Of calls of which
    some were timed, all are taken to be like these."""
    return row.gpu_seconds / max(1, processes) if on_gpu_clock(row) else row.rank_seconds.mean


@dataclass(frozen=True)
class Sum:
    """Rows that have something in common. Seconds are of one process, in the mean."""

    rows: list[Row]
    calls: int
    bytes: int
    seconds: float

    @classmethod
    def of(cls, rows: Iterable[Row], processes: int) -> Sum:
        found = list(rows)
        return cls(
            found,
            sum(row.calls for row in found),
            sum(max(row.bytes_in, row.bytes_out) for row in found),
            sum(spent(row, processes) for row in found),
        )


def sums(profile: Profile, rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, Sum]:
    """Of these rows, by what `key` says of them; what took longest first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    found = {name: Sum.of(each, len(profile.ranks)) for name, each in groups.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1].seconds))


def bins(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Rows that have a size, by the largest of their bin (Temuçin 2021, section 3.3.4), ascending."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        if row.memory and row.to_bytes is not None:
            found.setdefault(row.to_bytes, []).append(row)
    return {upper: found[upper] for upper in sorted(found)}
