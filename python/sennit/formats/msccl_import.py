"""An algorithm of MSCCL's as a schedule, so that it can be proved and replayed.

1. A message goes into a place of its own in the receiver's scratch, as connections have buffers there, and a word of
   the connection counts it. Messages of a connection (from, to, channel) come in the order they are sent in.
2. Who receives waits for the word, and takes the message from there to where the step says.
3. A dependency is a word in the GPU's own memory: the number of steps that a thread block has done.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sennit.formats.collectives import Collective
from sennit.formats.msccl import COLLECTIVES, READS, RECEIVES, SENDS, WRITES, Algorithm, Chunk, Gpu, place
from sennit.formats.msccl import Step as MscclStep
from sennit.formats.schedule import VERSION, End, Launch, Region, Schedule, Step, Strand
from sennit.programs.problem import Exit, Problem
from sennit.units import size as sized

THREADS = 512  # of a thread block: what MSCCL's runtimes start
WORD_STRIDE = 64  # who polls words of its own has a cache line for each

Connection = tuple[int, int, int]  # from, to, channel


@dataclass
class Message:
    """Of a connection: where it lies in the receiver's scratch, and how many bytes it has."""

    offset: int
    bytes: int


def schedule_of(algorithm: Algorithm, message_bytes: int, root: int, file: Path) -> Schedule:
    """The schedule of a call with messages of so many bytes, as `sennit sim` counts them. Raises Problem where sends
    and receives do not match, or the message cannot be cut into the algorithm's chunks."""
    operation = COLLECTIVES[algorithm.collective]
    call = Collective(operation, len(algorithm.gpus), message_bytes, root, algorithm.in_place)
    if root >= call.ranks or (root and not call.kind.has_root):
        what = f"there is no root {root} in a {algorithm.collective} on {call.ranks} gpus"
        raise Problem(f"{file}: {what}", "Name another one, or none", Exit.USAGE)
    if not message_bytes or call.total % algorithm.chunks:
        least = algorithm.chunks // (call.total // message_bytes if message_bytes else 1) or 1
        raise Problem(
            f"{file}: {sized(call.total)} cannot be cut into {algorithm.chunks} chunks of whole bytes",
            f"Use --bytes with a multiple of {least}",
            Exit.USAGE,
        )
    return _Import(algorithm, call, file).run()


