"""What the ranks of a peer are asked to measure, and how they tell what they found."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sennit import units
from sennit.baselines.job_file import JobFile

PREFIX = "sennit-peer: "  # before what rank 0 tells on stdout, so that what libraries print there is not taken for it
ERROR = "sennit-peer-error: "  # before why a rank gives up, on stderr

# What SENNIT_EXPLAIN has the drop-ins say on stderr, once for each operation and size: those, and how such calls go.
EXPLAINED = re.compile(r"sennit: (\w+) of ([\d.]+ [KMG]?i?B): (.+)")


@dataclass(frozen=True)
class Case:
    """One row to be measured."""

    operation: str
    bytes: int  # of the larger buffer of any rank
    type: str
    operator: str
    in_place: bool

    def __str__(self) -> str:
        """For example: allreduce of 64 KiB."""
        return f"{self.operation} of {units.size(self.bytes)}" if self.bytes else self.operation


@dataclass(frozen=True)
class Job(JobFile):
    """All that the ranks of one peer are asked. They get it as a file."""

    CASE = Case

    peer: str
    ranks: int
    cases: list[Case]
    seconds: float  # for each case
    skew_us: float = 0  # by which the last rank starts each run later
    eager: bool = False  # call by call instead of as a CUDA graph
    limit_s: int = 600  # after which every rank ends itself, whatever it waits for


def message(**said: Any) -> str:
    """One line by which rank 0 tells something: a row, a warning, versions, progress, or files that may stay behind
    when it is killed."""
    return PREFIX + json.dumps(said)


def shared_files(maps: str) -> list[str]:
    """The files in shared memory that a process has mapped, given its /proc/self/maps."""
    return sorted({found[0] for found in re.findall(r" (/dev/shm/\S+)( \(deleted\))?$", maps, re.M) if not found[1]})


def heard(line: str) -> Mapping[str, Any]:
    """What such a line tells; nothing when it is somebody else's."""
    if not line.startswith(PREFIX):
        return {}
    try:
        said = json.loads(line[len(PREFIX) :])
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
