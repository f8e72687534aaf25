"""What the drop-in adds to a call that it hands on: how it is told from what all calls take."""

from __future__ import annotations

import gc
import time
from typing import Any

import pytest
from sennit.baselines import torch_passing
from sennit.capi.names import Operator, Type

MAPS = """7f0000000000-7f0000001000 r-xp 00000000 08:01 11 /usr/lib/libc.so.6
7f0000001000-7f0000002000 r-xp 00000000 08:01 12 /site-packages/nvidia/nccl/lib/libnccl.so.2
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
"""


def test_the_nccl_that_is_loaded_is_found() -> None:
    assert torch_passing.library_of(MAPS) == "/site-packages/nvidia/nccl/lib/libnccl.so.2"
    assert torch_passing.library_of(MAPS.replace("libnccl", "libother")) == ""


def test_without_an_nccl_there_is_nothing_to_call() -> None:
    assert torch_passing.functions("ncclAllReduce") is None


def test_what_one_takes_longer_than_the_other_is_found_whatever_both_take(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, batch = [0.0], [0]

    def taking(us: float) -> torch_passing.Call:
        def call() -> int:
            clock[0] += (us + 0.01 * batch[0]) / 1e6  # what drifts
            return 0

        return call

    def finish() -> None:
        clock[0] += 1  # which is not counted
        batch[0] += 1

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    found = torch_passing.added_us((taking(6.25), taking(6)), finish, rounds=9)
    assert found == pytest.approx([0.25] * 9, abs=1e-3)


def test_each_is_first_as_often() -> None:
    order: list[str] = []

    def named(name: str) -> torch_passing.Call:
        def call() -> int:
            if order[-1:] != [name]:
                order.append(name)
            return torch_passing.IN_PROGRESS

        return call

    torch_passing.added_us((named("through"), named("own")), lambda: order.append("|"), rounds=1)
    assert "".join(order) == "|own|through|through|own|through|own|own|through|"


def test_an_error_is_told_and_garbage_is_collected_again() -> None:
    with pytest.raises(RuntimeError, match="an allreduce returned 5"):
        torch_passing.added_us((lambda: 5, lambda: 0), lambda: None, rounds=1)
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="returned 7"):
        torch_passing.added_us((lambda: 0, lambda: 7), lambda: None, (0,), 1)


def test_both_libraries_get_the_same_call() -> None:
    found: list[list[int | None]] = []

    def function(*arguments: Any) -> int:
        found.append([argument.value for argument in arguments])
        return 0

    call = torch_passing.Sum(4096, 256, 77)
    assert (call.by_nccl(function, 5)(), call.by_sennit(function, 6)()) == (0, 0)
    assert len(found[0]) == len(found[1]), "which costs ctypes alike"
    assert found == [[4096, 4096, 256, 7, 0, 5, 77, None], [6, 4096, 4096, 256, Type.FLOAT32, Operator.SUM, None, 77]]
