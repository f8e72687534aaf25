"""What a profiled program communicated: the document of sennit-profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from sennit.model.document import Part

Memory = Literal["none", "host", "pinned", "managed", "gpu"]
# Calls before the time that shares are of begins, and after it has ended.
OUTSIDE = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")


class Kernels(Part):
    """Kernels and copies on a process's GPUs, while CUPTI was asked for them. Times are of all its GPUs together, in
    which at least one kernel of the kind ran. Those of graphs that were captured before (`of_graphs`) are in none."""

    seconds: NonNegativeFloat
    kernels: NonNegativeInt
    of_graphs: NonNegativeInt
    lost: NonNegativeInt
    communication_seconds: NonNegativeFloat
    computation_seconds: NonNegativeFloat
    overlapped_seconds: NonNegativeFloat
    refused: str | None


class Rank(Part):
    """One process."""

    rank: int
    host: str
    numa_nodes: list[NonNegativeInt] = Field(
        default=[], description="Those that it was bound to when it began; empty: nobody had bound it to some of them"
    )
    process: int
    program: str
    ended: Literal["killed", "finalized", "exited"]
    started_unix: NonNegativeFloat = 0
    seconds: NonNegativeFloat
    paused_seconds: NonNegativeFloat = Field(default=0, description="When it recorded nothing; not in `seconds`")
    inside_seconds: NonNegativeFloat = Field(default=0, description="In calls, of all threads and from start to end")
    calls: NonNegativeInt
    at_once: NonNegativeInt
    threads: NonNegativeInt
    cores: NonNegativeInt = Field(default=0, description="Logical ones of the host; 0: not known")
    calls_lost: NonNegativeInt
    classes_lost: NonNegativeInt
    clock_error_us: NonNegativeFloat
    registered_most_bytes: NonNegativeInt = Field(default=0, description="The most that were registered at once")
    kernels: Kernels | None = None


class Registered(Part):
    """Memory that calls of one function have registered, or had a library allocate."""

    function: str
    processes: NonNegativeInt
    calls: NonNegativeInt
    bytes: NonNegativeInt = Field(description="Of all processes and calls together")
    most_bytes: NonNegativeInt = Field(description="At once, of the process that had most")
    left_bytes: NonNegativeInt = Field(description="That were registered still at the end, of all processes")


class Spread(Part):
    """Of one number of each process."""

    least: NonNegativeFloat
    mean: NonNegativeFloat
    most: NonNegativeFloat


class Row(Part):
    """Calls of one function that are alike, of all processes. Sizes are those of the side that has more bytes."""

    function: str
    communicator_size: NonNegativeInt
    from_bytes: NonNegativeInt | None
    to_bytes: NonNegativeInt | None
    memory_in: Memory
    memory_out: Memory
    reduction: str | None
    how: str | None = None  # which plan or library did it, as SENNIT_REPORT names it; where a drop-in said so
    phase: str | None
    calls: NonNegativeInt
    processes: NonNegativeInt
    bytes_in: NonNegativeInt
    bytes_out: NonNegativeInt
    seconds: NonNegativeFloat
    rank_seconds: Spread
    least_us: NonNegativeFloat
    most_us: NonNegativeFloat
    device_calls: NonNegativeInt
    device_seconds: NonNegativeFloat
    at_once: NonNegativeInt
    # Of calls that begin requests: those that have ended, the time that they took together, and how much of that the
    # program spent in the calls that ended them.
    requests: NonNegativeInt = 0
    flight_seconds: NonNegativeFloat = 0.0
    waited_seconds: NonNegativeFloat = 0.0
    # What came, of receives; `bytes_out` is what was posted.
    received_bytes: NonNegativeInt = 0
    # Calls that asked for something which was not there.
    misses: NonNegativeInt = 0
    missed_seconds: NonNegativeFloat = 0.0
    # Requests that ended where nobody looked, as in a library that calls PMPI_Wait: they are in none of the above.
    unseen: NonNegativeInt = 0
    # Of these calls, those that were put into a CUDA graph, and did nothing else; the calls that such graphs have
    # done since, and the bytes of their larger sides.
    captured: NonNegativeInt = 0
    replayed: NonNegativeInt = 0
    replayed_bytes: NonNegativeInt = 0
    # Of calls that were timed on the GPU, beside what the machine's links allow (model/profile_links.py). `links_us`:
    # the least time of a call of the mean size, whatever does it; `of_links`: the part of a call's time that is.
    # `no_links` says why neither is known.
    gbps: NonNegativeFloat | None = None
    links_us: NonNegativeFloat | None = None
    of_links: NonNegativeFloat | None = None
    no_links: str | None = None

    @property
    def counts(self) -> bool:
        """Whether its time is part of the run's."""
        return self.function not in OUTSIDE

    @property
    def gpu_seconds(self) -> float:
        """Of all calls on GPUs; 0 where none was timed. One that was timed counts for those whose turn it was not, of
        which the last may not have come. A captured call is done where its graph runs, and as often."""
        if not self.device_calls or (self.captured and not self.replayed):
            return self.device_seconds
        done = self.calls - self.captured + self.replayed
        return self.device_seconds * min(1.0, done / self.device_calls)

    @property
    def on_gpu(self) -> bool:
        """Whether GPU memory is on either side."""
        return "gpu" in (self.memory_in, self.memory_out)

    @property
    def memory(self) -> str:
        """Such as "gpu", or "host → gpu"; empty where the call takes no memory."""
        sides = [each for each in (self.memory_in, self.memory_out) if each != "none"]
        return " → ".join(dict.fromkeys(sides))


