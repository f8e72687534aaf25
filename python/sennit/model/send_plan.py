"""Which protocol a two-sided message takes: the document of sennit-explain send."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sennit.model.document import Part


class Range(Part):
    """A protocol, and the first of the sizes that take it."""

    from_: int = Field(alias="from")
    protocol: str


class Situation(Part):
    """One situation, and what is chosen there."""

    situation: str
    protocol: str
    reason: str
    sizes: list[Range]


class SendPlan(Part):
    """The whole document."""

    version: Literal[1]
    operation: str
    bytes: int
    situations: list[Situation]
