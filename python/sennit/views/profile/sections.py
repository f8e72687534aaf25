"""The parts of a profile: where the time went, by function, size, partner, rank and phase. Each is a picture, or
some, and the table of the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sennit import units
from sennit.model.profile import Profile, Row
from sennit.model.profile_sums import Sum, bins, kind, on_gpu_clock, sums
from sennit.units import NOTHING
from sennit.views.charts.bars import Bar, narrow_bar_chart
from sennit.views.charts.columns import Columns, column_chart, count_axis
from sennit.views.charts.frame import Axis, linear_axis
from sennit.views.charts.heat import heat_chart
from sennit.views.profile_text import by_partner, partners_said, span
from sennit.views.text_table import Table

KINDS = {
    "gpu": "GPU memory",
    "managed": "managed memory",
    "pinned": "pinned host memory",
    "host": "host memory",
    "none": "no buffer, as waits",
}
SIDES = {"host": "CPU buffers", "gpu": "GPU buffers"}
Cell = tuple[float, str] | None  # a value, and what is said of it

MOST_SHARE = 1000.0  # of an axis: what threads at once could have, and no broken figure has
MOST_BARS, MOST_LINES = 8, 60
MOST_PAIRS = 4096  # lines of the table of partners
MOST_SQUARES = 64  # a side of the heat map
OF_GPU = "Time of calls that were timed on the GPU is the GPU’s, which may compute meanwhile."


@dataclass(frozen=True)
class Part:
    """A title, what is to be known, pictures by their names as files, and the tables of the same numbers."""

    title: str
    sentences: Sequence[str]
    pictures: dict[str, str]
    tables: Sequence[Table]


def parts(profile: Profile) -> list[Part]:
    """All of them that there is something of."""
    made = (functions(profile), sizes(profile), how(profile), phases(profile), partners(profile), waiting(profile),
            ranks(profile))  # fmt: skip
    return [part for part in made if part is not None]


def run_time(profile: Profile) -> list[Bar]:
    """The run's time by kind of memory, and what is left of it. Threads in calls at once may have more than all."""
    found = sums(profile, profile.counted, kind)
    shares = [(each, profile.share(found[each].seconds)) for each in KINDS if each in found]
    whole = max(1.0, sum(share for _, share in shares))
    bars = [Bar(KINDS[each], share / whole, units.percent(share), each) for each, share in shares]
    timed = any(map(on_gpu_clock, profile.counted))
    rest = 1 - sum(share for _, share in shares)
    return (
        [*bars, Bar("outside of calls" if not timed else "the rest", rest, units.percent(rest), "idle")]
        if rest > 0
        else bars
    )


def functions(profile: Profile) -> Part | None:
    """By function and kind of memory."""
    found = sums(profile, profile.counted, lambda row: f"{row.function}, {KINDS[kind(row)]}")
    timed = any(map(on_gpu_clock, profile.counted))
    title = "Share of run time"
    sentences = [OF_GPU] if timed else []
    return _bars("By function and memory", "functions", title, "call", found, profile, sentences)


def how(profile: Profile) -> Part | None:
    """By who did a call, where that is known."""
    known = [row for row in profile.counted if row.how]
    found = sums(profile, known, lambda row: f"{row.function}: {row.how}")
    return _bars("Who did it", "how", "Share of run time", "call", found, profile)


def phases(profile: Profile) -> Part | None:
    """By phase, where the program named some."""
    if not any(row.phase for row in profile.counted):
        return None
    found = sums(profile, profile.counted, lambda row: row.phase or "before the first phase")
    return _bars("By phase", "phases", "Calls’ share of run time", "phase", found, profile)


