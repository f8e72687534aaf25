"""The document of the benchmark of PyTorch's collectives. schemas/torch.schema.json is generated from these classes;
docs/tune/bench-torch.md says how to read one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sennit.model.document import Part
from sennit.model.result import MeasuredOn

WAYS = {"graph": "in a CUDA graph", "queued": "queued behind other work", "eager": "call by call"}


class TorchRow(Part):
    """One collective of one size, called in one way, under one library."""

    operation: str = Field(description="allreduce, reduce_scatter, allgather, broadcast or all_to_all")
    variant: str = Field(description="sennit (NCCL with the drop-in), nccl (alone), or passed_on (with a drop-in "
                         "that hands every call to NCCL)")  # fmt: skip
    way: str = Field(description="graph (in a CUDA graph), queued (by the host, while what is before it on the "
                     "stream still runs) or eager (by the host, which may be what takes longest)")  # fmt: skip
    bytes: int = Field(ge=1, description="Of the larger buffer of any rank")
    type: str = Field(description="Element type")
    ranks: int = Field(ge=2)
    runs: int = Field(ge=1, description="Jobs, in turns with the other variants'")
    calls: int = Field(ge=1, description="Calls of a batch, of which a time is the average; the fewest of any job")
    repetitions: int = Field(ge=1, description="Batches of all jobs")
    median_us: float = Field(gt=0, description="Of a call, between two events on the GPU of the slowest rank")
    spread_us: float = Field(default=0, ge=0, description="Half the interquartile range, of the batches or of the "
                             "jobs' medians, whichever is larger")  # fmt: skip
    host_us: float = Field(ge=0, description="Of a call, until it returns to the program, on the slowest rank; of a "
                           "graph its launch, divided by its calls")  # fmt: skip
    host_spread_us: float = Field(default=0, ge=0)
    host_of_runs_us: list[float] = Field(default=[], description="The median of each job, in their order")
    how: str = Field(default="", description="Of sennit: the plan, or why it is NCCL's")
    verified: bool = Field(default=False, description="Every number was compared in a call before, in every job")

    @property
    def title(self) -> str:
        """Everything but who and the size, for example: Allreduce, float32, in a CUDA graph, 2 ranks."""
        name = self.operation.replace("_", "-").capitalize()
        return f"{name}, {self.type}, {WAYS.get(self.way, self.way)}, {self.ranks} ranks"


class Added(Part):
    """What the drop-in adds to the host's time for a call of ncclAllReduce: measured in turns with what does the call
    in the end, in one process."""

    median_us: float = Field(description="More than that")
    spread_us: float = Field(default=0, ge=0, description="A quarter of the interval that holds the median in 19 of "
                             "20 runs; in results without bytes half the interquartile range of rounds")  # fmt: skip
    rounds: int = Field(ge=1, description="Of a few calls of each, of all jobs")
    bytes: int = Field(default=0, ge=0, description="Of the buffer; 0: 1 KiB")


class Made(Part):
    """What the drop-in adds to the making of a communicator of all ranks, by ncclCommInitRank: measured in turns with
    NCCL's own, in one process, on the slowest rank."""

    median_ms: float = Field(description="More than that")
    spread_ms: float = Field(default=0, ge=0, description="A quarter of the interval that holds the median in 19 of "
                             "20 runs")  # fmt: skip
    nccl_ms: float = Field(gt=0, description="NCCL's own")
    rounds: int = Field(ge=1, description="Of one communicator of each, of all jobs")


class TorchResult(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["bench torch"]
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = Field(default={}, description="Of sennit, PyTorch and NCCL")
    settings: dict[str, Any] = {}
    rows: list[TorchRow]
    added: Added | None = Field(default=None, description="To a call that it hands on to NCCL, over NCCL's own "
                                "function on the same communicator; none where it could not be measured")  # fmt: skip
    added_to_taken: Added | None = Field(default=None, description="To a call that sennit takes, over "
                                         "sennit_allreduce on a communicator of the same ranks")  # fmt: skip
    made: Made | None = Field(default=None, description="None where it could not be measured, or sennit has no part")
    met: Made | None = Field(default=None, description="Of the first communicator of a process, by jobs of each in "
                             "turns, with what PyTorch does to meet")  # fmt: skip
    begun: Made | None = Field(default=None, description="The same until the first allreduce is done")
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")
