"""One order in which the parties of a schedule could do what they do. Any is good enough for what other formats say:
in a schedule that `sennit check` passes, who reads what is the same in all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sennit.formats.ranges import Ranges
from sennit.formats.schedule import LANE, PACKET_BYTES, End, Schedule, Step
from sennit.programs.problem import Problem

Place = tuple[int, int]  # strand, step


@dataclass(frozen=True)
class Turn:
    """The steps of a group, done; and of those that waited, the signals and records they waited for."""

    strand: int
    steps: range
    after: tuple[Place, ...]


def reached(seen: int, value: int) -> bool:
    """As src/device/block.h: words are serial numbers that wrap."""
    return (seen - value) % (1 << 32) < 1 << 31


def stretch(end: End, size: int) -> tuple[int, int]:
    """Where it begins and ends; of packets, in bytes of the messages they carry."""
    if not end.packets:
        return end.offset, end.offset + size
    begin = end.offset // 2
    return begin, begin + max(1, -(-size // PACKET_BYTES)) * PACKET_BYTES


def turns(schedule: Schedule) -> Iterator[Turn]:
    """All steps, group by group. Raises Problem when the parties wait for each other for ever."""
    return _Order(schedule).run()


class _Order:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.next = [0] * len(schedule.strands)
        self.begun = [strand.block == LANE for strand in schedule.strands]
        self.woken = False  # a launch has begun strands that may come before it
        self.words: dict[tuple[int, int], list[tuple[int, Place]]] = defaultdict(list)
        self.events: dict[tuple[int, int], Place] = {}
        self.tags: dict[int, Ranges[int]] = defaultdict(lambda: Ranges(0))  # of packets, by region

    def run(self) -> Iterator[Turn]:
        advanced = True
        while advanced or self.woken:
            advanced = self.woken = False
            for index, strand in enumerate(self.schedule.strands):
                while self.begun[index] and self.next[index] < len(strand.steps):
                    turn = self._turn(index)
                    if turn is None:
                        break
                    advanced = True
                    yield turn
        for index, strand in enumerate(self.schedule.strands):
            at = self.next[index]
            # A lane at a launch waits for its blocks, which are what is to be named.
            if self.begun[index] and at < len(strand.steps) and strand.steps[at].act != "launch":
                what = f"the schedule never ends: {self.schedule.place(index, at)} waits for ever"
                raise Problem(what, "`sennit check` says why")

    def _turn(self, index: int) -> Turn | None:
        strand = self.schedule.strands[index]
        steps = range(self.next[index], strand.end_of_group(self.next[index]))
        after: list[Place] = []
        for s in steps:
            found = self._waited_for(strand.steps[s])
            if found is None:
                return None
            after += found
        for s in steps:
            self._do(strand.steps[s], (index, s))
        self.next[index] = steps.stop
        return Turn(index, steps, tuple(after))

    def _waited_for(self, step: Step) -> list[Place] | None:
        """What let it go on; None: nothing yet."""
        if step.act == "await":
            if reached(0, step.value):
                return []
            word = step.sources[0]
            known = self.words.get((word.region, word.offset), [])
            return next(([place] for value, place in known if reached(value, step.value)), None)
        if step.act == "wait":
            place = self.events.get((step.subject or 0, step.value))
            return None if place is None else [place]
        if step.act == "launch":
            return [] if self._launched(step.subject or 0) else None
        for end in step.sources:
            if end.packets and any(tag != step.value for tag in self.tags[end.region].of(*stretch(end, step.bytes))):
                return None
        return []

    def _launched(self, launch: int) -> bool:
        blocks = self.schedule.launches[launch]
        strands = range(blocks.first, blocks.first + blocks.recorded)
        for index in strands:
            self.woken = self.woken or not self.begun[index]
            self.begun[index] = True
        return all(self.next[index] == len(self.schedule.strands[index].steps) for index in strands)

    def _do(self, step: Step, place: Place) -> None:
        if step.act in ("signal", "post"):
            word = step.destinations[0]
            self.words[word.region, word.offset].append((step.value, place))
        elif step.act == "record":
            self.events[step.subject or 0, step.value] = place
        elif step.act == "move":
            for ends, tag in ((step.sources, 0), (step.destinations, step.value)):
                for end in ends:
                    if end.packets:
                        self.tags[end.region].set(*stretch(end, step.bytes), tag)
