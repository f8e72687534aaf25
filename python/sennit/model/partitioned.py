"""Messages whose partitions become ready one after the other: the document of `sennit bench partitioned`.
schemas/partitioned.schema.json is generated from them; docs/tune/bench-partitioned.md says what figures mean."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from sennit.model.document import Part
from sennit.model.result import MeasuredOn

PARTITIONED = "bench partitioned"

SINGLE, OWN = "single", "mpi"
BACK_ENDS = ("single", "threads", "persistent", "persistent_partitions", "mpi", "rma_flush", "rma_pscw")
BETWEEN_TWO = BACK_ENDS[:5]  # those that need no window of all ranks
PATTERNS = ("sweep3d", "halo3d")
MEASURED, HUNG, FAILED, LEFT_OUT = "measured", "hung", "failed", "left_out"
QUESTIONS = ("early", "start_all", "before_start", "while_waiting")


class Figure(Part):
    """A median over rounds. It lies between low and high in 19 of 20 runs."""

    median: float
    low: float
    high: float


class Published(Part):
    """What the public suite of 2022 would say of the same rounds: means, with its defects."""

    overhead: NonNegativeFloat
    perceived_gbps: NonNegativeFloat
    availability_percent: float
    early_bird_percent: NonNegativeFloat


class Timeline(Part):
    """One round: that whose transfer is the median. µs since its start."""

    joined_us: NonNegativeFloat
    end_us: NonNegativeFloat
    partitions: list[tuple[float, float, float]] = Field(
        description="Of each partition in the order of the buffer: its ready call begins, returns; it has arrived"
    )


class Row(Part):
    """One message, cut into partitions, by one back end. Its figures are of rounds in which a message sent whole by
    MPI_Send took turns with it, with the same bytes and the same compute; all bytes of all rounds were compared."""

    line: NonNegativeInt = Field(default=0, description="Its place among the lines of its back end, as asked for")
    back_end: str = Field(description=", ".join(BACK_ENDS))
    bytes: PositiveInt
    partitions: PositiveInt
    threads: PositiveInt
    compute_us: NonNegativeFloat = Field(description="Of each thread, without noise")
    computed: str = Field(default="spun", description="spun, or slept where threads have no core each")
    noise: str
    order: str
    cache: str = Field(description="hot, or cold: twice the last cache was written before each message")
    crowded: bool = Field(default=False, description="There were more threads than cores for them")

    state: Literal["measured", "hung", "failed", "left_out"]
    why: str = Field(default="", description="It was not measured")
    command: str = Field(default="", description="Of a row that hung or failed: what starts this line alone")

    messages: NonNegativeInt = Field(default=0, description="Calls that send; what travels is the MPI's to say")
    rounds: NonNegativeInt = 0
    steady: bool = Field(default=False, description="The overhead is known to ± 5 %")
    bytes_sent: NonNegativeInt = Field(default=0, description="In each round")
    verified: bool = Field(default=False, description="Every byte of every round")

    single_us: Figure | None = Field(default=None, description="Of the whole message, from the call to arrival")
    transfer_us: Figure | None = Field(default=None, description="Union of [ready call, arrival] of all partitions")
    overhead: Figure | None = Field(default=None, description="transfer / single, of each round")
    perceived_gbps: Figure | None = Field(default=None, description="bytes / (last arrival - last ready call)")
    availability_percent: Figure | None = Field(
        default=None, description="100 (single - transfer after the join) / single"
    )
    early_bird_percent: Figure | None = Field(default=None, description="100 (transfer before the join) / transfer")
    saved_us: Figure | None = Field(
        default=None,
        description="How much earlier all is there than the whole message, compute and all, of each round",
    )
    exposed_us: Figure | None = Field(default=None, description="From the join to the last arrival")
    last_us: Figure | None = Field(default=None, description="From the last ready call to the last arrival")
    early_partitions_percent: NonNegativeFloat = Field(
        default=0, description="Of all partitions but the last, those that arrived before that one was ready; median"
    )
    begin_us: NonNegativeFloat = Field(default=0, description="The sender's first call: MPI_Start and the like")
    as_published: Published | None = None
    timeline: Timeline | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it has figures."""
        return self.state == MEASURED and self.overhead is not None


