"""What a profile knows of queues, in words: reconstructed ones, polls that found nothing, and what the MPI says."""

from __future__ import annotations

from sennit import units
from sennit.model.profile import Profile, Variable
from sennit.model.profile_sums import plain
from sennit.views.text_table import Table

MOST_LINES = 12


def by_queue(profile: Profile, most: int = MOST_LINES) -> Table:
    """The lengths of both queues; the longest first."""
    known = profile.queues.ranks if profile.queues else []
    found = sorted(known, key=lambda each: (-each.unexpected.most, -each.posted.most, each.rank))[:most]
    lines = [
        (
            str(each.rank),
            *(text for queue in (each.unexpected, each.posted) for text in (length(queue.mean), str(queue.most))),
            str(each.messages),
            str(each.undecided),
        )
        for each in found
    ]
    headings = (
        "rank", "unexpected, mean", "unexpected, most", "posted, mean", "posted, most", "messages", "undecided",
    )  # fmt: skip
    return Table(headings, lines, left=())


def length(mean: float) -> str:
    """Writes the mean length of a queue."""
    return f"{mean:.2f}" if mean < 100 else f"{mean:.0f}"


SOURCES = {
    "variables": "the MPI’s own variables", "reconstructed": "the sends and receives of all ranks",
    "polls": "polls that found nothing",
}  # fmt: skip


def queues_said(profile: Profile) -> list[str]:
    """Says from where queues are known, and why not from elsewhere."""
    known = profile.queues
    if known is None:
        return []
    said = []
    if known.shown == "reconstructed":
        said.append(
            "Lengths are found from the sends and receives of all ranks: a message counts as come when its send "
            "began. Undecided are those that were sent and asked for at the same time, as far as clocks tell."
        )
    elif known.shown:
        said.append(f"Only {SOURCES[known.shown]} tell of queues here: see there.")
    said += [f"Not from {SOURCES[name]}: {why}." for name, why in known.why_not.items() if why and name in SOURCES]
    if known.since_seconds > 0:
        said.append(
            f"Before {units.three_digits(known.since_seconds)} s of the run the files no longer have all calls."
        )
    left = [
        (known.sends_left, "sends and"), (known.receives_left, "receives found no other side"),
    ]  # fmt: skip
    if any(count for count, _ in left):
        said.append(" ".join(f"{count} {what}" for count, what in left) + ".")
    if known.starts_left_out:
        said.append(f"{known.starts_left_out} starts of persistent requests are not in it.")
    return said


def by_poll(profile: Profile) -> Table:
    """Questions that found nothing (Temuçin 2021, section 3.3.6)."""
    lines = [
        (
            plain(polls.function),
            str(polls.calls),
            str(polls.misses),
            *(units.percent(profile.share(each)) for each in (polls.rank_missed_seconds.least,
              polls.rank_missed_seconds.mean, polls.rank_missed_seconds.most)),
        )
        for polls in profile.polls[:MOST_LINES]
    ]  # fmt: skip
    return Table(
        ("function", "calls", "found nothing", "of run time, least", "mean", "most"), lines, left=("function",)
    )


def by_name(profile: Profile) -> dict[str, list[Variable]]:
    """Variables that were looked at; those that said most first."""
    found: dict[str, list[Variable]] = {}
    for one in profile.variables:
        if one.samples:
            found.setdefault(one.name, []).append(one)
    return dict(sorted(found.items(), key=lambda item: (-max(one.most for one in item[1]), item[0])))


def by_variable(profile: Profile) -> Table:
    """What the MPI said of itself (MPI_T), each variable over all processes."""
    lines = []
    for name, found in by_name(profile).items():
        samples = sum(one.samples for one in found)
        most = max(found, key=lambda one: one.most)
        lines.append((
            name, str(len(found)), str(samples), length(sum(one.mean * one.samples for one in found) / samples),
            str(most.most), str(most.rank) if most.most else units.NOTHING,
        ))  # fmt: skip
    return Table(("variable", "processes", "looked at", "mean", "most", "of rank"), lines, left=("variable",))


def variables_said(profile: Profile) -> list[str]:
    """Says when variables were looked at, and which could not be."""
    said = ["Looked at in one call of 64, at most once each ms (MPI_T): what comes and goes between is not seen."]
    failed: dict[str, set[str]] = {}
    for one in profile.variables:
        if one.failed:
            failed.setdefault(one.failed, set()).add(one.name)
    return said + [f"Not looked at: {', '.join(sorted(names))}: {why}." for why, names in sorted(failed.items())]
