"""The parts of a profile: where the time went, by function, size, partner, rank and phase. Each is a picture, or
some, and the table of the same numbers."""

from __future__ import annotations

from itertools import pairwise

from sennit import units
from sennit.model.machine import Machine
from sennit.model.profile import Profile
from sennit.model.profile_links import gpu_classes
from sennit.model.profile_sums import Sum, kind, on_gpu_clock, plain, sums
from sennit.units import NOTHING
from sennit.views.charts.bars import Bar, narrow_bar_chart
from sennit.views.charts.columns import Columns, column_chart
from sennit.views.charts.frame import linear_axis
from sennit.views.charts.heat import heat_chart
from sennit.views.profile.links import links
from sennit.views.profile.over_time import last, polls, queues, timeline, variables
from sennit.views.profile.part import Part
from sennit.views.profile.sizes import sizes
from sennit.views.profile_text import (
    NO_PHASE,
    by_flight,
    by_gpu_time,
    by_partner,
    by_request,
    flight_overlapped,
    gpu_times_said,
    partners_said,
    share,
)
from sennit.views.registered_text import by_registration, registered_said
from sennit.views.text_table import Table

KINDS = {
    "gpu": "GPU memory",
    "managed": "managed memory",
    "pinned": "pinned host memory",
    "host": "host memory",
    "none": "no buffer, as waits",
}
MOST_BARS, MOST_LINES = 8, 60
MOST_PAIRS = 4096  # lines of the table of partners
MOST_SQUARES = 64  # a side of the heat map
OF_GPU = "Time of calls that were timed on the GPU is the GPU’s, which may compute meanwhile."


def parts(profile: Profile, machine: Machine | None = None) -> list[Part]:
    """All of them that there is something of. `machine`: that of the run, where it is known."""
    made = (functions(profile), sizes(profile), how(profile), on_gpus(profile), phases(profile), timeline(profile),
            requests(profile), polls(profile), queues(profile), variables(profile), registered(profile),
            partners(profile),
            links(profile, machine), waiting(profile), last(profile), ranks(profile))  # fmt: skip
    return [part for part in made if part is not None]


def run_time(profile: Profile) -> list[Bar]:
    """The run's time by kind of memory, and what is left of it. Threads in calls at once may have more than all."""
    found = sums(profile, profile.counted, kind)
    shares = [(each, profile.share(found[each].seconds)) for each in KINDS if each in found]
    whole = max(1.0, sum(share for _, share in shares))
    bars = [Bar(KINDS[each], share / whole, units.percent(share), each) for each, share in shares]
    rest = 1 - sum(share for _, share in shares)
    if rest > 0:
        name = "the rest" if any(map(on_gpu_clock, profile.counted)) else "outside of calls"
        bars.append(Bar(name, rest, units.percent(rest), "idle"))
    return bars


def functions(profile: Profile) -> Part | None:
    """By function and kind of memory."""
    found = sums(profile, profile.counted, lambda row: f"{plain(row.function)}, {KINDS[kind(row)]}")
    return _bars(profile, "By function and memory", "functions", "call", found)


def how(profile: Profile) -> Part | None:
    """By who did a call, where that is known."""
    known = [row for row in profile.counted if row.how]
    found = sums(profile, known, lambda row: f"{plain(row.function)}: {row.how}")
    return _bars(profile, "Who did it", "how", "call", found)


def registered(profile: Profile) -> Part | None:
    """Memory that the program registered, by the function."""
    if not profile.registered:
        return None
    most = max(1, *(one.most_bytes for one in profile.registered))
    bars = [
        Bar(one.function, one.most_bytes / most, units.size(one.most_bytes), "none")
        for one in profile.registered[:MOST_BARS]
    ]
    chart = narrow_bar_chart("Memory registered at once, of the process that had most", bars)
    return Part("Memory registered", registered_said(profile), {"registered": chart}, by_registration(profile))


def on_gpus(profile: Profile) -> Part | None:
    """Calls that were timed on GPUs, by function and size."""
    table = by_gpu_time(profile)
    if not table.lines:
        return None
    processes = max(1, len(profile.ranks))
    bars = []
    for each, line in list(zip(gpu_classes(profile.rows), table.lines, strict=False))[:MOST_BARS]:
        share = min(1.0, profile.share(each.gpu_seconds / processes))
        bars.append(Bar(f"{line[0]}, {line[1]}", share, line[-1], "gpu"))
    chart = narrow_bar_chart("On GPUs, of run time", bars)
    lines = [(f"{line[0]}, {line[1]}", *line[2:]) for line in table.lines]
    sentences = gpu_times_said(profile)
    # Reasons are too long for a column of a page.
    place, why = table.headings.index("of links") - 1, dict[str, list[str]]()
    for number, each in enumerate(gpu_classes(profile.rows)[: len(lines)]):
        if each.of_links is None:
            why.setdefault(each.no_links, []).append(lines[number][0])
            lines[number] = (*lines[number][:place], NOTHING, *lines[number][place + 1 :])
    if profile.links:
        sentences += [f"Of links unknown, {reason}: {'; '.join(calls)}." for reason, calls in why.items()]
    table = Table(("call", *table.headings[2:]), lines, left=("call",))
    return Part("On GPUs", sentences, {"gpus": chart}, table)


