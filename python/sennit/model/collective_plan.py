"""Why a collective works as it does: the document of sennit-explain collective."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sennit.model.document import Part
from sennit.model.plans import Plan


class Candidate(Plan):
    """What a plan should take, and what it took where it was measured."""

    predicted_us: float = Field(ge=0)
    simulated_us: float | None = Field(default=None, ge=0, description="Of a machine that is not here")
    measured_us: float | None = Field(default=None, ge=0)
    spread_us: float | None = Field(default=None, ge=0)
    launch_us: float = Field(default=0, ge=0)
    crossing_us: float = Field(default=0, ge=0)
    moving_us: float = Field(default=0, ge=0)
    sent_bytes: int = Field(default=0, ge=0)
    crossings: float = Field(default=0, ge=0)


class RejectedAlgorithm(Part):
    """An algorithm that cannot do the call, and why."""

    algorithm: str
    why: str


class Standing(Part):
    """The table that was measured here, and whether it counts."""

    file: str
    used: bool
    why: str = ""


class CollectivePlan(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["collective plan"]
    operation: str
    bytes: int = Field(ge=0)
    type: str = ""
    operator: str = ""
    arithmetic: Literal["none", "fast", "general"] = "none"
    windows: bool = Field(default=False, description="The buffers lie in symmetric windows")
    ranks: int = Field(ge=1)
    machine: str = ""
    layout: list[str] = []
    scratch_bytes: int = Field(default=0, ge=0)
    link_gbps: float = Field(default=0, ge=0)
    table: Standing | None = None
    source: Literal["table", "model", "simulator"]
    chosen: Plan
    reason: str
    candidates: list[Candidate]
    rejected: list[RejectedAlgorithm] = []
