"""The goals of the MPI drop-in, and what results/ show of each, in docs/develop/goals.md. A goal that is missed
stands there too, with its figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept_documents import NONE_YET, documents, kept_results
from sennit import units
from sennit.model.result import BENCH_MPI, BY_HAND, COLLECTIVE, MPI, OWN, PUT, UCX, Row
from sennit.views.markdown import pipes

# A call of sennit's own, of the documents DIRECT_PUT (after `sennit tune put`) and DIRECT_ALLREDUCE (`sennit bench
# allreduce --waited`), beside those of MPI in their folder, of as many ranks and in place or not.
DIRECT = "direct"
DIRECT_PUT, DIRECT_ALLREDUCE = "put-beside-mpi", "allreduce-beside-mpi"
OF_A_CASE = ("bytes", "window", "ranks", "in_place", "median_us")

Found = tuple[int, float]  # the size where it is furthest from the goal, and the figure there


@dataclass(frozen=True)
class Goal:
    """One figure of one result; `figures`: of all sizes that it is asked of, none where that was not measured."""

    what: str
    aim: float
    at_most: bool  # else at least
    figures: Callable[[list[Row]], Iterator[Found]]
    unit: str = "×"

    def worst(self, rows: list[Row]) -> Found | None:
        found = list(self.figures(rows))
        pick = max if self.at_most else min
        return pick(found, key=lambda one: one[1], default=None)

    def is_met(self, figure: float) -> bool:
        return figure <= self.aim if self.at_most else figure >= self.aim


Case = tuple[str, str, int, bool, int, int, int]  # of rows that differ in who alone


def case_of(row: Row) -> Case:
    """What a row measures."""
    return (row.operation, row.buffers, row.window, row.in_place, row.ranks, row.nodes, row.bytes)


def pairs(
    rows: list[Row], peer: str, operation: str | None, nodes: int | None, wants: Callable[[Row], bool]
) -> Iterator[tuple[Row, Row]]:
    """Each of sennit's rows that is wanted, and its peer's. `nodes`: 1 for one alone, 2 for several; None: any."""
    others = {case_of(row): row for row in rows if row.variant == peer}
    for row in rows:
        right = operation in (None, row.operation) and (nodes is None or (row.nodes > 1) == (nodes > 1))
        if row.variant == OWN and right and wants(row) and case_of(row) in others:
            yield row, others[case_of(row)]


def ratio(own: Row, other: Row) -> float:
    """How many times as fast sennit is: of neighbouring batches where they took turns, else of medians."""
    return other.sennit.times_as_fast if other.sennit else other.median_us / own.median_us


def on_gpus(row: Row) -> bool:
    """Whether both sides have GPU buffers."""
    return row.buffers == "gpu"


def small_latency(rows: list[Row]) -> Iterator[Found]:
    """Sennit's time of 8 B over the better of the other two."""
    others = [row for row in rows if row.variant in (BY_HAND, UCX)]
    if {row.variant for row in others} != {BY_HAND, UCX}:
        return
    for row in rows:
        if row.variant == OWN and row.operation == "latency" and row.bytes == 8 and on_gpus(row) and row.nodes == 1:
            yield row.bytes, row.median_us / min(one.median_us for one in others if case_of(one) == case_of(row))


def times_as_fast(
    peer: str, operation: str, nodes: int, wants: Callable[[Row], bool]
) -> Callable[[list[Row]], Iterator[Found]]:
    """The peer's time over sennit's."""

    def figures(rows: list[Row]) -> Iterator[Found]:
        for row, other in pairs(rows, peer, operation, nodes, lambda row: on_gpus(row) and wants(row)):
            yield row.bytes, ratio(row, other)

    return figures


def direct_rows(documents: dict[str, Any]) -> list[Row]:
    """What sennit's own calls take, as rows beside those of MPI. `documents`: of one folder, by their names."""
    rows = []
    for name, operation in ((DIRECT_PUT, "bandwidth"), (DIRECT_ALLREDUCE, "allreduce")):
        for row in documents.get(name, {}).get("rows", []):
            if row["variant"] == OWN:
                known = {"operation": operation, "variant": DIRECT, "buffers": "gpu", "ranks": 2}  # of a put
                rows.append(Row.model_validate(known | {key: row[key] for key in OF_A_CASE if key in row}))
    return rows


