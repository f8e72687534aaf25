"""Where each device of a machine goes in its picture: hosts below, GPUs above, what joins them between."""

from __future__ import annotations

from collections.abc import Mapping

from sennit.model.machine import Machine

Places = dict[str, tuple[float, int]]


def place(machine: Machine) -> Places:
    """Column and row of every device; column 0 is the left one, row 0 the top one. GPUs and NICs share a row; a
    device stands above the middle of what hangs off it, so that the PCIe tree has no crossings."""
    kinds = {device.id: device.kind for device in machine.devices}
    children, depth = _pcie_forest(machine, kinds)
    leaves: dict[str, float] = {}
    for device in machine.devices:
        if device.kind == "host":
            _columns(device.id, children, leaves)
    for device in machine.devices:
        if device.id not in leaves and device.kind in ("gpu", "nic", "pcie_switch"):
            leaves[device.id] = _next(leaves)
    switches = [device.id for device in machine.devices if device.kind == "nvswitch"]
    middle = max(leaves.values(), default=0) / 2
    for index, switch in enumerate(switches):
        leaves[switch] = middle + (index - (len(switches) - 1) / 2) * 1.5
    rows = _rows(kinds, depth, bool(switches))
    return {device.id: (leaves[device.id], rows[device.id]) for device in machine.devices}


def _pcie_forest(machine: Machine, kinds: Mapping[str, str]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """What hangs off each device by PCIe (or the network), and how many steps each is away from its host."""
    neighbours: dict[str, list[str]] = {}
    for link in machine.links:
        # A GPU hangs off the host that reaches it first, also where that link is an NVLink (POWER9).
        joins_host = "host" in (kinds.get(link.from_), kinds.get(link.to)) and link.kind == "nvlink"
        if link.kind in ("pcie", "network") or joins_host:
            neighbours.setdefault(link.from_, []).append(link.to)
            neighbours.setdefault(link.to, []).append(link.from_)
    depth = {device: 0 for device, kind in kinds.items() if kind == "host"}
    children: dict[str, list[str]] = {}
    waiting = list(depth)
    while waiting:
        at = waiting.pop(0)
        for other in neighbours.get(at, []):
            if other in depth or other not in kinds or kinds[at] in ("gpu", "nic"):
                continue
            depth[other] = depth[at] + 1
            children.setdefault(at, []).append(other)
            waiting.append(other)
    return children, depth


def _next(columns: dict[str, float]) -> float:
    """The column right of all taken ones."""
    return max(columns.values(), default=-1.0) // 1 + 1


def _columns(device: str, children: dict[str, list[str]], columns: dict[str, float]) -> None:
    """Gives columns to everything below `device`, left to right, then to what they hang off; without recursion,
    however long a chain is."""
    order = []  # each before what is below it
    waiting = [device]
    while waiting:
        at = waiting.pop()
        order.append(at)
        waiting += reversed(children.get(at, []))
        if at not in children:
            columns[at] = _next(columns)
    for at in reversed(order):
        if below := children.get(at):
            columns[at] = (columns[below[0]] + columns[below[-1]]) / 2


def _rows(kinds: Mapping[str, str], depth: dict[str, int], has_nvswitch: bool) -> dict[str, int]:
    """NVSwitches on top, then GPUs and NICs, then PCIe switches by distance from the host, then hosts."""
    deepest = max((depth.get(device, 1) for device, kind in kinds.items() if kind == "pcie_switch"), default=0)
    top = int(has_nvswitch)
    rows = {}
    for device, kind in kinds.items():
        if kind == "nvswitch":
            rows[device] = 0
        elif kind in ("gpu", "nic"):
            rows[device] = top
        else:
            rows[device] = top + 1 + deepest - depth.get(device, 1 if kind == "pcie_switch" else 0)
    return rows
