"""Copies between memories of this process over every path that pays: pinned host memory and GPUs, GPUs and GPUs."""

from __future__ import annotations

import torch

from sennit.capi import Code, SennitError
from sennit.torch import autograd, comm_self, pinned
from sennit.torch.member import handle
from sennit.torch.tensors import bytes_of, dense

# Shorter copies are torch's own, since a call from Python takes longer than what further paths save: those with host
# memory, and those between GPUs. Defaults (2 × H200: 1.7 times as fast as torch's from and to host memory at 16 MiB,
# 0.4 times at 1 MiB; between GPUs 1.08 times at 256 MiB, 0.8 at 16 MiB).
LEAST_WITH_HOST = 8 << 20
LEAST_BETWEEN_GPUS = 128 << 20


def copy_(dst: torch.Tensor, src: torch.Tensor, stream: torch.cuda.Stream | None = None) -> torch.Tensor:
    """Copies `src` to `dst`, and returns `dst`: between host memory and a GPU, or between two GPUs, as for loading
    weights and writing checkpoints.

    It returns when the copy is enqueued on `stream`: a stream of the GPU (of the source's, between two), by default
    the current one. What is enqueued there later sees it; before the host reads `dst`, synchronize. Between two GPUs
    the current stream of the other one is in the order too. Until it is done `src` must not be written; pinned memory
    of torch's may be let go at once, as with torch's own copy, and is used again when the copy is done.

    Which paths it takes is what `sennit tune` measured; on a machine that was never tuned, the direct one. That needs
    tensors of one type and shape which lie in memory alike and without gaps, and host memory that is pinned. All else
    is torch's own copy, on the same stream and with the same promise: pageable memory, tensors of several types, with
    gaps, that are broadcast, or within one GPU or the host; and few bytes (LEAST_WITH_HOST, LEAST_BETWEEN_GPUS).

    To autograd all of them are torch's: a copy that it would record (in grad mode, of tensors of which one requires
    grad) or refuse is torch's own, and every other one counts as a change of `dst` in place.

    Raises SennitError where a shape does not fit, and what sennit_copy() fails with."""
    if dst.shape != src.shape and not _fits(dst, src):
        raise SennitError(
            Code.INVALID_ARGUMENT, f"a tensor of shape {tuple(src.shape)} does not fit one of {tuple(dst.shape)}",
            "copy", "Pass tensors of one shape",
        )  # fmt: skip
    device = src.device if src.is_cuda else dst.device
    if device.type != "cuda":
        return dst.copy_(src)
    stream = stream or torch.cuda.current_stream(device)
    if not spreads(dst, src) or bytes_of(src) < least(dst, src) or autograd.has_a_say(dst, src):
        with torch.cuda.stream(stream):
            return dst.copy_(src, non_blocking=True)
    other = torch.cuda.current_stream(dst.device) if src.is_cuda and dst.is_cuda else None
    if other is not None:
        stream.wait_stream(other)
    comm_self.communicator(device).copy(int(dst.data_ptr()), int(src.data_ptr()), bytes_of(src), handle(stream))
    autograd.written(dst)
    if other is not None:
        other.wait_stream(stream)
    for each in (dst, src):
        if not each.is_cuda:
            pinned.keep(each, stream)
    return dst


def _fits(dst: torch.Tensor, src: torch.Tensor) -> bool:
    try:
        src.expand(dst.shape)
    except RuntimeError:
        return False
    return True


def spreads(dst: torch.Tensor, src: torch.Tensor) -> bool:
    """Whether copy_() copies over every path; else it leaves the tensors to torch."""
    alike = dst.dtype == src.dtype and dst.shape == src.shape and dst.stride() == src.stride()
    flags = dst.is_conj() == src.is_conj() and dst.is_neg() == src.is_neg()
    if not alike or not flags or dst.device == src.device or not dense(dst):
        return False
    return all(each.is_cuda or (each.device.type == "cpu" and each.is_pinned()) for each in (dst, src))


def least(dst: torch.Tensor, src: torch.Tensor) -> int:
    """From how many bytes on several paths pay."""
    return LEAST_BETWEEN_GPUS if dst.is_cuda and src.is_cuda else LEAST_WITH_HOST
