"""Training as a program that was not written for sennit: what is trained, and how runs under NCCL and under sennit
are put beside each other. Pure functions of their inputs; training_rank.py is what trains, training_models.py what is
trained."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sennit.baselines.job_file import JobFile
from sennit.baselines.timing import LEAST_VALUES, half_range, median_and_spread
from sennit.programs.problem import Exit, Problem

WIDTH, HEAD, TOKENS = 1024, 64, 512  # of the transformer, of one of its heads, and of a sample
TENSOR_WIDTH = 4096  # of the layers that are spread over the ranks
IMAGES = ("resnet50", "resnet152", "densenet201", "vgg16", "alexnet")  # as torchvision names them
BY_SAMPLES = (*IMAGES, "transformer")  # models whose ranks have samples of their own
PARALLEL = {"ddp": BY_SAMPLES, "fsdp": BY_SAMPLES, "tensor": ("transformer", "mlp")}

# How a step is done otherwise than call by call, and with which ways of spreading a model.
STEPS = {"compile": ("ddp", "fsdp", "tensor"), "graph": ("ddp", "tensor"), "accumulate": ("ddp", "fsdp")}
ACCUMULATED = 4  # batches whose gradients are added up before ranks reduce them
RANK = "sennit.baselines.training_rank"  # the module that a rank runs
BLOCK = 4  # steps in a row by one library, where a job has both in turns: a default
SPREAD = 0.005  # of what both compare as; where it is more, steps are timed on
TIMED_ON = 0.7  # of a case's share of the time that a budget leaves; a guess: steps without communication follow
MOST_ROUNDS = 4  # so many times as many steps as asked for are timed at most, unless those are too few pairs
FAR_LESS = 4  # times the work, beyond what models of as much differ by; a guess

# 10^9 of a sample: as torchvision says of its models, and of linear layers as many as they have weights, a token.
MULTIPLY_ADDS = {
    "resnet50": 4.1, "resnet152": 11.5, "densenet201": 4.3, "vgg16": 15.5, "alexnet": 0.7,
    "transformer": 12 * 12 * WIDTH**2 * TOKENS / 1e9, "mlp": 2 * 4 * TENSOR_WIDTH**2 * TOKENS / 1e9,
}  # fmt: skip
DEFAULT = ("resnet50:ddp", "vgg16:ddp", "transformer:fsdp", "transformer:tensor")


@dataclass(frozen=True)
class Case:
    """One model, spread over the ranks in one way."""

    model: str
    parallel: str
    batch: int  # samples a rank
    bucket_mb: int = 25  # of DDP: PyTorch's own default
    step: str = ""  # one of STEPS, or call by call
    layers: int = 12  # of the transformer

    @property
    def name(self) -> str:
        """For example: resnet50 ddp graph, batch 32, buckets 25 MB."""
        bucket = f", buckets {self.bucket_mb} MB" if self.parallel == "ddp" else ""
        return f"{self.way}, batch {self.batch}{bucket}"

    @property
    def way(self) -> str:
        """For example: resnet50 ddp graph."""
        return " ".join(filter(None, (self.model, self.parallel, self.step)))

    @property
    def batches(self) -> int:
        """Of a step."""
        return ACCUMULATED if self.step == "accumulate" else 1

    @property
    def work(self) -> float:
        """10^9 multiply-adds of a step's way forward on a rank, if it had the whole model."""
        return MULTIPLY_ADDS[self.model] * self.batch * self.batches

    def is_far_less_than(self, other: Case) -> bool:
        """Whether it surely takes no longer. What compiling takes does not go by the batch."""
        if (self.parallel, self.step) != (other.parallel, other.step):
            return False
        return (self.step != "compile" or self.model == other.model) and FAR_LESS * self.work <= other.work

    @property
    def unit(self) -> tuple[str, int]:
        """What is counted, and how many a sample has."""
        return ("images", 1) if self.model in IMAGES else ("tokens", TOKENS)


@dataclass(frozen=True)
class Job(JobFile):
    """All that the ranks of one run are asked. They get it as a file."""

    CASE = Case

    ranks: int
    cases: list[Case]
    steps: int
    warm_up: int = 5
    losses: int = 50  # steps whose losses are compared
    limit_s: int = 1800
    until_s: float = 0  # by time.monotonic(), which all processes of a machine share; 0: no case is left for its time

    def share_s(self, begun_s: float, case: int) -> float:
        """Until when a case, of this number and begun then, may be timed on: a part of its share of what is left, so
        that the rest of it has time, too, and the last case does not find less left than the longest took."""
        return begun_s + TIMED_ON * (self.until_s - begun_s) / (len(self.cases) - case) if self.until_s else math.inf

    def begins(self, case: Case, took_s: Mapping[Case, float], now_s: float) -> bool:
        """Whether there is time for another case, which takes as long as the longest so far, or no longer than one of
        far more work. `took_s`: of the cases before. The first is always begun."""
        heavier = [took for other, took in took_s.items() if case.is_far_less_than(other)]
        most_s = min([max(took_s.values(), default=0.0), *heavier])
        return not self.until_s or not took_s or now_s + most_s <= self.until_s


