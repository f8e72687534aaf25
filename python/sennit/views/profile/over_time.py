"""A profile over the time of its run: what each process did, how long its queues were, and who came last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sennit import units
from sennit.model.profile import Profile, RankQueues, Variable
from sennit.model.profile_sums import plain
from sennit.model.profile_tables import DOINGS, known_bins, shares
from sennit.units import NOTHING
from sennit.views.charts.bars import Bar, Spread, spread_bar_chart
from sennit.views.charts.columns import Columns, column_chart
from sennit.views.charts.rows import MOST_ROWS, Row, divided_rows, shaded_rows
from sennit.views.profile.part import Part, percent_axis
from sennit.views.queues_text import by_name, by_poll, by_queue, by_variable, queues_said, variables_said
from sennit.views.text_table import Table

# The order is from the bottom of a row to its top.
DOING = {
    "waiting": "waiting", "collective": "collectives", "message": "messages", "nccl": "NCCL", "other": "other calls",
}  # fmt: skip
MOST_BARS, MOST_LINES = 8, 60
MOST_PICTURES, BINS = 2, 60  # of variables


def timeline(profile: Profile) -> Part | None:
    """Each process computed, or was in calls of some kind, or waited in them."""
    found = sorted(profile.timeline.ranks, key=lambda each: each.rank) if profile.timeline else []
    if profile.timeline is None or not any(getattr(each, name) for each in found for name in DOINGS):
        return None
    count = max(len(getattr(each, name)) for each in found for name in DOINGS)
    there = [kind for kind in DOING if any(getattr(each, kind) for each in found)]
    rows, lines = [], []
    for each in found:
        known = known_bins(each, count)
        bins = {kind: shares(getattr(each, kind), count) for kind in there}
        means = [sum(values[place] for place in known) / max(1, len(known)) for values in bins.values()]
        computing = units.percent(max(0.0, 1 - sum(means))) if known else NOTHING
        rows.append(Row(str(each.rank), computing, bins, known))
        lines.append([str(each.rank), computing, *map(units.percent, means)])
    seconds = count * profile.timeline.bin_seconds
    said = [
        f"Each row is a process, and {lasting(profile.timeline.bin_seconds)} of it a bin. Grey is what was spent "
        "outside of calls; empty is what is not of a process’s own run, or is known no longer. Waiting is for "
        "requests, in probes, and in collectives for the last rank.",
    ]
    if len({rank.host for rank in profile.ranks}) > 1:
        said.append("Each host has its own clock: its time begins with its first process.")
    rows, more = _fewer(rows)
    chart = divided_rows("What each process did", rows, seconds, DOING)
    headings = ["rank", "outside of calls", *(DOING[kind] for kind in there)]
    return Part("Timeline", [*said, *more], {"timeline": chart}, Table(headings, lines, left=()))


def lasting(seconds: float) -> str:
    """Writes a time in the unit that fits: "833 ms"."""
    scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{units.three_digits(scale * seconds)} {unit}"


def _fewer(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Picks as many as can be seen, and says so."""
    step = -(-len(rows) // MOST_ROWS)
    said = f"The picture has each {step}th process; the table has all."
    return list(rows[:: max(1, step)]), [said] if step > 1 else []


def polls(profile: Profile) -> Part | None:
    """Questions for what was not there (Temuçin 2021, section 3.3.6, figure 3.12)."""
    if not profile.polls:
        return None
    bars = []
    for each in profile.polls[:MOST_BARS]:
        least, mean, most = (profile.share(value) for value in (
            each.rank_missed_seconds.least, each.rank_missed_seconds.mean, each.rank_missed_seconds.most
        ))  # fmt: skip
        bars.append(Spread(Bar(plain(each.function), mean, units.percent(mean), "none"), least, most))
    chart = spread_bar_chart("Looking for what was not there, of run time", bars)
    said = "A bar is the mean over processes; the line on it reaches from the least to the most."
    return Part("Polls", [said], {"polls": chart}, by_poll(profile))


def queues(profile: Profile) -> Part | None:
    """Receives waited for a message, or messages for a receive."""
    known = profile.queues
    if known is None or (not known.ranks and not profile.polls):
        return None
    found = sorted(known.ranks, key=lambda each: each.rank)
    drawn = {}
    if found:
        seconds = known.bin_seconds * max(len(each.posted.mean_of_bin) for each in found)
        pictures: tuple[tuple[str, str, Callable[[RankQueues], Row]], ...] = (
            ("queues-unexpected", "Messages not yet asked for",
             lambda each: Row(str(each.rank), str(each.unexpected.most), {"": each.unexpected.mean_of_bin})),
            ("queues-posted", "Receives without their message yet",
             lambda each: Row(str(each.rank), str(each.posted.most), {"": each.posted.mean_of_bin})),
        )  # fmt: skip
        for name, title, row in pictures:
            rows, _ = _fewer([row(each) for each in found])
            drawn[name] = shaded_rows(title, rows, seconds)
    return Part("Queues", queues_said(profile), drawn, by_queue(profile, MOST_LINES * 10))


def variables(profile: Profile) -> Part | None:
    """What the MPI said of itself."""
    if not profile.variables:
        return None
    drawn = {}
    for number, (name, found) in enumerate(by_name(profile).items()):
        if number == MOST_PICTURES or not any(one.most for one in found):
            break
        rows, _ = _fewer([
            Row(str(one.rank), str(one.most), {"": _most_of_bins(one, profile.seconds)})
            for one in sorted(found, key=lambda one: one.rank)
        ])  # fmt: skip
        drawn[f"variable-{number + 1}"] = shaded_rows(name, rows, profile.seconds)
    return Part("Variables of the MPI", variables_said(profile), drawn, by_variable(profile))


def _most_of_bins(of: Variable, seconds: float) -> list[float]:
    """The most that it was in each of BINS equal parts of the run."""
    bins = [0.0] * BINS
    for at, value in of.points:
        place = min(BINS - 1, max(0, int(at / seconds * BINS))) if seconds > 0 else 0
        bins[place] = max(bins[place], float(value))
    return bins


def last(profile: Profile) -> Part | None:
    """Who came last to calls of all ranks."""
    found = sorted((each for each in profile.lateness if each.calls), key=lambda each: each.rank)
    if not any(each.last for each in found):
        return None
    lines, columns = [], []
    for each in found:
        share = profile.share(each.late_seconds)
        lines.append((
            str(each.rank), units.percent(share), f"{each.late_seconds:.3f}", str(each.last), str(each.calls),
            lasting(each.late_seconds / each.last) if each.last else NOTHING,
        ))  # fmt: skip
        columns.append((share, units.percent(share)))
    error = max((rank.clock_error_us for rank in profile.ranks), default=0.0)
    said = "How much sooner calls of all ranks would have begun without the one that came last."
    if error > 0:
        said += (
            f" Where it came less than {units.time(2 * error)} behind the others it does not count: clocks are "
            "not that exact."
        )
    chart = column_chart(
        "Behind the last one but one, of run time", [(str(each.rank), f"rank {each.rank}") for each in found],
        [Columns("", "waiting", columns)], percent_axis(max(share for share, _ in columns)), "",
    )  # fmt: skip
    headings = ("rank", "late, of run time", "late, s", "times last", "calls", "each time")
    return Part("Who comes last", [said], {"last": chart}, Table(headings, lines, left=()))
