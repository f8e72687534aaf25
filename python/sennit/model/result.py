"""A measurement with everything needed to believe it: the document of every benchmark, read and shown as one thing.
schemas/result.schema.json is generated from these classes; docs/tune/result.md says how to read one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from sennit.model.document import Part, parse
from sennit.programs.problem import Exit, Problem

OWN = "sennit"
ENGINE, NCCL, UCX = "engine", "nccl", "ucx"
BY_HAND, MPI = "by_hand", "mpi"
RECORDED, MONITORING, MPIP = "recorded", "monitoring", "mpip"  # by sennit profile, by Open MPI itself, by mpiP
PASSED_ON = "passed_on"

PUT, COLLECTIVE, BENCH_MPI = "bench put", "bench collective", "bench mpi"
PATTERNS = "bench patterns"
TORCH, TRAINING = "bench torch", "bench training"
KINDS = (PUT, COLLECTIVE, BENCH_MPI, PATTERNS, TORCH, TRAINING)


class MeasuredOn(Part):
    """The machine, as far as it decides what can be measured."""

    name: str
    fingerprint: str = ""
    driver: str = ""
    cuda: str = ""
    devices: list[str] = Field(default=[], description="Models, one a GPU")
    host_cpu: str = ""
    cores: int = 0


class Share(Part):
    """The part of a message that went one way."""

    route: str
    share: float = Field(ge=0, le=1)


class Turns(Part):
    """How sennit compares with a variant whose batches took turns with its own, in the same ranks."""

    times_as_fast: float = Field(gt=0, description="Median of the rounds' ratios; above 1 sennit is faster")
    low: float = Field(gt=0, description="That median lies between these in 19 of 20 runs")
    high: float = Field(gt=0)


class Saved(Part):
    """What a map of ranks saves of an exchange, by rounds in turns with the order as it is."""

    part: float = Field(le=1, description="Median of the rounds' 1 - time / time as it is")
    low: float = Field(le=1, description="That median lies between these in 19 of 20 runs")
    high: float = Field(le=1)


class Row(Part):
    """One case, done by one library: first what was measured (the axes), then how long it took, then what else is
    known of it. A member that means nothing to a benchmark has its default."""

    operation: str = Field(
        default="put",
        description="put; a collective; latency, bandwidth and the like of MPI, or a function by its name; training",
    )
    variant: str = Field(description="Who did it: sennit, a peer measured in the same run, or a plan that was forced")
    bytes: int = Field(ge=0, description="Of a message; of a collective the larger buffer of any rank; else 0")
    type: str = Field(default="", description="Of elements")
    operator: str = Field(default="", description="Of no meaning where nothing is reduced")
    ranks: int = Field(default=2, ge=1)
    nodes: int = Field(default=1, ge=1, description="That the ranks were on, or were taken for")
    from_: str = Field(default="", alias="from", description="Of puts: where messages start")
    to: str = Field(default="", description="Of puts: where they end")
    traffic: str = Field(default="one_way", description="Of puts: one_way or both_ways")
    window: int = Field(default=1, ge=1, description="Messages in flight before the sender waits")
    in_place: bool = False
    registered: bool = Field(default=False, description="Buffers lay in symmetric windows, known to all ranks")
    graph: bool = Field(default=False, description="Calls were replayed as a CUDA graph, not made one by one")
    waited: bool = Field(default=False, description="Each call was waited for before the next, by its caller")
    buffers: str = Field(default="", description="Of MPI: gpu, host, managed, or between two ranks gpu_host (the "
                         "sender's or caller's, the other's) and host_gpu; of a barrier empty")  # fmt: skip
    osu: str = Field(default="", description="Of MPI: the OSU micro-benchmark that measures this, if there is one")
    way: str = Field(default="", description="Of PyTorch: graph (in a CUDA graph), queued (by the host, while what "
                     "is before it on the stream still runs) or eager (by the host)")  # fmt: skip
    model: str = Field(default="", description="Of training")
    parallel: str = Field(default="", description="Of training: ddp (a model on each rank), fsdp (FSDP2: parts of "
                          "it) or tensor (parts of its layers)")  # fmt: skip
    batch: int = Field(default=0, ge=0, description="Of training: samples a rank; of tensor all ranks have the same")
    bucket_mb: int = Field(default=0, ge=0, description="Of DDP: gradients that are reduced together")
    step: str = Field(default="", description="Of training: compile (torch.compile), graph (a step as a CUDA graph), "
                      "accumulate (gradients of four batches), or empty: call by call")  # fmt: skip

    pattern: str = Field(default="", description="Of an exchange: who sends to whom, such as 2d-torus:2x2,w=3; its "
                         "variant is a map, by all names that it has")  # fmt: skip
    over: str = Field(default="", description="Of an exchange: nccl (as grouped sends), or mpi, as where it is empty")
    map: list[int] = Field(default=[], description="Of an exchange: the rank that plays each of the pattern's")

    median_us: float = Field(gt=0, description="Of one call on the slowest rank, one message (of a window: divided "
                             "by its messages), or one step of training")  # fmt: skip
    spread_us: float = Field(default=0, ge=0, description="Half the interquartile range; of several jobs that of all "
                             "or of the jobs' medians, whichever is larger")  # fmt: skip
    min_us: float = Field(default=0, ge=0)
    p95_us: float = Field(default=0, ge=0)
    host_us: float = Field(default=0, ge=0, description="What a call takes of the busiest caller's own time; 0: not "
                           "known")  # fmt: skip
    host_spread_us: float = Field(default=0, ge=0)
    host_of_runs_us: list[float] = Field(default=[], description="The median of each job, in their order")
    silent_us: float = Field(default=0, ge=0, description="Of a step without communication (no_sync); 0: it cannot "
                             "be left out")  # fmt: skip
    silent_spread_us: float = Field(default=0, ge=0)
    left_us: float = Field(default=0, ge=0, description="Of sennit: the median of steps of the same jobs whose calls "
                           "were left to NCCL, in turns with those of median_us; 0: there are none")  # fmt: skip
    left_spread_us: float = Field(default=0, ge=0)
    runs: int = Field(default=1, ge=1, description="Jobs, in turns with the other variants'")
    calls: int = Field(default=1, ge=1, description="Calls back to back, of which a time is the average")
    repetitions: int = Field(default=0, ge=0, description="How many times the median is of")
    steps: int = Field(default=0, ge=0, description="Of training: timed, of all runs; of sennit's jobs blocks of "
                       "steps of each library")  # fmt: skip

    sennit: Turns | None = Field(default=None, description="Where sennit took turns with this variant")
    saved: Saved | None = Field(default=None, description="Of an exchange by another map than as it is")
    predicted_us: float = Field(default=0, ge=0, description="Of an exchange, simulated; 0: it was not")
    links_us: float = Field(default=0, ge=0, description="Of an exchange: what its most loaded link takes alone")
    found_ms: float = Field(default=0, ge=0, description="To find the map, a proof not counted; 0: nobody looked")
    own_job: bool = Field(default=False, description="Measured in another job than sennit, not in turns with it")
    gain: float = Field(default=0, ge=0, description="Of sennit: the median of the ratios of neighbouring blocks of "
                        "left_us and median_us; above 1 sennit is faster")  # fmt: skip
    gain_spread: float = Field(default=0, ge=0, description="A quarter of the interval that holds that median in 19 "
                               "of 20 runs")  # fmt: skip
    gbps: float = Field(default=0, ge=0, description="bytes over the median, 10^9 bytes/s; of a window all messages "
                        "that travel at once")  # fmt: skip
    busbw_gbps: float = Field(default=0, ge=0, description="algbw × 2 (n - 1) / n of an allreduce, × 1 of broadcast "
                              "and reduce, × (n - 1) / n of others, as nccl-tests defines it")  # fmt: skip
    limit_gbps: float = Field(default=0, ge=0, description="What the links allow; 0 where nothing is known")
    per_second: float = Field(default=0, ge=0, description="Of training: units of all ranks")
    unit: str = Field(default="", description="Of training: images or tokens")
    split: list[Share] = Field(default=[], description="Of puts by sennit: the part of the message on each path")
    plan: str = Field(default="", description="Of sennit: algorithm, blocks and threads of a block, or NCCL and why "
                      "the call was NCCL's")  # fmt: skip
    blocks: int = Field(default=0, ge=0, description="Blocks of the kernel, at most two an SM")
    sms: int = Field(default=0, ge=0, description="SMs that they take; 0 on the host executor")
    losses: list[float] = Field(default=[], description="Of training: of the first steps on rank 0")
    repeatable: bool = Field(default=True, description="All runs of this variant gave the same losses, to the bit")
    verified: bool = Field(default=False, description="Every byte or number was checked in a separate call")

    @property
    def is_own(self) -> bool:
        """Whether sennit did it, by the plan that it takes itself."""
        return self.variant == OWN

    @property
    def is_forced(self) -> bool:
        """Whether it is a plan that was asked for. Peers have no plan."""
        return not self.is_own and bool(self.plan)


class Added(Part):
    """What the drop-in adds to the host's time for a call of ncclAllReduce: measured in turns with what does the call
    in the end, in one process."""

    median_us: float = Field(description="More than that")
    spread_us: float = Field(default=0, ge=0, description="A quarter of the interval that holds the median in 19 of "
                             "20 runs; in results without bytes half the interquartile range of rounds")  # fmt: skip
    rounds: int = Field(ge=1, description="Of a few calls of each, of all jobs")
    bytes: int = Field(default=0, ge=0, description="Of the buffer; 0: 1 KiB")


class Made(Part):
    """What the drop-in adds to the making of a communicator of all ranks, by ncclCommInitRank: measured in turns with
    NCCL's own, in one process, on the slowest rank."""

    median_ms: float = Field(description="More than that")
    spread_ms: float = Field(default=0, ge=0, description="A quarter of the interval that holds the median in 19 of "
                             "20 runs")  # fmt: skip
    nccl_ms: float = Field(gt=0, description="NCCL's own")
    rounds: int = Field(ge=1, description="Of one communicator of each, of all jobs")


