"""A list of tensors as one piece of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from sennit.capi import Communicator
from sennit.torch.tensors import side_by_side


@contextmanager
def flatten(
    comm: Communicator, stream: int | None, tensors: Sequence[torch.Tensor], *, filled: bool
) -> Iterator[int]:
    """The address of the tensors where they lie side by side, else of a copy, made on the current stream, which is
    `stream`. `filled`: it begins with what they hold; otherwise they get at the end what it holds then. None at all
    are at 0."""
    if not tensors or side_by_side(tensors):
        yield int(tensors[0].data_ptr()) if tensors else 0
        return
    flat = [tensor.reshape(-1) for tensor in tensors]
    copy = torch.cat(flat) if filled else flat[0].new_empty(sum(map(len, flat)))
    yield int(copy.data_ptr())
    if stream is None:  # what a stream would order
        comm.synchronize()
    if not filled:
        for tensor, part in zip(tensors, copy.split([each.numel() for each in tensors]), strict=True):
            tensor.copy_(part.view(tensor.shape))