def phases(profile: Profile) -> Part | None:
    """By phase, where the program named some."""
    if not any(row.phase for row in profile.counted):
        return None
    found = sums(profile, profile.counted, lambda row: row.phase or NO_PHASE)
    return _bars(profile, "By phase", "phases", "phase", found)


def requests(profile: Profile) -> Part | None:
    """Of calls that began requests, how much of their time was overlapped."""
    table = by_request(profile)
    if not table.lines:
        return None
    parts = {function: flight_overlapped(rows) for function, rows in by_flight(profile).items()}
    bars = [Bar(function, part, units.percent(part), "none") for function, part in parts.items()][:MOST_BARS]
    said = "Overlapped is the time in flight that was not spent in the call that ended the request."
    chart = narrow_bar_chart("Overlapped, of the time in flight", bars)
    return Part("Nonblocking calls", [said], {"overlap": chart}, table)


def _bars(profile: Profile, title: str, name: str, what: str, found: dict[str, Sum]) -> Part | None:
    """A bar for each of what took longest, in the colour of its memory where it has one kind. `name`: of the file."""
    if not found:
        return None
    processes = max(1, len(profile.ranks))
    timed = any(on_gpu_clock(row) for total in found.values() for row in total.rows)
    bars, lines = [], []
    for each, total in list(found.items())[:MOST_LINES]:
        part = share(profile, total.seconds)
        kinds = {kind(row) for row in total.rows}
        bars.append(Bar(each, profile.share(total.seconds), part, kinds.pop() if len(kinds) == 1 else "none"))
        clock = ["GPU" if any(map(on_gpu_clock, total.rows)) else "host"] if timed else []
        us = units.three_digits(total.seconds * processes / total.calls * 1e6) if total.calls else NOTHING
        size = units.size(total.bytes // max(1, total.calls)) if total.bytes else NOTHING
        lines.append([each, part, f"{total.seconds:.3f}", *clock, str(round(total.calls / processes)), us, size])
    clocks = ["timed on"] if timed else []
    headings = [what, "of run time", "s a process", *clocks, "calls a process", "µs a call", "mean size"]
    chart = narrow_bar_chart("Share of run time", bars[:MOST_BARS])
    table = Table(headings, lines, left=(what, "timed on"))
    return Part(title, [OF_GPU] if timed else [], {name: chart}, table)


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
    return Part("Partners", sentences, {"partners": chart}, by_partner(profile, MOST_PAIRS))


def waiting(profile: Profile) -> Part | None:
    """How long ranks waited for the last one."""
    found = [skew for skew in profile.skew if skew.calls]
    if not found:
        return None
    processes = max(1, len(profile.ranks))
    found.sort(key=lambda skew: -skew.wait_seconds)
    lines, bars = [], []
    for skew in found[:MOST_LINES]:
        name = f"{plain(skew.function)}, {skew.communicator_size} ranks"
        share = profile.share(skew.wait_seconds / processes)
        late = NOTHING if skew.latest_rank is None else str(skew.latest_rank)
        inside = units.percent(skew.wait_seconds / skew.inside_seconds) if skew.inside_seconds else NOTHING
        lines.append((name, units.percent(share), inside, str(skew.calls), late, str(skew.latest_calls)))
        bars.append(Bar(name, share, units.percent(share), "none"))
    headings = ("call", "of run time", "of the call’s time", "calls", "rank waited for", "times")
    said = (
        "A late rank computes longer: no network helps. What is left of a call’s time is the transfer. In a "
        "broadcast or a scatter the others wait for the root, in a reduction or a gather the root for the others."
    )
    chart = narrow_bar_chart("Waiting for the last rank, of run time", bars[:MOST_BARS])
    return Part("Waiting for the last rank", [said], {"waiting": chart}, Table(headings, lines, left=("call",)))


def ranks(profile: Profile) -> Part | None:
    """Each process: one that is less in calls than the others is the one that they wait for."""
    if not profile.ranks:
        return None
    found = sorted(profile.ranks, key=lambda rank: rank.rank)
    inside = [units.three_digits(rank.inside_seconds) if rank.calls else NOTHING for rank in found]
    lines = [
        (
            str(rank.rank), rank.host, part, units.three_digits(rank.seconds), str(rank.calls), str(rank.threads),
            rank.ended,
        )
        for rank, part in zip(found, inside, strict=True)
    ]  # fmt: skip
    headings = ("rank", "host", "in calls, s", "run time, s", "calls", "threads", "ended")
    drawn = {}
    if longest := max(rank.inside_seconds for rank in found):
        places = [(str(rank.rank), f"rank {rank.rank}") for rank in found]
        values = [(rank.inside_seconds, part) for rank, part in zip(found, inside, strict=True)]
        axis = linear_axis(0, longest)
        drawn["ranks"] = column_chart("Time in calls, s", places, [Columns("", "none", values)], axis, "")
    said = (
        "Who is less in calls than the others is the one they wait for. MPI_Init and MPI_Finalize are in the time in "
        "calls, and not in the run’s."
    )
    return Part("Ranks", [said], drawn, Table(headings, lines, left=("host", "ended")))
