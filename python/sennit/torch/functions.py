"""Collectives as functions on tensors, for groups of whatever backend."""

from __future__ import annotations

import contextlib
import warnings

import torch
import torch.distributed as dist

from sennit.capi import Communicator
from sennit.torch.attach import is_member, member_of
from sennit.torch.elements import reduction
from sennit.torch.tensors import address

_OPERATORS = {"sum": "SUM", "average": "AVG", "product": "PRODUCT", "min": "MIN", "max": "MAX", "bit_and": "BAND",
              "bit_or": "BOR", "bit_xor": "BXOR"}  # fmt: skip


def allreduce(
    tensor: torch.Tensor, op: str | dist.ReduceOp = "sum", group: dist.ProcessGroup | None = None,
    stream: torch.cuda.Stream | None = None,
) -> torch.Tensor:  # fmt: skip
    """Reduces `tensor` of all ranks of the group into `tensor` of all, and returns it. Of a group of any backend; the
    default one where it is None.

    It returns when it is enqueued on `stream`, by default the current one, and waits for nothing. `op` is a name
    (sum, average, product, min, max, bit_and, bit_or, bit_xor) or one of torch.distributed's. On a rank that is not
    in the group it warns and does nothing, as torch.distributed's does. Raises SennitError; ValueError for another
    name."""
    if isinstance(op, str):
        if op not in _OPERATORS:
            raise ValueError(f"there is no operator {op!r}; there are {', '.join(_OPERATORS)}")
        op = getattr(dist.ReduceOp, _OPERATORS[op])
    if not is_member(group):
        warnings.warn(
            f"allreduce() on global rank {dist.get_rank()}, which is not in the group, does nothing", stacklevel=2
        )
        return tensor
    how, at = reduction(op, tensor.dtype), address(tensor, "tensor", any_order=True)

    def call(comm: Communicator, handle: int | None) -> None:
        comm.allreduce(at, at, how.count(tensor), how.kind, how.op, scale=how.scale, stream=handle)

    with torch.cuda.stream(stream) if stream is not None else contextlib.nullcontext():
        member_of(group).run(tensor.device, call, [tensor], [tensor], asynchronous=False)
    return tensor
