"""A kept map of ranks to GPUs, as the environment of a program: the order in which its ranks see the GPUs, and the
cores that are near."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sennit.model.document import parse, read_json
from sennit.model.map import MappedRank, RankMap
from sennit.programs.problem import Exit, Problem

VISIBLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
ASKED = "SENNIT_MAP"  # for the drop-ins, which look whether it came so
SLICE = "MIG-"  # what UUIDs of slices of a GPU begin with
AGAIN = "Make it on this machine: sennit map … -o FILE"
BEHIND = "Put sennit behind the launcher: mpirun -n 4 sennit run --map FILE ./program"


@dataclass(frozen=True)
class Gpus:
    """Those of this machine that this process may use, in the order that NVML and PCI have: UUIDs and PCI addresses.
    `installed`: addresses of all that the driver has, for whomever."""

    uuids: Sequence[str]
    pci: Sequence[str] = ()
    installed: Collection[str] = ()
    alike: bool = True  # of one model: CUDA's order is theirs

    def at(self, pci: str) -> str | None:
        """The UUID of the GPU at an address."""
        return next((uuid for uuid, at in zip(self.uuids, self.pci, strict=False) if pci and at == pci), None)


@dataclass(frozen=True)
class Rank:
    """This process's numbers, as far as a launcher has told them: among the ranks of its node, and of all."""

    local: int | None = None
    whole: int | None = None


def read_map(file: Path) -> RankMap:
    """A file of `sennit map -o`. Raises Problem."""
    document = read_json(file)
    if not isinstance(document, dict) or document.get("kind") != "map":
        raise Problem(f"{file} is no map", "Give what sennit map -o wrote", Exit.USAGE)
    return parse(RankMap, document, str(file))


def gpus_of(machine: Any, driver: Path = Path("/proc/driver/nvidia/gpus")) -> Gpus:
    """Of a machine's document, its GPUs."""
    gpus = [device for device in machine["devices"] if device.get("kind") == "gpu"]
    installed = {entry.name.lower() for entry in driver.iterdir()} if driver.is_dir() else set()
    return Gpus(
        [gpu.get("uuid", "") for gpu in gpus],
        [gpu.get("pci", "") for gpu in gpus],
        installed,
        len({gpu.get("model", "") for gpu in gpus}) < 2,
    )


def ranks_here(found: RankMap, rank: Rank) -> list[MappedRank]:
    """The ranks of this process's node, in the order of local ranks. Raises Problem where that is not known, or the
    launcher has placed ranks in another way than the map."""
    if found.nodes == 1:
        return sorted(found.ranks, key=lambda each: each.rank)
    if rank.whole is None:
        raise Problem(
            f"the map is of {found.nodes} nodes, and which of them this is only a rank can know", BEHIND, Exit.USAGE
        )
    own = next((each for each in found.ranks if each.rank == rank.whole), None)
    if own is None:
        raise Problem(f"the map has {len(found.ranks)} ranks, and this is rank {rank.whole}", AGAIN, Exit.USAGE)
    here = sorted((each for each in found.ranks if each.node == own.node), key=lambda each: each.rank)
    place = here.index(own)
    if rank.local is not None and rank.local != place:
        raise Problem(
            f"rank {own.rank} is number {place} of node {own.node} in the map, and number {rank.local} of its node as"
            " the launcher placed it",
            "Place the ranks by the map: sennit map … --hosts hosts.txt --emit rankfile (hostfile, slurm)",
            Exit.USAGE,
        )
    return here


def visible_devices(
    found: RankMap, here: Gpus, environment: Mapping[str, str], rank: Rank = Rank(), *, one: bool = False
) -> str:
    """CUDA_VISIBLE_DEVICES with the UUIDs of the map in the order of local ranks, so that a program which takes GPU =
    local rank gets what the map gives it; with `one` this rank's GPU alone. Raises Problem for a map of another
    machine, and where a rank could get another GPU than asked."""
    ranks = ranks_here(found, rank)
    told = environment.get(VISIBLE)
    _refuse_slices([*(each.uuid for each in ranks), *here.uuids, *(told or "").split(",")])
    if not all(each.uuid or each.pci for each in ranks):
        raise Problem(
            f"the map is of the machine {found.machine}, whose document names no UUIDs of GPUs", AGAIN, Exit.USAGE
        )
    wanted = [_gpu(each, here, several=found.nodes > 1) for each in ranks]
    if None in wanted:
        raise _missing([each for each, uuid in zip(ranks, wanted, strict=True) if uuid is None], wanted, here)
    uuids = [uuid for uuid in wanted if uuid is not None]
    others = [] if told is None else _kept(told, uuids, here, environment)
    if one:
        local = ranks.index(_own(ranks, rank))
        return uuids[local]
    if len(set(uuids)) < len(uuids):
        raise Problem(
            "the map has several ranks on a GPU, which an order of GPUs cannot say",
            "Put sennit behind the launcher: mpirun -n 4 sennit run --map FILE --gpu-per-rank ./program",
            Exit.USAGE,
        )
    return ",".join([*uuids, *others])


