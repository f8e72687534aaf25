"""The documents of sennit-sim: what a collective would take, what checking found, the simulator beside results."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from sennit.baselines.layout import GATHERS, SCATTERS, bus_factor
from sennit.model.document import Part


class SimulatedPlan(Part):
    """A plan and what it would take."""

    plan: str
    algorithm: str
    blocks: int = Field(ge=1)
    once_us: float = Field(ge=0, description="One call, from the start of all ranks to the end of the last")
    us: float = Field(ge=0, description="Each of many calls, one behind the other, as benchmarks make them")
    before_us: float | None = Field(default=None, ge=0, description="The same without --what-if")
    flows: int = Field(default=0, ge=0)


class Delay(Part):
    """Part of the way along which nothing could have been sooner."""

    what: str
    us: float = Field(ge=0)


class Load(Part):
    """What a resource has carried in a call."""

    resource: str
    bytes: float = Field(ge=0)
    busy: float = Field(ge=0, description="Part of what it could have carried")


class Replayed(Part):
    """What holds a replayed job up."""

    critical: list[Delay] = []
    loads: list[Load] = []


class Simulation(Replayed):
    """A collective on a machine: plans, the fastest first, and what holds that one up."""

    version: Literal[1]
    kind: Literal["sim"]
    operation: str
    bytes: int = Field(ge=0)
    ranks: int = Field(ge=2)
    machine: str
    what_if: list[str] = []
    epsilon_us: float = Field(default=0, ge=0)
    bound_us: float | None = Field(
        default=None, ge=0, description="The least that the links allow, by any algorithm and routes: src/sim/bound.h"
    )
    in_step_us: float = Field(
        default=0, ge=0, description="One call by the fastest plan, had its blocks stayed in step: src/sim/replay.h"
    )
    before: SimulatedPlan | None = Field(default=None, description="The fastest plan without --what-if")
    plans: list[SimulatedPlan] = Field(min_length=1)

    def algbw_gbps(self, plan: SimulatedPlan) -> float:
        """Bytes of the larger buffer of any rank over the time of calls back to back, as benchmarks reckon it; 0 of a
        plan that takes no time."""
        messages = self.ranks if self.operation in GATHERS + SCATTERS else 1
        gbps = self.bytes * messages / plan.us / 1e3 if plan.us > 0 else 0
        return gbps if math.isfinite(gbps) else 0

    def busbw_gbps(self, plan: SimulatedPlan) -> float:
        """algbw × what nccl-tests multiplies it with, so that it compares with a link."""
        return self.algbw_gbps(plan) * bus_factor(self.operation, self.ranks)


class Sweep(Part):
    """A collective at several sizes, on several machines: size by size, on one machine after the other."""

    version: Literal[1]
    kind: Literal["sim sweep"]
    simulations: list[Simulation] = Field(min_length=1)


class SentAlgorithm(Part):
    """An algorithm of whole messages and what it would take."""

    algorithm: str
    us: float = Field(ge=0, description="From the start of all ranks to the end of the last")
    before_us: float | None = Field(default=None, ge=0, description="The same without --what-if")
    closed_form_us: float | None = Field(
        default=None,
        ge=0,
        description="By α, β and γ, on one node by its narrowest way: src/plan/closed_forms.h; "
        "of broadcasts src/plan/broadcast_model.h",
    )
    overlap: float | None = Field(
        default=None, description="Of several sources, the part of their single times that they save (equation 11)"
    )
    chunks: int = Field(default=1, ge=1)
    messages: int = Field(ge=0)
    folded: bool = Field(description="Rounds that are alike were simulated once: exact where ranks keep step")


class Messages(Replayed):
    """A collective of whole messages on many nodes: algorithms, the fastest first, and what holds that one up."""

    version: Literal[1]
    kind: Literal["sim messages"]
    operation: str
    bytes: int = Field(ge=0)
    ranks: int = Field(ge=2)
    nodes: int = Field(ge=1)
    chunks: int = Field(ge=1)
    sources: int = Field(default=1, ge=1, description="Roots of broadcasts at the same time")
    k: int = Field(default=4, ge=2, description="Of k-nomial trees")
    machine: str = Field(description="Of each node")
    what_if: list[str] = []
    epsilon_us: float = Field(default=0, ge=0)
    equations: bool = Field(default=False, description="By closed forms alone: nothing was simulated")
    costs: dict[str, float] = Field(
        default={}, description="What messages take beside their bytes: src/sim/messages.h"
    )
    skipped: list[str] = Field(default=[], description="Algorithms of too many messages for so many chunks")
    unreachable: list[str] = Field(default=[], description="Algorithms between GPUs that no links join")
    algorithms: list[SentAlgorithm] = Field(min_length=1)


class MessagesSweep(Part):
    """The same at several sizes, on several numbers of nodes: size by size, from the first number to the last."""

    version: Literal[1]
    kind: Literal["sim messages sweep"]
    simulations: list[Messages] = Field(min_length=1)


class Fitted(Part):
    """A single path's rate or a latency that a study takes from the paper."""

    name: str
    value: float
    unit: str
    where: str = Field(alias="from", description="The paper's number that it comes from")


class PaperNumber(Part):
    """A number of a paper, and what came of it here."""

    figure: str
    what: str
    unit: str
    paper: float
    ours: float
    within: bool = Field(description="The two differ by no more than the band: src/sim/papers/study.h")
    why: str = ""
    fitted: bool = Field(default=False, description="A rate or latency was fitted to it: it takes no part in errors")
    chosen: bool = Field(default=False, description="What the authors chose, not what they measured: nor does it")

    @property
    def ratio(self) -> float:
        """Ours over the paper's."""
        return self.ours / self.paper


