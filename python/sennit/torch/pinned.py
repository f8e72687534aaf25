"""Pinned host memory of PyTorch's, which goes back to its allocator as soon as nobody has the tensor."""

from __future__ import annotations

import torch

from sennit.torch.member import capturing


def keep(tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
    """Keeps torch from using the memory of a pinned tensor again before what `stream` has so far is done, even if
    nobody has the tensor any more. In a graph it is the caller's to keep, as ever."""
    with torch.cuda.stream(stream):
        if tensor.numel() == 0 or capturing(stream.device):
            return
        # A copy of torch's own, of one byte: behind it torch's allocator of pinned memory gives the whole block to
        # nobody until the stream is done with it. Torch has no other public way to say so.
        byte = torch.empty(0, dtype=torch.uint8, device="cpu")
        byte.set_(tensor.untyped_storage(), tensor.storage_offset() * tensor.element_size(), (1,), (1,))
        torch.empty(1, dtype=torch.uint8, device=stream.device).copy_(byte, non_blocking=True)
