"""A machine: devices, links, and what was measured between them. Mirrors src/machine/machine.h."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sennit.model.document import Part

Source = Literal["measured", "specification", "assumed"]


class Named(Part):
    """A machine that comes with sennit."""

    name: str
    description: str = ""


class Catalogue(Part):
    """What `sennit-machine list` prints. It has no version, as nobody keeps it."""

    machines: list[Named]


class Figure(Part):
    """One number and why it should be believed."""

    value: float
    source: Source
    spread: float = 0
    note: str = ""


class Device(Part):
    """A thing that holds or forwards bytes."""

    id: str
    kind: Literal["gpu", "host", "pcie_switch", "nvswitch", "nic"]
    uuid: str = ""
    pci: str = ""
    model: str = ""
    memory_bytes: int = 0
    sm_count: int = 0
    copy_engines: int = 0
    numa: int = -1
    read_gbps: Figure | None = None
    write_gbps: Figure | None = None
    read_write_gbps: Figure | None = None


class Link(Part):
    """A bundle of `count` equal links; bandwidths are of the whole bundle, forward meaning from → to."""

    from_: str = Field(alias="from")
    to: str
    kind: Literal["nvlink", "pcie", "socket", "network"]
    count: int = 1
    forward_gbps: Figure
    backward_gbps: Figure
    both_gbps: Figure | None = None
    latency_us: Figure | None = None
    shared: bool = False
    peer_access: bool = True


class Point(Part):
    """One size of a curve."""

    bytes: int
    us: float
    spread_us: float = 0
    repetitions: int = 0


class Curve(Part):
    """Copies between two memories over their direct path, by size."""

    from_: str = Field(alias="from")
    to: str
    method: Literal["engine", "sm"]
    traffic: Literal["one_way", "both_ways", "all_at_once"]
    points: list[Point]


class StagedPath(Part):
    """How a staged path behaves when driven alone."""

    from_: str = Field(alias="from")
    to: str
    stage: str
    method: Literal["engine", "sm"]
    startup_us: Figure
    rate_gbps: Figure
    chunk_bytes: int = 0
    blocks: int = 0


class Machine(Part):
    """The whole document."""

    version: Literal[1]
    name: str
    description: str = ""
    fingerprint: str = ""
    driver: str = ""
    cuda: str = ""
    date: str = ""
    references: list[str] = []
    devices: list[Device]
    links: list[Link] = []
    curves: list[Curve] = []
    staged: list[StagedPath] = []

    @property
    def ends(self) -> list[Device]:
        """The devices with memory that a message can start or end in."""
        return [device for device in self.devices if device.kind in ("gpu", "host")]