def _bars(
    heading: str, name: str, title: str, what: str, found: dict[str, Sum], profile: Profile,
    sentences: Sequence[str] = (),
) -> Part | None:  # fmt: skip
    if not found:
        return None
    processes = max(1, len(profile.ranks))
    timed = any(on_gpu_clock(row) for total in found.values() for row in total.rows)
    shares = {each: profile.share(total.seconds) for each, total in found.items()}
    bars = [Bar(each, shares[each], units.percent(shares[each]), kind(found[each].rows[0])) for each in found]
    if name == "phases":  # of calls of all kinds
        bars = [Bar(bar.name, bar.part, bar.said, "none") for bar in bars]
    lines = [
        (
            each,
            units.percent(shares[each]),
            f"{total.seconds:.3f}",
            *(["GPU" if any(map(on_gpu_clock, total.rows)) else "host"] if timed else []),
            str(round(total.calls / processes)),
            units.three_digits(total.seconds * processes / total.calls * 1e6) if total.calls else NOTHING,
            units.size(total.bytes // max(1, total.calls)) if total.bytes else NOTHING,
        )
        for each, total in list(found.items())[:MOST_LINES]
    ]
    clock = ["timed on"] if timed else []
    headings = (what, "of run time", "s a process", *clock, "calls a process", "µs a call", "mean size")
    return Part(heading, sentences, {name: narrow_bar_chart(title, bars[:MOST_BARS])},
                [Table(headings, lines, left=(what, "timed on"))])  # fmt: skip


def sizes(profile: Profile) -> Part | None:
    """By the bins of figure 5.8 of seed 003, CPU and GPU buffers apart."""
    found = bins(profile.counted)
    if not found:
        return None
    present = [side for side in SIDES if any(_is_of(side, row) for rows in found.values() for row in rows)]
    cells = {side: {upper: _cells(profile, side, rows) for upper, rows in found.items()} for side in present}
    lines = [
        (span(rows[0]), *(cell[1] if cell else NOTHING for number in (0, 1)
                          for cell in (cells[side][upper][number] for side in present)))
        for upper, rows in found.items()
    ]  # fmt: skip
    headings = [f"{what}, {SIDES[side]}" for what in ("calls", "of run time") for side in present]
    places = [
        (units.size(upper), span(found[upper][0]) if upper in found else "") for upper in contiguous(list(found))
    ]

    def drawn(number: int, title: str, unit: str, axis: Callable[[float], Axis]) -> str:
        series = [
            Columns(
                SIDES[side], side, [cells[side].get(upper, (None, None))[number] for upper in contiguous(list(found))]
            )
            for side in present
        ]
        most = max(value[0] for one in series for value in one.values if value)
        return column_chart(title, places, series, axis(most), unit)

    pictures = {
        "sizes-calls": drawn(0, "Calls by size of their message", " calls", lambda most: count_axis(round(most))),
        "sizes-time": drawn(1, "Share of run time by size", " of run time", percent_axis),
    }
    said = (
        "A bin has the sizes above its lower bound, up to its upper one. Pinned and managed memory are CPU buffers."
    )
    return Part("By size", [said], pictures, [Table(("size", *headings), lines, left=("size",))])


def _is_of(side: str, row: Row) -> bool:
    return row.on_gpu == (side == "gpu")


def _cells(profile: Profile, side: str, rows: Sequence[Row]) -> tuple[Cell, Cell]:
    """Calls, and their share of run time; None where there are none."""
    total = Sum.of((row for row in rows if _is_of(side, row)), len(profile.ranks))
    if not total.rows:
        return None, None
    share = profile.share(total.seconds)
    return (float(total.calls), str(total.calls)), (share, units.percent(share))


def contiguous(uppers: Sequence[int]) -> list[int]:
    """All bins from the first to the last, so that distances are true. The bin of nothing stands by itself."""
    found = [upper for upper in uppers if upper == 0]
    positive = [upper for upper in uppers if upper > 0]
    upper = positive[0] if positive else 0
    while positive and upper <= positive[-1]:
        found.append(upper)
        upper *= 2
    return found if set(uppers) <= set(found) else list(uppers)


def percent_axis(most: float) -> Axis:
    """From nothing to about `most`, a share."""
    axis = linear_axis(0, 100 * min(max(most, 0.01), MOST_SHARE), " %")
    return Axis(0, axis.high / 100, [(value / 100, label) for value, label in axis.ticks])


def partners(profile: Profile) -> Part | None:
    """Who sent whom how much."""
    if not profile.partners:
        return None
    names = sorted(
        {rank.rank for rank in profile.ranks}
        | {end for pair in profile.partners for end in (pair.sender, pair.receiver)}
    )
    sentences = partners_said(profile)
    step = -(-len(names) // MOST_SQUARES)
    place = {rank: number // step for number, rank in enumerate(names)}
    total: dict[tuple[int, int], int] = {}
    for pair in profile.partners:
        key = place[pair.sender], place[pair.receiver]
        total[key] = total.get(key, 0) + pair.bytes
    labels = [str(names[first]) for first in range(0, len(names), step)]
    if step > 1:
        sentences = [*sentences, f"A square of the picture is of {step} ranks by {step}, named by the first."]
    hosts = {rank.rank: rank.host for rank in profile.ranks}
    rules = [place[rank] for before, rank in pairwise(names) if hosts.get(before) != hosts.get(rank)]
    if rules:
        sentences = [*sentences, "Lines divide hosts."]
    values = {key: (float(value), units.size(value)) for key, value in total.items()}
    chart = heat_chart("Bytes from each rank (row) to each (column)", labels, values, sorted(set(rules)))
    return Part("Partners", sentences, {"partners": chart}, [by_partner(profile, MOST_PAIRS)])


def waiting(profile: Profile) -> Part | None:
    """How long ranks waited for the last one."""
    found = [skew for skew in profile.skew if skew.calls]
    if not found:
        return None
    processes = max(1, len(profile.ranks))
    found.sort(key=lambda skew: -skew.wait_seconds)
    lines, bars = [], []
    for skew in found[:MOST_LINES]:
        name = f"{skew.function}, {skew.communicator_size} ranks"
        share = profile.share(skew.wait_seconds / processes)
        late = NOTHING if skew.latest_rank is None else str(skew.latest_rank)
        inside = units.percent(skew.wait_seconds / skew.inside_seconds) if skew.inside_seconds else NOTHING
        lines.append((name, units.percent(share), inside, str(skew.calls), late, str(skew.latest_calls)))
        bars.append(Bar(name, share, units.percent(share), "none"))
    headings = ("call", "of run time", "of the call’s time", "calls", "last rank", "times last")
    said = "A late rank computes longer: no network helps. What is left of a call’s time is the transfer."
    chart = narrow_bar_chart("Waiting for the last rank, of run time", bars[:MOST_BARS])
    return Part("Waiting for the last rank", [said], {"waiting": chart}, [Table(headings, lines, left=("call",))])


def ranks(profile: Profile) -> Part | None:
    """Each process: one that is less in calls than the others is the one that they wait for."""
    if not profile.ranks:
        return None
    found = sorted(profile.ranks, key=lambda rank: rank.rank)
    inside = [rank.inside_seconds / rank.seconds if rank.seconds > 0 else 0.0 for rank in found]
    lines = [
        (
            str(rank.rank), rank.host, units.percent(part), units.three_digits(rank.seconds), str(rank.calls),
            str(rank.threads), rank.ended,
        )
        for rank, part in zip(found, inside, strict=True)
    ]  # fmt: skip
    headings = ("rank", "host", "in calls", "run time, s", "calls", "threads", "ended")
    drawn = {}
    if any(inside):
        places = [(str(rank.rank), f"rank {rank.rank}") for rank in found]
        values = [(part, units.percent(part)) for part in inside]
        axis = percent_axis(max(inside))
        drawn["ranks"] = column_chart(
            "Time in calls, of each rank’s run time", places, [Columns("", "none", values)], axis, ""
        )
    said = "Who is less in calls than the others is the one they wait for. MPI_Init and MPI_Finalize are included."
    return Part("Ranks", [said], drawn, [Table(headings, lines, left=("host", "ended"))])
