"""A schedule as a document: what every party of one call does, step by step. src/device/trace/recording.h says what
the parts mean, src/sim/schedule_json.cc writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_serializer, field_validator

from sennit.model.document import Part, parse, read_json
from sennit.programs.problem import Exit, Problem

VERSION = 1
LANE = -1  # the block of a strand that is a lane
WORD_BYTES = 4

# A packet of 16 bytes carries 8 of the message, the rest is tags: src/device/packet.h.
PACKET_BYTES = 8

Act = Literal["move", "signal", "post", "await", "launch", "record", "wait"]


class End(NamedTuple):
    """One end of a movement: bytes of a region from an offset, or packets that lie there."""

    region: int
    offset: int
    packets: bool = False


class Region(Part):
    """Memory of one rank."""

    rank: int = Field(ge=0)
    name: str
    bytes: int = Field(ge=0)


class Launch(Part):
    """A kernel: which strands are its blocks."""

    program: str
    first: int = Field(ge=0)
    recorded: int = Field(ge=0)
    blocks: int = Field(ge=0)
    threads: int = Field(ge=0)
    early: bool = False
    fold: float = 1


def _end(value: object) -> object:
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        raise ValueError("an end is [region, offset]")
    if value[0] is None:
        raise ValueError("memory of no region: `sennit check` says whose mistake it is")
    return End(value[0], value[1], len(value) > 2 and value[2] in ("packets", True))


def _shown(end: End) -> list[int | str]:
    return [end.region, end.offset, "packets"] if end.packets else [end.region, end.offset]


class Step(Part):
    """What a strand does next. Steps of one group happen at the same time."""

    act: Act
    group: int = Field(ge=0)
    bytes: int = Field(default=0, ge=0)
    value: int = Field(default=0, ge=0, lt=1 << 32)
    reduces: dict[str, Any] | None = None
    peer: int | None = None
    subject: int | None = Field(default=None, ge=0)
    sources: list[End] = Field(default=[], alias="from")
    destinations: list[End] = Field(default=[], alias="to")

    @field_validator("sources", "destinations", mode="before")
    @classmethod
    def _ends(cls, value: object) -> object:
        return [_end(each) for each in value] if isinstance(value, list) else value

    @field_serializer("sources", "destinations")
    def _ends_shown(self, ends: list[End]) -> list[list[int | str]]:
        return [_shown(end) for end in ends]


class Strand(Part):
    """What one party does, in order: a lane, or a block of a launch."""

    rank: int = Field(ge=0)
    lane: int = Field(ge=0)
    block: int = LANE
    steps: list[Step] = []

    def end_of_group(self, step: int) -> int:
        """Behind the steps that happen at the same time as this one, the first of them."""
        group = self.steps[step].group
        while step < len(self.steps) and self.steps[step].group == group:
            step += 1
        return step


class Promise(Part):
    """`bytes` at `result` must be the sources, reduced where there are several."""

    result: End
    bytes: int = Field(ge=0)
    sources: list[End]
    same_bits: int = -1

    @field_validator("result", mode="before")
    @classmethod
    def _result_end(cls, value: object) -> object:
        return _end(value)

    @field_validator("sources", mode="before")
    @classmethod
    def _ends(cls, value: object) -> object:
        return [_end(each) for each in value] if isinstance(value, list) else value

    @field_serializer("result")
    def _result_shown(self, end: End) -> list[int | str]:
        return _shown(end)

    @field_serializer("sources")
    def _sources_shown(self, ends: list[End]) -> list[list[int | str]]:
        return [_shown(end) for end in ends]


class Schedule(Part):
    """The document. What it refers to is there: see read_schedule()."""

    version: Literal[1]
    kind: Literal["schedule"]
    ranks: int = Field(ge=1)
    regions: list[Region]
    launches: list[Launch]
    strands: list[Strand]
    promises: list[Promise] = []

    def place(self, strand: int, step: int) -> str:
        """For messages: "strands[8].steps[3], a move of block 0 of allreduce_ring on rank 2"."""
        which = self.strands[strand]
        party = "a lane"
        if which.block != LANE:
            party = f"block {which.block}"
            for launch in self.launches:
                if launch.first <= strand < launch.first + launch.recorded:
                    party += f" of {launch.program}"
        act = which.steps[step].act
        article = "an" if act == "await" else "a"
        return f"strands[{strand}].steps[{step}], {article} {act} of {party} on rank {which.rank}"


def read_schedule(file: Path) -> Schedule:
    """The schedule in a JSON file. Raises Problem, naming the first member that is wrong or refers to nothing."""
    if file.is_file():
        with file.open("rb") as opened:
            if opened.read(1) not in (b"{", b""):
                remedy = "Write it as JSON: `sennit sim … --schedule NAME.json`"
                raise Problem(f"{file} is no JSON; the binary form of schedules is not exported", remedy, Exit.USAGE)
    schedule = parse(Schedule, read_json(file), str(file), VERSION)
    _check(schedule, file)
    return schedule


def _check(schedule: Schedule, file: Path) -> None:
    def wrong(place: str, what: str) -> Problem:
        return Problem(f"{file}: {place}: {what}", "Correct that member, or write the file again", Exit.USAGE)

    for i, region in enumerate(schedule.regions):
        if region.rank >= schedule.ranks:
            raise wrong(f"regions[{i}]", f"there is no rank {region.rank}")
    for i, launch in enumerate(schedule.launches):
        if launch.first + launch.recorded > len(schedule.strands):
            raise wrong(f"launches[{i}]", "its blocks are not there")
        if launch.recorded != launch.blocks or launch.fold != 1:
            raise wrong(f"launches[{i}]", "its blocks stand for others, which have no steps of their own")
    for i, strand in enumerate(schedule.strands):
        if strand.rank >= schedule.ranks:
            raise wrong(f"strands[{i}]", f"there is no rank {strand.rank}")
        if strand.lane >= len(schedule.strands):
            raise wrong(f"strands[{i}]", f"there is no lane {strand.lane}")
        for s, step in enumerate(strand.steps):
            _check_step(schedule, strand, step, lambda what, i=i, s=s: wrong(f"strands[{i}].steps[{s}]", what))
    for i, promise in enumerate(schedule.promises):
        for end in (promise.result, *promise.sources):
            if not 0 <= end.region < len(schedule.regions):
                raise wrong(f"promises[{i}]", f"there is no region {end.region}")


def _check_step(schedule: Schedule, strand: Strand, step: Step, wrong: Any) -> None:
    for end in (*step.sources, *step.destinations):
        if not 0 <= end.region < len(schedule.regions):
            raise wrong(f"there is no region {end.region}")
    ends = (len(step.sources), len(step.destinations))
    if step.act in ("signal", "post") and ends != (0, 1):
        raise wrong("a signal has one destination")
    if step.act == "await" and ends != (1, 0):
        raise wrong("who awaits a word has it as the only source")
    if step.act == "move" and step.bytes and strand.block != LANE and 0 in ends:
        raise wrong("a movement of a block needs a source and a destination")
    if step.act in ("launch", "record", "wait") and step.subject is None:
        raise wrong(f"a {step.act} has a subject")
    if step.act == "launch" and (step.subject or 0) >= len(schedule.launches):
        raise wrong(f"there is no launch {step.subject}")


def document(schedule: Schedule) -> dict[str, Any]:
    """As C++ programs read it; of steps, only what they say."""
    shown = schedule.model_dump(mode="json", exclude={"strands"})
    shown["strands"] = [
        strand.model_dump(mode="json", exclude={"steps"})
        | {"steps": [step.model_dump(mode="json", by_alias=True, exclude_defaults=True) for step in strand.steps]}
        for strand in schedule.strands
    ]
    return shown
