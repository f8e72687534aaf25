"""The fastest plans of collectives that were measured on a machine, and kept: the documents of sennit-tune
collectives and sennit-tune kept. Mirrors src/plan/table.h."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sennit.compare.ratio import Ratio, speedup
from sennit.model.document import Part

# What a plan of few blocks has at most, as many as NCCL's own kernels have: Entry::kBesideKernels in
# src/plan/table.h is the same number.
FEW_BLOCKS = 32


class Plan(Part):
    """An algorithm with its settings."""

    algorithm: str
    blocks: int = Field(ge=1)
    threads: int = Field(ge=1)

    @property
    def name(self) -> str:
        """As programs name it: two_shot 256x256."""
        return f"{self.algorithm} {self.blocks}x{self.threads}"


class TimedPlan(Plan):
    """And what a call takes with it."""

    us: float = Field(ge=0)
    spread_us: float = Field(ge=0)


class TunedCase(Part):
    """One size of an operation, on some devices."""

    layout: list[str] = Field(min_length=2)
    operation: str
    arithmetic: Literal["none", "fast", "general"]
    bytes: int = Field(ge=0)
    windows: bool = Field(default=False, description="The buffers lay in symmetric windows, NCCL's in its own")
    plans: list[TimedPlan] = Field(min_length=1, max_length=8)
    model_us: float = Field(ge=0)
    nccl_us: float = Field(ge=0)
    nccl: str = ""
    candidates: int = Field(ge=0)

    @property
    def taken(self) -> TimedPlan:
        """The plan that calls begin with."""
        return self.plans[0]

    @property
    def over_model(self) -> Ratio | None:
        """How many times as fast the plan is as the cost model's choice; None where that is the plan itself, or was
        not timed."""
        return self._over(self.model_us) if self.model_us != self.taken.us else None

    @property
    def over_nccl(self) -> Ratio | None:
        """How many times as fast the plan is as NCCL; None where that was not measured."""
        return self._over(self.nccl_us)

    @property
    def narrow(self) -> TimedPlan | None:
        """The first of at most FEW_BLOCKS blocks, which leaves other kernels room; None where none was timed."""
        return next((plan for plan in self.plans if plan.blocks <= FEW_BLOCKS), None)

    @property
    def is_sennits(self) -> bool | None:
        """Whether the drop-in takes such calls from NCCL, by a plan of few blocks; None where that was not compared.
        As Entry::beats_nccl() in src/plan/table.h has it."""
        if self.nccl_us <= 0:
            return None
        return self.narrow is not None and self.narrow.us + self.narrow.spread_us < self.nccl_us

    @property
    def narrow_over_nccl(self) -> Ratio | None:
        """The same of that plan."""
        return _over(self.narrow, self.nccl_us) if self.narrow else None

    def _over(self, other_us: float) -> Ratio | None:
        return _over(self.taken, other_us)


def _over(plan: TimedPlan, other_us: float) -> Ratio | None:
    """A time of the same run, whose spread is taken to be alike."""
    us, spread_us = plan.us, plan.spread_us
    return speedup(us, spread_us, other_us, spread_us * other_us / us) if us > 0 else None


class CollectiveTable(Part):
    """All that was tuned on a machine."""

    version: Literal[1]
    kind: Literal["collective table"]
    fingerprint: str
    date: str
    versions: dict[str, str]
    scratch_bytes: int = Field(ge=0)
    entries: list[TunedCase]


class KeptTable(Part):
    """A table where it is kept, and whether collectives of this machine follow it."""

    file: str
    used: bool
    why: str = ""
    table: CollectiveTable
    warnings: list[str] = []
    left: int = Field(default=0, ge=0)