class _Import:
    def __init__(self, algorithm: Algorithm, call: Collective, file: Path) -> None:
        self.algorithm, self.call, self.file = algorithm, call, file
        self.chunk = call.total // algorithm.chunks
        self.regions: list[Region] = []
        self.region: dict[tuple[int, str], int] = {}
        self.messages: dict[Connection, list[Message]] = {}
        self.words: dict[tuple[int, str], int] = {}  # of a rank, and what they are for: offsets in its "words"
        self.sent: dict[Connection, int] = defaultdict(int)
        self.received: dict[Connection, int] = defaultdict(int)

    def run(self) -> Schedule:
        self.connect()
        for gpu in self.algorithm.gpus:
            self.reserve(gpu)
        lanes = [Strand(rank=rank, lane=rank) for rank in range(self.call.ranks)]
        launches: list[Launch] = []
        blocks: list[Strand] = []
        for gpu, lane in zip(self.algorithm.gpus, lanes, strict=True):
            first = len(lanes) + len(blocks)
            awaited = {step.after[0] for block in gpu.blocks for step in block.steps if step.after}
            for number, block in enumerate(gpu.blocks):
                strand = Strand(rank=gpu.id, lane=gpu.id, block=number)
                for at, step in enumerate(block.steps):
                    self.translate(gpu, number, at, step, strand.steps)
                    if step.awaited and block.id in awaited:
                        self.signal(strand.steps, self.word(gpu.id, f"tb {block.id}"), at + 1)
                blocks.append(strand)
            self.surround(gpu.id, lane, len(launches) if gpu.blocks else None)
            if gpu.blocks:
                count = len(gpu.blocks)
                launches.append(
                    Launch(program=self.algorithm.name, first=first, recorded=count, blocks=count, threads=THREADS)
                )
        return Schedule(
            version=VERSION,
            kind="schedule",
            ranks=self.call.ranks,
            regions=self.regions,
            launches=launches,
            strands=lanes + blocks,
            promises=self.call.promises(self.regions),
        )

    def connect(self) -> None:
        """Matches sends and receives, and lays messages out."""
        senders: dict[Connection, list[tuple[str, int]]] = {}
        receivers: dict[Connection, list[tuple[str, int]]] = {}
        for gpu in self.algorithm.gpus:
            for block in gpu.blocks:
                for types, ends, connection in (
                    (SENDS, senders, (gpu.id, block.send, block.channel)),
                    (RECEIVES, receivers, (block.receive, gpu.id, block.channel)),
                ):
                    steps = [
                        (place(gpu.id, block.id, at), step.count)
                        for at, step in enumerate(block.steps)
                        if step.type in types
                    ]
                    if not steps:
                        continue
                    if connection in ends:
                        raise Problem(
                            f"{self.file}: {ends[connection][0][0]} and {steps[0][0]} both use the messages "
                            f"{way(connection)}: nobody knows whose come first",
                            "Give one of the thread blocks another chan",
                            Exit.USAGE,
                        )
                    ends[connection] = steps
        offsets: dict[int, int] = defaultdict(int)
        for connection in sorted(senders.keys() | receivers.keys()):
            self.match(connection, senders.get(connection, []), receivers.get(connection, []))
            rank = connection[1]
            self.messages[connection] = []
            for _, count in senders[connection]:
                self.messages[connection].append(Message(offsets[rank], count * self.chunk))
                offsets[rank] += count * self.chunk
        for rank in range(self.call.ranks):
            self.add(rank, "scratch", offsets[rank])

    def match(self, connection: Connection, sends: list[tuple[str, int]], receives: list[tuple[str, int]]) -> None:
        for (sender, sent), (receiver, received) in zip(sends, receives, strict=False):
            if sent != received:
                raise Problem(
                    f"{self.file}: {sender} sends {sent} chunks {way(connection)}, and {receiver} takes {received}",
                    "Give both the same cnt: messages match in their order",
                    Exit.USAGE,
                )
        if len(sends) != len(receives):
            missing, verb = ("receives", "sends") if len(sends) > len(receives) else ("sends", "receives")
            longer = max(sends, receives, key=len)[min(len(sends), len(receives))][0]
            raise Problem(
                f"{self.file}: {longer} {verb} {way(connection)}, and nobody {missing} that",
                f"Add the step at the other side, or take this one out: {len(sends)} sends, {len(receives)} receives",
                Exit.USAGE,
            )

    def reserve(self, gpu: Gpu) -> None:
        rank = gpu.id
        for buffer in self.call.buffers(rank):
            self.region[rank, buffer.name] = len(self.regions)
            self.regions.append(buffer)
        # Not "scratch": others do not reach it, so it never lies in host memory.
        self.add(rank, "temporary", gpu.chunks["s"] * self.chunk)
        lines = 0
        for connection in self.messages:
            if connection[1] == rank:
                self.words[rank, f"from {connection[0]} on {connection[2]}"] = lines * WORD_STRIDE
                lines += 1
        for block in gpu.blocks:
            self.words[rank, f"tb {block.id}"] = lines * WORD_STRIDE
            lines += 1
        self.add(rank, "words", lines * WORD_STRIDE)

    def add(self, rank: int, name: str, size: int) -> None:
        self.region[rank, name] = len(self.regions)
        self.regions.append(Region(rank=rank, name=name, bytes=size))

    def surround(self, rank: int, lane: Strand, launch: int | None) -> None:
        """What the caller does before the call, and behind it."""
        at = self.call
        if at.gives(rank):
            self.move(lane.steps, at.input_bytes(), [], [self.spot(at.input_at(rank))])
        if launch is not None:
            lane.steps.append(Step(act="launch", group=_group(lane.steps), subject=launch))
        if at.takes(rank):
            self.move(lane.steps, at.output_bytes(), [self.spot(at.output_at(rank))], [])

    def translate(self, gpu: Gpu, number: int, at: int, step: MscclStep, steps: list[Step]) -> None:
        block = gpu.blocks[number]
        where = place(gpu.id, block.id, at)
        if step.after is not None:
            self.wait(steps, self.word(gpu.id, f"tb {step.after[0]}"), step.after[1] + 1)
        if step.type == "nop":
            return
        sources: list[End] = []
        destinations: list[End] = []
        if step.type in RECEIVES:
            connection = (block.receive, gpu.id, block.channel)
            message = self.messages[connection][self.received[connection]]
            self.received[connection] += 1
            word = self.word(gpu.id, f"from {block.receive} on {block.channel}")
            self.wait(steps, word, self.received[connection], block.receive)
            sources.append(End(self.region[gpu.id, "scratch"], message.offset))
        if step.type == "re":
            sources.append(self.local(gpu, step.destination, step.count, where))
        if step.type in READS:
            sources.append(self.local(gpu, step.source, step.count, where))
        if step.type in WRITES:
            destinations.append(self.local(gpu, step.destination, step.count, where))
        told: End | None = None
        if step.type in SENDS:
            connection = (gpu.id, block.send, block.channel)
            message = self.messages[connection][self.sent[connection]]
            self.sent[connection] += 1
            told = self.word(block.send, f"from {gpu.id} on {block.channel}")
            destinations.append(End(self.region[block.send, "scratch"], message.offset))
        self.move(steps, step.count * self.chunk, sources, destinations)
        if told is not None:
            self.signal(steps, told, self.sent[gpu.id, block.send, block.channel])

    def local(self, gpu: Gpu, chunk: Chunk, count: int, where: str) -> End:
        """Where a chunk lies. In place, input and output are parts of one buffer."""
        offset, size = chunk.offset * self.chunk, count * self.chunk
        if chunk.buffer == "s":
            return End(self.region[gpu.id, "temporary"], offset)
        _, name, base = self.call.input_at(gpu.id) if chunk.buffer == "i" else self.call.output_at(gpu.id)
        region = self.region.get((gpu.id, name))
        if region is None or base + offset + size > self.regions[region].bytes:
            have = "none" if region is None else sized(self.regions[region].bytes - base)
            raise Problem(
                f"{self.file}: {where}: there is no chunk {chunk.offset + count - 1} of {chunk.buffer}: chunks have "
                f"{sized(self.chunk)}, and the gpu has {have} there",
                f"Correct the step, or nchunksperloop: {sized(self.call.total)} are {self.algorithm.chunks} chunks",
                Exit.USAGE,
            )
        return End(region, base + offset)

    def spot(self, spot: tuple[int, str, int]) -> End:
        return End(self.region[spot[0], spot[1]], spot[2])

    def word(self, rank: int, use: str) -> End:
        return End(self.region[rank, "words"], self.words[rank, use])

    @staticmethod
    def move(steps: list[Step], size: int, sources: list[End], destinations: list[End]) -> None:
        group = _group(steps)
        step = Step.model_construct(act="move", group=group, bytes=size, sources=sources, destinations=destinations)
        steps.append(step)

    @staticmethod
    def signal(steps: list[Step], word: End, value: int) -> None:
        steps.append(Step.model_construct(act="signal", group=_group(steps), value=value, destinations=[word]))

    @staticmethod
    def wait(steps: list[Step], word: End, value: int, peer: int | None = None) -> None:
        steps.append(Step.model_construct(act="await", group=_group(steps), value=value, peer=peer, sources=[word]))


def way(connection: Connection) -> str:
    """For messages: "from gpu 0 to gpu 1 on channel 0"."""
    return f"from gpu {connection[0]} to gpu {connection[1]} on channel {connection[2]}"


def _group(steps: list[Step]) -> int:
    return len(steps) + 1
