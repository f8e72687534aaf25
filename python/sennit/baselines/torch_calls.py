"""Collectives as a program calls torch.distributed's: what is measured, and what the jobs' times come to. Pure
functions of their inputs; torch_calls_rank.py is what calls."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sennit import units
from sennit.baselines.job import EXPLAINED
from sennit.baselines.job_file import JobFile
from sennit.baselines.layout import Layout
from sennit.baselines.timing import half_range, median_and_spread
from sennit.baselines.torch_job import NCCL, SENNIT
from sennit.programs.problem import Exit, Problem

RANK = "sennit.baselines.torch_calls_rank"  # the module that a rank runs
FIRST_BYTES = 1024  # of a job's first allreduce
PASSED_BYTES = 1024  # of a call of NCCL's own function that is handed on
PASSED_ON = "passed_on"  # the variant whose calls the drop-in hands to NCCL, all of them

# How calls are made: by the host, one after the other; the same, while what is before them on the stream still runs;
# in a CUDA graph.
EAGER, QUEUED, GRAPH = "eager", "queued", "graph"
WAYS = (GRAPH, QUEUED, EAGER)

# What SENNIT_EXPLAIN calls them.
NAMES = {
    "allreduce": "allreduce", "reduce_scatter": "reduce_scatter", "allgather": "allgather", "broadcast": "bcast",
    "all_to_all": "alltoall",
}  # fmt: skip
TYPES = ("float32", "bfloat16", "float16", "float64")
SIZES = "1K,4K,16K,64K,256K,1M,4M,16M,64M"


@dataclass(frozen=True)
class Case:
    """One row to be measured, in every way."""

    operation: str
    bytes: int  # of the larger buffer of any rank
    type: str

    def __str__(self) -> str:
        """For example: allreduce of 64 KiB, float32."""
        return f"{self.operation} of {units.size(self.bytes)}, {self.type}"


@dataclass(frozen=True)
class Job(JobFile):
    """All that the ranks of one run are asked. They get it as a file."""

    CASE = Case

    ranks: int
    cases: list[Case]
    seconds: float  # for each figure; 0: calls are verified and not timed
    ways: tuple[str, ...] = WAYS
    passing: bool = False  # measure what the drop-in adds to a call that it hands on
    taken_bytes: int = 0  # and to one of so many bytes that sennit takes; 0: do not
    limit_s: int = 600

    @classmethod
    def read(cls, text: str) -> Job:
        """From such a file."""
        found = super().read(text)
        return replace(found, ways=tuple(found.ways))


def check(operations: Sequence[str], sizes: Sequence[str], types: Sequence[str]) -> list[int]:
    """The sizes in bytes. Raises Problem (usage) for a name or a size that there is not."""
    if not operations or not sizes or not types:
        raise Problem("there is nothing to measure", "Name --operations, --sizes and --types", Exit.USAGE)
    for option, asked, known in (("--operations", operations, tuple(NAMES)), ("--types", types, TYPES)):
        for each in asked:
            if each not in known:
                raise Problem(f"{option}: there is no {each}", f"Use any of {', '.join(known)}", Exit.USAGE)
    try:
        return [units.bytes_of(size) for size in sizes]
    except ValueError as error:
        raise Problem(f"--sizes: {error}", "Such as --sizes 1K,64K,1M", Exit.USAGE) from None


def cases(operations: Sequence[str], sizes: Sequence[str], types: Sequence[str], ranks: int) -> list[Case]:
    """Every operation of every type with every size, which is made a multiple of what the ranks need. Raises Problem
    as check() does."""
    wanted = check(operations, sizes, types)
    grain = 8 * ranks  # whole elements of every type for every rank
    rounded = dict.fromkeys(max(size // grain, 1) * grain for size in wanted)
    return [Case(operation, size, kind) for operation in operations for kind in types for size in rounded]


def passed_on(found: Sequence[Case]) -> list[Case]:
    """Of each operation and type the smallest: where what the host adds is most of a call."""
    least: dict[tuple[str, str], Case] = {}
    for case in found:
        known = least.setdefault((case.operation, case.type), case)
        if case.bytes < known.bytes:
            least[case.operation, case.type] = case
    return list(least.values())


def settings_of(variant: str, take: str) -> dict[str, str]:
    """What ranks of a variant have in their environment beside LD_PRELOAD."""
    if variant == SENNIT:
        return {"SENNIT_TAKE": take}
    # A name that no operation has.
    return {"SENNIT_OPS": "none"} if variant == PASSED_ON else {}


def explained(case: Case, ranks: int, lines: Iterable[str]) -> str:
    """How the drop-in said that calls of the case go; empty where it said nothing. `lines`: what ranks that had
    SENNIT_EXPLAIN printed, having called with one type of elements. It names the bytes of a rank's message."""
    message = Layout(case.operation, case.bytes, 0, ranks, False).message
    for line in lines:
        said = EXPLAINED.match(line)
        # It rounds to two digits behind the point.
        if said and said[1] == NAMES[case.operation] and abs(units.bytes_of(said[2]) - message) <= 0.01 * message:
            return said[3]
    return ""


