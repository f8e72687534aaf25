"""A schedule as an algorithm of MSCCL's.

1. Every movement becomes steps of the GPUs whose memory it touches: a send and a receive where it leads from one to
   another, a copy or reductions within one. A reduction of several sources takes them one by one.
2. Words go: in MSCCL a GPU touches no memory but its own, so that what has to come before what follows from who reads
   and writes which bytes there. These are the dependencies.
3. Sends of a strand to a peer are one thread block, receives another, what it does within the GPU a third. All stand
   in an order in which the schedule can run, so that nobody waits for what comes later.
4. A chunk is the largest piece of which every movement, and every place in the buffers, is a multiple.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from sennit.formats.collectives import Collective, collective_of
from sennit.formats.msccl import NAMES, NONE, Algorithm, Chunk, Gpu, Step, ThreadBlock
from sennit.formats.order import turns
from sennit.formats.ranges import Ranges
from sennit.formats.schedule import End, Schedule
from sennit.programs.problem import Exit, Problem

LEAST_CHUNK = 4  # bytes: numbers are not cut
MOST_CHANNELS = 32  # of NCCL; more strands share them

# What MSCCL's runtimes have room for: steps of a thread block, and chunks of a step.
MOST_STEPS = 256
MOST_COUNT = 71

# Memory of a rank: a region and whether packets lie there, or what an export needs beside, by strand and number.
Memory = tuple[int, str, int, int]
Block = tuple[str, int, int]  # what the thread block does, with whom, on which channel
UNTOUCHED: tuple[int, tuple[int, ...]] = (-1, ())


@dataclass(frozen=True)
class Place:
    """Bytes of a rank's memory, from an offset."""

    memory: Memory
    offset: int

    @property
    def rank(self) -> int:
        """Whose memory it is."""
        return self.memory[0]


@dataclass
class Op:
    """A step of MSCCL's, in bytes."""

    type: str
    rank: int
    block: Block
    source: Place
    destination: Place
    size: int
    of: tuple[int, int]  # strand and step of the schedule

    def reads(self) -> list[Place]:
        """What it takes in its own GPU."""
        return {"s": [self.source], "r": [], "cpy": [self.source], "re": [self.source, self.destination]}[self.type]

    def writes(self) -> list[Place]:
        """What it makes there."""
        return [] if self.type == "s" else [self.destination]


def algorithm_of(schedule: Schedule, name: str) -> Algorithm:
    """The algorithm. Raises Problem, naming the step, where the schedule cannot be said in MSCCL's steps."""
    call = collective_of(schedule)
    if call is None:
        raise Problem(
            "MSCCL has no name for what the schedule promises: one collective, each rank's message of the same size",
            f"Those it has are {', '.join(NAMES)}",
            Exit.USAGE,
        )
    ops = _Steps(schedule).run()
    return _Layout(schedule, call, ops).algorithm(name)


def too_large(algorithm: Algorithm) -> str:
    """What MSCCL's runtimes have no room for; empty: nothing."""
    steps = [step for gpu in algorithm.gpus for block in gpu.blocks for step in block.steps]
    longest = max((len(block.steps) for gpu in algorithm.gpus for block in gpu.blocks), default=0)
    most = max((step.count for step in steps), default=0)
    said = [f"{longest} steps of a thread block, of {MOST_STEPS}"] if longest > MOST_STEPS else []
    said += [f"{most} chunks in a step, of {MOST_COUNT}"] if most > MOST_COUNT else []
    return "; ".join(said)


