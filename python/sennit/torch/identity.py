"""What PyTorch asks a process group about itself. It has groups of C++ in mind, whose backends answer; a group
written in Python has none, so that every question has its answer here."""

from __future__ import annotations

import torch
import torch.distributed as dist


class Abilities:
    """Stands where PyTorch looks for a backend of C++, to ask what it can do."""

    supports_splitting = False
    supports_coalescing = False
    supports_shrinking = False
    supports_time_estimate = False

    def supports_tensor_alloc(self, device: torch.device) -> bool:  # noqa: ARG002
        return False

    def name(self) -> str:
        return "sennit"


class Identity(dist.ProcessGroup):  # type: ignore[misc]
    """A group's names, ranks, store and devices."""

    def __init__(self, store: dist.Store, rank: int, size: int, devices: list[torch.device]) -> None:
        super().__init__(rank, size)
        self._store, self._rank_here, self._size_here, self._devices = store, rank, size, devices
        self._name = self._description = ""
        self._bound: torch.device | None = None

    def rank(self) -> int:
        return self._rank_here

    def size(self) -> int:
        return self._size_here

    def name(self) -> str:
        return "sennit"

    # By these names C++ asks.
    def getRank(self) -> int:  # noqa: N802
        return self._rank_here

    def getSize(self) -> int:  # noqa: N802
        return self._size_here

    def getBackendName(self) -> str:  # noqa: N802
        return "sennit"

    def getGroupName(self) -> str:  # noqa: N802
        return self._name

    def setGroupName(self, name: str) -> None:  # noqa: N802
        self._name = name

    def getGroupDesc(self) -> str:  # noqa: N802
        return self._description

    def setGroupDesc(self, description: str) -> None:  # noqa: N802
        self._description = description

    _set_group_name = setGroupName
    _set_group_desc = setGroupDesc

    @property
    def group_name(self) -> str:
        return self._name

    @property
    def group_desc(self) -> str:
        return self._description

    @property
    def bound_device_id(self) -> torch.device | None:
        return self._bound

    @bound_device_id.setter
    def bound_device_id(self, device: torch.device | None) -> None:
        self._bound = device

    @property
    def _device_types(self) -> list[torch.device]:
        return self._devices

    def _get_backend(self, device: torch.device) -> Abilities:  # noqa: ARG002
        return Abilities()

    def _get_backend_name(self) -> str:
        return "sennit"

    def get_group_store(self) -> dist.Store:
        return self._store

    def _has_hooks(self) -> bool:
        return False