class Partners(Part):
    """Messages that one rank gave another one."""

    sender: NonNegativeInt = Field(alias="from")
    receiver: NonNegativeInt = Field(alias="to")
    messages: NonNegativeInt
    bytes: NonNegativeInt


class Skew(Part):
    """How long ranks waited in calls of all ranks for the last one to come; in those that have a root, the others for
    the root (broadcast, scatter) or the root for the others (reduction, gather). The latest rank was waited for."""

    function: str
    communicator_size: NonNegativeInt
    calls: NonNegativeInt
    wait_seconds: NonNegativeFloat
    inside_seconds: NonNegativeFloat
    latest_rank: int | None
    latest_calls: NonNegativeInt


class Polls(Part):
    """Questions for what may not be there yet, such as MPI_Iprobe, and those that found nothing."""

    function: str
    calls: NonNegativeInt
    misses: NonNegativeInt
    seconds: NonNegativeFloat
    missed_seconds: NonNegativeFloat
    rank_missed_seconds: Spread


class Lateness(Part):
    """A rank was waited for in so many calls of all ranks, by more than clocks are wrong, and was so far behind the
    last one but one, or as the root of a broadcast or a scatter behind the first one."""

    rank: int
    calls: NonNegativeInt
    last: NonNegativeInt
    late_seconds: NonNegativeFloat


class QueueLength(Part):
    """One queue of a process has these lengths: over the run, and in each bin of its time."""

    mean: NonNegativeFloat
    most: NonNegativeInt
    mean_of_bin: list[NonNegativeFloat]
    most_of_bin: list[NonNegativeInt]


class RankQueues(Part):
    """A process has two queues: receives that wait for a message, and messages that were not asked for yet.
    `undecided`: messages that were sent and asked for at times nearer to each other than clocks are right; they are
    in neither."""

    rank: int
    messages: NonNegativeInt
    undecided: NonNegativeInt
    posted: QueueLength
    unexpected: QueueLength


class Queues(Part):
    """Queues are known from one of three: the MPI's own variables, the sends and receives of all ranks, or polls that
    found nothing. `why_not`: the others."""

    shown: Literal["variables", "reconstructed", "polls"] | None
    why_not: dict[str, str] = {}
    bin_seconds: NonNegativeFloat = 0.0
    since_seconds: NonNegativeFloat = Field(default=0.0, description="Before, the files no longer have all calls")
    sends_left: NonNegativeInt = Field(default=0, description="That no receive was found for")
    receives_left: NonNegativeInt = Field(default=0, description="That no send was found for")
    starts_left_out: NonNegativeInt = Field(default=0, description="Of persistent requests, which cannot be matched")
    ranks: list[RankQueues] = []