class Result(Part):
    """The whole document."""

    version: Literal[1]
    kind: str = Field(description='For example "bench put"')
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = Field(default={}, description="Of sennit and of everything that was measured")
    settings: dict[str, Any] = {}
    links_gbps: float = Field(default=0, ge=0, description="Of collectives: what a rank's links carry each way while "
                              "all exchange; 0: nobody measured it")  # fmt: skip
    rows: list[Row]
    added: Added | None = Field(default=None, description="Of PyTorch: to a call that it hands on to NCCL, over "
                                "NCCL's own function on the same communicator")  # fmt: skip
    added_to_taken: Added | None = Field(default=None, description="To a call that sennit takes, over "
                                         "sennit_allreduce on a communicator of the same ranks")  # fmt: skip
    made: Made | None = Field(default=None, description="None where it could not be measured, or sennit has no part")
    met: Made | None = Field(default=None, description="Of the first communicator of a process, by jobs of each in "
                             "turns, with what PyTorch does to meet")  # fmt: skip
    begun: Made | None = Field(default=None, description="The same until the first allreduce is done")
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")

    @model_validator(mode="before")
    @classmethod
    def _of_any_writer(cls, value: Any) -> Any:
        """Documents of every writer have these names afterwards."""
        if not isinstance(value, dict) or not isinstance(value.get("rows"), list):
            return value
        return {**value, "rows": [uniform(row, str(value.get("kind"))) for row in value["rows"]]}


