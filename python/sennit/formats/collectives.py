"""What a collective promises, as src/sim/job.cc does: which bytes of which buffers become which others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sennit.formats.schedule import End, Promise, Region, Schedule


@dataclass(frozen=True)
class Kind:
    """What is the same for all calls of an operation."""

    gathers: bool = False  # the output has a message of every rank
    scatters: bool = False  # the input has one for every rank
    reduces: bool = False
    root_gives: bool = False  # only the root has an input
    root_takes: bool = False  # only the root has an output

    @property
    def has_root(self) -> bool:
        """Whether one rank is different."""
        return self.root_gives or self.root_takes


KINDS = {
    "allreduce": Kind(reduces=True),
    "reduce": Kind(reduces=True, root_takes=True),
    "reduce_scatter": Kind(reduces=True, scatters=True),
    "allgather": Kind(gathers=True),
    "gather": Kind(gathers=True, root_takes=True),
    "broadcast": Kind(root_gives=True),
    "scatter": Kind(scatters=True, root_gives=True),
    "all_to_all": Kind(gathers=True, scatters=True),
}

# A place in a buffer of a rank: its rank, the name of the region, the offset.
Spot = tuple[int, str, int]


@dataclass(frozen=True)
class Collective:
    """A call by all ranks, with messages of so many bytes."""

    operation: str
    ranks: int
    bytes: int
    root: int = 0
    in_place: bool = False

    @property
    def kind(self) -> Kind:
        """Of its operation."""
        return KINDS[self.operation]

    @property
    def total(self) -> int:
        """Bytes of the larger one of its buffers."""
        return self.bytes * (self.ranks if self.kind.gathers or self.kind.scatters else 1)

    def gives(self, rank: int) -> bool:
        """Whether the rank has an input."""
        return rank == self.root or not self.kind.root_gives

    def takes(self, rank: int) -> bool:
        """Whether the rank has an output."""
        return rank == self.root or not self.kind.root_takes

    def input_bytes(self) -> int:
        """Of a rank that gives."""
        return self.bytes * (self.ranks if self.kind.scatters else 1)

    def output_bytes(self) -> int:
        """Of a rank that takes."""
        return self.bytes * (self.ranks if self.kind.gathers else 1)

    def input_at(self, rank: int) -> Spot:
        """Where the rank's input begins; in place, in the message of its own."""
        if not self.in_place:
            return rank, "input", 0
        own = self.kind.gathers and not self.kind.scatters
        return rank, "buffer", rank * self.bytes if own else 0

    def output_at(self, rank: int) -> Spot:
        """Where its output begins."""
        if not self.in_place:
            return rank, "output", 0
        own = self.kind.scatters and not self.kind.gathers
        return rank, "buffer", rank * self.bytes if own else 0

    def buffers(self, rank: int) -> Iterator[Region]:
        """What the rank's caller has."""
        gives, takes = self.gives(rank), self.takes(rank)
        if self.in_place:
            if gives or takes:
                yield Region(rank=rank, name="buffer", bytes=max(self.input_bytes(), self.output_bytes()))
            return
        if gives:
            yield Region(rank=rank, name="input", bytes=self.input_bytes())
        if takes:
            yield Region(rank=rank, name="output", bytes=self.output_bytes())

    def results(self) -> Iterator[tuple[Spot, list[Spot]]]:
        """What every message of the results is made of."""
        kind = self.kind
        for rank in range(self.ranks):
            if not self.takes(rank):
                continue
            place, name, base = self.output_at(rank)
            for sender in range(self.ranks if kind.gathers else 1):
                sources = []
                for giver in range(self.ranks):
                    if kind.reduces or giver == (sender if kind.gathers else self.root):
                        of, buffer, begin = self.input_at(giver)
                        sources.append((of, buffer, begin + (rank * self.bytes if kind.scatters else 0)))
                yield (place, name, base + sender * self.bytes), sources

    def promises(self, regions: list[Region]) -> list[Promise]:
        """For a schedule with these regions."""
        index = {(region.rank, region.name): i for i, region in enumerate(regions)}

        def end(spot: Spot) -> End:
            return End(index[spot[0], spot[1]], spot[2])

        return [
            Promise(result=end(result), bytes=self.bytes, sources=[end(source) for source in sources])
            for result, sources in self.results()
        ]


def collective_of(schedule: Schedule) -> Collective | None:
    """The call whose promises the schedule makes; None: of no operation that is known here."""
    if not schedule.promises:
        return None
    regions = schedule.regions

    def spot(end: End) -> Spot:
        return regions[end.region].rank, regions[end.region].name, end.offset

    size = schedule.promises[0].bytes
    promised = {
        (spot(promise.result), frozenset(map(spot, promise.sources)), promise.bytes) for promise in schedule.promises
    }
    for operation, kind in KINDS.items():
        for root in range(schedule.ranks if kind.has_root else 1):
            for in_place in (False, True):
                known = Collective(operation, schedule.ranks, size, root, in_place)
                if {(result, frozenset(sources), size) for result, sources in known.results()} == promised:
                    return known
    return None
