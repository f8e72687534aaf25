"""The document of the benchmark of MPI. schemas/mpi.schema.json is generated from these classes;
docs/tune/bench-mpi.md says how to read one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sennit.model.document import Part
from sennit.model.result import MeasuredOn

OWN = "sennit"
BY_HAND, MPI, UCX = "by_hand", "mpi", "ucx"
BARRIERS = ("barrier", "ibarrier", "barrier_init")  # of no size
WINDOWED = (
    "bandwidth", "bandwidth_init", "bidirectional", "bidirectional_init", "multi_pair", "put_bandwidth",
    "put_bidirectional", "get_bandwidth",
)  # fmt: skip
SIDES = {
    "gpu": "GPU buffers", "host": "host buffers", "gpu_host": "GPU → host", "host_gpu": "host → GPU",
    "managed": "managed buffers",
}  # fmt: skip


class Turns(Part):
    """How sennit compares with a variant whose batches took turns with its own, in the same ranks."""

    times_as_fast: float = Field(gt=0, description="Median of the rounds' ratios; above 1 sennit is faster")
    low: float = Field(gt=0, description="That median lies between these in 19 of 20 runs")
    high: float = Field(gt=0)


class MpiRow(Part):
    """One operation, one size, one way of doing it."""

    operation: str = Field(description="latency, bandwidth, put and the like, or a collective by MPI's name")
    osu: str = Field(
        default="", description="The OSU micro-benchmark that measures this; empty where there is no such"
    )
    variant: str = Field(description="sennit (the drop-in), by_hand (copies to pinned memory and back around the "
                         "MPI's own function), mpi (that function alone), or ucx (that over a CUDA-built UCX, in a "
                         "job of its own)")  # fmt: skip
    buffers: str = Field(description="gpu, host, managed, or between two ranks gpu_host and host_gpu: of the one "
                         "that sends or calls, of the other; of a barrier empty")  # fmt: skip
    bytes: int = Field(ge=0, description="Size of one message: what a rank gives another, or the root, or all")
    window: int = Field(default=1, ge=1, description="Messages in flight")
    in_place: bool = False
    type: str = Field(default="", description="Element type, as it was asked for")
    operator: str = Field(default="", description="Empty where nothing is reduced")
    ranks: int = Field(ge=2)
    nodes: int = Field(default=1, ge=1, description="That the ranks of one machine were taken for")
    calls: int = Field(default=1, ge=1, description="Calls of a batch, of which a time is the average")
    repetitions: int = Field(default=0, ge=0, description="Batches")
    median_us: float = Field(gt=0, description="Time of one call on the slowest rank; of a message one way, of a "
                             "window divided by its messages")  # fmt: skip
    spread_us: float = Field(default=0, ge=0, description="Half the interquartile range")
    min_us: float = Field(default=0, ge=0)
    p95_us: float = Field(default=0, ge=0)
    gbps: float = Field(default=0, ge=0, description="10^9 bytes/s of all messages that travel at once; of a "
                        "collective its size over its time")  # fmt: skip
    sennit: Turns | None = Field(default=None, description="Where sennit took turns with this variant")
    verified: bool = Field(default=False, description="Every byte was checked in a separate call")

    @property
    def title(self) -> str:
        """Everything but who and the size, for example: Bandwidth: window 64, GPU buffers, 2 ranks."""
        what = [f"window {self.window}"] if self.operation in WINDOWED else []
        what += [f"{self.type} {self.operator}"] if self.operator else []
        what += [SIDES.get(self.buffers, self.buffers)] if self.operation not in BARRIERS else []
        what += ["in place"] if self.in_place else []
        what.append(f"{self.ranks} ranks" + (f" on {self.nodes} nodes" if self.nodes > 1 else ""))
        return f"{self.operation.replace('_', '-').capitalize()}: {', '.join(what)}"


class MpiResult(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["bench mpi"]
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = Field(default={}, description="Of sennit, of the MPI, and of UCX")
    settings: dict[str, Any] = {}
    rows: list[MpiRow]
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")
