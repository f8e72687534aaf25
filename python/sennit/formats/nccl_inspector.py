"""Logs of NCCL Inspector, the profiler plug-in that comes with NCCL: a line of JSON for each collective."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from sennit.formats.calls import MOST_RANKS, Call, Process, function_named, message_bytes
from sennit.model.document import Part, decode, parse


class Header(Part):
    """Who says it."""

    rank: int = Field(ge=0, lt=MOST_RANKS)
    n_ranks: int = Field(default=0, ge=0)


class Metadata(Part):
    """Where and when."""

    hostname: str = ""
    pid: NonNegativeInt = 0
    dump_timestamp_us: NonNegativeInt = 0


class Collective(Part):
    """One call. Its size is that of the larger buffer."""

    coll: str
    coll_msg_size_bytes: NonNegativeInt
    coll_exec_time_us: NonNegativeFloat | None = None


class Line(Part):
    """A line of the log; those of messages between two ranks say nothing here."""

    header: Header
    metadata: Metadata = Metadata()
    coll_perf: Collective | None = None


def is_log(text: str) -> bool:
    """Whether a text's first line is one of this kind."""
    first = text.lstrip().partition("\n")[0]
    return first.startswith("{") and '"header"' in first and "_perf" in first


def read_log(text: str, origin: str) -> list[Process]:
    """What processes recorded, one a rank. A last line that is cut off is left out: a job may have been killed.
    Raises Problem (usage)."""
    found: dict[int, Process] = {}
    times: dict[int, list[int]] = {}
    lines = [line for line in text.split("\n") if line.strip()]
    for number, said in enumerate(lines, 1):
        try:
            value = decode(said)
        except ValueError:
            if number == len(lines):
                break
            value = None
        line = parse(Line, value, f"{origin}, line {number}", version=None)
        meta, rank = line.metadata, line.header.rank
        one = found.setdefault(rank, Process(rank, meta.hostname, meta.pid))
        times.setdefault(rank, []).append(meta.dump_timestamp_us)
        if call := line.coll_perf:
            function, size = function_named(call.coll), call.coll_msg_size_bytes
            if (part := message_bytes(function, line.header.n_ranks, size)) is not None:
                size = part
            one.calls.append(Call(function, line.header.n_ranks, size, size, call.coll_exec_time_us))
    for rank, one in found.items():
        one.seconds = (max(times[rank]) - min(times[rank])) / 1e6
    return list(found.values())
