"""How a peer is timed and what the times come to: as src/bench/collective/rig.cc times sennit. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sennit.baselines.job import Case
from sennit.baselines.layout import bus_factor

RUN_US = 2000.0  # of one timed run: long enough that the ranks' different starts do not show
MOST_CALLS = 200  # in a run
LEAST_VALUES = 6  # of fewer, not even all hold the true median between them in 19 of 20 runs
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


def outside_interval(count: int) -> int:
    """How many of so many independent values lie on each side of the narrowest interval between two of them that
    holds the true median in 19 of 20 runs at least. The median is left of it where no more values than those are
    less than the median; each is with probability 1/2, so that is a sum of binomial coefficients. Of fewer than
    LEAST_VALUES not even the interval of all holds it as often."""
    less, ways, all_ways = 0, 1, 1  # so many values are less: in how many ways, and as many or fewer, of 2^count
    while 2 * all_ways * 20 <= 1 << count:
        less += 1
        ways = ways * (count - less + 1) // less
        all_ways += ways
    return max(less - 1, 0)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median of independent values, and between which two of them the true one lies in 19 of 20 runs; of fewer
    than LEAST_VALUES, the least and the most."""
    ordered = sorted(values)
    outside = outside_interval(len(ordered))
    return quantile(ordered, 0.5), ordered[outside], ordered[-1 - outside]


def median_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """The median of independent values, and a quarter of the interval that holds the true one in 19 of 20 runs (by
    order statistics, whatever the values' distribution; of fewer than LEAST_VALUES, that of all)."""
    median, low, high = interval(values)
    return median, (high - low) / 4


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
