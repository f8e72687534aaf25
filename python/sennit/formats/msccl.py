"""An algorithm as MSCCL's runtimes read it: XML with the steps of each GPU's thread blocks, which move chunks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from sennit.programs.problem import Exit, Problem

BUFFERS = ("i", "o", "s")  # input, output, the algorithm's own
NONE = -1  # a peer, a dependency or an offset that is not there

# What each type of step does. All that reduce take the local source and what came, or, of `re`, both chunks.
RECEIVES = ("r", "rcs", "rrs", "rrc", "rrcs")
SENDS = ("s", "rcs", "rrs", "rrcs")
READS = ("s", "rrs", "rrc", "rrcs", "cpy", "re")  # the local source
WRITES = ("r", "rcs", "rrc", "rrcs", "cpy", "re")  # the local destination
TYPES = ("s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop")

# Names of sennit's operations, and by what others they go. There is no name for all-to-all-v, and none for barriers.
COLLECTIVES = {
    "allreduce": "allreduce",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "reducescatter": "reduce_scatter",
    "allgather": "allgather",
    "gather": "gather",
    "broadcast": "broadcast",
    "scatter": "scatter",
    "alltoall": "all_to_all",
}
NAMES = {operation: name for name, operation in reversed(COLLECTIVES.items())}


@dataclass(frozen=True)
class Chunk:
    """The first one that a step takes, or makes."""

    buffer: str
    offset: int


@dataclass
class Step:
    """What a thread block does next with `count` chunks in a row."""

    type: str
    source: Chunk = Chunk("i", NONE)
    destination: Chunk = Chunk("o", NONE)
    count: int = 0
    after: tuple[int, int] | None = None  # thread block and step of the same GPU
    awaited: bool = False  # hasdep: others may wait for it


@dataclass
class ThreadBlock:
    """Steps in a row, with at most one peer to send to and one to receive from."""

    id: int
    send: int = NONE
    receive: int = NONE
    channel: int = 0
    steps: list[Step] = field(default_factory=list)


@dataclass
class Gpu:
    """A rank: how many chunks each of its buffers has, and its thread blocks."""

    id: int
    chunks: dict[str, int]
    blocks: list[ThreadBlock] = field(default_factory=list)


@dataclass
class Algorithm:
    """The document. `chunks`: into how many the larger of input and output is cut."""

    name: str
    protocol: str
    channels: int
    chunks: int
    collective: str
    in_place: bool
    gpus: list[Gpu]


def place(gpu: int, block: int, step: int | None = None) -> str:
    """For messages: "gpu 1, tb 0, step 3"."""
    return f"gpu {gpu}, tb {block}" + ("" if step is None else f", step {step}")


def write_algorithm(algorithm: Algorithm) -> str:
    """As XML."""
    root = ElementTree.Element(
        "algo",
        name=algorithm.name,
        proto=algorithm.protocol,
        nchannels=str(algorithm.channels),
        nchunksperloop=str(algorithm.chunks),
        ngpus=str(len(algorithm.gpus)),
        coll=algorithm.collective,
        inplace=str(int(algorithm.in_place)),
    )
    for gpu in algorithm.gpus:
        counts = {f"{buffer}_chunks": str(gpu.chunks[buffer]) for buffer in BUFFERS}
        gpu_element = ElementTree.SubElement(root, "gpu", {"id": str(gpu.id)} | counts)
        for block in gpu.blocks:
            block_element = ElementTree.SubElement(
                gpu_element,
                "tb",
                id=str(block.id),
                send=str(block.send),
                recv=str(block.receive),
                chan=str(block.channel),
            )
            for number, step in enumerate(block.steps):
                depid, deps = step.after or (NONE, NONE)
                ElementTree.SubElement(
                    block_element,
                    "step",
                    s=str(number),
                    type=step.type,
                    srcbuf=step.source.buffer,
                    srcoff=str(step.source.offset),
                    dstbuf=step.destination.buffer,
                    dstoff=str(step.destination.offset),
                    cnt=str(step.count),
                    depid=str(depid),
                    deps=str(deps),
                    hasdep=str(int(step.awaited)),
                )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def read_algorithm(file: Path) -> Algorithm:
    """The algorithm in a file. Raises Problem, naming the place, where it is none or contradicts itself."""
    return _Reader(file).read()


class _Reader:
    def __init__(self, file: Path) -> None:
        self.file = file

    def wrong(self, where: str, what: str, remedy: str = "Correct the file, or make it again") -> NoReturn:
        raise Problem(f"{self.file}: {where}: {what}" if where else f"{self.file} {what}", remedy, Exit.USAGE)

    def read(self) -> Algorithm:
        try:
            root = ElementTree.parse(self.file).getroot()
        except OSError as error:
            self.wrong("", f"cannot be read: {error.strerror}", "Check the name")
        except ElementTree.ParseError as error:
            self.wrong("", f"is no XML: {error}")
        if root.tag != "algo":
            self.wrong("", f"begins with <{root.tag}>, not with <algo>", "Give an algorithm of MSCCL's")
        collective = self.text(root, "coll", "algo")
        if collective not in COLLECTIVES:
            known = ", ".join(COLLECTIVES)
            self.wrong("algo", f'nobody says what coll="{collective}" promises', f"Those known are {known}")
        gpus = self.all_of(root, "gpu", "algo")
        algorithm = Algorithm(
            root.get("name", collective),
            root.get("proto", "Simple"),
            self.number(root, "nchannels", "algo", 0, 0),
            self.number(root, "nchunksperloop", "algo", 1),
            collective,
            self.number(root, "inplace", "algo", 0, 0) != 0,
            [],
        )
        for gpu in gpus:
            algorithm.gpus.append(self.gpu(gpu, len(gpus)))
        said = self.number(root, "ngpus", "algo", 1)
        ids = [gpu.id for gpu in algorithm.gpus]
        if said != len(ids) or sorted(ids) != list(range(said)):
            what = f"has the gpus {_listed(ids)}, and says there are {said}"
            self.wrong("algo", what, "Give each of 0 to ngpus - 1 once")
        algorithm.gpus.sort(key=lambda gpu: gpu.id)
        for each in algorithm.gpus:
            self.check(each)
        return algorithm

    def gpu(self, element: ElementTree.Element, ranks: int) -> Gpu:
        where = f"gpu {element.get('id', '?')}"
        gpu = Gpu(
            self.number(element, "id", where, 0),
            {buffer: self.number(element, f"{buffer}_chunks", where, 0) for buffer in BUFFERS},
        )
        for child in self.all_of(element, "tb", where):
            block_where = f"{where}, tb {child.get('id', '?')}"
            block = ThreadBlock(
                self.number(child, "id", block_where, 0),
                self.number(child, "send", block_where, NONE),
                self.number(child, "recv", block_where, NONE),
                self.number(child, "chan", block_where, 0),
            )
            for name, peer in (("send", block.send), ("recv", block.receive)):
                if peer == gpu.id or peer >= ranks:
                    remedy = f"Name one of 0 to {ranks - 1}, or -1"
                    self.wrong(block_where, f'{name}="{peer}" is no other gpu', remedy)
            for number, step in enumerate(self.all_of(child, "step", block_where)):
                block.steps.append(self.step(step, f"{block_where}, step {number}", number))
            gpu.blocks.append(block)
        return gpu

    def step(self, element: ElementTree.Element, where: str, number: int) -> Step:
        if self.number(element, "s", where, 0) != number:
            what = f's="{element.get("s")}" stands in the wrong place'
            self.wrong(where, what, "Number steps from 0, in their order")
        kind = self.text(element, "type", where)
        if kind not in TYPES:
            self.wrong(where, f'there is no type="{kind}"', f"Use {', '.join(TYPES)}")
        depid, deps = (self.number(element, name, where, NONE, NONE) for name in ("depid", "deps"))
        return Step(
            kind,
            self.chunk(element, "src", where, kind in READS),
            self.chunk(element, "dst", where, kind in WRITES),
            self.number(element, "cnt", where, 0 if kind == "nop" else 1, 0 if kind == "nop" else None),
            None if depid == NONE else (depid, deps),
            self.number(element, "hasdep", where, 0, 0) != 0,
        )

    def chunk(self, element: ElementTree.Element, end: str, where: str, used: bool) -> Chunk:
        if not used:  # what stands there is anything: the other side's, or what the step was made of
            return Chunk("i", NONE)
        buffer = self.text(element, f"{end}buf", where)
        if buffer not in BUFFERS:
            self.wrong(where, f'there is no {end}buf="{buffer}"', "Use i, o or s")
        return Chunk(buffer, self.number(element, f"{end}off", where, 0))

    def check(self, gpu: Gpu) -> None:
        """What steps refer to is there."""
        blocks = {block.id: block for block in gpu.blocks}
        if len(blocks) != len(gpu.blocks):
            self.wrong(f"gpu {gpu.id}", f"has the tbs {_listed([b.id for b in gpu.blocks])}", "Give each id once")
        for block in gpu.blocks:
            for number, step in enumerate(block.steps):
                where = place(gpu.id, block.id, number)
                for name, needed, peer in (("send", SENDS, block.send), ("recv", RECEIVES, block.receive)):
                    if step.type in needed and peer == NONE:
                        self.wrong(where, f"{step.type} needs a peer, and the tb has none", f"Give the tb a {name}")
                for used, chunk in ((READS, step.source), (WRITES, step.destination)):
                    if step.type in used and chunk.offset + step.count > gpu.chunks[chunk.buffer]:
                        last, have = chunk.offset + step.count - 1, gpu.chunks[chunk.buffer]
                        what = f"there is no chunk {last} of {chunk.buffer}: the gpu says it has {have}"
                        self.wrong(where, what, f"Correct the step, or {chunk.buffer}_chunks")
                if step.after is not None:
                    other = blocks.get(step.after[0])
                    if other is None or not 0 <= step.after[1] < len(other.steps):
                        what = f"waits for step {step.after[1]} of tb {step.after[0]}, which is not there"
                        self.wrong(where, what, "Correct depid and deps; -1 is nobody")

    def all_of(self, element: ElementTree.Element, tag: str, where: str) -> list[ElementTree.Element]:
        for child in element:
            if child.tag != tag:
                self.wrong(where, f"has a <{child.tag}>", f"Only <{tag}> may stand there")
        return list(element)

    def text(self, element: ElementTree.Element, name: str, where: str) -> str:
        value = element.get(name)
        if value is None:
            self.wrong(where, f"{name} is missing")
        return value

    def number(
        self, element: ElementTree.Element, name: str, where: str, least: int, default: int | None = None
    ) -> int:
        text = element.get(name)
        if text is None and default is not None:
            return default
        text = self.text(element, name, where)
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 1 << 31:
            self.wrong(where, f'{name}="{text[:40]}" is no number from {least}')
        return value


def _listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids))
