"""What the drop-in adds to a call that it hands on: how it is told from what all calls take."""

from __future__ import annotations

import time

import pytest
from sennit.peers import torch_passing

MAPS = """7f0000000000-7f0000001000 r-xp 00000000 08:01 11 /usr/lib/libc.so.6
7f0000001000-7f0000002000 r-xp 00000000 08:01 12 /site-packages/nvidia/nccl/lib/libnccl.so.2
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
"""


def test_the_nccl_that_is_loaded_is_found() -> None:
    assert torch_passing.library_of(MAPS) == "/site-packages/nvidia/nccl/lib/libnccl.so.2"
    assert torch_passing.library_of(MAPS.replace("libnccl", "libother")) == ""


def test_without_an_nccl_there_is_nothing_to_call() -> None:
    assert torch_passing.entries() is None


def test_what_one_takes_longer_than_the_other_is_found_whatever_both_take(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def taking(us: float) -> torch_passing.Call:
        def call(*arguments: int) -> int:
            assert arguments == (1, 2)
            clock[0] += us / 1e6
            return 0

        return call

    def finish() -> None:
        clock[0] += 1  # which is not counted

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    found = torch_passing.added_us((taking(6.25), taking(6)), (1, 2), finish, 9)
    assert found == pytest.approx([0.25] * 9)


def test_each_is_first_as_often() -> None:
    order: list[str] = []

    def named(name: str) -> torch_passing.Call:
        def call() -> int:
            if order[-1:] != [name]:
                order.append(name)
            return torch_passing.IN_PROGRESS

        return call

    torch_passing.added_us((named("through"), named("own")), (), lambda: order.append("|"), 1)
    assert "".join(order) == "|own|through|through|own|"


def test_an_error_of_nccl_is_told() -> None:
    with pytest.raises(RuntimeError, match="ncclAllReduce returned 5"):
        torch_passing.added_us((lambda: 5, lambda: 0), (), lambda: None, 1)
