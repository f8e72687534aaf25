"""The process group of torch.distributed's backend "sennit": its collectives, on tensors as they lie in memory.

Written in Python alone, so that it works with any PyTorch: C++ that has such a group (DistributedDataParallel's
reducer, functional collectives) calls these methods."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from sennit.capi import Code, Communicator, SennitError, Type
from sennit.torch.elements import reduction
from sennit.torch.exchange import exchange
from sennit.torch.group import Tensors
from sennit.torch.list_collectives import ListCollectives
from sennit.torch.tensors import address, bytes_of, expect_count, expect_type, only
from sennit.torch.work import Together


def create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> ProcessGroup:
    """What torch.distributed makes a group by."""
    return ProcessGroup(store, rank, size, timeout)


class ProcessGroup(ListCollectives):
    """All of it. Collectives raise SennitError; what they do is what torch.distributed says."""

    # ---- one tensor a rank ----

    def allreduce(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.AllreduceOptions()
        if not self._takes(only(tensors, "input")):
            return self._by_other("allreduce", tensors, opts)
        return self._reduce_all(tensors, opts)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.AllreduceCoalescedOptions()
        if not self._takes(tensors[0]):
            return self._by_other("allreduce_coalesced", tensors, opts)
        return self._reduce_all(tensors, opts)

    def _reduce_all(self, tensors: Tensors, opts: Any) -> dist.Work:
        calls = [(each, address(each, "tensor", any_order=True), reduction(opts.reduceOp, each.dtype))
                 for each in tensors]  # fmt: skip

        def call(comm: Communicator, stream: int | None) -> None:
            for each, at, how in calls:
                comm.allreduce(at, at, how.count(each), how.kind, how.op, scale=how.scale, stream=stream)

        return self._run(call, tensors, tensors, opts)

    def reduce(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.ReduceOptions()
        tensor = only(tensors, "input")
        if not self._takes(tensor):
            return self._by_other("reduce", tensors, opts)
        at, how = address(tensor, "tensor", any_order=True), reduction(opts.reduceOp, tensor.dtype)

        def call(comm: Communicator, stream: int | None) -> None:
            comm.reduce(at, at, how.count(tensor), how.kind, how.op, opts.rootRank, scale=how.scale, stream=stream)

        return self._run(call, tensors, tensors, opts)

    def broadcast(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.BroadcastOptions()
        tensor = only(tensors, "input")
        if not self._takes(tensor):
            return self._by_other("broadcast", tensors, opts)
        at = address(tensor, "tensor", any_order=True)

        def call(comm: Communicator, stream: int | None) -> None:
            comm.broadcast(at, at, bytes_of(tensor), Type.UINT8, opts.rootRank, stream=stream)

        return self._run(call, tensors, tensors, opts)

    # ---- all ranks' parts in one tensor ----

    def _allgather_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> dist.Work:  # noqa: A002
        opts = opts or c10d.AllgatherOptions()
        if not self._takes(input):
            return self._by_other("_allgather_base", output, input, opts)
        return self._gather_all([output], [input], opts)

    def allgather_into_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.AllgatherOptions()
        if not self._takes(inputs[0]):
            pairs = zip(outputs, inputs, strict=True)
            return Together([self._by_other("_allgather_base", *pair, opts) for pair in pairs], outputs)
        return self._gather_all(outputs, inputs, opts)

    def _gather_all(self, outputs: Tensors, inputs: Tensors, opts: Any) -> dist.Work:
        calls = []
        for output, mine in zip(outputs, inputs, strict=True):
            expect_type([output, mine])
            expect_count(output, mine.numel() * self.size(), "output")
            calls.append((address(mine, "input"), address(output, "output"), bytes_of(mine)))

        def call(comm: Communicator, stream: int | None) -> None:
            for src, dst, count in calls:
                comm.allgather(src, dst, count, Type.UINT8, stream=stream)

        return self._run(call, outputs, [*outputs, *inputs], opts)

    def _reduce_scatter_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> dist.Work:  # noqa: A002
        opts = opts or c10d.ReduceScatterOptions()
        if not self._takes(input):
            return self._by_other("_reduce_scatter_base", output, input, opts)
        return self._scatter_sums([output], [input], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.ReduceScatterOptions()
        if not self._takes(inputs[0]):
            pairs = zip(outputs, inputs, strict=True)
            return Together([self._by_other("_reduce_scatter_base", *pair, opts) for pair in pairs], outputs)
        return self._scatter_sums(outputs, inputs, opts)

    def _scatter_sums(self, outputs: Tensors, inputs: Tensors, opts: Any) -> dist.Work:
        calls = []
        for output, given in zip(outputs, inputs, strict=True):
            how = reduction(opts.reduceOp, expect_type([output, given]))
            expect_count(given, output.numel() * self.size(), "input")
            calls.append((address(given, "input"), address(output, "output"), how.count(output), how))

        def call(comm: Communicator, stream: int | None) -> None:
            for src, dst, count, how in calls:
                comm.reduce_scatter(src, dst, count, how.kind, how.op, scale=how.scale, stream=stream)

        return self._run(call, outputs, [*outputs, *inputs], opts)

    def alltoall_base(
        self, output: torch.Tensor, input: torch.Tensor, received: list[int] | None, sent: list[int] | None,  # noqa: A002
        opts: Any = None,
    ) -> dist.Work:  # fmt: skip
        """`received` and `sent`: rows from and to each rank; where there are none, all get as many."""
        opts = opts or c10d.AllToAllOptions()
        if not self._takes(input):
            return self._by_other("alltoall_base", output, input, received or [], sent or [], opts)
        expect_type([output, input])
        src, dst = address(input, "input"), address(output, "output")
        if not received and not sent:
            expect_count(output, input.numel(), "output")
            expect_count(input, input.numel() // self.size() * self.size(), "input")
            count = bytes_of(input) // self.size()

            def equal(comm: Communicator, stream: int | None) -> None:
                comm.all_to_all(src, dst, count, Type.UINT8, stream=stream)

            return self._run(equal, [output], [output, input], opts)
        going, coming = self._parts(input, sent, "input"), self._parts(output, received, "output")
        return self._run(exchange(src, going, dst, coming), [output], [output, input], opts)

    def _parts(self, tensor: torch.Tensor, rows: list[int] | None, name: str) -> list[int]:
        """How many bytes of a tensor are for each rank."""
        length = tensor.shape[0] if tensor.dim() else 1
        rows = list(rows) if rows else [length // self.size()] * self.size()
        if len(rows) != self.size() or sum(rows) != length:
            raise SennitError(
                Code.INVALID_ARGUMENT, f"the {name} has {length} rows, and {rows} are to be for the ranks", "",
                f"Give {self.size()} numbers of rows that add up to it",
            )  # fmt: skip
        return [bytes_of(tensor) // max(length, 1) * each for each in rows]

    # What PyTorch calls them after 2.11.
    all_gather_single, all_gather_single_coalesced = _allgather_base, allgather_into_tensor_coalesced
    reduce_scatter_single, reduce_scatter_single_coalesced = _reduce_scatter_base, reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base
