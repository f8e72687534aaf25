"""Maps of ranks to GPUs for the tests of `sennit map` and `sennit run --map`."""

from __future__ import annotations

from typing import Any

from conftest import data
from sennit.model.map import RankMap
from sennit.programs.rank_map import Gpus

HERE = Gpus([f"GPU-{number}" for number in range(4)], [f"0000:0{number}:00.0" for number in range(4)])


def changed(**changes: Any) -> RankMap:
    return RankMap.model_validate(data("map") | changes)


def few(ranks: list[dict[str, Any]], **changes: Any) -> RankMap:
    """A map of fewer ranks than the made-up document has."""
    traffic = data("map")["traffic"] | {"ranks": len(ranks), "matrix": []}
    rows = [each | {"map": list(range(len(ranks)))} for each in data("map")["mappings"]]
    return changed(ranks=ranks, traffic=traffic, mappings=rows, **changes)


def with_uuids(**changes: Any) -> RankMap:
    return few(
        [{"rank": rank, "node": 0, "gpu": f"gpu{3 - rank}", "uuid": f"GPU-{3 - rank}"} for rank in range(4)],
        **changes,
    )


def on_two_nodes() -> RankMap:
    ranks = [{"rank": rank, "node": rank % 2, "gpu": f"gpu{rank // 2}", "uuid": f"GPU-{rank}"} for rank in range(4)]
    return few(ranks, nodes=2)
