"""What recording costs programs of PyTorch: which jobs are run, and what they come to. Pure functions of their
inputs; recording_rank.py is what times calls, recording_training_rank.py what trains.

A job has one recorder, or none, and takes turns with itself without it. What cannot be switched off within a job
(NCCL's Flight Recorder; that the recorder's library is there) is measured by jobs that follow one another."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sennit.baselines.job_file import JobFile
from sennit.baselines.timing import interval
from sennit.baselines.training import Case

# Jobs, by what is in them. torch.profiler has one of its own: once it was on, calls of the host stay slower.
NOTHING, FLIGHT, SAMPLED, ALL, KERNEL = "nothing", "Flight Recorder", "sampled", "all", "kernel"
TORCH = "torch.profiler"
CALL_JOBS = (NOTHING, SAMPLED, FLIGHT, ALL, KERNEL, TORCH)
TRAINING_JOBS = (NOTHING, SAMPLED, FLIGHT, TORCH)
OWN_JOBS = (SAMPLED, ALL, KERNEL)  # that sennit's recorder is in; --gpu-times has these names
# Recorders, as rows have them: the jobs' names, and this one.
PAUSED = "loaded, paused"
RECORDERS = (PAUSED, SAMPLED, ALL, TORCH, FLIGHT)

CALLS_RANK = "sennit.baselines.recording_rank"  # modules that ranks run
TRAINING_RANK = "sennit.baselines.recording_training_rank"
MODELS = ("resnet50", "densenet201", "vgg16")
BUFFER = "2000"  # calls that Flight Recorder keeps, as PyTorch's documentation has it
CALLS = 64  # of a block, of which one is timed when sampled; more do not fit a stream
FIRST = 96  # calls before those that count: the first 64 of a kind are all timed
# With torch.profiler, which takes longer to start and to stop than what is timed: of calls, and of steps of training.
PROFILED_PAIRS, TRACED_PAIRS = 12, 8
TIMED = "timed"  # the phase of the profile that counts


@dataclass(frozen=True)
class Job(JobFile):
    """All that the ranks of one job are asked. They get it as a file."""

    CASE = Case

    ranks: int
    name: str  # one of CALL_JOBS
    sizes: list[int] = field(default_factory=list)  # of buffers, in bytes
    cases: list[Case] = field(default_factory=list)  # that are trained
    pairs: int = 40
    warm_up: int = 10  # steps of training
    limit_s: int = 900


def order(pairs: int) -> list[bool]:
    """Blocks of so many pairs: whether each is recorded. Which of a pair comes first changes from one to the next, so
    that what drifts hits both."""
    return [number % 4 in (1, 2) for number in range(2 * pairs)]


def paired(blocks: Sequence[bool], took: Sequence[float]) -> list[tuple[float, float]]:
    """Of each pair of blocks what the one without recording took, and the other."""
    return [
        (second, first) if is_first else (first, second)
        for is_first, first, second in zip(blocks[::2], took[::2], took[1::2], strict=True)
    ]


def flight(job: str) -> dict[str, str]:
    """What Flight Recorder reads: off but in its own job. Newer PyTorch has the second name, and it on by itself."""
    size = BUFFER if job == FLIGHT else "0"
    return {"TORCH_NCCL_TRACE_BUFFER_SIZE": size, "TORCH_FR_BUFFER_SIZE": size}


# ---- what jobs told -----------------------------------------------------------------------------------------------


Told = Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]  # of each job's name, of each of its runs: rows


def added(values: Sequence[float], of_jobs: bool = False) -> dict[str, Any]:
    """As the document has it."""
    median, low, high = interval(values)
    return {"median": median, "low": low, "high": high, "pairs": len(values), "of_jobs": of_jobs}


def rows_of(told: Told, job: str, **wanted: Any) -> list[Mapping[str, Any]]:
    """All rows of a kind of job that are so."""
    return [row for run in told.get(job, ()) for row in run if wanted.items() <= row.items()]


def call_costs(told: Told, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each size and recorder that something is known of."""
    found = []
    for size in sizes:
        for recorder, job in ((PAUSED, SAMPLED), (SAMPLED, SAMPLED), (ALL, ALL), (TORCH, TORCH), (FLIGHT, FLIGHT)):
            if recorder in (PAUSED, FLIGHT):
                both = _jobs(told, job, "alone", bytes=size)
            else:
                both = [pair for row in rows_of(told, job, recorder=recorder, bytes=size) for pair in row["pairs"]]
            if not both:
                continue
            of_jobs = recorder in (PAUSED, FLIGHT)
            host, stream = ([(off[part], on[part]) for off, on in both] for part in (0, 1))
            found.append({
                "bytes": size,
                "recorder": recorder,
                "host_us": added([on - off for off, on in host], of_jobs),
                "stream_us": added([on - off for off, on in stream], of_jobs),
                "alone_host_us": statistics.median(off for off, _ in host),
                "alone_stream_us": statistics.median(off for off, _ in stream),
            })  # fmt: skip
    return found


