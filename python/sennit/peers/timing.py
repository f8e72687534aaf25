"""How a peer is timed and what the times come to: as src/bench/collective/site.cc times sennit. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sennit.peers.job import Case
from sennit.peers.layout import bus_factor

RUN_US = 2000.0  # of one timed run: long enough that the ranks' different starts do not show
MOST_CALLS = 200  # in a run
LEAST_US = 1e-3  # of a call: what a clock may have missed


@dataclass(frozen=True)
class Times:
    """Of one call on the slowest rank, in µs."""

    median_us: float
    spread_us: float  # half the interquartile range
    min_us: float
    p95_us: float
    repetitions: int
    calls: int  # in each run


def calls_for(least_us: float) -> int:
    """How many calls make a run, given the fastest so far."""
    return int(min(max(RUN_US / least_us, 1.0), float(MOST_CALLS)))


def runs_for(seconds: float, run_us: float) -> int:
    """How many runs there are time for; between them ranks meet."""
    return int(min(max(seconds * 1e6 / (run_us + 300), 5.0), 100.0))


def quantile(ascending: Sequence[float], part: float) -> float:
    """The value below which that part of them lies, on the straight line between the two nearest."""
    at = part * (len(ascending) - 1)
    below = int(at)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (at - below) * (ascending[above] - ascending[below])


def half_range(values: Sequence[float]) -> float:
    """Half the interquartile range; of one value nothing."""
    ordered = sorted(values)
    return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 2


def median_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """The median of independent values, and a quarter of the interval that holds the true one in 19 of 20 runs (by
    order statistics; of fewer than six values, that of all)."""
    ordered = sorted(values)
    reach = 0.98 * len(ordered) ** 0.5
    below = max(int(len(ordered) / 2 - reach), 0)
    above = len(ordered) - 1 - below
    return quantile(ordered, 0.5), (ordered[above] - ordered[below]) / 4


def summarised(samples: Sequence[float], calls: int) -> Times:
    """What repeated times come to."""
    ordered = sorted(samples)
    return Times(
        quantile(ordered, 0.5),
        half_range(ordered),
        ordered[0],
        quantile(ordered, 0.95),
        len(ordered),
        calls,
    )


def timed(prepare: Callable[[int], None], run: Callable[[], float], seconds: float) -> Times:
    """Back-to-back calls for some `seconds`. `prepare` makes a run of so many calls; `run` does it and gives its µs
    on the slowest rank, the same on every rank, so that all decide alike."""
    calls, run_us, least_us = 4, 0.0, RUN_US
    for round_ in range(3):
        prepare(calls)
        run_us = run()
        # By the fastest so far: one slow start must not make runs of a few calls.
        least_us = min(least_us, max(run_us / calls, LEAST_US))
        if round_ < 2:
            calls = calls_for(least_us)
    return summarised([run() / calls for _ in range(runs_for(seconds, run_us))], calls)


def row_of(case: Case, variant: str, ranks: int, times: Times, **more: Any) -> dict[str, Any]:
    """A row of the document. `more`: what is otherwise than the case says."""
    gbps = case.bytes / times.median_us / 1e3
    return {
        "operation": case.operation,
        "variant": variant,
        "bytes": case.bytes,
        "type": case.type,
        "operator": case.operator,
        "ranks": ranks,
        "in_place": case.in_place,
        "graph": False,
        "calls": times.calls,
        "repetitions": times.repetitions,
        "median_us": times.median_us,
        "spread_us": times.spread_us,
        "min_us": times.min_us,
        "p95_us": times.p95_us,
        "gbps": gbps,
        "busbw_gbps": gbps * bus_factor(case.operation, ranks),
        "verified": case.operation != "barrier",  # of which there is nothing to check
        **more,
    }
