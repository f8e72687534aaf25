"""How a rank of `sennit bench torch` measures: its first call, and how many it times back to back."""

from __future__ import annotations

from collections.abc import Iterator

import needs_torch  # noqa: F401
import pytest
import torch
import torch.distributed as dist
from sennit.baselines.torch_calls import EAGER, Job
from sennit.baselines.torch_calls_rank import MOST_CALLS, Rank
from sennit.baselines.torch_rank import Refused

CALL_US = 10.0
SLOW_US = 1e5  # of a batch in which something else held the machine up


@pytest.mark.parametrize("slow", [(), (0,), (1,), (3,), (0, 3), (2, 5)])
def test_one_slow_batch_leaves_no_batches_of_one_call(monkeypatch: pytest.MonkeyPatch, slow: tuple[int, ...]) -> None:
    rank = Rank.__new__(Rank)  # without other ranks
    prepared: list[int] = []

    def batches() -> Iterator[tuple[float, float]]:
        number = 0
        while True:
            yield CALL_US * prepared[-1] + (SLOW_US if number in slow else 0), 1.0
            number += 1

    took = batches()
    monkeypatch.setattr(rank, "_job", Job(2, [], 0.01), raising=False)
    monkeypatch.setattr(rank, "_prepare", lambda _, calls, __: prepared.append(calls))
    monkeypatch.setattr(rank, "_batch", lambda _: next(took))
    found = rank._measure(lambda: None, EAGER)
    assert (prepared, found["calls"]) == ([4, MOST_CALLS, MOST_CALLS], MOST_CALLS)
    assert len(found["us"]) == 12, "as many as there is time for: neither is that the slow one's"


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_first_call_is_checked(monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    rank = Rank.__new__(Rank)
    monkeypatch.setattr(rank, "_job", Job(2, [], 0.01), raising=False)
    monkeypatch.setattr(rank, "_device", torch.device("cpu"), raising=False)
    monkeypatch.setattr(rank, "_agree", lambda *values: list(values))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(dist, "all_reduce", lambda data: data.mul_(ranks))
    if ranks == 2:
        assert rank._first_ms() > 0
        return
    with pytest.raises(Refused, match="the first allreduce gave wrong numbers"):
        rank._first_ms()