def _jobs(told: Told, job: str, member: str, **wanted: Any) -> list[tuple[Any, Any]]:
    """What a job without any recorder told, and its neighbour with one that is always there."""
    without, with_it = (
        [row[member] for run in told.get(name, ()) for row in run if member in row and wanted.items() <= row.items()]
        for name in (NOTHING, job)
    )
    return list(zip(without, with_it, strict=False))


def gpu_times(told: Told, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each size of which torch.profiler or sennit timed calls, each without the other: between events and
    kernels is what torch.profiler does, too."""
    found = []
    for size in sizes:
        torch = _mean(rows_of(told, TORCH, torch_profiler=True, bytes=size))
        events = _mean(rows_of(told, ALL, timed=True, bytes=size))
        kernels = _mean(rows_of(told, KERNEL, timed=True, bytes=size))
        if torch or events or kernels:
            found.append({
                "bytes": size,
                "torch_us": torch,
                "events_us": events,
                "kernels_us": kernels,
                "calls": sum(row["calls"] for row in rows_of(told, TORCH, torch_profiler=True, bytes=size)),
            })  # fmt: skip
    return found


def _mean(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """Of calls whose µs rows have together."""
    found = list(rows)
    calls = sum(row["calls"] for row in found)
    return sum(row["us"] for row in found) / calls if calls else None


def timed_rows(document: Mapping[str, Any], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """What the profile of a job says of the time of its allreduces on GPUs, by size: their µs together."""
    found: dict[int, tuple[int, float]] = {}
    for row in document["rows"]:
        if row["function"] != "ncclAllReduce" or not row["device_calls"] or row["phase"] != TIMED:
            continue
        calls, us = found.get(row["to_bytes"], (0, 0.0))
        found[row["to_bytes"]] = calls + row["device_calls"], us + 1e6 * row["device_seconds"]
    return [
        {"timed": True, "bytes": size, "calls": calls, "us": us}
        for size in sizes
        for calls, us in [found.get(bin_of(size), (0, 0.0))]
        if calls
    ]


def bin_of(size: int) -> int:
    """The largest size of its bin, (2^(n-1), 2^n]."""
    return 1 << (size - 1).bit_length()


def training_costs(told: Told, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """A row for each model and recorder that something is known of."""
    found = []
    for case in cases:
        for recorder, job in ((PAUSED, SAMPLED), (SAMPLED, SAMPLED), (TORCH, TORCH), (FLIGHT, FLIGHT)):
            of_jobs = recorder in (PAUSED, FLIGHT)
            if of_jobs:
                both = _jobs(told, job, "alone_ms", case=case.name)
            else:
                both = [
                    pair for row in rows_of(told, job, recorder=recorder, case=case.name) for pair in row["pairs"]
                ]
            if not both:
                continue
            found.append({
                "model": case.model,
                "batch": case.batch,
                "recorder": recorder,
                "slower": added([on / off - 1 for off, on in both], of_jobs),
                "alone_us": 1e3 * statistics.median(off for off, _ in both),
            })  # fmt: skip
    return found