def beside_direct(
    figure: Callable[[Row, Row], float], wants: Callable[[Row], bool]
) -> Callable[[list[Row]], Iterator[Found]]:
    """An allreduce by MPI beside a direct call."""

    def figures(rows: list[Row]) -> Iterator[Found]:
        for row, other in pairs(rows, DIRECT, "allreduce", 1, lambda row: on_gpus(row) and wants(row)):
            yield row.bytes, figure(row, other)

    return figures


def host_overhead(rows: list[Row]) -> Iterator[Found]:
    """Per cent that sennit adds to calls with host buffers."""
    for row, other in pairs(rows, MPI, None, None, lambda row: row.buffers == "host"):
        yield row.bytes, (1 / ratio(row, other) - 1) * 100


GOALS = (
    Goal("latency of 8 B, of the better of by hand and UCX", 0.8, True, small_latency),
    Goal(
        "bandwidth from 16 MiB on, as fast as UCX",
        1,
        False,
        times_as_fast(UCX, "bandwidth", 1, lambda row: row.bytes >= 16 << 20),
    ),
    Goal(
        "bandwidth from 16 MiB on, of that of direct puts",
        0.97,
        False,
        times_as_fast(DIRECT, "bandwidth", 1, lambda row: row.bytes >= 16 << 20),
    ),
    Goal(
        "allreduce above 1 MiB, of the time of a direct call that is waited for",
        1.05,
        True,
        beside_direct(lambda own, direct: own.median_us / direct.median_us, lambda row: row.bytes > 1 << 20),
    ),
    Goal(
        "allreduce to 1 MiB, longer than a direct call that is waited for",
        3,
        True,
        beside_direct(lambda own, direct: own.median_us - direct.median_us, lambda row: row.bytes <= 1 << 20),
        "µs",
    ),
    Goal(
        "allreduce of 8 B, as fast as by hand",
        1,
        False,
        times_as_fast(BY_HAND, "allreduce", 1, lambda row: row.bytes == 8),
    ),
    Goal(
        "allreduce of 64 and 256 MiB, as fast as by hand",
        150,
        False,
        times_as_fast(BY_HAND, "allreduce", 1, lambda row: row.bytes in (64 << 20, 256 << 20)),
    ),
    Goal(
        "allreduce of 64 MiB on two nodes, as fast as by hand",
        4,
        False,
        times_as_fast(BY_HAND, "allreduce", 2, lambda row: row.bytes == 64 << 20),
    ),
    Goal("host buffers: what sennit adds", 1, True, host_overhead, "%"),
)


def mpi_goals(root: Path) -> str:
    """A table: a line for each goal and result that has something of it."""
    lines = [
        ["what", "aim", "reached", "at", "met", "GPUs", "result"],
        ["---", "--:", "--:", "--:", "---", "---", "---"],
    ]
    direct: dict[str, dict[str, Any]] = {}  # by folder and name
    for kind in (PUT, COLLECTIVE):
        for _, path, document in documents(root, kind):
            direct.setdefault(str(Path(path).parent), {})[Path(path).stem] = document
    results = [
        (kept.name, kept.result, direct_rows(direct.get(str(Path(kept.path).parent), {})))
        for kept in kept_results(root, BENCH_MPI)
    ]
    for goal in GOALS:
        for name, result, beside in results:
            if (worst := goal.worst([*result.rows, *beside])) is None:
                continue
            size, figure = worst
            aim = f"{'at most' if goal.at_most else 'at least'} {goal.aim:g} {goal.unit}"
            reached = f"{figure:.3g} {goal.unit}"
            gpus = ", ".join(
                f"{result.machine.devices.count(one)} × {one}" for one in dict.fromkeys(result.machine.devices)
            )
            lines.append(
                [goal.what, aim, reached, units.size(size), "yes" if goal.is_met(figure) else "no", gpus, name]
            )
    return pipes(lines) if len(lines) > 2 else NONE_YET
