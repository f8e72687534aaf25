"""What autograd has to know of memory that sennit writes: by itself it sees PyTorch's own operations alone."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from sennit.capi import Code, SennitError


def has_a_say(dst: torch.Tensor, *sources: torch.Tensor) -> bool:
    """Whether PyTorch would record that `dst` is written from the sources, pass their tangents on, or refuse it; else
    it would count it."""
    return any(_is_recorded(each) or _has_tangent(each) for each in (dst, *sources)) or _is_sealed(dst)


def expect_no_say(dst: torch.Tensor, name: str) -> None:
    """Before `dst` is written unrecorded. Raises SennitError (INVALID_ARGUMENT) where autograd has a say in that."""
    if _is_sealed(dst):
        why = "is an inference tensor, which nothing may write now"
        remedy = "Call it under torch.inference_mode(), or pass a .clone()"
    elif _is_recorded(dst):
        why = "requires grad, and autograd cannot record this"
        remedy = "Call it under torch.no_grad(), or pass .detach()"
    elif _has_tangent(dst):
        why, remedy = "has a tangent, and autograd cannot pass one on here", "Pass .detach()"
    else:
        return
    raise SennitError(Code.INVALID_ARGUMENT, f"the {name} {why}", "", remedy)


def written(tensor: torch.Tensor) -> None:
    """Counts that the tensor was written, as PyTorch does for its own operations: a backward pass that needs what was
    there before then raises. Inference tensors have no such count, and this leaves them as they are."""
    torch.autograd.graph.increment_version(tensor)


def _is_recorded(tensor: torch.Tensor) -> bool:
    return torch.is_grad_enabled() and bool(tensor.requires_grad)


def _has_tangent(tensor: torch.Tensor) -> bool:
    """Of forward-mode differentiation."""
    return forward_ad.unpack_dual(tensor).tangent is not None


def _is_sealed(tensor: torch.Tensor) -> bool:
    """Whether it is an inference tensor outside of inference mode, where PyTorch lets nobody write to it."""
    return bool(tensor.is_inference() and not torch.is_inference_mode_enabled())
