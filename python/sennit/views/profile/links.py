"""The bytes of a profile on the links of its machine, as a picture of that."""

from __future__ import annotations

from sennit import units
from sennit.baselines.layout import GATHERS, SCATTERS, bus_factor
from sennit.model.machine import Machine
from sennit.model.profile import Profile, Row
from sennit.model.profile_sums import OPERATIONS, plain
from sennit.model.profile_traffic import Traffic, traffic
from sennit.model.sim import Load
from sennit.views.loads import Loads
from sennit.views.machine_svg import machine_svg
from sennit.views.profile.part import Part
from sennit.views.text_table import Table


def links(profile: Profile, machine: Machine | None) -> Part | None:
    """None where nothing is known of the machine, or nothing went between its GPUs."""
    found = traffic(profile, machine, given) if machine is not None else None
    if machine is None or found is None:
        return None
    lines = [
        (f"{begin} → {end}", amount(count), units.percent(found.busy[begin, end]))
        for (begin, end), count in sorted(found.bytes.items(), key=lambda item: (-item[1], item[0]))
    ]
    said = [
        "Ranks are taken to have the GPUs in their order. Of a collective these are the bytes that its ranks have to "
        "give at least, in equal parts to all others; of messages, those in GPU memory. Per cent of what a link "
        "carries in the run’s time.",
    ]
    if found.left_out:
        said.append(f"{units.size(found.left_out)} of collectives among some of the ranks are not in it.")
    table = Table(("link", "bytes", "of what it allows"), lines, left=("link",))
    return Part("Links", said, {}, table, {"links": drawn(machine, found)})


def given(row: Row) -> float | None:
    """Each rank gives its message so many times in such a call, at least; None of what is no collective."""
    operation = OPERATIONS.get(plain(row.function))
    ranks = row.communicator_size
    if operation is None or ranks < 2:
        return None
    return bus_factor(operation, ranks) * (ranks if operation in GATHERS + SCATTERS else 1)


def amount(count: float) -> str:
    """Writes bytes as 160 GB."""
    scale, unit = (1e12, "TB") if count >= 1e12 else (1e9, "GB") if count >= 1e9 else (1e6, "MB")
    return f"{units.three_digits(count / scale)} {unit}"


def drawn(machine: Machine, found: Traffic) -> str:
    """Ranks in the boxes of their GPUs, and on links GB and per cent."""
    boxes: dict[str, str] = {}
    for rank, gpu in found.gpus.items():
        boxes[gpu] = f"{boxes[gpu]}, {rank}" if gpu in boxes else f"rank {rank}"
    loads = [
        Load(resource=f"{begin}>{end}", bytes=count, busy=found.busy[begin, end])
        for (begin, end), count in found.bytes.items()
    ]
    amounts = {f"{begin}>{end}": amount(count) for (begin, end), count in found.bytes.items()}
    heading = "Bytes of the run over the machine’s links"
    return machine_svg(machine, Loads(loads, heading, machine.name, boxes=boxes, amounts=amounts))
