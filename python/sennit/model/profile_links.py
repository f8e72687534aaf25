"""How far calls that were timed on GPUs are from what the links of the machine allow. Pure functions of a profile and
of the least times that sennit-sim reckons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sennit.model.machine import Machine
from sennit.model.profile import Profile, Row
from sennit.model.profile_sums import OPERATIONS, on_gpu_clock, plain

# Why nothing is known of a call, as short as a cell of a table.
UNKNOWN_MACHINE, SEVERAL_HOSTS = "machine unknown", "several hosts"
NO_COLLECTIVE, ON_HOST = "no collective", "on host"


@dataclass(frozen=True)
class Asked:
    """A collective whose least time is to be known. `bytes`: of one message."""

    operation: str
    bytes: int
    ranks: int


def bytes_a_call(row: Row) -> float:
    """Of the side that has more, in the mean."""
    return max(row.bytes_in, row.bytes_out) / max(1, row.calls)


def asked(row: Row) -> Asked | str:
    """What is to be known of calls that were timed on GPUs, or why nothing can be."""
    operation = OPERATIONS.get(plain(row.function))
    if operation is None or not row.to_bytes:
        return NO_COLLECTIVE
    return Asked(operation, round(bytes_a_call(row)), row.communicator_size) if row.on_gpu else ON_HOST


def all_asked(profile: Profile) -> list[Asked]:
    """Each once; none where ranks are on several hosts, whose network a machine's document does not have."""
    if of_several_hosts(profile):
        return []
    found = (asked(row) for row in profile.rows if on_gpu_clock(row))
    return list(dict.fromkeys(each for each in found if isinstance(each, Asked)))


def of_several_hosts(profile: Profile) -> bool:
    """Whether ranks are on more than one."""
    return len({rank.host for rank in profile.ranks}) > 1


def with_links(
    document: Mapping[str, Any], profile: Profile, machine: Machine | None, least: Mapping[Asked, float | str]
) -> dict[str, Any]:
    """The document, whose rows say what calls reached of what the links allow. `least`: µs, or why they are not
    known. A document without calls that were timed on GPUs stays as it is."""
    if not any(map(on_gpu_clock, profile.rows)):
        return dict(document)
    rows = [
        given | told(row, machine, least, of_several_hosts(profile)) if on_gpu_clock(row) else given
        for given, row in zip(document["rows"], profile.rows, strict=True)
    ]
    links = {"machine": machine.name, "measured": is_measured(machine)} if machine else None
    return {**document, "rows": rows, "links": links}


def told(
    row: Row, machine: Machine | None, least: Mapping[Asked, float | str], several_hosts: bool
) -> dict[str, Any]:
    """What a row has more."""
    seconds = row.device_seconds / row.device_calls
    gbps = bytes_a_call(row) / seconds / 1e9 if row.memory and seconds > 0 else None
    what = asked(row)
    found = least.get(what, UNKNOWN_MACHINE) if isinstance(what, Asked) else what
    if several_hosts and isinstance(what, Asked):
        found = SEVERAL_HOSTS
    elif machine is None and isinstance(what, Asked):
        found = UNKNOWN_MACHINE
    if isinstance(found, str) or seconds <= 0:
        return {"gbps": gbps, "links_us": None, "of_links": None, "no_links": str(found)}
    return {"gbps": gbps, "links_us": found, "of_links": found / seconds / 1e6, "no_links": None}


def is_measured(machine: Machine) -> bool:
    """Whether some link of a GPU was measured, and not only specified."""
    gpus = {device.id for device in machine.devices if device.kind == "gpu"}
    return any(link.forward_gbps.source == "measured" for link in machine.links if gpus & {link.from_, link.to})


@dataclass(frozen=True)
class GpuClass:
    """Calls of a function and size, of communicators of one size, that were timed on GPUs. Times are of one call, and
    of all calls on all GPUs together; `of_links` is None where it is not known, and `no_links` says why."""

    first: Row
    calls: int
    us: float
    gpu_seconds: float
    gbps: float | None
    of_links: float | None
    no_links: str


def gpu_classes(rows: Iterable[Row]) -> list[GpuClass]:
    """All of them; what took longest first."""
    groups: dict[tuple[str, int, int | None, str], list[Row]] = {}
    for row in rows:
        if on_gpu_clock(row):
            key = plain(row.function), row.communicator_size, row.to_bytes, row.memory
            groups.setdefault(key, []).append(row)
    return sorted(map(_class, groups.values()), key=lambda each: -each.gpu_seconds)


def _class(rows: list[Row]) -> GpuClass:
    calls, timed = sum(row.calls for row in rows), sum(row.device_calls for row in rows)
    seconds = sum(row.device_seconds for row in rows)
    sizes = sum(bytes_a_call(row) * row.device_calls for row in rows)
    least = sum((row.links_us or 0) * row.device_calls for row in rows)
    known = all(row.links_us is not None for row in rows) and seconds > 0
    why = next((row.no_links for row in rows if row.no_links), "")
    return GpuClass(
        rows[0], calls, seconds / timed * 1e6, sum(row.gpu_seconds for row in rows),
        sizes / seconds / 1e9 if rows[0].memory and seconds > 0 else None,
        least / seconds / 1e6 if known else None, "" if known else why or UNKNOWN_MACHINE,
    )  # fmt: skip
