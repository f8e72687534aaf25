"""Tensors as memory, elements and operators: sennit.torch.tensors, .elements and .copying."""

from __future__ import annotations

from importlib import util

import pytest

if util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed; pip install torch", allow_module_level=True)

import torch
import torch.distributed as dist
from sennit.capi import Code, Operator, SennitError, Type
from sennit.torch import copying, tensors
from sennit.torch.elements import TYPES, reduction

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
    assert reduction(op.SUM, torch.bfloat16) == (Type.BFLOAT16, Operator.SUM, 1)
    assert reduction(op(op.AVG), torch.int64) == (Type.INT64, Operator.AVERAGE, 1)
    assert reduction(op.SUM, torch.bool) == (Type.UINT8, Operator.LOGICAL_OR, 1)
    assert reduction(op.BXOR, torch.bool) == (Type.UINT8, Operator.BIT_XOR, 1)
    assert reduction(dist._make_nccl_premul_sum(0.25), torch.float16) == (
        Type.FLOAT16, Operator.PREMULTIPLIED_SUM, 0.25,
    )  # fmt: skip
    for given, dtype in ((op.AVG, torch.bool), (op.SUM, torch.complex64)):
        with pytest.raises(SennitError, match="there is no") as error:
            reduction(given, dtype)
        assert error.value.code == Code.UNSUPPORTED
    with pytest.raises(SennitError, match="is a tensor"):
        reduction(dist._make_nccl_premul_sum(torch.ones(1)), torch.float32)


def test_only_what_lies_alike_in_pinned_memory_and_on_gpus_spreads() -> None:
    class OnGpu(torch.Tensor):  # type: ignore[misc]
        """A tensor that says that it is on a GPU."""

        @property
        def is_cuda(self) -> bool:
            return True

        @property
        def device(self) -> torch.device:
            return torch.device("cuda", 0)

    class Pinned(torch.Tensor):  # type: ignore[misc]
        """A tensor that says that it is pinned."""

        def is_pinned(self, device: object = None) -> bool:  # noqa: ARG002
            return True

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
