"""A budget of seconds for jobs of NCCL and of sennit in turns, each of which trains several cases: what each job gets
of it. Pure: clocks are read elsewhere.

1. A job of NCCL has one part, and one of sennit two: steps of both libraries are timed there, which takes up to twice
   as long. NCCL's first one begins no case that would end after its part, so that as many cases are left as there is
   time for.
2. Every later job gets the cases that all jobs before it finished, and begins none that would end after the budget.
3. A further run, which is a job of each, is begun where as much is left as the longest before took.
4. A job that has not ended by then is ended; what its cases told counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sennit.baselines.training import Case

LEAST_S = 30  # of a budget: two jobs that begin by loading PyTorch, which takes some ten, and the end; a guess
ENDING_S = 5.0  # of the budget, kept for ranks that have to be ended; a guess, they mostly take one


@dataclass(frozen=True)
class Did:
    """What has become of a job."""

    took_s: float
    finished: list[Case]


@dataclass(frozen=True)
class Share:
    """What a job gets. Seconds count from the budget's beginning."""

    cases: list[Case]
    until_s: float  # no case is begun that would end later
    end_s: float  # when the job is ended


def share(cases: Sequence[Case], runs: int, budget_s: float, did: Sequence[Did], now_s: float) -> Share | None:
    """Of the next job, after those that were done: NCCL's and sennit's in turns. None where nothing is left that
    would be of use."""
    end_s = budget_s - ENDING_S
    left = [case for case in cases if all(case in job.finished for job in did)]
    took = [own.took_s + other.took_s for own, other in zip(did[::2], did[1::2], strict=False)]
    is_further = bool(did) and len(did) % 2 == 0
    if not left or now_s >= end_s or (is_further and now_s + max(took) > end_s):
        return None
    return Share(left, end_s if did else budget_s / (3 * runs), end_s)