class _Steps:
    """The schedule's movements, one behind the other."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.ops: list[Op] = []
        # Numbers of the strands that use a connection, or work within a rank.
        self.users: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)

    def run(self) -> list[Op]:
        for turn in turns(self.schedule):
            for s in turn.steps:
                step = self.schedule.strands[turn.strand].steps[s]
                if step.act == "move" and step.bytes and step.sources and step.destinations:
                    self.move((turn.strand, s))
        return self.ops

    def move(self, of: tuple[int, int]) -> None:
        strand, step = self.schedule.strands[of[0]], self.schedule.strands[of[0]].steps[of[1]]
        rank, size = strand.rank, step.bytes
        sources = [self.place(end) for end in step.sources]
        ends = [self.place(end) for end in step.destinations]
        here = [end for end in ends if end.rank == rank]
        if len(sources) == 1 and sources[0].rank != rank and here:
            self.transfer(of, sources[0], here[0], size)
            result = here[0]
        else:
            for k, source in enumerate(sources):
                if source.rank != rank:
                    sources[k] = Place((rank, "beside", of[0], k), 0)
                    self.transfer(of, source, sources[k], size)
            result = self.reduce(of, sources, here, size)
        for end in ends:
            if end.rank != rank:
                self.transfer(of, result, end, size)
            elif end != result:
                self.within(of, "cpy", result, end, size)

    def reduce(self, of: tuple[int, int], sources: list[Place], here: list[Place], size: int) -> Place:
        """All sources in one place: a destination where it may be, else one of the export's own."""
        if len(sources) == 1:
            return sources[0]
        own = [source for source in sources if source in here or source.memory[1] == "beside"]
        own = [each for each in own if not any(_overlap(each, other, size) for other in sources if other != each)]
        if own:
            result = own[0]
        else:
            free = [end for end in here if not any(_overlap(end, source, size) for source in sources)]
            result = free[0] if free else Place((sources[0].rank, "beside", of[0], 0), 0)
            self.within(of, "cpy", sources[0], result, size)
            sources = sources[1:]
        for source in sources:
            if source != result:
                self.within(of, "re", source, result, size)
        return result

    def place(self, end: End) -> Place:
        kind = "packets" if end.packets else "bytes"
        rank = self.schedule.regions[end.region].rank
        return Place((rank, kind, end.region, 0), end.offset // 2 if end.packets else end.offset)

    def channel(self, strand: int, one: int, other: int) -> int:
        users = self.users[one, other]
        return users.setdefault(strand, len(users)) % MOST_CHANNELS

    def within(self, of: tuple[int, int], kind: str, source: Place, destination: Place, size: int) -> None:
        block = ("within", NONE, self.channel(of[0], source.rank, source.rank))
        self.ops.append(Op(kind, source.rank, block, source, destination, size, of))

    def transfer(self, of: tuple[int, int], source: Place, destination: Place, size: int) -> None:
        channel = self.channel(of[0], source.rank, destination.rank)
        for kind, rank, peer in (("s", source.rank, destination.rank), ("r", destination.rank, source.rank)):
            self.ops.append(Op(kind, rank, (kind, peer, channel), source, destination, size, of))


class _Layout:
    """Bytes as chunks, and the order of steps as dependencies."""

    def __init__(self, schedule: Schedule, call: Collective, ops: list[Op]) -> None:
        self.schedule, self.call, self.ops = schedule, call, ops
        # Of memory that is no buffer: the stretches in use, as [begin, end, where it lies among the chunks].
        self.stretches: dict[Memory, list[list[int]]] = {}
        self.scratch = [0] * call.ranks  # bytes
        self.chunk = call.bytes

    def algorithm(self, name: str) -> Algorithm:
        self.find_stretches()
        self.find_chunk()
        for memory, stretches in self.stretches.items():
            for stretch in stretches:
                stretch[2] = self.scratch[memory[0]]
                self.scratch[memory[0]] += -(-(stretch[1] - stretch[0]) // self.chunk) * self.chunk
        gpus = []
        for rank in range(self.call.ranks):
            counts = {
                "i": self.call.input_bytes() // self.chunk if self.call.gives(rank) else 0,
                "o": self.call.output_bytes() // self.chunk if self.call.takes(rank) else 0,
                "s": self.scratch[rank] // self.chunk,
            }
            gpus.append(Gpu(rank, counts))
        self.fill(gpus)
        channels = 1 + max((block.channel for gpu in gpus for block in gpu.blocks), default=0)
        chunks = self.call.total // self.chunk
        collective = NAMES[self.call.operation]
        return Algorithm(name, "Simple", channels, chunks, collective, self.call.in_place, gpus)

    def find_stretches(self) -> None:
        used: dict[Memory, set[tuple[int, int]]] = defaultdict(set)
        for op in self.ops:
            for place in (*op.reads(), *op.writes()):
                if self.letter(place) is None:
                    used[place.memory].add((place.offset, place.offset + op.size))
        for memory, pieces in used.items():
            stretches = self.stretches[memory] = []
            for begin, end in sorted(pieces):
                if stretches and begin < stretches[-1][1]:
                    stretches[-1][1] = max(stretches[-1][1], end)
                else:
                    stretches.append([begin, end, 0])

    def find_chunk(self) -> None:
        for op in self.ops:
            for what in (op.size, *(self.local(place, op) for place in (*op.reads(), *op.writes()))):
                self.chunk = math.gcd(self.chunk, what)
                if self.chunk % LEAST_CHUNK:
                    raise Problem(
                        f"{self.schedule.place(*op.of)}: its {op.size} bytes are no whole chunks of a message of "
                        f"{self.call.bytes} bytes",
                        f"Use another size: every piece has to be a multiple of {LEAST_CHUNK} bytes",
                        Exit.USAGE,
                    )

    def letter(self, place: Place) -> str | None:
        """Of the buffer it lies in; None: in memory of the algorithm's."""
        if place.memory[1] != "bytes":
            return None
        name = self.schedule.regions[place.memory[2]].name
        if name == "buffer":  # in place: the one of the two that is all of it
            if self.call.kind.gathers and self.call.takes(place.rank):
                return "o"
            return "i" if self.call.gives(place.rank) else "o"
        return {"input": "i", "output": "o"}.get(name)

    def local(self, place: Place, op: Op) -> int:
        """The offset in its buffer, or in its stretch."""
        letter = self.letter(place)
        if letter is None:
            return place.offset - self.stretch(place)[0]
        at = self.call.input_at(place.rank) if letter == "i" else self.call.output_at(place.rank)
        if place.offset < at[2]:
            raise Problem(
                f"{self.schedule.place(*op.of)}: byte {place.offset} of the buffer of rank {place.rank} lies before "
                "its own part, where MSCCL has nothing",
                "Export the schedule of a call that is not in place",
                Exit.USAGE,
            )
        return place.offset - at[2]

    def stretch(self, place: Place) -> list[int]:
        return next(each for each in reversed(self.stretches[place.memory]) if each[0] <= place.offset)

    def chunk_of(self, place: Place, op: Op) -> Chunk:
        letter = self.letter(place)
        offset = self.local(place, op) + (self.stretch(place)[2] if letter is None else 0)
        return Chunk(letter or "s", offset // self.chunk)

    def fill(self, gpus: list[Gpu]) -> None:
        """Steps into thread blocks. What has to come before a step stands in a block of the same GPU."""
        blocks: dict[tuple[int, Block], ThreadBlock] = {}
        steps: list[tuple[ThreadBlock, int]] = []  # of each op
        waited: dict[tuple[int, int, int], int] = {}  # of a GPU's block, for another one: up to which step
        memory: dict[Memory, Ranges[tuple[int, tuple[int, ...]]]] = defaultdict(lambda: Ranges(UNTOUCHED))
        for number, op in enumerate(self.ops):
            gpu = gpus[op.rank]
            if (op.rank, op.block) not in blocks:
                kind, peer, channel = op.block
                send, receive = (peer if kind == way else NONE for way in ("s", "r"))
                block = ThreadBlock(len(gpu.blocks), send, receive, channel if kind != "within" else 0)
                blocks[op.rank, op.block] = block
                gpu.blocks.append(block)
            block = blocks[op.rank, op.block]
            latest: dict[int, int] = {}
            for before in self.before(memory, op, number):
                other, at = steps[before]
                if other is not block:
                    latest[other.id] = max(latest.get(other.id, -1), at)
            after = []
            for other_id, at in sorted(latest.items()):
                if waited.get((op.rank, block.id, other_id), -1) < at:
                    waited[op.rank, block.id, other_id] = at
                    gpu.blocks[other_id].steps[at].awaited = True
                    after.append((other_id, at))
            # A step waits for one other.
            block.steps += [Step("nop", after=each) for each in after[:-1]]
            source, destination = (self.chunk_of(place, op) for place in (op.source, op.destination))
            count = op.size // self.chunk
            block.steps.append(Step(op.type, source, destination, count, after[-1] if after else None))
            steps.append((block, len(block.steps) - 1))

    @staticmethod
    def before(memory: dict[Memory, Ranges[tuple[int, tuple[int, ...]]]], op: Op, number: int) -> set[int]:
        """Who wrote what the op reads or writes, and who has read what it writes; it is entered with them."""
        found: set[int] = set()
        for place in op.reads():
            for writer, _ in memory[place.memory].of(place.offset, place.offset + op.size):
                found.add(writer)
            memory[place.memory].change(
                place.offset, place.offset + op.size, lambda known: (known[0], (*known[1], number))
            )
        for place in op.writes():
            for writer, readers in memory[place.memory].of(place.offset, place.offset + op.size):
                found |= {writer, *readers}
            memory[place.memory].set(place.offset, place.offset + op.size, (number, ()))
        return found - {UNTOUCHED[0], number}


def _overlap(one: Place, other: Place, size: int) -> bool:
    return one.memory == other.memory and abs(one.offset - other.offset) < size
