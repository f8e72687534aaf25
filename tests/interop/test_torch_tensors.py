"""Tensors as memory, elements and operators: sennit.torch.tensors, .elements and .copying."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import needs_torch  # noqa: F401
import pytest
import torch
import torch.distributed as dist
from sennit.capi import Code, Operator, SennitError, Type
from sennit.torch import comm_self, copying, tensors
from sennit.torch.elements import TYPES, Reduction, reduction
from torch.autograd import forward_ad
from torch_copies import CAPTURED, STREAM, Copies, OnGpu, Pinned

BASE = torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize(
    ("tensor", "dense"),
    [(BASE, True), (BASE.permute(2, 0, 1), True), (BASE[:, :, :3], False), (BASE[1], True), (BASE[:, 1], False),
     (BASE[:, :1, :], False), (BASE[:1, :1], True), (torch.zeros(1, 5).expand(3, 5), False), (torch.zeros(()), True),
     (torch.zeros(0, 3), True), (torch.eye(2).to_sparse(), False)],
)  # fmt: skip
def test_a_tensor_is_dense_or_has_gaps(tensor: torch.Tensor, dense: bool) -> None:
    assert tensors.dense(tensor) == dense


def test_an_address_is_given_of_what_has_no_gaps() -> None:
    assert tensors.address(BASE[1], "input") == BASE.data_ptr() + 48
    turned = BASE.permute(2, 0, 1)
    assert tensors.address(turned, "input", any_order=True) == BASE.data_ptr()
    with pytest.raises(SennitError, match=r"the input is not contiguous: shape \(4, 2, 3\), strides"):
        tensors.address(turned, "input")
    with pytest.raises(SennitError, match=r"layout torch\.sparse_coo"):
        tensors.address(torch.eye(2).to_sparse(), "input", any_order=True)


def test_lists_lie_side_by_side_or_not() -> None:
    assert tensors.side_by_side(BASE.unbind())
    assert not tensors.side_by_side(BASE.unbind()[::-1])
    assert not tensors.side_by_side([BASE[0], BASE[0]])
    assert not tensors.side_by_side(BASE.unbind(1))
    assert tensors.bytes_of(BASE[1]) == 48


def test_types_are_those_of_the_same_width() -> None:
    assert len(TYPES) >= 13
    for dtype, kind in TYPES.items():
        name = "UINT8" if dtype == torch.bool else str(dtype).removeprefix("torch.").removesuffix("fn").upper()
        assert kind.name == name


def test_operators() -> None:
    op = dist.ReduceOp
    assert reduction(op.SUM, torch.bfloat16) == Reduction(Type.BFLOAT16, Operator.SUM)
    assert reduction(op(op.AVG), torch.int64) == Reduction(Type.INT64, Operator.AVERAGE)
    assert reduction(op.SUM, torch.bool) == Reduction(Type.UINT8, Operator.LOGICAL_OR)
    assert reduction(op.BXOR, torch.bool) == Reduction(Type.UINT8, Operator.BIT_XOR)
    quarters = reduction(dist._make_nccl_premul_sum(0.25), torch.complex64)
    assert quarters == Reduction(Type.FLOAT32, Operator.PREMULTIPLIED_SUM, 0.25, 2)
    assert quarters.count(torch.empty(3, dtype=torch.complex64)) == 6
    for given, dtype in ((op.AVG, torch.bool), (op.PRODUCT, torch.complex64)):
        with pytest.raises(SennitError, match="there is no") as error:
            reduction(given, dtype)
        assert error.value.code == Code.UNSUPPORTED
    with pytest.raises(SennitError, match="is a tensor"):
        reduction(dist._make_nccl_premul_sum(torch.ones(1)), torch.float32)


def test_only_what_lies_alike_in_pinned_memory_and_on_gpus_spreads() -> None:
    gpu, pinned = BASE.as_subclass(OnGpu), BASE.as_subclass(Pinned)
    assert copying.spreads(gpu, pinned)
    assert copying.spreads(pinned, gpu)
    assert not copying.spreads(gpu, BASE)
    assert not copying.spreads(gpu, gpu)
    assert not copying.spreads(pinned, pinned)
    assert not copying.spreads(gpu, BASE.double().as_subclass(Pinned))
    assert not copying.spreads(gpu, BASE[1:].as_subclass(Pinned))
    assert not copying.spreads(BASE[:, 1].as_subclass(OnGpu), BASE[:, 1].as_subclass(Pinned))
    turned = BASE.permute(2, 0, 1)
    assert copying.spreads(turned.as_subclass(OnGpu), turned.as_subclass(Pinned))
    assert not copying.spreads(turned.as_subclass(OnGpu), turned.contiguous().as_subclass(Pinned))
    assert copying.least(gpu, pinned) == copying.least(pinned, gpu) == copying.LEAST_WITH_HOST
    assert copying.least(gpu, gpu) == copying.LEAST_BETWEEN_GPUS > copying.LEAST_WITH_HOST


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Copies:
    """copy_() without a GPU: its communicator copies nothing, and its streams are those that the test makes up."""
    seen = Copies()
    monkeypatch.setattr(torch.cuda, "stream", seen.on)
    monkeypatch.setattr(copying, "LEAST_WITH_HOST", 0)
    nothing = SimpleNamespace(copy=lambda *_: seen.by_sennit.append(seen.stream))
    monkeypatch.setattr(comm_self, "communicator", lambda _: nothing)
    monkeypatch.setattr("sennit.torch.pinned.capturing", lambda _: seen.stream == CAPTURED)
    return seen


@pytest.mark.parametrize("to_gpu", [True, False])
def test_torch_keeps_pinned_memory_until_the_copy_is_done(copies: Copies, to_gpu: bool) -> None:
    # Part of a block, and not in the order of its elements: what torch keeps is the block.
    pinned = torch.zeros(5, 4, 3)[1:].permute(2, 0, 1).as_subclass(Pinned)
    gpu = torch.empty_like(pinned).as_subclass(OnGpu)
    with copies:
        copying.copy_(*(gpu, pinned) if to_gpu else (pinned, gpu), STREAM)
    assert copies.seen == [(pinned.untyped_storage().data_ptr(), STREAM, True)]


def test_no_copy_keeps_memory_itself(copies: Copies) -> None:
    gone = []
    with copies:
        for _ in range(3):
            pinned = torch.zeros(6).as_subclass(Pinned)
            copying.copy_(torch.empty(6).as_subclass(OnGpu), pinned, STREAM)
            gone.append(weakref.ref(pinned))
    del pinned
    gc.collect()
    assert [each() for each in gone] == [None, None, None]


def test_memory_of_captured_copies_is_the_callers_to_keep(copies: Copies) -> None:
    with copies:
        copying.copy_(torch.empty(6).as_subclass(OnGpu), torch.zeros(6).as_subclass(Pinned), CAPTURED)
    assert copies.seen == []


@pytest.fixture(params=["sennit's size", "torch's size"])
def any_size(copies: Copies, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Copies:
    """copy_() of tensors for which several paths pay, and of shorter ones."""
    if request.param == "torch's size":
        monkeypatch.setattr(copying, "LEAST_WITH_HOST", 1 << 20)
    return copies


def on_gpu(number: float) -> torch.Tensor:
    return torch.full((6,), float(number)).as_subclass(OnGpu)


def pinned(number: float) -> torch.Tensor:
    return torch.full((6,), float(number)).as_subclass(Pinned)


def test_a_leaf_that_requires_grad_is_not_overwritten_behind_autograd(any_size: Copies) -> None:
    leaf = on_gpu(1).requires_grad_()
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
    ):
        copying.copy_(leaf, pinned(2), STREAM)
    assert any_size.by_sennit == []
    assert leaf.tolist() == [1] * 6


def test_a_copy_passes_tangents_on(any_size: Copies) -> None:
    with forward_ad.dual_level():
        src = forward_ad.make_dual(torch.full((6,), 2.0), torch.full((6,), 5.0)).as_subclass(Pinned)
        dst = copying.copy_(on_gpu(1), src, STREAM)
        tangent = forward_ad.unpack_dual(dst).tangent
        assert tangent is not None
        assert (dst.tolist(), tangent.tolist()) == ([2] * 6, [5] * 6)
    assert any_size.by_sennit == []


def test_a_copy_that_has_a_gradient_is_recorded(any_size: Copies) -> None:
    src = pinned(2).requires_grad_()
    dst = copying.copy_(on_gpu(1), src, STREAM)
    assert dst.grad_fn is not None
    (dst * 3).sum().backward()
    assert src.grad is not None
    assert src.grad.tolist() == [3] * 6
    assert any_size.by_sennit == []
    leaf = on_gpu(1).requires_grad_()
    middle = (leaf * 2).as_subclass(OnGpu)
    copying.copy_(middle, pinned(2), STREAM)
    middle.sum().backward()
    assert middle._version == 1
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [0] * 6, "what it had was overwritten"


def test_backward_notices_that_a_copy_overwrote_what_it_needs(any_size: Copies) -> None:  # noqa: ARG001
    weights, factor = on_gpu(1).requires_grad_(), on_gpu(2)
    result = (weights * factor).sum()
    copying.copy_(factor, pinned(3), STREAM)
    assert factor._version == 1
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        result.backward()


def test_without_grad_mode_sennit_copies_and_the_version_says_so(copies: Copies) -> None:
    leaf, shared = on_gpu(1).requires_grad_(), on_gpu(1).requires_grad_()
    with torch.no_grad():
        copying.copy_(leaf, pinned(2), STREAM)
        copying.copy_(leaf, pinned(2).requires_grad_(), STREAM)
    copying.copy_(shared.detach().as_subclass(OnGpu), pinned(2), STREAM)
    copying.copy_(shared.data.as_subclass(OnGpu), pinned(2), STREAM)
    assert len(copies.by_sennit) == 4
    assert (leaf._version, leaf.grad_fn) == (2, None)
    assert shared._version == 1, "detach() shares the counter, .data does not"


def test_inference_tensors_are_as_torchs(any_size: Copies) -> None:
    normal = on_gpu(1)
    with torch.inference_mode():
        made, given = on_gpu(1), pinned(2)
        copying.copy_(made, given, STREAM)
        copying.copy_(normal, given, STREAM)
    assert normal._version == 1
    copying.copy_(normal, given, STREAM)
    assert normal._version == 2
    assert len(any_size.by_sennit) in (0, 3)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        copying.copy_(made, given, STREAM)
    assert len(any_size.by_sennit) in (0, 3)
