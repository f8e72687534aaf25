"""Collectives on lists of tensors, one for each rank. Those that lie side by side in memory are taken as they are;
others pass through a copy."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from sennit.capi import Code, Communicator, SennitError, Type
from sennit.torch.elements import reduction
from sennit.torch.exchange import exchange
from sennit.torch.flatten import flatten
from sennit.torch.group import Group, Tensors
from sennit.torch.tensors import address, bytes_of, expect_count, expect_type, only
from sennit.torch.work import Together


class ListCollectives(Group):
    """What of a group takes lists."""

    def allgather(self, outputs: list[Tensors], inputs: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.AllgatherOptions()
        mine, theirs = only(inputs, "input"), outputs[0]
        if not self._takes(mine):
            return self._by_other("allgather", outputs, inputs, opts)
        even = self._expect_parts(theirs, mine, "output", may_differ=True)
        src = address(mine, "input")

        def call(comm: Communicator, stream: int | None) -> None:
            with flatten(comm, stream, theirs, filled=False) as dst:
                comm.allgather(src, dst, bytes_of(mine), Type.UINT8, stream=stream)

        def one_by_one(comm: Communicator, stream: int | None) -> None:
            for rank, part in enumerate(theirs):
                with flatten(comm, stream, [part], filled=False) as dst:
                    comm.broadcast(src if rank == self.rank() else dst, dst, bytes_of(part), Type.UINT8, rank,
                                   stream=stream)  # fmt: skip

        return self._run(call if even else one_by_one, theirs, [*theirs, mine], opts)

    def allgather_coalesced(self, outputs: list[Tensors], inputs: Tensors, opts: Any = None) -> dist.Work:
        works = [self.allgather([[each[i] for each in outputs]], [mine], opts) for i, mine in enumerate(inputs)]
        return Together(works, [part for parts in outputs for part in parts])

    def reduce_scatter(self, outputs: Tensors, inputs: list[Tensors], opts: Any = None) -> dist.Work:
        opts = opts or c10d.ReduceScatterOptions()
        mine, given = only(outputs, "output"), inputs[0]
        if not self._takes(mine):
            return self._by_other("reduce_scatter", outputs, inputs, opts)
        even = self._expect_parts(given, mine, "input", may_differ=True)
        dst, how = address(mine, "output"), reduction(opts.reduceOp, mine.dtype)

        def call(comm: Communicator, stream: int | None) -> None:
            with flatten(comm, stream, given, filled=True) as src:
                comm.reduce_scatter(src, dst, how.count(mine), how.kind, how.op, scale=how.scale, stream=stream)

        def one_by_one(comm: Communicator, stream: int | None) -> None:
            for rank, part in enumerate(given):
                with flatten(comm, stream, [part], filled=True) as src:
                    comm.reduce(src, dst, how.count(part), how.kind, how.op, rank, scale=how.scale, stream=stream)

        return self._run(call if even else one_by_one, outputs, [*given, mine], opts)

    def gather(self, outputs: list[Tensors], inputs: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.GatherOptions()
        mine = only(inputs, "input")
        if not self._takes(mine):
            return self._by_other("gather", outputs, inputs, opts)
        theirs = outputs[0] if outputs and self.rank() == opts.rootRank else []
        if self.rank() == opts.rootRank:
            self._expect_parts(theirs, mine, "output")
        src = address(mine, "input")

        def call(comm: Communicator, stream: int | None) -> None:
            with flatten(comm, stream, theirs, filled=False) as dst:
                comm.gather(src, dst, bytes_of(mine), Type.UINT8, opts.rootRank, stream=stream)

        return self._run(call, theirs or [mine], [*theirs, mine], opts)

    def scatter(self, outputs: Tensors, inputs: list[Tensors], opts: Any = None) -> dist.Work:
        opts = opts or c10d.ScatterOptions()
        mine = only(outputs, "output")
        if not self._takes(mine):
            return self._by_other("scatter", outputs, inputs, opts)
        given = inputs[0] if inputs and self.rank() == opts.rootRank else []
        if self.rank() == opts.rootRank:
            self._expect_parts(given, mine, "input")
        dst = address(mine, "output")

        def call(comm: Communicator, stream: int | None) -> None:
            with flatten(comm, stream, given, filled=True) as src:
                comm.scatter(src, dst, bytes_of(mine), Type.UINT8, opts.rootRank, stream=stream)

        return self._run(call, outputs, [*given, mine], opts)

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> dist.Work:
        opts = opts or c10d.AllToAllOptions()
        if not self._takes(inputs[0]):
            return self._by_other("alltoall", outputs, inputs, opts)
        expect_type([*outputs, *inputs])
        going, coming = [bytes_of(each) for each in inputs], [bytes_of(each) for each in outputs]

        def call(comm: Communicator, stream: int | None) -> None:
            with (
                flatten(comm, stream, inputs, filled=True) as src,
                flatten(comm, stream, outputs, filled=False) as dst,
            ):
                exchange(src, going, dst, coming)(comm, stream)

        return self._run(call, outputs, [*outputs, *inputs], opts)

    def _expect_parts(self, parts: Tensors, mine: torch.Tensor, name: str, *, may_differ: bool = False) -> bool:
        """As many as ranks, each as long as this rank's own; or only this rank's, and whether all are: every rank has
        the same lengths in its list, so that all go the same way."""
        if len(parts) != self.size():
            raise SennitError(
                Code.INVALID_ARGUMENT, f"{len(parts)} tensors as {name} for {self.size()} ranks", "",
                "Give one for each rank",
            )  # fmt: skip
        expect_type([*parts, mine])
        for part in [parts[self.rank()]] if may_differ else parts:
            expect_count(part, mine.numel(), name)
        return all(part.numel() == mine.numel() for part in parts)