class PatternRow(Part):
    """A pattern of an application between several ranks, by one back end. Its figures are of rounds in which whole
    messages (MPI_Send after the threads' join) took turns with it, with the same bytes and the same updates of cells:
    all ranks counted them. The results of all rounds were equal to the bit, and those of the first what one process
    computes."""

    line: NonNegativeInt = Field(default=0, description="Its place among the lines of its back end, as asked for")
    pattern: str = Field(description=", ".join(PATTERNS))
    grid: list[PositiveInt] = Field(description="Ranks along x, y and z", min_length=3, max_length=3)
    steps: PositiveInt = Field(description="Of a round: planes of all octants, or iterations")
    back_end: str = Field(description=", ".join(BETWEEN_TWO))
    bytes: PositiveInt = Field(description="Of a face")
    partitions: PositiveInt = Field(description="Of a face")
    threads: PositiveInt = Field(description="Of each rank")
    compute_us: NonNegativeFloat = Field(description="Of each thread in each step, beside the updates")
    computed: str = Field(default="spun", description="spun, or slept where threads have no core each")
    noise: str
    order: str
    cache: str = Field(default="hot", description="As it is")
    crowded: bool = Field(default=False, description="There were more threads than cores for them")

    state: Literal["measured", "hung", "failed", "left_out"]
    why: str = Field(default="", description="It was not measured")
    command: str = Field(default="", description="Of a row that hung or failed: what starts this line alone")

    rounds: NonNegativeInt = 0
    steady: bool = Field(default=False, description="The speed-up is known to ± 5 %")
    verified: bool = Field(default=False, description="To the bit")
    faces: NonNegativeInt = Field(default=0, description="That all ranks sent in a round")
    bytes_sent: NonNegativeInt = Field(default=0, description="By all ranks in a round; of whole messages as many")
    bytes_received: NonNegativeInt = Field(default=0, description="By all ranks in a round")
    updates: NonNegativeInt = Field(default=0, description="Of cells and quantities, by all ranks in a round")

    round_us: Figure | None = Field(default=None, description="From the first rank's begin to the last one's end")
    single_us: Figure | None = Field(default=None, description="The same of whole messages")
    speedup: Figure | None = Field(default=None, description="single / round, of each round")

    @property
    def ranks(self) -> int:
        """How many there were."""
        return math.prod(self.grid)

    @property
    def is_measured(self) -> bool:
        """Whether it has figures."""
        return self.state == MEASURED and self.speedup is not None


def reason(row: Row | PatternRow) -> str:
    """Why a line was not measured, for people."""
    return row.why if row.why.startswith(row.state) else f"{row.state.replace('_', ' ')}: {row.why}"


class Early(Part):
    """Of two partitions, the second ready 20 ms after the first: whether the first arrives before that."""

    bytes: PositiveInt = Field(description="Of both")
    early: bool
    lead_us: float = Field(description="How much before the second is ready")


class Answer(Part):
    """Whether something works; None: it could not be asked, and why."""

    works: bool | None
    why: str = ""
    command: str = ""


class Probe(Part):
    """What MPI's partitioned messages do."""

    early: list[Early] = []
    early_failed: Answer | None = Field(default=None, description="Why that could not be asked")
    start_all: Answer | None = None
    before_start: Answer | None = None
    while_waiting: Answer | None = None


class Partitioned(Part):
    """The whole document."""

    version: Literal[1]
    kind: Literal["bench partitioned"]
    date: str
    machine: MeasuredOn
    versions: dict[str, str] = {}
    settings: dict[str, Any] = {}
    probe: Probe | None = None
    rows: list[Row] = []
    patterns: list[PatternRow] = []
    warnings: list[str] = Field(default=[], description="Why figures may mislead, each ending with what to do")

    @property
    def measured(self) -> list[Row]:
        """Rows with figures."""
        return [row for row in self.rows if row.is_measured]

    @property
    def lines(self) -> list[Row | PatternRow]:
        """Rows of either kind."""
        return [*self.rows, *self.patterns]

    @property
    def mpi(self) -> str:
        """The MPI's name and version."""
        return self.versions.get("mpi", "this MPI")
