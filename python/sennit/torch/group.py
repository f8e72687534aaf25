"""How a group's calls run: which library has which tensors, on what streams, and what belongs to no tensor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from sennit.capi import Code, Communicator, SennitError
from sennit.torch import background
from sennit.torch.identity import Identity
from sennit.torch.member import Call, Member
from sennit.torch.messages import Messages
from sennit.torch.tensors import only
from sennit.torch.work import Meet, Together, Work

Tensors = list[torch.Tensor]
AnyWork = TypeVar("AnyWork", bound=dist.Work)


def on_host() -> bool:
    """Whether sennit takes CPU tensors, for want of a GPU or because it was asked to."""
    return os.environ.get("SENNIT_EXECUTOR") == "host" or not torch.cuda.is_available()


class Group(Identity):
    """One rank's side of a group. CUDA tensors are sennit's and CPU tensors Gloo's; on the host executor CPU tensors
    are sennit's."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        self._kind = "cpu" if on_host() else "cuda"
        kinds = dict.fromkeys((self._kind, "cpu"))
        super().__init__(store, rank, size, [torch.device(kind) for kind in kinds])
        self._member = Member(dist.PrefixStore("sennit/", store), rank, size, timeout)
        self._messages = Messages(dist.PrefixStore("messages/", store), rank, size, timeout, self._member.check)
        self._collected: list[dist.Work] | None = None
        self._gloo: Any = None
        self._no_gloo: Exception | None = None
        if self._kind != "cpu":
            # Now, as all ranks are here: two that exchange a message later could not make it by themselves.
            try:
                self._gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo/", store), rank, size, timeout=timeout)
            except (RuntimeError, AttributeError) as error:  # of no interest to those who have no CPU tensors
                self._no_gloo = error

    @property
    def member(self) -> Member:
        """What its calls go through."""
        return self._member

    def _takes(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is sennit's; else it is Gloo's. Raises SennitError (UNSUPPORTED) where it is nobody's."""
        kind = tensor.device.type
        if kind in (self._kind, "cpu"):
            return bool(kind == self._kind)
        remedy = "Move it to a GPU" if self._kind == "cuda" else "Move it to the CPU, or unset SENNIT_EXECUTOR"
        raise SennitError(Code.UNSUPPORTED, f"a tensor is on {tensor.device}", "", remedy)

    def _by_other(self, name: str, *arguments: Any) -> dist.Work:
        """A call of Gloo's side of this group."""
        gloo = self._gloo
        if gloo is None and self._no_gloo is None:
            raise SennitError(Code.ABORTED, "the process group has ended", "", "Make another one")
        if gloo is None:
            raise SennitError(Code.NOT_FOUND, f"Gloo has no group for CPU tensors: {self._no_gloo}", "",
                              "Move the tensor to the GPU") from self._no_gloo  # fmt: skip
        return self._collect(getattr(gloo, name)(*arguments))

    def _run(self, call: Call, outputs: Sequence[torch.Tensor], kept: Sequence[torch.Tensor], opts: Any) -> Work:
        """Enqueues a call on what `kept` and `outputs` hold, behind what the current stream has: on that stream, or,
        where the caller says that it is asynchronous, beside it."""
        device = outputs[0].device
        for tensor in kept:
            if tensor.device != device:
                raise SennitError(Code.INVALID_ARGUMENT, f"tensors on {device} and on {tensor.device}", "",
                                  "Pass tensors of one device")  # fmt: skip
        beside = bool(getattr(opts, "asyncOp", True))  # older ones do not say
        work = self._member.run(device, call, outputs, kept, asynchronous=beside)
        return self._collect(work)

    def barrier(self, opts: Any = None) -> dist.Work:
        """Of streams when it is called, and of hosts when it is waited for."""
        device = self._member.device or self._device_of(opts)

        def call(comm: Communicator, stream: int | None) -> None:
            comm.barrier(stream)

        return self._collect(Meet(self._member.run(device, call, [], [], asynchronous=True)))

    def _device_of(self, opts: Any) -> torch.device:
        """Where a barrier is that comes before everything else. What init_process_group() was told as device_id,
        PyTorch keeps to itself where the backend makes the group."""
        if self._kind == "cpu":
            return torch.device("cpu")
        told = getattr(opts, "device", None)
        asked = [*(getattr(opts, "device_ids", None) or ())]
        if not asked and told is not None and told.type == "cuda" and told.index is not None:
            asked = [told.index]
        return torch.device("cuda", asked[0] if asked else torch.cuda.current_device())

    # ---- messages ----

    def send(self, tensors: Tensors, receiver: int, tag: int = 0) -> dist.Work:
        tensor = only(tensors, "message")
        if not self._takes(tensor):
            return self._by_other("send", tensors, receiver, tag)
        return self._collect(self._messages.send(tensor, receiver))

    def recv(self, tensors: Tensors, sender: int, tag: int = 0) -> dist.Work:
        tensor = only(tensors, "message")
        if not self._takes(tensor):
            return self._by_other("recv", tensors, sender, tag)
        return self._collect(self._messages.receive(tensor, sender))

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> dist.Work:
        if not self._takes(only(tensors, "message")):
            return self._by_other("recv_anysource", tensors, tag)
        raise SennitError(Code.UNSUPPORTED, "a message from whoever sends one", "recv", "Name the sender: src=")

    # ---- several calls as one ----

    def _collect(self, work: AnyWork) -> AnyWork:
        if self._collected is not None:
            self._collected.append(work)
        return work

    def _start_coalescing(self, device: torch.device) -> None:  # noqa: ARG002
        self._collected = []

    def _end_coalescing(self, device: torch.device) -> dist.Work:  # noqa: ARG002
        works, self._collected = self._collected or [], None
        return Together(works, [tensor for work in works if isinstance(work, Work) for tensor in work.result()])

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing

    # ---- the end ----

    def abort(self) -> None:
        """Ends the group's communicators on every rank; calls that wait raise ABORTED."""
        self._member.abort("the process group was aborted")
        self._messages.abort("the process group was aborted")
        # Programs that abort and begin anew do not call shutdown(). Ended communicators wait for no rank, but for
        # this one's streams.
        background.start(self._end)

    def _end(self) -> None:
        with contextlib.suppress(SennitError), background.meeting():
            self._member.end_aborted()
            self._messages.close()
        with contextlib.suppress(background.ProcessEndsError), background.meeting():
            gloo, self._gloo = self._gloo, None
            if gloo is not None:
                with contextlib.suppress(AttributeError, RuntimeError):  # older ones have no abort
                    gloo.abort()
            del gloo  # here, where its end is waited for

    def shutdown(self) -> None:
        """Collective; destroy_process_group() calls it."""
        self._messages.close()
        self._member.close()
        self._gloo = None

    def set_timeout(self, timeout: timedelta) -> None:
        """Of communicators that are not made yet."""
        self._member.timeout = self._messages.timeout = timeout
        if self._gloo is not None:
            with contextlib.suppress(AttributeError, RuntimeError):
                self._gloo.set_timeout(timeout)
