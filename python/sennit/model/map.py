"""Which rank of a program goes on which GPU: the document of sennit-map, and what is kept of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, model_validator

from sennit.model.document import Part
from sennit.model.sim import Load

# What depends on how fast the computer was that looked for the map: left out of what is kept, so that the same input
# gives the same bytes.
TIMES = ("found_ms",)


class Traffic(Part):
    """What the ranks send each other."""

    origin: str = Field(alias="from", description="Where it comes from, in words")
    ranks: int = Field(ge=1)
    bytes: NonNegativeFloat
    messages: NonNegativeFloat
    assumed: list[str] = Field(default=[], description="Collectives, and by which messages they are taken to work")
    matrix: list[list[NonNegativeFloat]] = Field(
        default=[], description="Bytes from rank to rank, a row a sender; empty of more than 64 ranks"
    )


class Bound(Part):
    """What no map costs less than."""

    heaviest_us: NonNegativeFloat
    sum: NonNegativeFloat


class Mapping(Part):
    """A map and what it costs."""

    name: str
    metric: str
    solver: str
    heaviest_us: NonNegativeFloat = Field(description="What the most loaded link has to carry, in time")
    heaviest: str = Field(default="", description="The busiest link of the simulated exchange")
    byte_hops: NonNegativeFloat = Field(description="Sum over all messages of bytes × links")
    cost: NonNegativeFloat = Field(description="Sum over all messages of bytes × what the metric says of the pair")
    exchange_us: NonNegativeFloat = Field(description="Simulated: all ranks send once to all that they send to")
    gain: float = Field(description="Part of the exchange's time as it is that this map saves")
    found_ms: NonNegativeFloat = Field(default=0, description="Time to find it, without a proof; not kept in a file")
    proved: bool | None = Field(
        default=None, description="Nothing is cheaper by the metric; null: no proof was tried"
    )
    bound: Bound | None = None
    nodes: NonNegativeInt = Field(default=0, description="Partial maps that the proof looked at")
    map: list[NonNegativeInt] = Field(description="Slot of each rank: node by node, GPU by GPU")

    def gap(self) -> float | None:
        """How much cheaper a map could be at most, as part of the cost; None without a proof that was tried."""
        if self.bound is None or self.proved:
            return None if self.bound is None else 0.0
        if self.metric == "contention" and self.heaviest_us > self.bound.heaviest_us * (1 + 1e-6):
            return 1 - self.bound.heaviest_us / self.heaviest_us
        return max(0.0, 1 - self.bound.sum / self.cost) if self.cost > 0 else 0.0


class MappedRank(Part):
    """Where a rank goes. A GPU is known by its UUID or PCI address; an index says nothing across processes."""

    rank: NonNegativeInt
    node: NonNegativeInt
    host: str = Field(default="", description="Name of the node; empty where it is not known")
    gpu: str = Field(description="Its id in the machine's document")
    uuid: str = ""
    pci: str = ""
    numa: int = Field(default=-1, description="NUMA node whose cores are near; -1: not known")


class Loads(Part):
    """What links carry in the simulated exchange, as it is and with the chosen map."""

    before: list[Load] = []
    after: list[Load] = []


class RankMap(Part):
    """The whole document."""

    kind: Literal["map"]
    version: Literal[1]
    machine: str
    fingerprint: str = Field(description="Of the machine that it was made for")
    nodes: int = Field(default=1, ge=1)
    gpus: int = Field(ge=1, description="Of a node")
    ranks_per_gpu: int = Field(default=1, ge=1)
    traffic: Traffic
    metric: str
    mappings: list[Mapping] = Field(min_length=1, description="The first is as it is: rank r on GPU r")
    chosen: NonNegativeInt = Field(description="Which of the mappings is simulated to be the fastest of the best ten")
    advised: bool = Field(description="It is predicted to be faster by more than predictions may be off")
    verdict: str
    why: str = ""
    pays_after: NonNegativeFloat | None = Field(
        default=None, description="Exchanges until the time to find the map has paid; not kept in a file"
    )
    model_error: NonNegativeFloat = 0
    left_out: list[str] = []
    kept: str = Field(default="", description="How many ranks stay on their sockets, where that was asked for")
    ranks: list[MappedRank] = Field(description="The map to use: the chosen one where it is advised, else as it is")
    loads: Loads = Loads()

    @model_validator(mode="after")
    def _is_whole(self) -> RankMap:
        """Each rank has one place, and everything is of as many ranks."""
        ranks, places = self.traffic.ranks, self.nodes * self.gpus * self.ranks_per_gpu
        for mapping in self.mappings:
            if len(mapping.map) != ranks or len(set(mapping.map)) != ranks or max(mapping.map) >= places:
                raise ValueError(f"the map '{mapping.name[:40]}' gives {ranks} ranks no places of their own")
        if sorted(each.rank for each in self.ranks) != list(range(ranks)):
            raise ValueError(f"the places are not those of {ranks} ranks")
        if any(each.node >= self.nodes for each in self.ranks):
            raise ValueError(f"a rank is on a node that is none of {self.nodes}")
        if self.chosen >= len(self.mappings):
            raise ValueError("the chosen map is not among the mappings")
        return self

    @property
    def best(self) -> Mapping:
        """The chosen mapping."""
        return self.mappings[self.chosen]


class RankOrder(Part):
    """In which order ranks would send less between hosts."""

    kind: Literal["map order"]
    version: Literal[1]
    ranks: int = Field(ge=1)
    process: list[NonNegativeInt] = Field(
        description="Of each rank: the one whose place it should take; empty where no order is better"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> RankOrder:
        if self.process and sorted(self.process) != list(range(self.ranks)):
            raise ValueError(f"the order is none of {self.ranks} ranks")
        return self


def kept(document: dict[str, Any]) -> dict[str, Any]:
    """The document as it is kept in a file: without times of this computer."""
    rows = [{name: value for name, value in row.items() if name not in TIMES} for row in document["mappings"]]
    return document | {"mappings": rows, "pays_after": None}
