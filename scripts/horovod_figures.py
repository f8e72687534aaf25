"""Figures 3.2, 3.6 and 3.8 of Temuçin's thesis (2021) redrawn from profiles of Horovod itself, for
docs/use/metrics.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sennit import units
from sennit.model.profile import Profile, Row
from sennit.model.profile_sums import bins, plain
from sennit.views.charts.columns import Columns, column_chart, count_axis
from sennit.views.charts.frame import Axis
from sennit.views.profile.part import percent_axis
from sennit.views.profile.sizes import contiguous
from sennit.views.profile_text import span

# What Horovod's job was begun with, by the end of its profile's name, and the colour of its columns.
SETTINGS = {"horovod-resnet50": ("cycle 1 ms", "host"), "horovod-resnet50-30ms": ("cycle 30 ms", "managed")}
COLLECTIVES = ("MPI_Allreduce", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Allgather")

Cell = tuple[float, str]


def horovod_figures(found: Mapping[str, Profile]) -> dict[str, str]:
    """The pictures by what stands below them; none where there are no such profiles."""
    jobs = {
        said: (kind, profile)
        for end, (said, kind) in SETTINGS.items()
        for name, profile in found.items()
        if name.endswith(end)
    }
    if not jobs:
        return {}
    return {
        "as figure 3.2: calls of each collective": by_collective("Calls a process", jobs, calls, count_axis, ""),
        "as figure 3.6: the share of run time that they take": by_collective(
            "Share of run time", jobs, time, percent_axis, ""
        ),
        "as figure 3.8: sizes of what is reduced": by_size(jobs),
    }


def calls(profile: Profile, rows: list[Row]) -> Cell:
    """Of one process."""
    number = sum(row.calls for row in rows) / len(profile.ranks)
    return number, f"{number:.0f}"


def time(profile: Profile, rows: list[Row]) -> Cell:
    """The share of run time, in the mean over processes."""
    share = profile.share(sum(row.rank_seconds.mean for row in rows))
    return share, units.percent(share)


def by_collective(
    title: str,
    jobs: Mapping[str, tuple[str, Profile]],
    cell: Callable[[Profile, list[Row]], Cell],
    axis: Callable[[float], Axis],
    unit: str,
) -> str:
    """Each collective is a place, and each job a column there."""
    series = []
    for said, (kind, profile) in jobs.items():
        rows = [[row for row in profile.counted if plain(row.function) == name] for name in COLLECTIVES]
        series.append(Columns(said, kind, [cell(profile, each) if each else None for each in rows]))
    places = [(name.removeprefix("MPI_"), name) for name in COLLECTIVES]
    return column_chart(title, places, series, axis(most_of(series)), unit)


def by_size(jobs: Mapping[str, tuple[str, Profile]]) -> str:
    """Each bin of sizes of MPI_Allreduce is a place."""
    reduced = {
        said: bins([row for row in profile.counted if plain(row.function) == "MPI_Allreduce"])
        for said, (_, profile) in jobs.items()
    }
    names = {upper: span(rows[0]) for each in reduced.values() for upper, rows in each.items()}
    shown = contiguous(sorted(names))
    series = []
    for said, (kind, profile) in jobs.items():
        there = reduced[said]
        series.append(Columns(said, kind, [calls(profile, there[each]) if each in there else None for each in shown]))
    places = [(units.size(upper), names.get(upper, "")) for upper in shown]
    return column_chart(
        "Calls of MPI_Allreduce a process, by size", places, series, count_axis(most_of(series)), " calls"
    )


def most_of(series: list[Columns]) -> float:
    """The largest value."""
    return max(value[0] for one in series for value in one.values if value)
