"""What each pair of memories of a machine can exchange: measured where it was, else as its links allow."""

from __future__ import annotations

from dataclasses import dataclass

from sennit.model.machine import Machine

# What bytes may pass through on a direct path. Passing through a GPU's memory would be a relay, another kind of path.
PASSABLE = ("nvswitch", "pcie_switch", "host")

SMALL = 64 * 1024  # bytes; the time of a larger message is no longer mostly latency


@dataclass(frozen=True)
class Cell:
    """One entry of a matrix, and whether it was measured or follows from the figures of the links."""

    value: float
    measured: bool


Matrix = dict[tuple[str, str], Cell]


def bandwidth(machine: Machine) -> Matrix:
    """GB/s from each memory to each other one, one way, by the faster of copy engine and SM at its best size."""
    matrix: Matrix = {}
    for source in machine.ends:
        widths = {peers: _widths(machine, source.id, between_gpus=peers) for peers in (False, True)}
        for end in machine.ends:
            reached = widths[source.kind == end.kind == "gpu"]
            if end.id != source.id and end.id in reached:
                matrix[source.id, end.id] = Cell(reached[end.id], measured=False)
    for curve in machine.curves:
        rates = [point.bytes / point.us / 1e3 for point in curve.points if point.us > 0]
        if curve.traffic != "one_way" or not rates:
            continue
        old = matrix.get((curve.from_, curve.to))
        value = max(rates) if old is None or not old.measured else max(max(rates), old.value)
        matrix[curve.from_, curve.to] = Cell(value, measured=True)
    return matrix


def latency(machine: Machine) -> Matrix:
    """µs of the smallest message measured (at most SMALL), one way, by the faster of copy engine and SM. Pairs that
    were not measured are left out: latencies of links do not add up to what a copy takes."""
    matrix: Matrix = {}
    for curve in machine.curves:
        small = [point for point in curve.points if point.bytes <= SMALL]
        if curve.traffic != "one_way" or not small:
            continue
        first = min(small, key=lambda point: point.bytes)
        old = matrix.get((curve.from_, curve.to))
        matrix[curve.from_, curve.to] = Cell(min(first.us, old.value) if old else first.us, measured=True)
    return matrix


def _widths(machine: Machine, source: str, *, between_gpus: bool) -> dict[str, float]:
    """GB/s of the widest path from `source` to every device, limited by its narrowest link. Without peer access a GPU
    reaches host memory over a link, but no other GPU."""
    kinds = {device.id: device.kind for device in machine.devices}
    edges: dict[str, list[tuple[str, float]]] = {}
    for link in machine.links:
        if link.peer_access or not between_gpus:
            edges.setdefault(link.from_, []).append((link.to, link.forward_gbps.value))
            edges.setdefault(link.to, []).append((link.from_, link.backward_gbps.value))
    widths = {source: float("inf")}
    waiting = {source}
    while waiting:
        # The widest device still waiting cannot become wider: what would lead to it is narrower (as Dijkstra).
        at = max(sorted(waiting), key=lambda device: widths[device])
        waiting.remove(at)
        if at != source and kinds.get(at) not in PASSABLE:
            continue
        for there, gbps in edges.get(at, []):
            width = min(widths[at], gbps)
            if width > widths.get(there, 0):
                widths[there] = width
                waiting.add(there)
    return widths
