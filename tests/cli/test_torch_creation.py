"""What a communicator takes to be made, with functions that pretend to be NCCL's."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from sennit.baselines import torch_creation
from sennit.baselines.torch_creation import Identity, Maker, Ranks


def maker(name: str, order: list[str], code: int = 0) -> Maker:
    def unique_id(identity: Any) -> int:
        identity._obj.bytes[5] = 77
        return 0

    def init(made: Any, size: Any, identity: Identity, rank: Any) -> int:
        order.append(f"{name} {rank.value} of {size.value}, id {identity.bytes[5]}")
        made._obj.value = 4096
        return code

    def destroy(made: ctypes.c_void_p) -> int:
        assert made.value == 4096
        return 0

    return Maker(unique_id, init, destroy)


def test_both_are_made_in_turns_by_the_id_of_rank_0() -> None:
    shared: list[bytes] = []

    def share(mine: bytes) -> bytes:
        shared.append(mine)
        return mine if mine[5] else bytes([0] * 5 + [33] + [0] * 122)

    for rank, number in ((0, 77), (1, 33)):
        order: list[str] = []
        both = maker("through", order), maker("own", order)
        found = torch_creation.all_ms(both, Ranks(rank, 2, share, lambda ms: ms + 10), rounds=2)
        assert len(found) == 2, "the first loads what is loaded once"
        assert all(10 <= each < 1000 for pair in found for each in pair), "the slowest rank's"
        said = f"{rank} of 2, id {number}"
        assert order == [f"{name} {said}" for name in ("own", "through", "through", "own", "own", "through")]
    assert all(len(each) == 128 for each in shared)


def test_an_error_is_told() -> None:
    both = maker("through", [], 5), maker("own", [])
    with pytest.raises(RuntimeError, match="ncclCommInitRank returned 5"):
        torch_creation.all_ms(both, Ranks(0, 1, lambda mine: mine, lambda ms: ms))


def test_without_an_nccl_there_is_nothing_to_make() -> None:
    assert torch_creation.makers() is None
