"""What autograd has to know of memory that sennit writes: by itself it sees PyTorch's own operations alone."""

from __future__ import annotations

import torch

from sennit.capi import Code, SennitError


def has_a_say(dst: torch.Tensor, *sources: torch.Tensor) -> bool:
    """Whether PyTorch would record that `dst` is written from the sources, or refuse it; else it would count it."""
    recorded = torch.is_grad_enabled() and any(each.requires_grad for each in (dst, *sources))
    return recorded or _is_sealed(dst)


def expect_no_say(dst: torch.Tensor, name: str) -> None:
    """Before `dst` is written unrecorded. Raises SennitError (INVALID_ARGUMENT) where autograd has a say in that."""
    if not has_a_say(dst):
        return
    why, remedy = (
        ("is an inference tensor, which nothing may write now", "torch.inference_mode(), or pass a .clone()")
        if _is_sealed(dst)
        else ("requires grad, and autograd cannot record this", "torch.no_grad(), or pass .detach()")
    )
    raise SennitError(Code.INVALID_ARGUMENT, f"the {name} {why}", "", f"Call it under {remedy}")


def written(tensor: torch.Tensor) -> None:
    """Counts that the tensor was written, as PyTorch does for its own operations: a backward pass that needs what was
    there before then raises. Inference tensors have no such count, and this leaves them as they are."""
    torch.autograd.graph.increment_version(tensor)


def _is_sealed(tensor: torch.Tensor) -> bool:
    """Whether it is an inference tensor outside of inference mode, where PyTorch lets nobody write to it."""
    return bool(tensor.is_inference() and not torch.is_inference_mode_enabled())
