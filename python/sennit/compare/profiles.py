"""Two profiles of a program side by side: a profile as a result whose rows are function, memory, size of the
communicator and bin of sizes, so that runs.py compares it as any other. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timezone

from sennit.model.profile import Profile, Row
from sennit.model.profile_sums import Sum, on_gpu_clock, sums
from sennit.model.result import MeasuredOn, Result
from sennit.model.result import Row as Measured

KIND = "profile"
PROGRAM = "program"  # who made the calls
# Calls of less than this part of the run's time are not compared: nothing follows from their times.
COUNTS = 0.005
LAST_DATE = 2**35  # of seconds since 1970 that have a date: in the year 3058


def as_result(profile: Profile) -> Result:
    """The mean time of a call, for each kind of calls that took a part of the run's time worth a word."""
    processes = max(1, len(profile.ranks))
    found = sums(profile, profile.counted, _case)
    counted = [total for total in found.values() if profile.share(total.seconds) >= COUNTS]
    rows = [_row(total, processes) for total in counted if _us(total, processes) > 0]
    hosts = list(dict.fromkeys(rank.host for rank in profile.ranks))
    return Result(
        version=1,
        kind=KIND,
        date=_date(profile),
        machine=MeasuredOn(name=", ".join(hosts)),
        versions={name: said for name, said in (("MPI", profile.mpi), ("NCCL", profile.nccl)) if said},
        settings={
            "processes": len(profile.ranks),
            "accelerated": profile.accelerated,
            "run_seconds": profile.seconds,
            "in_calls": profile.share(sum(row.rank_seconds.mean for row in profile.counted)),
        },
        rows=rows,
    )


def _date(profile: Profile) -> str:
    """Of the first process's start, where it is known."""
    started = min((rank.started_unix for rank in profile.ranks if rank.started_unix > 0), default=0)
    return datetime.fromtimestamp(started, timezone.utc).date().isoformat() if 0 < started < LAST_DATE else ""


def _case(row: Row) -> str:
    return f"{row.function} {row.memory} {row.communicator_size} {row.to_bytes} {on_gpu_clock(row)}"


def _row(total: Sum, processes: int) -> Measured:
    row = total.rows[0]
    us = _us(total, processes)
    # The least and the most of calls timed on the GPU are the host's, unless another tool recorded them.
    bounded = not on_gpu_clock(row) or row.seconds == 0
    how = sorted({each.how for each in total.rows if each.how})
    return Measured(
        operation=row.function,
        variant=PROGRAM,
        bytes=row.to_bytes or 0,
        ranks=max(1, row.communicator_size),
        buffers=row.memory,
        way="on the GPU" if on_gpu_clock(row) else "",
        median_us=us,
        spread_us=_spread_us(total.rows, us, processes) if bounded else us,
        repetitions=round(total.calls / processes),
        plan=" + ".join(how),
    )


def _us(total: Sum, processes: int) -> float:
    """The mean time of a call."""
    return total.seconds * processes / total.calls * 1e6 if total.calls else 0.0


def _spread_us(rows: Iterable[Row], mean_us: float, processes: int) -> float:
    """Of the mean, at most: the variance of values between two bounds is no more than that of the bounds' distances
    from the mean, multiplied (Bhatia and Davis 2000). Calls of one collective are not independent, so those of one
    process are counted."""
    found = [row for row in rows if row.calls]
    calls = sum(row.calls for row in found) / processes
    least, most = min(row.least_us for row in found), max(row.most_us for row in found)
    return math.sqrt(max(0.0, (most - mean_us) * (mean_us - least)) / calls)
