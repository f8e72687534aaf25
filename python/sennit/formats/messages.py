"""A schedule as messages between ranks: sends, receives and work within a rank, and what has to come before what. For
formats that know no memory of others and no words. docs/tune/formats.md says how steps become messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from sennit.formats.order import Place, Turn, stretch, turns
from sennit.formats.ranges import Ranges
from sennit.formats.schedule import LANE, End, Schedule, Step

# A word, or a load's question: simulators reckon with one byte less than a message has, so it has one.
SIGNAL_BYTES = 1
NOBODY = -1  # has written these bytes in the schedule


@dataclass
class Event:
    """Something that a rank does. What comes before it is of the same rank."""

    kind: Literal["send", "recv", "calc"]
    rank: int
    name: str
    bytes: int
    peer: int = -1  # of a message
    tag: int = -1  # no other message of the pair has it
    data: list[int] = field(default_factory=list)  # what made the bytes that it takes
    order: list[int] = field(default_factory=list)  # what else comes before it


def messages(schedule: Schedule) -> list[list[Event]]:
    """What each rank does, in an order in which everything stands behind what comes before it. Members of `data` and
    `order` are places in the rank's own list. Raises Problem where the schedule never ends."""
    return _Messages(schedule).run()


def wire_bytes(end: End, size: int) -> int:
    """What travels: of packets, tags too."""
    begin, stop = stretch(end, size)
    return (stop - begin) * 2 if end.packets else size


