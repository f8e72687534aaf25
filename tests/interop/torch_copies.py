"""Tensors that say that they are on a GPU or pinned, made-up streams, and torch's own copies written down: for tests
of copies without a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class OnGpu(torch.Tensor):  # type: ignore[misc]
    """A tensor that says that it is on a GPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # results are ordinary; both kinds go into one call

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)


class Pinned(torch.Tensor):  # type: ignore[misc]
    """A tensor that says that it is pinned."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def is_pinned(self, device: object = None) -> bool:  # noqa: ARG002
        return True


class Copies(TorchDispatchMode):  # type: ignore[misc]
    """Records the memory that torch's own copies read, the streams they are on, and whether the host goes on; and of
    sennit's copies what a test writes down."""

    def __init__(self) -> None:
        super().__init__()
        self.stream: object = None
        self.seen: list[tuple[int, object, bool]] = []
        self.by_sennit: list[object] = []

    def __torch_dispatch__(
        self, function: Any, types: object, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        if function is torch.ops.aten.copy_.default:
            self.seen.append((args[1].untyped_storage().data_ptr(), self.stream, args[2]))
        return function(*args, **kwargs or {})

    @contextlib.contextmanager
    def on(self, stream: object) -> Iterator[None]:
        self.stream = stream
        yield
        self.stream = None


def made_up_stream(number: int) -> SimpleNamespace:
    """One that is never done."""
    event = SimpleNamespace(query=lambda: False)
    return SimpleNamespace(cuda_stream=number, device=torch.device("cpu"), record_event=lambda: event)


STREAM, CAPTURED = made_up_stream(7), made_up_stream(8)