def cases(models: Sequence[str], batches: Sequence[int], buckets: Sequence[int]) -> list[Case]:
    """Every model with every batch and, of DDP, every bucket size. A model is named as NAME[:WAY][:STEP], such as
    resnet50, transformer:fsdp or resnet50:graph. Errors: a model or a way that there is not."""
    found = []
    for named in models:
        model, *ways = named.split(":")
        step = ways.pop() if ways and ways[-1] in STEPS else ""
        parallel = ways.pop() if ways else "ddp"
        if ways or model not in PARALLEL.get(parallel, ()):
            there = [f"{each}:{way}" for way, names in PARALLEL.items() for each in names]
            raise Problem(f"--models: there is no {named}", f"Use any of {', '.join(there)}", Exit.USAGE)
        if step and parallel not in STEPS[step]:
            raise Problem(
                f"--models: {named} is not possible", f"{step} goes with {', '.join(STEPS[step])}", Exit.USAGE
            )
        sizes = buckets if parallel == "ddp" else buckets[:1]
        found += [Case(model, parallel, batch, bucket, step=step) for batch in batches for bucket in sizes]
    return found


def left_out(case: Case) -> str:
    """How a warning begins that says why a case was not measured."""
    return f"{case.name} is left out"


def unfinished(lacks: str, names: Sequence[str]) -> str:
    """The warning of cases that no job under a library, or under both, finished. `names`: of the cases."""
    return f"Left out, as no job under {lacks} finished it: {'; '.join(names)}. Measure it again."


def read_unfinished(warning: str) -> tuple[str, list[str]] | None:
    """What such a warning was made of; none of another."""
    found = re.fullmatch(r"Left out, as no job under (.*?) finished it: (.*)\. Measure it again\.", warning)
    return (found[1], found[2].split("; ")) if found else None


def told_of(cases: Sequence[Case], rows: Sequence[Mapping[str, Any]]) -> list[Case]:
    """Those of which there is a row among what the ranks of a job told."""
    names = {row.get("case") for row in rows}
    return [case for case in cases if case.name in names]


def turns(steps: int) -> list[bool]:
    """Blocks of steps, `steps` of each library at least: whether each is left to NCCL. Which of a pair comes first
    changes from one to the next, so that what drifts hits both."""
    return [number % 4 in (0, 3) for number in range(2 * -(-steps // BLOCK))]


def by_turns(order: Sequence[bool], took: Sequence[float]) -> list[tuple[float, float]]:
    """Of each pair of blocks what NCCL's took, and what sennit's."""
    return [
        (first, second) if is_left else (second, first)
        for is_left, first, second in zip(order[::2], took[::2], took[1::2], strict=True)
    ]


def gain(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """How many times as fast sennit's blocks are as NCCL's beside them, of such pairs, and the spread of that."""
    return median_and_spread([left / own for left, own in pairs])


def times_on(pairs: Sequence[tuple[float, float]], rounds: int, round_s: float, left_s: float) -> bool:
    """Whether another round of steps is timed, as many as asked for: where there are too few pairs so far to say how
    sharp they are, or they are not sharp enough, for so many rounds at most; and where one fits into the time that is
    left."""
    if len(pairs) < LEAST_VALUES:
        return round_s <= left_s
    _, spread = gain(pairs)
    return spread > SPREAD and rounds < MOST_ROUNDS and round_s <= left_s


def row(case: Case, variant: str, ranks: int, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One variant's runs of a case as a row of the result: medians over all steps of all runs, and the spread of
    those or of the runs' medians, whichever is larger."""
    steps = [took for run in runs for took in run["steps_ms"]]
    silent = [took for run in runs for took in run["silent_ms"]]
    medians = [statistics.median(run["steps_ms"]) for run in runs]
    unit, each = case.unit
    median = statistics.median(steps)
    turns = [turn for run in runs for turn in run.get("turns_ms", [])]
    lefts = [left for left, _ in turns]
    gained, gain_spread = gain(turns) if turns else (0.0, 0.0)
    silents = [statistics.median(run["silent_ms"]) for run in runs if run["silent_ms"]]
    samples = case.batch * case.batches * (1 if case.parallel == "tensor" else ranks)
    return {
        "operation": "training",
        "bytes": 0,
        "model": case.model,
        "parallel": case.parallel,
        "batch": case.batch,
        "bucket_mb": case.bucket_mb if case.parallel == "ddp" else 0,
        "step": case.step,
        "variant": variant,
        "ranks": ranks,
        "runs": len(runs),
        "steps": len(steps),
        "median_us": 1e3 * median,
        "spread_us": 1e3 * max(half_range(steps), half_range(medians)),
        "silent_us": 1e3 * statistics.median(silent) if silent else 0.0,
        "silent_spread_us": 1e3 * max(half_range(silent), half_range(silents)) if silent else 0.0,
        "left_us": 1e3 * statistics.median(lefts) if lefts else 0.0,
        "left_spread_us": 1e3 * half_range(lefts) if lefts else 0.0,
        "gain": gained,
        "gain_spread": gain_spread,
        "unit": unit,
        "per_second": samples * each / median * 1e3,
        "losses": runs[0]["losses"],
        "repeatable": all(run["losses"] == runs[0]["losses"] for run in runs),
    }


def difference(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest relative difference of two runs' losses; 0: to the bit, infinite: one is no number."""

    def apart(a: float, b: float) -> float:
        if a == b or (math.isnan(a) and math.isnan(b)):
            return 0.0
        found = abs(a - b) / max(abs(a), abs(b), 1e-30)
        return found if math.isfinite(found) else math.inf

    return max(map(apart, one, other), default=0.0)


def tolerance(model: str, parallel: str) -> float:
    """How far, relative, losses may differ and count as equal: libraries add in different orders, which changes last
    bits; a step that uses them changes more of the next. Of float32 (2^-24) some 10^-4 is left after 50 steps,
    and an error in the sums would show at once. Where parameters or activations are bfloat16 (2^-9), a loss is no
    sharper than a few of its last bits."""
    return 1e-2 if model == "transformer" and parallel in ("fsdp", "tensor") else 1e-3
