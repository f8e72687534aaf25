"""The rows of a result, put side by side: those of one title by size and by who did it. Pure functions of their
inputs."""

from __future__ import annotations

from dataclasses import dataclass

from sennit.compare.ratio import LARGEST, NOISE, Ratio, between_runs, speedup
from sennit.model.result import COLLECTIVE, ENGINE, NCCL, OWN, Result, Row
from sennit.operations import BARRIERS, REDUCING, spoken

BASELINE = ENGINE  # of puts: the copy engine alone, the single path that every program has today

IN_WINDOWS = (
    "bandwidth", "bandwidth_init", "bidirectional", "bidirectional_init", "multi_pair", "put_bandwidth",
    "put_bidirectional", "get_bandwidth",
)  # fmt: skip
BUFFERS = {
    "gpu": "GPU buffers", "host": "host buffers", "gpu_host": "GPU → host", "host_gpu": "host → GPU",
    "managed": "managed buffers",
}  # fmt: skip
PROGRAMS = ("MPI_", "nccl")  # beginnings of functions that programs call, in profiles
PARTITIONED_MESSAGE = "partitioned message"  # the operation of rows whose way says all but size and back end
WAYS = {"graph": "in a CUDA graph", "queued": "queued behind other work", "eager": "call by call"}


def title(row: Row) -> str:
    """What a row measures but for its size and who did it, for example: Allreduce: float32 sum, 4 ranks, in place."""
    numbers = f"{row.type} {row.operator}"
    ranks = f"{row.ranks} ranks" + (f" on {row.nodes} nodes" if row.nodes > 1 else "")
    if row.pattern:
        over = ", over NCCL" if row.over == NCCL else ""
        return f"{row.pattern}: {BUFFERS.get(row.buffers, row.buffers)}, {ranks}{over}"
    if row.operation == "training":
        return f"Training: {training_name(row)}, {f'buckets {row.bucket_mb} MB, ' if row.bucket_mb else ''}{ranks}"
    if row.operation == PARTITIONED_MESSAGE:
        return row.way
    if row.operation.startswith(PROGRAMS):
        memory = f"{row.buffers} memory".replace("gpu", "GPU") if row.buffers else ""
        said = ", ".join(filter(None, (memory, ranks if row.ranks > 1 else "", row.way)))
        return f"{row.operation}: {said}" if said else row.operation
    if row.way:
        return f"{spoken(row.operation)}, {row.type}, {WAYS.get(row.way, row.way)}, {ranks}"
    if row.buffers:
        what = [f"window {row.window}"] if row.operation in IN_WINDOWS else []
        what += [numbers] if row.operator else []
        what += [BUFFERS.get(row.buffers, row.buffers), *(["in place"] if row.in_place else []), ranks]
    elif row.operation == "put":
        pair = f"{row.from_} → {row.to}, " if row.from_ else ""
        return f"{pair}{row.traffic.replace('_', ' ')}, window {row.window}"
    elif row.operation in BARRIERS:
        what = [ranks]
    else:
        what = [numbers if row.operation in REDUCING else row.type, ranks]
        what += ["in place" if row.in_place else "out of place", *(["registered"] if row.registered else [])]
    return f"{spoken(row.operation)}: {', '.join(what)}"


def training_name(row: Row) -> str:
    """For example: resnet50 ddp graph."""
    return " ".join(filter(None, (row.model, row.parallel, row.step)))


def ratio(own: Row | None, other: Row | None) -> Ratio | None:
    """How many times as fast the first is: as blocks and batches in turns say, where there were any, else by both
    times. None where one of them was not measured."""
    if own is not None and own.gain:
        return Ratio(own.gain, own.gain_spread)
    if own is None or other is None:
        return None
    if turns := other.sennit:
        # A ratio is beyond the noise where its interval does not reach 1.
        spread = abs(turns.high - turns.low) / 2 / NOISE
        return Ratio(turns.times_as_fast, spread) if max(turns.times_as_fast, spread) <= LARGEST else None
    compared = between_runs if other.own_job else speedup
    return compared(own.median_us, own.spread_us, other.median_us, other.spread_us)


def of_limit(row: Row | None) -> float | None:
    """The fraction of what the links allow that a row reaches; None where the limit is not known."""
    return row.gbps / row.limit_gbps if row is not None and row.limit_gbps > 0 else None


@dataclass(frozen=True)
class Group:
    """The rows of one title. Of a row measured twice the later one counts."""

    title: str
    rows: dict[int, dict[str, Row]]  # by size and variant

    @property
    def all_rows(self) -> list[Row]:
        """By size, and for each in the order they were measured."""
        return [row for size in self.sizes for row in self.rows[size].values()]

    @property
    def first(self) -> Row:
        """Any of them."""
        return self.all_rows[0]

    @property
    def sizes(self) -> list[int]:
        """Ascending."""
        return sorted(self.rows)

    @property
    def variants(self) -> list[str]:
        """sennit first, then the baseline, then the others in the order they were measured; no plans that were
        forced."""
        seen = list(dict.fromkeys(row.variant for row in self.all_rows if not row.is_forced))
        return sorted(seen, key=lambda variant: (variant != OWN, variant != BASELINE))

    @property
    def peers(self) -> list[str]:
        """Everybody else."""
        return [variant for variant in self.variants if variant != OWN]

    def row(self, size: int, variant: str = OWN) -> Row | None:
        """The row of one size and variant, if it was measured."""
        return self.rows[size].get(variant)

    def ratio(self, size: int, peer: str = BASELINE) -> Ratio | None:
        """How many times as fast sennit is as `peer`; None where one of them was not measured."""
        return ratio(self.row(size), self.row(size, peer))

    def is_sized(self) -> bool:
        """Whether there is a size to speak of: a barrier has none."""
        return self.first.operation not in BARRIERS


def groups(result: Result) -> list[Group]:
    """All of them, in the order they were measured. A peer of a collective may do it in another way than sennit, such
    as out of place, and stands beside it all the same."""
    found: dict[str, tuple[str, dict[int, dict[str, Row]]]] = {}
    for row in result.rows:
        name = title(row)
        _, rows = found.setdefault(row.operation if result.kind == COLLECTIVE else name, (name, {}))
        rows.setdefault(row.bytes, {})[row.variant] = row
    return [Group(*each) for each in found.values()]
