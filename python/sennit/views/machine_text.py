"""A machine on the terminal: what it is, its devices as a tree, and matrices of bandwidth and latency."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from sennit import units
from sennit.model.machine import Device, Figure, Link, Machine
from sennit.model.reach import Matrix, bandwidth, latency

KIND_NAMES = {"nvlink": "NVLink", "pcie": "PCIe", "socket": "socket link", "network": "network"}


def print_machine(machine: Machine, console: Console) -> None:
    """Prints everything but the curves themselves."""
    if machine.description:
        console.print(Text(machine.description))
    console.print(_tree(machine))
    rates = bandwidth(machine)
    if rates:
        console.print("\nGB/s, from row to column, one way")
        console.print(_matrix(machine, rates))
    times = latency(machine)
    if times:
        console.print("\nµs of the smallest message, from row to column")
        console.print(_matrix(machine, times))
    if any(not cell.measured for cell in rates.values()):
        console.print(Text("\n~ follows from the links' figures; not measured", style="dim"))
    for reference in machine.references:
        console.print(Text(f"source: {reference}", style="dim"))


def device_label(device: Device) -> str:
    """For example: gpu0  NVIDIA H200, 141 GiB, 132 SMs, 0000:1b:00.0."""
    facts = [device.model] if device.model else []
    if device.memory_bytes:
        facts.append(f"{device.memory_bytes / 2**30:.0f} GiB")
    if device.sm_count:
        facts.append(f"{device.sm_count} SMs")
    if device.pci:
        facts.append(device.pci)
    return f"{device.id}  {', '.join(facts)}" if facts else device.id


def figure_text(figure: Figure) -> str:
    """A bandwidth, marked ~ where it was not measured."""
    return f"{'' if figure.source == 'measured' else '~'}{units.rate(figure.value)}"


def link_label(link: Link, seen_from: str) -> str:
    """For example: NVLink × 18, 395 GB/s. Both directions where they differ, leaving first."""
    out, back = link.forward_gbps, link.backward_gbps
    if link.from_ != seen_from:
        out, back = back, out
    rate = figure_text(out)
    if figure_text(back) != rate:
        rate += f" out, {figure_text(back)} in"
    count = f" × {link.count}" if link.count > 1 else ""
    passable = "" if link.peer_access else ", no peer access"
    return f"{KIND_NAMES[link.kind]}{count}, {rate}{', shared' if link.shared else ''}{passable}"


def _tree(machine: Machine) -> Tree:
    """Hosts at the root, what hangs off them by PCIe below, and at each device its other links."""
    versions = [f"{name} {value}" for name, value in (("driver", machine.driver), ("CUDA", machine.cuda)) if value]
    root = Tree(Text.assemble((machine.name, "bold"), f"  {', '.join(versions)}" if versions else ""))
    placed: set[str] = set()
    devices = {device.id: device for device in machine.devices}
    hosts = [device for device in machine.devices if device.kind == "host"]
    placed |= {device.id for device in hosts}
    for device in hosts:
        _grow(root, device, machine, devices, placed)
    for device in machine.devices:
        if device.id not in placed:
            placed.add(device.id)
            _grow(root, device, machine, devices, placed)
    return root


def _grow(root: Tree, first: Device, machine: Machine, devices: dict[str, Device], placed: set[str]) -> None:
    """Adds `first` and what hangs off it, each branch to its end; without recursion, however long a chain is."""
    waiting: list[tuple[Tree, Device, Link | None]] = [(root, first, None)]
    while waiting:
        tree, device, uplink = waiting.pop()
        up = f"  [{link_label(uplink, device.id)}]" if uplink else ""
        node = tree.add(Text.assemble(device_label(device), (up, "dim")))
        below: list[tuple[Tree, Device, Link | None]] = []
        for link in machine.links:
            if link is uplink or device.id not in (link.from_, link.to):
                continue
            other = link.to if link.from_ == device.id else link.from_
            if link.kind in ("pcie", "network") and other in devices and other not in placed:
                placed.add(other)
                below.append((node, devices[other], link))
            elif link.kind in ("nvlink", "socket") and device.kind != "nvswitch":
                node.add(Text(f"→ {other}  {link_label(link, device.id)}", style="dim"))
        waiting += reversed(below)


def _matrix(machine: Machine, matrix: Matrix) -> Table:
    ends = [device.id for device in machine.ends if any(device.id in pair for pair in matrix)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("")
    for end in ends:
        table.add_column(Text(end), justify="right", no_wrap=True)
    for source in ends:
        cells = []
        for end in ends:
            cell = matrix.get((source, end))
            text = "" if cell is None else f"{'' if cell.measured else '~'}{units.three_digits(cell.value)}"
            cells.append(text if source != end else "·")
        table.add_row(Text(source), *cells)
    return table