def uniform(row: Any, kind: str) -> Any:
    """A row by the names above. Of collectives `in_place` was once left out where it is true, the results of PyTorch
    called a plan `how`, and those of training had milliseconds and `calls` where all calls were NCCL's."""
    if not isinstance(row, dict):
        return row
    if kind == COLLECTIVE:
        return {"in_place": True, **row}
    if kind == BENCH_MPI:
        return {"own_job": row.get("variant") != OWN and not row.get("sennit"), **row}
    if kind == TORCH and "how" in row:
        return {"plan": row["how"], **row}
    if kind != TRAINING:
        return row
    row = {"operation": "training", "bytes": 0, **row}
    for name in [name for name in row if name.endswith("_ms")]:
        value = row.pop(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        row[f"{name.removesuffix('_ms')}_us"] = 1e3 * value if is_number else value
    if isinstance(row.get("calls"), str):
        row["plan"] = "NCCL" if row.pop("calls") else ""
    return row


def read_result(document: Any, origin: str) -> Result:
    """A document, read from `origin`, as a result. Raises Problem where it is none, or says that it is another kind
    of document."""
    kind = document.get("kind", PUT) if isinstance(document, dict) else PUT
    if isinstance(kind, str) and kind not in KINDS:
        raise Problem(
            f"{origin} is a document of kind {kind}, no result of sennit bench",
            "Give what sennit bench wrote with --json",
            Exit.USAGE,
        )
    return parse(Result, document, origin)
