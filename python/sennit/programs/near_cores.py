"""The cores of this process and those near a GPU: what `sennit run --bind` makes of them."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

NODES = Path("/sys/devices/system/node")


def cores_in(text: str) -> set[int]:
    """Of a list of the kernel's: "0-3,8"."""
    cores: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


def near(numa: int, nodes: Path = NODES) -> set[int]:
    """The cores of a NUMA node; none where there is no such node."""
    file = nodes / f"node{numa}" / "cpulist"
    try:
        return cores_in(file.read_text(encoding="ascii")) if numa >= 0 else set()
    except (OSError, ValueError):
        return set()


def chosen(allowed: Set[int], close: Set[int]) -> tuple[set[int], str]:
    """The cores to run on, none where all stays as it is, and what there is to warn of. A rank that may run near its
    GPU and elsewhere was bound by nobody; one that may run elsewhere alone was, and stays there."""
    if not close:
        return set(), "which cores are near its GPU is not known, so the rank is not bound"
    if not allowed & close:
        return set(), "the launcher has bound the rank to cores far from its GPU: another socket's, or NUMA node's"
    return (set(allowed & close) if allowed - close else set()), ""
