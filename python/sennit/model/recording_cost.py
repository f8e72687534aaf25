"""What recording costs calls of NCCL and training, beside what other recorders do: the document of `sennit bench
profile --gpu-times` and `--training`. schemas/recording-cost.schema.json is generated from these classes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from sennit.model.document import Part
from sennit.model.result import MeasuredOn

RECORDING_COST = "recording cost"


class Added(Part):
    """How much more it is, in the median of pairs that were neighbours: blocks of one job, or two jobs."""

    median: float
    low: float = Field(description="That median lies between these in 19 of 20 runs; of fewer than six pairs: of all")
    high: float
    pairs: NonNegativeInt
    of_jobs: bool = Field(default=False, description="Each of a pair was a job of its own")


class CallCost(Part):
    """What a recorder adds to a call of all_reduce, on rank 0."""

    bytes: NonNegativeInt
    recorder: str
    host_us: Added
    stream_us: Added
    alone_host_us: NonNegativeFloat = Field(description="Without it: the host's time to enqueue a call")
    alone_stream_us: NonNegativeFloat = Field(description="Without it: a call's time on a stream that is never empty")


class GpuTime(Part):
    """How long an all_reduce takes on a GPU, as those say that time it: means of calls. None: not known."""

    bytes: NonNegativeInt
    torch_us: NonNegativeFloat | None = Field(description="Its kernels, as torch.profiler says")
    events_us: NonNegativeFloat | None = Field(description="Calls of its own by sennit's events")
    kernels_us: NonNegativeFloat | None = Field(description="Calls of a job of their own by sennit's CUPTI")
    calls: NonNegativeInt = Field(description="That torch.profiler timed, on all ranks")

    @property
    def events_ratio(self) -> float | None:
        """To torch.profiler's."""
        return self.events_us / self.torch_us if self.events_us and self.torch_us else None

    @property
    def kernels_ratio(self) -> float | None:
        """To torch.profiler's."""
        return self.kernels_us / self.torch_us if self.kernels_us and self.torch_us else None


class TrainingCost(Part):
    """How much slower a recorder makes steps of training, as a part of their time."""

    model: str
    batch: NonNegativeInt
    recorder: str
    slower: Added
    alone_us: NonNegativeFloat = Field(description="Of a step, without it")


class RecordingCost(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["recording cost"]
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = {}
    ranks: int = Field(ge=1)
    settings: dict[str, Any] = {}
    calls: list[CallCost] = []
    times: list[GpuTime] = []
    training: list[TrainingCost] = []
    warnings: list[str] = []
