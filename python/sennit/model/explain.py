"""Why a message travels as it does: the document of sennit-explain."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sennit.model.document import Part


class Share(Part):
    """What one route carries."""

    route: str
    stops: list[str] = []
    method: str = ""
    bytes: int
    share: float
    offset: int = 0
    chunk_bytes: int = 0
    blocks: int = 0
    startup_us: float
    rate_gbps: float
    finish_us: float
    links: list[str] = []
    source: str = ""


class Rejected(Part):
    """A route that carries nothing, and why."""

    route: str
    startup_us: float = 0
    rate_gbps: float = 0
    links: list[str] = []
    reason: str


class Explanation(Part):
    """The whole document."""

    version: Literal[1]
    operation: str
    bytes: int
    from_: str = Field(alias="from")
    to: str
    machine: str = ""
    tuned: bool = False
    decided_by: Literal["request", "table", "model", "caution"] = "model"
    shares: list[Share]
    rejected: list[Rejected] = []
    predicted_us: float
    predicted_gbps: float
    single_us: float
    single_gbps: float
    limit_gbps: float = 0
