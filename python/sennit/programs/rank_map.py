"""A kept map of ranks to GPUs, as the environment of a program: the order in which its ranks see the GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sennit.model.document import parse, read_json
from sennit.model.map import RankMap
from sennit.programs.problem import Exit, Problem

VISIBLE = "CUDA_VISIBLE_DEVICES"
AGAIN = "Make it on this machine: sennit map … -o FILE"


def read_map(file: Path) -> RankMap:
    """A file of `sennit map -o`. Raises Problem."""
    document = read_json(file)
    if not isinstance(document, dict) or document.get("kind") != "map":
        raise Problem(f"{file} is no map", "Give what sennit map -o wrote", Exit.USAGE)
    return parse(RankMap, document, str(file))


def uuids_of(machine: Any) -> list[str]:
    """Of a machine's document, the GPUs in its order."""
    return [device.get("uuid", "") for device in machine["devices"] if device.get("kind") == "gpu"]


def visible_devices(
    found: RankMap, here: Sequence[str], environment: Mapping[str, str], local_rank: int | None = None
) -> str:
    """CUDA_VISIBLE_DEVICES with the UUIDs of the map in the order of local ranks, so that a program which takes GPU =
    local rank gets what the map gives it; with a `local_rank` that one's GPU alone. `here`: the UUIDs of this
    machine's GPUs. Raises Problem for a map of another machine, and where a rank could get another GPU than asked."""
    if found.nodes > 1:
        raise Problem(
            f"the map is of {found.nodes} nodes, and which of them this is is not known",
            "Map each node's ranks by themselves, or place ranks by the launcher in the order of the map's nodes",
            Exit.USAGE,
        )
    wanted = [each.uuid for each in sorted(found.ranks, key=lambda each: each.rank)]
    if not all(wanted):
        raise Problem(
            f"the map is of the machine {found.machine}, whose document names no UUIDs of GPUs", AGAIN, Exit.USAGE
        )
    if lost := [uuid for uuid in wanted if uuid not in here]:
        raise Problem(f"the map is of another machine, or a GPU is gone: {lost[0]} is not here", AGAIN, Exit.USAGE)
    told = environment.get(VISIBLE)
    if told is not None and {each.strip() for each in told.split(",") if each.strip()} != set(wanted):
        raise Problem(
            f"{VISIBLE} is set to other GPUs than the map's: {told or 'none'}",
            f"Unset it, or set it to the UUIDs of the GPUs and map those: sennit map … --gpus {told or 'GPU,…'}",
            Exit.USAGE,
        )
    if local_rank is not None:
        if local_rank >= len(wanted):
            raise Problem(
                f"the map has {len(wanted)} ranks, and this is local rank {local_rank}", "Start as many", Exit.USAGE
            )
        return wanted[local_rank]
    if len(set(wanted)) < len(wanted):
        raise Problem(
            "the map has several ranks on a GPU, which an order of GPUs cannot say",
            "Put sennit behind the launcher: mpirun -n 4 sennit run --map FILE --gpu-per-rank ./program",
            Exit.USAGE,
        )
    return ",".join(wanted)
