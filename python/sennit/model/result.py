"""A measurement with everything needed to believe it: the document of every benchmark. schemas/result.schema.json is
generated from these classes; docs/tune/result.md says how to read one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sennit.model.document import Part


class MeasuredOn(Part):
    """The machine, as far as it decides what can be measured."""

    name: str
    fingerprint: str = ""
    driver: str = ""
    cuda: str = ""
    devices: list[str] = Field(default=[], description="Models, one a GPU")
    host_cpu: str = ""
    cores: int = 0


class Share(Part):
    """The part of a message that went one way."""

    route: str
    share: float = Field(ge=0, le=1)


class Row(Part):
    """One size, one way of doing it."""

    variant: str = Field(description="What was measured: sennit, or the peer it is compared with in the same run")
    from_: str = Field(default="", alias="from")
    to: str = ""
    traffic: str = Field(default="one_way", description="one_way or both_ways")
    window: int = Field(default=1, ge=1, description="Messages in flight before the sender waits")
    bytes: int = Field(ge=0, description="Size of one message")
    repetitions: int = Field(default=0, ge=0)
    median_us: float = Field(gt=0, description="Time of one message; of a window, divided by its messages")
    spread_us: float = Field(default=0, ge=0, description="Half the interquartile range")
    min_us: float = Field(default=0, ge=0)
    p95_us: float = Field(default=0, ge=0)
    gbps: float = Field(default=0, ge=0, description="10^9 bytes/s at the median")
    limit_gbps: float = Field(default=0, ge=0, description="What the links allow; 0 where nothing is known")
    split: list[Share] = []
    verified: bool = Field(default=False, description="Every byte was checked in a separate pass")


class Result(Part):
    """The whole document."""

    version: Literal[1]
    kind: str = Field(description='For example "bench put"')
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = Field(default={}, description="Of sennit and of every peer measured")
    settings: dict[str, Any] = {}
    rows: list[Row]
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")
