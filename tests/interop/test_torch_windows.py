"""What windows do with tensors beside the transfer: sennit.torch.windows over a made-up window of the C API."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import needs_torch  # noqa: F401
import pytest
import torch
from sennit.capi import Code, SennitError
from sennit.torch import windows
from sennit.torch.windows import Window
from torch.autograd import forward_ad
from torch_copies import CAPTURED, STREAM, Copies, OnGpu, Pinned

asked: list[tuple[Any, ...]] = []  # what was asked of the C API


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Copies:
    """Torch's own copies, without a GPU."""
    seen = Copies()
    asked.clear()
    monkeypatch.setattr(torch.cuda, "stream", seen.on)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: STREAM)
    monkeypatch.setattr("sennit.torch.pinned.capturing", lambda _: seen.stream == CAPTURED)
    return seen


def window_of(tensor: torch.Tensor) -> Window:
    """One whose transfers end nowhere."""
    made_up: Any = SimpleNamespace(
        put=lambda *given: asked.append(("put", *given)), get=lambda *given: asked.append(("get", *given))
    )
    comm: Any = SimpleNamespace(synchronize=lambda: asked.append(("synchronize",)))
    return Window(tensor, made_up, comm, None, lambda: None)


def on_gpu(count: int = 6) -> torch.Tensor:
    return torch.zeros(count).as_subclass(OnGpu)


def block_of(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


@pytest.mark.parametrize("stream", [None, STREAM])
@pytest.mark.parametrize("name", ["put", "get"])
def test_torch_keeps_pinned_memory_until_the_transfer_is_done(copies: Copies, name: str, stream: Any) -> None:
    window, part = window_of(on_gpu()), torch.zeros(9)[5:].as_subclass(Pinned)
    with copies:
        getattr(window, name)(1, part, 2, stream)
    assert asked == [(name, 1, 8, part.data_ptr(), 16, STREAM.cuda_stream)]
    assert copies.seen == [(block_of(part), STREAM, True)]


@pytest.mark.parametrize("name", ["put", "get"])
def test_a_window_keeps_no_memory_itself(copies: Copies, name: str) -> None:
    window, given = window_of(on_gpu()), torch.zeros(6).as_subclass(Pinned)
    gone = weakref.ref(given)
    with copies:
        getattr(window, name)(1, given)
    del given
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("name", ["put", "get"])
def test_nothing_is_kept_of_a_graph_nor_of_what_is_not_pinned(copies: Copies, name: str) -> None:
    call = getattr(window_of(on_gpu()), name)
    with copies:
        call(1, torch.zeros(6).as_subclass(Pinned), 0, CAPTURED)
        call(1, torch.zeros(6))
        call(1, on_gpu())
        call(1, torch.zeros(0).as_subclass(Pinned))
    assert len(asked) == 4
    assert copies.seen == []


def test_on_the_host_executor_the_host_waits(copies: Copies) -> None:
    window = window_of(torch.zeros(6))
    with copies:
        window.put(1, torch.zeros(6).as_subclass(Pinned))
        window.get(1, torch.zeros(6))
    assert [each[0] for each in asked] == ["put", "synchronize", "get", "synchronize"]
    assert [each[-1] for each in asked[::2]] == [None, None]
    assert copies.seen == []


def test_backward_notices_that_a_get_overwrote_what_it_needs(copies: Copies) -> None:  # noqa: ARG001
    weights, factor = torch.ones(6, requires_grad=True), on_gpu()
    result = (weights * factor).sum()
    assert windows.get(window_of(on_gpu()), 1, factor) is factor
    assert factor._version == 1
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        result.backward()


def test_what_autograd_would_have_to_record_is_not_got(copies: Copies) -> None:  # noqa: ARG001
    window, leaf = window_of(on_gpu()), on_gpu().requires_grad_()
    for destination in (leaf, (leaf * 2).as_subclass(OnGpu)):
        with pytest.raises(SennitError, match="the destination requires grad") as error:
            window.get(1, destination)
        assert error.value.code == Code.INVALID_ARGUMENT
        assert "torch.no_grad()" in error.value.remedy
        assert ".detach()" in error.value.remedy
    assert asked == []
    window.get(1, leaf.detach().as_subclass(OnGpu))
    with torch.no_grad():
        window.get(1, leaf)
    assert (leaf._version, len(asked)) == (2, 2)


def test_what_has_a_tangent_is_not_got(copies: Copies) -> None:  # noqa: ARG001
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(on_gpu(), torch.ones(on_gpu().shape)).as_subclass(OnGpu)
        with pytest.raises(SennitError, match="the destination has a tangent") as error:
            window_of(on_gpu()).get(1, dual)
    assert (error.value.code, error.value.remedy) == (Code.INVALID_ARGUMENT, "Pass .detach()")
    assert asked == []


def test_inference_tensors_are_got_in_inference_mode(copies: Copies) -> None:  # noqa: ARG001
    window, normal = window_of(on_gpu()), on_gpu()
    with torch.inference_mode():
        made = on_gpu()
        window.get(1, made)
        window.get(1, normal)
    assert normal._version == 1
    with pytest.raises(SennitError, match="the destination is an inference tensor") as error:
        window.get(1, made)
    assert "torch.inference_mode()" in error.value.remedy
    assert len(asked) == 2


def test_a_put_only_reads(copies: Copies) -> None:  # noqa: ARG001
    weights = on_gpu().requires_grad_()
    windows.put(window_of(on_gpu()), 1, weights)
    assert (weights._version, len(asked)) == (0, 1)
