"""The document of the benchmark of training. schemas/training.schema.json is generated from these classes;
docs/tune/bench-training.md says how to read one."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from sennit.model.document import Part
from sennit.model.result import MeasuredOn


class TrainingRow(Part):
    """One model, spread over the ranks in one way, under one library."""

    model: str
    parallel: str = Field(description="ddp (a model on each rank), fsdp (FSDP2: parts of it) or tensor (parts of its "
                          "layers)")  # fmt: skip
    batch: int = Field(ge=1, description="Samples a rank; of tensor all ranks have the same ones")
    bucket_mb: int = Field(default=0, ge=0, description="Of ddp: gradients that are reduced together")
    step: str = Field(default="", description="compile (torch.compile), graph (a step as a CUDA graph), accumulate "
                      "(gradients of four batches), or empty: call by call")  # fmt: skip
    variant: str = Field(description="sennit (NCCL with the drop-in) or nccl (alone)")
    ranks: int = Field(ge=1)
    runs: int = Field(ge=1, description="Jobs, in turns with the other variant's")
    steps: int = Field(ge=1, description="Timed, of all runs; of sennit's jobs blocks of steps of each library")
    median_ms: float = Field(gt=0, description="Of a step, between two events on the GPU of rank 0")
    spread_ms: float = Field(default=0, ge=0, description="Half the interquartile range, of the steps or of the "
                             "runs' medians, whichever is larger")  # fmt: skip
    silent_ms: float = Field(default=0, ge=0, description="Of a step without communication (no_sync); 0: it cannot "
                             "be left out")  # fmt: skip
    silent_spread_ms: float = Field(default=0, ge=0)
    left_ms: float = Field(default=0, ge=0, description="Of sennit: the median of steps of the same jobs whose calls "
                           "were left to NCCL, in turns with those of median_ms; 0: there are none")  # fmt: skip
    left_spread_ms: float = Field(default=0, ge=0, description="Half the interquartile range of those")
    gain: float = Field(default=0, ge=0, description="Of sennit: the median of the ratios of neighbouring blocks of "
                        "those; above 1 sennit is faster")  # fmt: skip
    gain_spread: float = Field(default=0, ge=0, description="A quarter of the interval that holds that median in 19 "
                               "of 20 runs")  # fmt: skip
    calls: str = Field(default="", description="Of sennit: nccl where all calls of the case were NCCL's, so that "
                       "NCCL is compared with itself; else empty")  # fmt: skip
    unit: str = Field(description="images or tokens")
    per_second: float = Field(gt=0, description="Of all ranks")
    losses: list[float] = Field(default=[], description="Of the first steps on rank 0")
    repeatable: bool = Field(default=True, description="All runs of this variant gave the same losses, to the bit")

    @property
    def name(self) -> str:
        """For example: resnet50 ddp graph."""
        return " ".join(filter(None, (self.model, self.parallel, self.step)))

    @property
    def case(self) -> tuple[str, str, int, int, str]:
        """What both variants do."""
        return self.model, self.parallel, self.batch, self.bucket_mb, self.step

    @property
    def exposed(self) -> float | None:
        """The part of a step that is there because ranks communicate; none where that is not known."""
        return max(0.0, 1 - self.silent_ms / self.median_ms) if self.silent_ms else None

    def exposed_spread(self, other: TrainingRow | None) -> float:
        """How far that may be off: by the spread of steps with communication and without, or by what those without
        differ by in the jobs of the other library, which has no part in them."""
        if not self.silent_ms:
            return 0.0
        relative = math.hypot(self.spread_ms / self.median_ms, self.silent_spread_ms / self.silent_ms)
        apart = abs(self.silent_ms - other.silent_ms) if other is not None and other.silent_ms else 0.0
        return max(relative * self.silent_ms, apart) / self.median_ms


class TrainingResult(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["bench training"]
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = Field(default={}, description="Of sennit, PyTorch and NCCL")
    settings: dict[str, Any] = {}
    rows: list[TrainingRow]
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")