def asked_gpus(found: RankMap, here: Gpus, rank: Rank = Rank()) -> str:
    """SENNIT_MAP: the UUIDs that visible_devices() has found, of all ranks of this node by local rank. Raises
    Problem."""
    ranks = ranks_here(found, rank)
    return ",".join(_gpu(each, here, several=found.nodes > 1) or "" for each in ranks)


def numa_of(found: RankMap, rank: Rank) -> int:
    """The NUMA node of this rank's GPU; -1: the machine's document does not say. Raises Problem."""
    return _own(ranks_here(found, rank), rank).numa


def _own(ranks: Sequence[MappedRank], rank: Rank) -> MappedRank:
    if rank.local is None and rank.whole is None:
        raise Problem("no launcher has numbered this process", BEHIND, Exit.USAGE)
    own = next((each for each in ranks if each.rank == rank.whole), None) if rank.whole is not None else None
    if own is not None and (rank.local is None or ranks.index(own) == rank.local):
        return own
    local = rank.local if rank.local is not None else -1
    if not 0 <= local < len(ranks):
        raise Problem(f"the map has {len(ranks)} ranks, and this is local rank {local}", "Start as many", Exit.USAGE)
    return ranks[local]


def _gpu(each: MappedRank, here: Gpus, *, several: bool) -> str | None:
    """The UUID of a rank's GPU as it is called on this node. The map of several nodes has the UUIDs of the node that
    it was made on; others like it have their GPUs at the same addresses."""
    if each.uuid in here.uuids:
        return each.uuid
    return here.at(each.pci) if several or not each.uuid else None


def _refuse_slices(uuids: Sequence[str]) -> None:
    if found := next((uuid.strip() for uuid in uuids if uuid.strip().startswith(SLICE)), None):
        raise Problem(
            f"{found} is a slice of a GPU (MIG): slices reach no other GPU's memory, so no order of ranks is better",
            "Leave --map out, or have MIG switched off: nvidia-smi -mig 0",
            Exit.USAGE,
        )


def _missing(ranks: Sequence[MappedRank], wanted: Sequence[str | None], here: Gpus) -> Problem:
    """Why GPUs of the map are not here."""
    first = ranks[0]
    name = first.uuid or first.pci
    if first.pci and first.pci.lower() in {pci.lower() for pci in here.installed}:
        return Problem(
            f"{name} ({first.pci}) is in this machine, and this process may not use it: a cgroup hides it, as "
            "Slurm's --gpus-per-task and --gpu-bind do, and then ranks do not reach each other's GPUs either",
            "Give each rank all GPUs of its node: srun --gpus-per-node=N --gres-flags=allow-task-sharing",
            Exit.USAGE,
        )
    if any(wanted):
        gone = ", ".join(str(each.rank) for each in ranks)
        return Problem(
            f"{name} is not here: a GPU is gone since the map was made, of rank {gone}",
            "Map the ranks to those that are left: sennit map … -o FILE",
            Exit.USAGE,
        )
    return Problem(f"the map is of another machine: {name} is not here", AGAIN, Exit.USAGE)


def _kept(told: str, wanted: Sequence[str], here: Gpus, environment: Mapping[str, str]) -> list[str]:
    """The GPUs that somebody has chosen and that the map leaves free: the set stays as it was told, its order is the
    map's. Raises Problem where it lacks one of the map's, or is not understood."""
    chosen = []
    for each in (part.strip() for part in told.split(",") if part.strip()):
        if re.fullmatch(r"\d+", each, re.ASCII):
            # Numbers follow the addresses where CUDA is told so, or all GPUs are as fast.
            by_address = here.alike or environment.get(ORDER) == "PCI_BUS_ID"
            match = [here.uuids[int(each)]] if by_address and int(each) < len(here.uuids) else []
        else:
            # CUDA takes beginnings, too.
            match = [each] if each in here.uuids else [uuid for uuid in here.uuids if uuid.startswith(each)]
        if len(match) != 1:
            raise _of_others(told, f"and {each} there is none of this machine's GPUs, or any of several")
        chosen += match
    if lacking := next((uuid for uuid in wanted if uuid not in chosen), None):
        raise _of_others(told, f"without the map's {lacking}")
    return [uuid for uuid in chosen if uuid not in wanted]


def _of_others(told: str, why: str) -> Problem:
    return Problem(
        f"{VISIBLE} is set to other GPUs than the map's: {told or 'none'}, {why}",
        f"Unset it, or map the GPUs that it names: sennit map … --gpus {told or 'GPU,…'}",
        Exit.USAGE,
    )
