"""GOAL, the text that LogGOPSim and those after it simulate: sends, receives and work of each rank."""

from __future__ import annotations

from collections.abc import Iterator

from sennit.formats.messages import Event, messages
from sennit.formats.schedule import Schedule

# What a rank does within its own memory takes: memory_gbps of src/sim/costs.h, in bytes a ns.
LOCAL_BYTES_PER_NS = 2400


def goal(schedule: Schedule) -> str:
    """The text. Raises Problem where the schedule never ends."""
    return "".join(f"{line}\n" for line in _lines(schedule))


def _lines(schedule: Schedule) -> Iterator[str]:
    yield f"num_ranks {schedule.ranks}"
    for rank, events in enumerate(messages(schedule)):
        yield ""
        yield f"rank {rank} {{"
        for number, event in enumerate(events, 1):
            yield f"l{number}: {_operation(event)}"
            for before in (*event.data, *event.order):
                yield f"l{number} requires l{before + 1}"
        yield "}"


def _operation(event: Event) -> str:
    if event.kind == "calc":
        return f"calc {-(-event.bytes // LOCAL_BYTES_PER_NS)}"
    way = "to" if event.kind == "send" else "from"
    return f"{event.kind} {event.bytes}b {way} {event.peer} tag {event.tag}"