def row(
    case: Case, way: str, variant: str, ranks: int, runs: Sequence[Mapping[str, Any]], how: str
) -> dict[str, Any]:
    """One variant's runs of a case as a row of the result: medians over all batches of all runs, and the spread of
    those or of the runs' medians, whichever is larger."""
    found: dict[str, Any] = {
        "operation": case.operation,
        "variant": variant,
        "way": way,
        "bytes": case.bytes,
        "type": case.type,
        "ranks": ranks,
        "runs": len(runs),
        "calls": min(run["calls"] for run in runs),
        "repetitions": sum(len(run["us"]) for run in runs),
        "plan": how,
        "verified": True,  # a rank that gets a wrong number ends its job
    }
    for names, told in ((("median_us", "spread_us"), "us"), (("host_us", "host_spread_us"), "host_us")):
        every = [each for run in runs for each in run[told]]
        medians = [statistics.median(run[told]) for run in runs]
        found |= dict(
            zip(names, (statistics.median(every), max(half_range(every), half_range(medians))), strict=True)
        )
    return found | {"host_of_runs_us": [statistics.median(run["host_us"]) for run in runs]}


def taken_bytes(hows: Mapping[Case, str]) -> int:
    """Of the smallest allreduce of float32 that sennit takes; 0: there is none. `hows`: how calls of sennit go."""
    return min(
        (case.bytes for case, how in hows.items()
         if (case.operation, case.type) == ("allreduce", "float32") and how and not how.startswith("NCCL")),
        default=0,
    )  # fmt: skip


def added(told: Sequence[Sequence[Mapping[str, Any]]], name: str, size: int) -> dict[str, Any] | None:
    """What the drop-in adds to the host's time for a call, as rows have it by this name: the median of all rounds of
    all jobs, and its spread, or that of the jobs' medians, whichever is larger. None where no rank could tell."""
    jobs = [row[name] for job in told for row in job if row.get(name)]
    if not jobs:
        return None
    every = [each for job in jobs for each in job]
    median, spread = median_and_spread(every)
    _, between = median_and_spread([statistics.median(each) for each in jobs])
    return {"median_us": median, "spread_us": max(spread, between), "rounds": len(every), "bytes": size}


def made(told: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any] | None:
    """What the drop-in adds to the making of a communicator, of all rounds of all jobs; none where no rank could
    tell."""
    return _longer([(through, own) for job in told for row in job for through, own in row.get("made_ms", ())])


def met(said: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]) -> dict[str, Any] | None:
    """What the drop-in adds to the first communicator of a process: what each job of sennit's took longer to meet
    than NCCL's of the same turn. `said`: by variant, what rank 0 of each job said; none where a variant has no job.
    """
    return _longer_in_turns(said, ("met_ms",))


def begun(said: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]) -> dict[str, Any] | None:
    """The same until the first collective is done, for which NCCL has still to load its kernels and to connect."""
    return _longer_in_turns(said, ("met_ms", "first_ms"))


def _longer_in_turns(
    said: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]], parts: Sequence[str]
) -> dict[str, Any] | None:
    """By jobs in turns, of which `parts`, by name, are added up; one that did not say all is left out."""
    told = {variant: [{name: value for row in job for name, value in row.items()} for job in said.get(variant, ())]
            for variant in (SENNIT, NCCL)}  # fmt: skip
    took = [[sum(job[part] for part in parts) for job in jobs if job.keys() >= set(parts)] for jobs in told.values()]
    return _longer(list(zip(*took, strict=False)))


def _longer(pairs: Sequence[tuple[float, float]]) -> dict[str, Any] | None:
    """How much longer the first of each pair is than NCCL's, in milliseconds; None of no pair."""
    if not pairs:
        return None
    median, spread = median_and_spread([through - own for through, own in pairs])
    nccl = statistics.median(own for _, own in pairs)
    return {"median_ms": median, "spread_ms": spread, "nccl_ms": nccl, "rounds": len(pairs)}


def rows(
    asked: Sequence[Case], ranks: int, told: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]],
    hows: Mapping[Case, str],
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of all. `told`: by variant, what rank 0 of each job said; `hows`: how calls of sennit go."""
    found = []
    for case in asked:
        for way in WAYS:
            for variant in (SENNIT, NCCL, PASSED_ON):
                runs = [each for job in told.get(variant, ()) for each in job
                        if (each.get("case"), each.get("way")) == (str(case), way)]  # fmt: skip
                if runs:
                    how = hows.get(case, "") if variant == SENNIT else ""
                    found.append(row(case, way, variant, ranks, runs, how))
    return found
