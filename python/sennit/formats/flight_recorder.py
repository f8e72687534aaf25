"""Dumps of PyTorch's Flight Recorder (torch.distributed), one a rank: pickles of plain values, or JSON. Its times are
of GPUs where the program ran with TORCH_NCCL_ENABLE_TIMING=1."""

from __future__ import annotations

import io
import json
import math
import pickle
import re
from typing import Any, NoReturn

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from sennit.formats.calls import LARGEST, MOST_RANKS, Call, Process, function_named, message_bytes
from sennit.model.document import Part, decode, parse

BYTES = {
    "bool": 1, "byte": 1, "char": 1, "half": 2, "bfloat16": 2, "short": 2, "int": 4, "float": 4, "long": 8,
    "double": 8, "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip
GLOO = "gloo:"
MESSAGE = re.compile(r"(send|recv) (\d+)(?:->|<-)(\d+)")  # as profiling_name says it


class Entry(Part):
    """One call."""

    profiling_name: str
    process_group: list[str] = []
    input_sizes: list[list[NonNegativeInt]] = []
    input_dtypes: list[str] = []
    output_sizes: list[list[NonNegativeInt]] = []
    output_dtypes: list[str] = []
    time_created_ns: NonNegativeInt = 0
    time_discovered_completed_ns: NonNegativeInt | None = None
    duration_ms: NonNegativeFloat | None = None


class Group(Part):
    """A process group; its ranks as a list, or a list's text."""

    ranks: list[NonNegativeInt] | str = []


class Dump(Part):
    """What one rank wrote."""

    entries: list[Entry]
    pg_config: dict[str, Group] = {}
    nccl_version: str = ""
    comm_lib_version: str = ""  # NCCL's version since PyTorch 2.9
    rank: int | None = Field(default=None, ge=0, lt=MOST_RANKS)


class Plain(pickle.Unpickler):
    """Reads values of Python's own kinds alone: a class's name in a pickle is a call of somebody else's choice."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"names the class {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:  # noqa: ARG002
        raise pickle.UnpicklingError("names an object of another file")


def unpickled(content: bytes) -> Any:
    """The values in a pickle, as JSON would have them. Raises ValueError, which says what is wrong."""
    try:
        value = Plain(io.BytesIO(content)).load()
        return decode(json.dumps(value))
    except ValueError:
        raise
    except Exception as error:
        # A damaged pickle may raise anything; it has called nothing.
        raise ValueError(f"is no pickle of plain values: {type(error).__name__}") from None


def is_dump(document: Any) -> bool:
    """Whether a document is of this kind."""
    return isinstance(document, dict) and isinstance(document.get("entries"), list) and "kind" not in document


def read_dump(document: Any, origin: str, rank: int) -> tuple[Process, str]:
    """What the rank recorded, and NCCL's version. `rank`: where the dump does not say which it is of. Raises Problem
    (usage)."""
    dump = parse(Dump, document, origin, version=None)
    calls = [_call(entry, dump) for entry in dump.entries]
    begun = [entry.time_created_ns for entry in dump.entries if entry.time_created_ns]
    ended = [entry.time_discovered_completed_ns or entry.time_created_ns for entry in dump.entries]
    seconds = max(0.0, (max(ended) - min(begun)) / 1e9) if begun else 0.0
    version = dump.nccl_version or dump.comm_lib_version
    return Process(rank if dump.rank is None else dump.rank, seconds=seconds, calls=calls), version


def _call(entry: Entry, dump: Dump) -> Call:
    name = entry.profiling_name.removeprefix("nccl:")
    if name.startswith(GLOO):
        return _of_gloo(name, entry, dump)
    message = MESSAGE.fullmatch(name)
    us = None if entry.duration_ms is None else 1e3 * entry.duration_ms
    size_in, size_out = (
        _bytes(entry.input_sizes, entry.input_dtypes), _bytes(entry.output_sizes, entry.output_dtypes)
    )  # fmt: skip
    group = _group(entry, dump)
    ranks = _size(group) if group else 0
    if message:
        is_send = message[1] == "send"
        # A receive has its buffer among the inputs as well.
        return Call(function_named(message[1]), ranks, size_in if is_send else 0, 0 if is_send else size_out, us,
                    _of_job(int(message[3]), group, entry))  # fmt: skip
    function = function_named(name)
    if (part := message_bytes(function, ranks, max(size_in, size_out))) is not None:
        size_in = size_out = part
    return Call(function, ranks, size_in, size_out, us)


def _of_gloo(name: str, entry: Entry, dump: Dump) -> Call:
    """Gloo's calls are on the CPU, and keep its name: they are none of NCCL's."""
    size_in, size_out = (
        _bytes(entry.input_sizes, entry.input_dtypes), _bytes(entry.output_sizes, entry.output_dtypes)
    )  # fmt: skip
    group = _group(entry, dump)
    ranks = _size(group) if group else 0
    part = message_bytes(function_named(name.removeprefix(GLOO)), ranks, max(size_in, size_out))
    return Call(name, ranks, part or size_in, part or size_out, None, memory="host")


def _group(entry: Entry, dump: Dump) -> Group | None:
    """By its name; where there is one alone, which Gloo's dumps give no name, that one."""
    found = dump.pg_config.get(entry.process_group[0] if entry.process_group else "0")
    return found or (dump.pg_config.get("") if len(dump.pg_config) == 1 else None)


def _bytes(sizes: list[list[int]], types: list[str]) -> int:
    widths = [BYTES.get(name.lower(), 1) for name in types] or [1]
    bytes_of = (math.prod(shape) * widths[min(place, len(widths) - 1)] for place, shape in enumerate(sizes))
    return min(LARGEST, sum(bytes_of))


def _ranks(group: Group) -> list[int]:
    if isinstance(group.ranks, str):
        return [int(number) for number in re.findall(r"\d{1,9}", group.ranks)]
    return group.ranks


def _size(group: Group) -> int:
    return group.ranks.count(",") + 1 if isinstance(group.ranks, str) else len(group.ranks)


def _of_job(rank: int, group: Group | None, entry: Entry) -> int | None:
    """The rank of the job that has this number in the group; None where that is not known."""
    members = _ranks(group) if group else []
    if members:
        return members[rank] if rank < len(members) else None
    return rank if entry.process_group[:1] in ([], ["0"]) else None  # all ranks, in their order
