"""Tensors as memory: where they are, whether they lie as sennit needs them, and lists of them side by side."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sennit.capi import Code, SennitError


def bytes_of(tensor: torch.Tensor) -> int:
    """How long it is, if it has no gaps."""
    return int(tensor.numel() * tensor.element_size())


def dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill one piece of memory, in whatever order of dimensions."""
    if tensor.layout != torch.strided:
        return False
    expected = 1
    for stride, length in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if length == 1:
            continue
        if stride != expected:
            return False
        expected *= length
    return True


def address(tensor: torch.Tensor, name: str, *, any_order: bool = False) -> int:
    """Of its first element. Raises SennitError (INVALID_ARGUMENT) where it is not contiguous, or, in any order of
    dimensions, has gaps."""
    strided = tensor.layout == torch.strided
    if not strided or not (tensor.is_contiguous() or (any_order and dense(tensor))):
        raise SennitError(
            Code.INVALID_ARGUMENT,
            f"the {name} is not contiguous: shape {tuple(tensor.shape)}, "
            + (f"strides {tensor.stride()}" if strided else f"layout {tensor.layout}"),
            "", "Pass a contiguous tensor; .contiguous() makes one",
        )  # fmt: skip
    return int(tensor.data_ptr())


def only(tensors: Sequence[torch.Tensor], name: str) -> torch.Tensor:
    """The one tensor of a list. Raises SennitError (UNSUPPORTED) for several: a rank has one GPU."""
    if len(tensors) != 1:
        raise SennitError(Code.UNSUPPORTED, f"{len(tensors)} tensors as {name}", "", "Pass one a rank")
    return tensors[0]


def expect_count(tensor: torch.Tensor, count: int, name: str) -> None:
    """Raises SennitError (INVALID_ARGUMENT) where it has not so many elements."""
    if tensor.numel() != count:
        raise SennitError(
            Code.INVALID_ARGUMENT, f"the {name} has {tensor.numel()} elements and needs {count}", "",
            "Give every rank's part the same size",
        )  # fmt: skip


def expect_type(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """The type that all have. Raises SennitError (INVALID_ARGUMENT) where they have several."""
    found = {tensor.dtype for tensor in tensors}
    if len(found) != 1:
        raise SennitError(
            Code.INVALID_ARGUMENT, f"tensors of several types: {', '.join(sorted(map(str, found)))}", "",
            "Pass tensors of one type",
        )  # fmt: skip
    return found.pop()


def side_by_side(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether each begins in memory where the one before it ends."""
    at = tensors[0].data_ptr()
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.data_ptr() != at:
            return False
        at += bytes_of(tensor)
    return True
