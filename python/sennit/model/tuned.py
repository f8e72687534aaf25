"""The fastest splits that were measured on this machine, and kept: the document of sennit-tune put. Mirrors
src/path/tuned.h."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sennit.compare.ratio import Ratio, speedup
from sennit.model.document import Part


class TunedPut(Part):
    """One size between two memories."""

    from_: str = Field(alias="from")
    to: str
    both_ways: bool = False
    bytes: int = Field(ge=0)
    shares: dict[str, float] = Field(min_length=1)
    us: float = Field(ge=0)
    spread_us: float = Field(default=0, ge=0)
    single_us: float = Field(ge=0)

    @property
    def split(self) -> bool:
        """Whether more than one path carries the message."""
        return len(self.shares) > 1

    @property
    def gain(self) -> Ratio | None:
        """How many times as fast the split is as the single path of the same run, whose spread is taken to be alike;
        None where nothing beat the single path."""
        if not self.split or self.us <= 0:
            return None
        return speedup(self.us, self.spread_us, self.single_us, self.spread_us * self.single_us / self.us)


class PutTable(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["put table"]
    fingerprint: str
    date: str = ""
    entries: list[TunedPut]