class _Messages:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.events: list[Event] = []
        # By strand, what its next step has to come behind; None: it has done nothing yet.
        self.latest: list[list[int] | None] = [None] * len(schedule.strands)
        self.tags: dict[tuple[int, int], int] = defaultdict(int)
        self.writers: dict[tuple[int, bool], Ranges[int]] = defaultdict(lambda: Ranges(NOBODY))
        self.said: dict[Place, tuple[int, list[int]]] = {}  # of signals and records: whose rank knows, and by what
        self.told: dict[tuple[Place, int], int] = {}  # by which message another rank has heard of one

    def run(self) -> list[list[Event]]:
        for turn in turns(self.schedule):
            self._turn(turn)
        return self._by_rank()

    def _turn(self, turn: Turn) -> None:
        strand = self.schedule.strands[turn.strand]
        before = self._before(turn.strand)
        waits = strand.steps[turn.steps.start].act in ("await", "wait")
        if len(before) > 1 and len(turn.steps) > 1 and not waits:
            before = [self._calc(strand.rank, "what was before", 0, order=before)]
        made: list[int] = []
        writes: list[tuple[End, int, int]] = []
        for s in turn.steps:
            made += self._step((turn.strand, s), before, writes)
        for place in turn.after:
            made += self._heard(place, strand.rank)
        for end, size, event in writes:
            self.writers[end.region, end.packets].set(*stretch(end, size), event)
        self.latest[turn.strand] = _once((before if waits or not made else []) + made)

    def _before(self, index: int) -> list[int]:
        strand = self.schedule.strands[index]
        known = self.latest[index]
        if known is not None:
            return known
        # A lane stands at the launch until its blocks have ended.
        return [] if strand.block == LANE else self.latest[strand.lane] or []

    def _step(self, place: Place, before: list[int], writes: list[tuple[End, int, int]]) -> list[int]:
        step = self.schedule.strands[place[0]].steps[place[1]]
        rank = self.schedule.strands[place[0]].rank
        if step.act == "move":
            return self._move(place, step, before, writes)
        if step.act in ("signal", "post"):
            to = self._rank_of(step.destinations[0])
            if to == rank:
                self.said[place] = (rank, before)
                return []
            sent, received = self._message(rank, to, SIGNAL_BYTES, "signal", order=before)
            self.said[place] = (to, [received])
            return [sent]
        if step.act == "record":
            self.said[place] = (rank, before)
        if step.act == "launch":
            launch = self.schedule.launches[step.subject or 0]
            strands = range(launch.first, launch.first + launch.recorded)
            ends = _once(event for index in strands for event in self._before(index))
            return ends if len(ends) < 2 else [self._calc(rank, f"the end of {launch.program}", 0, order=ends)]
        return []

    def _heard(self, place: Place, rank: int) -> list[int]:
        """What a rank has to come behind that has waited for a signal or a record."""
        of, events = self.said[place]
        if of == rank:
            return events
        if (place, rank) not in self.told:
            self.told[place, rank] = self._message(of, rank, SIGNAL_BYTES, "signal", order=events)[1]
        return [self.told[place, rank]]

    def _move(self, place: Place, step: Step, before: list[int], writes: list[tuple[End, int, int]]) -> list[int]:
        strand = self.schedule.strands[place[0]]
        rank = strand.rank
        party = f"block {strand.block}" if strand.block != LANE else "lane"
        packets = any(end.packets for end in (*step.sources, *step.destinations))
        if not packets and not (step.bytes and step.sources):  # nothing, or the caller's own bytes
            return []
        taken: list[int] = []
        for end in step.sources:
            of = self._rank_of(end)
            wrote = self._wrote(end, step.bytes)
            if of == rank:
                taken += wrote
                continue
            # A load: the question has to come behind what this rank did, the answer behind what made the bytes.
            asked = self._message(rank, of, SIGNAL_BYTES, f"{party} asks for a load", order=before)[1]
            size = wire_bytes(end, step.bytes)
            taken.append(self._message(of, rank, size, f"{party} loads", data=wrote, order=[asked])[1])
        if not step.destinations:  # the caller reads its result, or a message of nothing was taken
            return [self._calc(rank, f"{party} reads", 0, data=taken, order=before)]
        made: list[int] = []
        here = [end for end in step.destinations if self._rank_of(end) == rank]
        if here or len(step.sources) > 1:
            name = f"{party} {'reduces' if len(step.sources) > 1 else 'copies'}"
            made.append(self._calc(rank, name, step.bytes, data=taken, order=before))
            taken, before = made[:], []
            writes += [(end, step.bytes, made[0]) for end in here]
        for end in step.destinations:
            if (to := self._rank_of(end)) != rank:
                size = wire_bytes(end, step.bytes)
                sent, received = self._message(rank, to, size, f"{party} stores", data=taken, order=before)
                made.append(sent)
                writes.append((end, step.bytes, received))
        return made

    def _wrote(self, end: End, size: int) -> list[int]:
        return _once(w for w in self.writers[end.region, end.packets].of(*stretch(end, size)) if w != NOBODY)

    def _rank_of(self, end: End) -> int:
        return self.schedule.regions[end.region].rank

    def _calc(self, rank: int, name: str, size: int, data: Iterable[int] = (), order: Iterable[int] = ()) -> int:
        return self._add(Event("calc", rank, name, size), data, order)

    def _message(
        self, of: int, to: int, size: int, name: str, data: Iterable[int] = (), order: Iterable[int] = ()
    ) -> tuple[int, int]:
        tag = self.tags[of, to]
        self.tags[of, to] += 1
        sent = self._add(Event("send", of, name, max(size, SIGNAL_BYTES), to, tag), data, order)
        return sent, self._add(Event("recv", to, name, max(size, SIGNAL_BYTES), of, tag))

    def _add(self, event: Event, data: Iterable[int] = (), order: Iterable[int] = ()) -> int:
        event.data = _once(data)
        event.order = [each for each in _once(order) if each not in event.data]
        self.events.append(event)
        return len(self.events) - 1

    def _by_rank(self) -> list[list[Event]]:
        ranks: list[list[Event]] = [[] for _ in range(self.schedule.ranks)]
        numbers = []
        for event in self.events:
            numbers.append(len(ranks[event.rank]))
            event.data = [numbers[each] for each in event.data]
            event.order = [numbers[each] for each in event.order]
            ranks[event.rank].append(event)
        return ranks


def _once(events: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(events))
