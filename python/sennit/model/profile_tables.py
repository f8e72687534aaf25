"""A profile as tables: lists of rows, each of a row's values by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sennit.model.document import Part
from sennit.model.profile import Activity, Lateness, Partners, Profile, Rank, Row, Skew

Line = dict[str, Any]
TABLES: Mapping[str, type[Rank] | type[Row] | type[Partners] | type[Skew] | type[Lateness]] = {
    "rows": Row, "ranks": Rank, "partners": Partners, "skew": Skew, "lateness": Lateness,
}  # fmt: skip
DOINGS = ("collective", "message", "waiting", "nccl", "other")  # of Activity
# Tables of one line a process and bin of the run's time.
OVER_TIME = {
    "queues": ("rank", "begin_seconds", "posted_mean", "posted_most", "unexpected_mean", "unexpected_most"),
    "timeline": ("rank", "begin_seconds", "computing", *DOINGS),
}


def tables(profile: Profile) -> dict[str, list[Line]]:
    """By the names that they have in the document. What is a part of its own there, as the spread between ranks,
    becomes columns: rank_seconds_least and so on."""
    found = {name: [_flat(part.model_dump(by_alias=True)) for part in getattr(profile, name)] for name in TABLES}
    return found | {"queues": _queues(profile), "timeline": _timeline(profile)}


def shares(bins: Sequence[float], count: int) -> Sequence[float]:
    """A kind of calls has a share of each bin, also where there are no such calls."""
    return bins or [0.0] * count


def known_bins(activity: Activity, count: int) -> range:
    """Bins, of so many, that belong to the process's own run and whose calls are known."""
    return range(activity.from_bin, count if activity.to_bin is None else min(count, activity.to_bin))


def _timeline(profile: Profile) -> list[Line]:
    lines: list[Line] = []
    for each in profile.timeline.ranks if profile.timeline else ():
        assert profile.timeline
        kinds = [getattr(each, name) for name in DOINGS]
        count = max(map(len, kinds))
        columns_of_bins = [shares(bins, count) for bins in kinds]
        for number in known_bins(each, count):
            parts = [bins[number] for bins in columns_of_bins]
            values = (each.rank, number * profile.timeline.bin_seconds, max(0.0, round(1 - sum(parts), 4)), *parts)
            lines.append(dict(zip(OVER_TIME["timeline"], values, strict=True)))
    return lines


def _queues(profile: Profile) -> list[Line]:
    lines: list[Line] = []
    for each in profile.queues.ranks if profile.queues else ():
        assert profile.queues
        bins = zip(
            each.posted.mean_of_bin, each.posted.most_of_bin,
            each.unexpected.mean_of_bin, each.unexpected.most_of_bin, strict=True,
        )  # fmt: skip
        for number, lengths in enumerate(bins):
            values = (each.rank, number * profile.queues.bin_seconds, *lengths)
            lines.append(dict(zip(OVER_TIME["queues"], values, strict=True)))
    return lines


def columns(name: str) -> list[str]:
    """Those of a table, also of one without rows."""
    if name in OVER_TIME:
        return [*OVER_TIME[name]]
    found = []
    for member, field in TABLES[name].model_fields.items():
        inner = (
            field.annotation if isinstance(field.annotation, type) and issubclass(field.annotation, Part) else None
        )
        label = field.alias or member
        found += [f"{label}_{each}" for each in inner.model_fields] if inner else [label]
    return found


def _flat(values: Mapping[str, Any]) -> Line:
    flat: Line = {}
    for name, value in values.items():
        flat |= (
            {f"{name}_{each}": inner for each, inner in value.items()}
            if isinstance(value, Mapping)
            else {name: value}
        )
    return flat
