"""The document of the benchmark of collectives. schemas/collective.schema.json is generated from these classes;
docs/tune/bench-collectives.md says how to read one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sennit.model.document import Part
from sennit.model.result import MeasuredOn

REDUCING = ("allreduce", "reduce_scatter", "reduce")
WINDOWED = ("allreduce", "allgather", "all_to_all")  # that go straight between symmetric windows
BARRIER = "barrier"  # of no size
OWN = "sennit"


class CollectiveRow(Part):
    """One operation, one size, one way of doing it."""

    operation: str = Field(description="allreduce, reduce_scatter, allgather, reduce, broadcast, gather, scatter, "
                           "all_to_all, all_to_all_v, sendrecv or barrier")  # fmt: skip
    variant: str = Field(description="sennit, a peer measured in the same run, or a plan that was forced")
    bytes: int = Field(ge=0, description="Size of the larger buffer of any rank; of a barrier 0")
    type: str = Field(description="Element type")
    operator: str = Field(description="Of no meaning where nothing is reduced")
    ranks: int = Field(ge=1)
    in_place: bool = True
    registered: bool = Field(default=False, description="The buffers lay in symmetric windows, known to all ranks")
    waited: bool = Field(default=False, description="Each call was waited for before the next, by its caller")
    graph: bool = Field(default=False, description="Calls were replayed as a CUDA graph, not made one by one")
    calls: int = Field(default=1, ge=1, description="Calls back to back, of which a time is the average")
    repetitions: int = Field(default=0, ge=0)
    median_us: float = Field(gt=0, description="Time of one call on the slowest rank")
    spread_us: float = Field(default=0, ge=0, description="Half the interquartile range")
    min_us: float = Field(default=0, ge=0)
    p95_us: float = Field(default=0, ge=0)
    host_us: float = Field(
        default=0, ge=0, description="What a call takes of the busiest caller's own time; 0: not made call by call"
    )
    gbps: float = Field(default=0, ge=0, description="algbw: bytes over time, 10^9 bytes/s")
    busbw_gbps: float = Field(default=0, ge=0, description="algbw × 2 (n - 1) / n of an allreduce, × 1 of broadcast "
                              "and reduce, × (n - 1) / n of others, as nccl-tests defines it")  # fmt: skip
    plan: str = Field(default="", description="Algorithm, blocks and threads of a block")
    blocks: int = Field(default=0, ge=0, description="Blocks of the kernel, at most two an SM")
    sms: int = Field(default=0, ge=0, description="SMs that they take; 0 on the host executor")
    verified: bool = Field(default=False, description="Every number was checked in a separate call")

    @property
    def is_own(self) -> bool:
        """Whether sennit did it, by the plan that it takes itself."""
        return self.variant == OWN

    @property
    def is_forced(self) -> bool:
        """Whether it is a plan that was asked for. Peers have no plan."""
        return not self.is_own and bool(self.plan)

    @property
    def is_peer(self) -> bool:
        """Whether somebody else did it."""
        return not self.is_own and not self.plan


class CollectiveResult(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["bench collective"]
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = Field(default={}, description="Of sennit and of every peer measured")
    settings: dict[str, Any] = {}
    links_gbps: float = Field(
        default=0, ge=0, description="What a rank's links carry each way while all exchange; 0: nobody measured it"
    )
    rows: list[CollectiveRow]
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")
