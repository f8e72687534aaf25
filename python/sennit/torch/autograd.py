"""What autograd has to know of memory that sennit writes: by itself it sees PyTorch's own operations alone."""

from __future__ import annotations

import torch


def has_a_say(dst: torch.Tensor, *sources: torch.Tensor) -> bool:
    """Whether PyTorch would record that `dst` is written from the sources, or refuse it; else it would count it."""
    recorded = torch.is_grad_enabled() and any(each.requires_grad for each in (dst, *sources))
    return recorded or _is_sealed(dst)


def written(tensor: torch.Tensor) -> None:
    """Counts that the tensor was written, as PyTorch does for its own operations: a backward pass that needs what was
    there before then raises. Inference tensors have no such count, and this leaves them as they are."""
    torch.autograd.graph.increment_version(tensor)


def _is_sealed(tensor: torch.Tensor) -> bool:
    """Whether it is an inference tensor outside of inference mode, where PyTorch lets nobody write to it."""
    return bool(tensor.is_inference() and not torch.is_inference_mode_enabled())