class Activity(Part):
    """A process did these: shares of each bin of the run's time. The rest to 1 was spent outside of calls.
    Kinds that there are none of have no bins. `from_bin` to `to_bin`: bins that are mostly of its own run, and whose
    calls its file still has. Waiting is for requests, for messages that a probe looks for, and in
    collectives for the last rank."""

    rank: int
    from_bin: NonNegativeInt = 0
    to_bin: NonNegativeInt | None = None
    collective: list[NonNegativeFloat] = []
    message: list[NonNegativeFloat] = []
    waiting: list[NonNegativeFloat] = []
    nccl: list[NonNegativeFloat] = []
    other: list[NonNegativeFloat] = []


class Timeline(Part):
    """All processes have bins of one time, from the first one's begin on."""

    bin_seconds: NonNegativeFloat
    ranks: list[Activity]


class Variable(Part):
    """What a process's MPI said of itself (MPI_T), such as the length of a queue, at calls that it was in."""

    rank: int
    name: str
    failed: str | None = Field(description="The reason why it was not looked at")
    samples: NonNegativeInt
    mean: NonNegativeFloat
    most: NonNegativeInt
    points: list[tuple[float, NonNegativeInt]] = Field(
        description="Seconds of the run, and the most around that time"
    )


class TypeUse(Part):
    """Calls with elements of one type, as far as single calls were kept."""

    type: str
    calls: NonNegativeInt
    bytes: NonNegativeInt


class Links(Part):
    """The machine whose links calls stand beside, and whether these were measured."""

    machine: str
    measured: bool


class Unreadable(Part):
    """A process's file that could not be read."""

    file: str
    why: str


@dataclass(frozen=True)
class Total:
    """Rows that have something in common. Seconds are of one process, in the mean."""

    calls: int
    bytes: int
    seconds: float

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Total:
        found = list(rows)
        return cls(
            sum(row.calls for row in found),
            sum(max(row.bytes_in, row.bytes_out) for row in found),
            sum(row.rank_seconds.mean for row in found),
        )


class Profile(Part):
    """The whole document."""

    kind: Literal["profile"]
    version: Literal[1]
    ranks_of_job: int
    accelerated: bool
    # Of which calls `device_seconds` are: the time between two CUDA events on the call's stream, around the call; or
    # that of its kernels.
    gpu_times: Literal["none", "sampled", "all", "kernel"] = "none"
    mpi: str | None
    nccl: str | None
    ranks: list[Rank]
    missing: list[int]
    rows: list[Row]
    partners: list[Partners]
    skew: list[Skew]
    polls: list[Polls] = []
    queues: Queues | None = None
    timeline: Timeline | None = None
    lateness: list[Lateness] = []
    types: list[TypeUse] = []
    registered: list[Registered] = []
    variables: list[Variable] = []
    unreadable: list[Unreadable] = []
    links: Links | None = None

    @property
    def seconds(self) -> float:
        """Of the run, in the mean over processes."""
        return sum(rank.seconds for rank in self.ranks) / max(1, len(self.ranks))

    def share(self, seconds: float) -> float:
        """Of the run's time."""
        return seconds / self.seconds if self.seconds > 0 else 0.0

    @property
    def counted(self) -> list[Row]:
        """Rows whose time is part of the run's."""
        return [row for row in self.rows if row.counts]

    def totals(self, key: Callable[[Row], str]) -> dict[str, Total]:
        """Of the counted rows, by what `key` says of them; what took longest first."""
        groups: dict[str, list[Row]] = {}
        for row in self.counted:
            groups.setdefault(key(row), []).append(row)
        totals = {name: Total.of(rows) for name, rows in groups.items()}
        return dict(sorted(totals.items(), key=lambda item: -item[1].seconds))
