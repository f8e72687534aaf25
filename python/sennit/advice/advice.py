"""One piece of advice, and what it may rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sennit.model.machine import Machine
from sennit.model.plans import CollectiveTable

LEAST = 0.02  # of run time, below which nothing is worth a change


@dataclass(frozen=True)
class Advice:
    """`share`: of run time that it could give at most. `what` was seen, the `evidence` for it, and the `remedy`, in
    sentences."""

    share: float
    what: str
    evidence: str
    remedy: str


@dataclass(frozen=True)
class Known:
    """Of the machine that a profile was made on; what is not known is None. `tuned`: its table of collectives;
    `never_tuned`: it is known that there is none. `order`: of each rank the one whose place it should take, as the
    mapper says."""

    machine: Machine | None = None
    tuned: CollectiveTable | None = None
    never_tuned: bool = False
    order: Sequence[int] | None = None


NOTHING_KNOWN = Known()