class Claim(Part):
    """What a paper says without a number."""

    figure: str
    what: str
    holds: bool
    ours: str
    why: str = Field(default="", description="Of one that does not hold, what is known")


class LeftOut(Part):
    """A number that is not done again, and why."""

    figure: str
    what: str
    why: str


class Design(Part):
    """What a paper's own design takes here."""

    name: str
    us: float = Field(gt=0)


class Series(Part):
    """A line of a figure as it comes out here: of figures that the paper prints no numbers of."""

    figure: str
    name: str
    unit: str
    over: Literal["size", "nodes"] = "size"
    points: list[tuple[float, float]] = Field(description="Bytes, or nodes, and the value there")


class Paper(Part):
    """The experiments of a paper, or several, on one machine."""

    version: Literal[1]
    kind: Literal["sim paper"]
    machine: str
    papers: list[str] = []
    fitted: list[Fitted] = []
    numbers: list[PaperNumber] = []
    claims: list[Claim] = []
    left_out: list[LeftOut] = []
    designs: list[Design] = []
    series: list[Series] = []


class Papers(Part):
    """The experiments of a paper that were made on several machines."""

    version: Literal[1]
    kind: Literal["sim papers"]
    machines: list[Paper] = Field(min_length=1)


class Better(Part):
    """Something that was, and what is possible."""

    machine: str
    what: str
    unit: Literal["GB/s", "µs"]
    before: float = Field(gt=0)
    before_how: str
    after: float = Field(gt=0)
    after_how: str
    bound: float | None = Field(default=None, ge=0, description="What all links together allow, in the same unit")


class Beyond(Part):
    """What machines could do beyond the papers."""

    version: Literal[1]
    kind: Literal["sim beyond"]
    puts: list[Better]
    allreduces: list[Better]
    clusters: list[Better]

    @property
    def rows(self) -> list[Better]:
        """All of them."""
        return [*self.puts, *self.allreduces, *self.clusters]


class Replay(Replayed):
    """A schedule from a file on a machine."""

    version: Literal[1]
    kind: Literal["sim replay"]
    machine: str
    ranks: int = Field(ge=1)
    us: float = Field(ge=0)
    in_step_us: float = Field(default=0, ge=0, description="Had blocks stayed in step")
    flows: int = Field(default=0, ge=0)


class Bound(Part):
    """The least time that links allow a collective; where there is none, why."""

    operation: str
    bytes: int = Field(ge=0)
    ranks: int
    bound_us: float | None = Field(ge=0)
    why: str = ""


class Bounds(Part):
    """What sennit-sim bound prints: a row for each that was asked for, in that order."""

    version: Literal[1]
    kind: Literal["sim bound"]
    machine: str
    rows: list[Bound]


class PutShare(Part):
    """What a route carries."""

    route: str
    share: float = Field(gt=0, le=1)


class SimulatedPut(Replayed):
    """A message, or a window of them, over its split."""

    version: Literal[1]
    kind: Literal["sim put"]
    from_: str = Field(alias="from")
    to: str
    bytes: int = Field(gt=0)
    window: int = Field(default=1, ge=1)
    both_ways: bool = False
    machine: str
    what_if: list[str] = []
    split: list[PutShare] = Field(min_length=1)
    us: float = Field(gt=0, description="Of the whole window")
    before_us: float | None = Field(default=None, ge=0, description="The same without --what-if")
    single: str = Field(description="The best route alone")
    single_us: float = Field(gt=0)
    limit_gbps: float = Field(default=0, ge=0, description="What all links together allow, one way")

    def gbps(self, us: float) -> float:
        """GB/s of all messages, both ways together."""
        return self.bytes * self.window * (2 if self.both_ways else 1) / us / 1e3


class Finding(Part):
    """What is wrong with a job."""

    operation: str
    algorithm: str
    ranks: int
    bytes: int
    scratch_bytes: int = Field(default=0, description="Of each rank; 0: a schedule from a file says")
    in_place: bool
    fault: str
    what: str


class Check(Part):
    """How many jobs were proved right, and what was found."""

    version: Literal[1]
    kind: Literal["check"]
    operations: int
    algorithms: int
    jobs: int
    steps: int
    findings: list[Finding] = []


class HeldRow(Part):
    """A measured row and the simulator's."""

    operation: str
    bytes: int = Field(ge=0)
    ranks: int = Field(ge=2)
    registered: bool = False
    plan: str
    measured_us: float = Field(gt=0)
    us: float = Field(ge=0)
    limit: str = Field(default="", description="What holds a call up for the longest")
    limit_share: float = Field(default=0, ge=0, description="Part of a call's time")

    @property
    def ratio(self) -> float:
        """Simulated over measured."""
        return self.us / self.measured_us


class Held(Part):
    """One result, replayed."""

    version: Literal[1]
    kind: Literal["sim against"]
    machine: str
    measured: dict[str, Any] = {}
    costs: dict[str, float] = {}
    rows: list[HeldRow] = []


class Reproduction(Part):
    """The simulator beside everything that was measured on a machine."""

    version: Literal[1]
    kind: Literal["reproduction"]
    machine: str
    sources: list[str] = Field(default=[], description="The results, by their paths in results/")
    costs: dict[str, float] = Field(default={}, description="What steps take beside their bytes: src/sim/costs.h")
    rows: list[HeldRow]
