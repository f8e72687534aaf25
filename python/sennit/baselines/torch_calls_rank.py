"""A rank that calls torch.distributed's collectives: started by `sennit bench torch` with a file of cases and the
rank. What its calls go through, its environment decides. Every number is compared with what should come of it before
anything is timed; of the first call of all, behind it.

A batch of calls is timed between two events on the GPU. A collective that is not counted comes before it, so that all
ranks begin together; what ranks agree on meanwhile goes through the host (gloo)."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from sennit.baselines import numbers, torch_creation, torch_passing
from sennit.baselines.layout import ROOT, Layout
from sennit.baselines.timing import LEAST_US, calls_for, runs_for
from sennit.baselines.torch_calls import EAGER, FIRST_BYTES, GRAPH, PASSED_BYTES, QUEUED, Case, Job
from sennit.baselines.torch_rank import Refused, begin, main, tell
from sennit.capi import Communicator, SennitError
from sennit.capi.library import NAME
from sennit.programs.places import find_library
from sennit.programs.problem import Problem

MARGIN = 64  # numbers behind the output that must stay as they were
POISON = -7
MOST_CALLS = 50  # of a batch: with more, the driver's queue would be full before a busy stream is free
CYCLES = 2000  # of a GPU's clock in a µs: a limit, none is faster
AHEAD_US = 300.0  # by which the host is ahead of the stream where it should be


class Buffers:
    """What a case reads and writes on this rank, and what should be there afterwards."""

    def __init__(self, case: Case, rank: int, ranks: int, device: torch.device) -> None:
        self.layout = Layout(case.operation, case.bytes, rank, ranks, False)
        self.kind = getattr(torch, case.type)
        self.device = device
        self.in_place = case.operation in ("allreduce", "broadcast")
        self.count = self.layout.message // self.kind.itemsize
        taken = self.count * max(self.layout.taken, 1)
        self.whole = torch.empty(taken + MARGIN, dtype=self.kind, device=device)
        self.output = self.whole[:taken]
        given = self.count * max(self.layout.given, 1)
        self.input = self.output if self.in_place else torch.zeros(given, dtype=self.kind, device=device)

    def message(self, period: list[int]) -> torch.Tensor:
        """A period again and again."""
        one = torch.tensor(period, dtype=torch.float64, device=self.device).to(self.kind)
        return one.repeat(self.count // len(period) + 1)[: self.count]

    def fill(self) -> None:
        """Fresh numbers to be given, and what must not be left of the output."""
        layout = self.layout
        self.whole.fill_(POISON)
        if layout.given:
            given = [numbers.small(numbers.number_of(layout, layout.rank, to)) for to in range(layout.given)]
            self.input.copy_(torch.cat([self.message(each) for each in given]))

    def expected(self) -> torch.Tensor:
        """All messages that this rank should get."""
        layout = self.layout
        if numbers.reduces(layout):
            sources = range(layout.ranks)
            given = [numbers.small(numbers.number_of(layout, source, layout.rank)) for source in sources]
            return self.message([sum(each) for each in zip(*given, strict=True)])
        senders = range(layout.taken) if layout.taken > 1 else [ROOT]
        got = [numbers.small(numbers.number_of(layout, source, layout.rank)) for source in senders]
        return torch.cat([self.message(each) for each in got])

    def wrong(self) -> str:
        """What is not as it should be; empty where all is."""
        if not torch.equal(self.output, self.expected()):
            return "it gave wrong numbers"
        kept = bool((self.whole[self.output.numel() :] == POISON).all())
        return "" if kept else "it wrote beyond the output"

    def call(self, operation: str) -> Callable[[], object]:
        """The collective, as a program writes it."""
        calls: dict[str, Callable[[], object]] = {
            "allreduce": lambda: dist.all_reduce(self.output),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(self.output, self.input),
            "allgather": lambda: dist.all_gather_into_tensor(self.output, self.input),
            "broadcast": lambda: dist.broadcast(self.output, src=ROOT),
            "all_to_all": lambda: dist.all_to_all_single(self.output, self.input),
        }
        return calls[operation]


def captured(call: Callable[[], object], calls: int) -> Callable[[], None]:
    """A graph of so many calls."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # PyTorch's watchdog asks for events in another thread meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(calls):
            call()
    return lambda: graph.replay()


class Rank:
    """This process with its GPU."""

    def __init__(self, job: Job, rank: int) -> None:
        self._job, self._rank = job, rank
        self._device = begin(rank, job.ranks, "cpu:gloo,cuda:nccl")
        tell(rank, row={"first_ms": self._first_ms()})
        self._mark = torch.zeros(1, device=self._device)
        self._begin, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._go: Callable[[], object] = lambda: None

    def run(self) -> None:
        """Verifies every case and measures it in every way; rank 0 tells each figure at once."""
        for number, case in enumerate(self._job.cases):
            tell(self._rank, progress=[number, len(self._job.cases), str(case)])
            buffers = Buffers(case, self._rank, self._job.ranks, self._device)
            call = buffers.call(case.operation)
            self._verify(case, buffers, call, "call by call")
            if GRAPH in self._job.ways:
                self._verify(case, buffers, captured(call, 1), "in a graph")
            for each in (buffers.whole, buffers.input):
                each.zero_()  # sums of sums stay numbers
            if self._job.seconds > 0:
                for way in self._job.ways:
                    tell(self._rank, row={"case": str(case), "way": way, **self._measure(call, way)})
        if self._job.passing:
            tell(self._rank, row={"added_us": self._added()})
        if self._job.taken_bytes:
            tell(self._rank, row={"added_to_taken_us": self._added_to_taken(self._job.taken_bytes)})
            tell(self._rank, row={"made_ms": self._made()})
        self._go = lambda: None
        gc.collect()  # graphs end before the communicator that they use
        self._agree(0, 0)
        dist.destroy_process_group()

    def _first_ms(self) -> float:
        """Of the first collective, which libraries load their kernels for, or connect; it can be checked only then.
        Raises Refused, on every rank alike."""
        one = torch.ones(FIRST_BYTES // 4, device=self._device)
        torch.cuda.synchronize()
        start = time.perf_counter()
        dist.all_reduce(one)
        torch.cuda.synchronize()
        took_ms = (time.perf_counter() - start) * 1e3
        if self._agree(float(bool((one != self._job.ranks).any())))[0]:
            raise Refused("the first allreduce gave wrong numbers")
        return took_ms

    def _agree(self, *values: float) -> list[float]:
        """The largest of all ranks, who meet by this on the host."""
        torch.cuda.synchronize()
        found = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(found, op=dist.ReduceOp.MAX)
        most: list[float] = found.tolist()
        return most

    def _verify(self, case: Case, buffers: Buffers, call: Callable[[], object], how: str) -> None:
        """One call on fresh numbers. Raises Refused, on every rank alike."""
        buffers.fill()
        self._agree(0)
        call()
        torch.cuda.synchronize()
        wrong = buffers.wrong()
        if self._agree(float(bool(wrong)))[0]:
            raise Refused(f"{case}, {how}: {wrong or 'another rank got wrong numbers'}")

    def _prepare(self, call: Callable[[], object], calls: int, way: str) -> None:
        def all_calls() -> None:
            for _ in range(calls):
                call()

        self._go = lambda: None  # the graph before this one ends here
        self._go = captured(call, calls) if way == GRAPH else all_calls

    def _batch(self, ahead_us: float) -> tuple[float, float]:
        """µs of what was prepared, between two events and on the host, on the slowest rank. `ahead_us`: by which the
        host shall be ahead of the stream."""
        self._agree(0)
        if ahead_us > 0:
            torch.cuda._sleep(int(ahead_us * CYCLES))
        dist.all_reduce(self._mark)
        self._begin.record()
        start = time.perf_counter()
        self._go()
        host_us = (time.perf_counter() - start) * 1e6
        self._end.record()
        self._end.synchronize()
        us, host_us = self._agree(self._begin.elapsed_time(self._end) * 1e3, host_us)
        return max(us, LEAST_US), host_us

    def _measure(self, call: Callable[[], object], way: str) -> dict[str, Any]:
        """Batches of back-to-back calls, in µs a call. All ranks decide alike, as they know the same times."""
        calls, least_us, us, ahead_us = 4, float("inf"), 0.0, 0.0
        for round_ in range(3):
            self._prepare(call, calls, way)
            # The first call of all may load code: it is no measure of how long the host takes.
            first_us, _ = self._batch(ahead_us)
            us, host_us = self._batch(ahead_us)
            us = min(us, first_us)  # one slow batch must not leave batches of one call
            least_us = min(least_us, us / calls)
            if round_ < 2:
                most = min(calls_for(least_us), MOST_CALLS)
                ahead_us = 0.0 if way == EAGER else AHEAD_US + 2 * host_us * (most / calls if way == QUEUED else 1)
                calls = most
        times, host_times = [], []
        for _ in range(runs_for(self._job.seconds, us + ahead_us)):
            us, host_us = self._batch(ahead_us)
            times.append(us / calls)
            host_times.append(host_us / calls)
        return {"calls": calls, "us": times, "host_us": host_times}

    def _added(self) -> list[float]:
        """What the drop-in adds to a call that it hands on; nothing where that cannot be measured."""
        found = self._nccl()
        if found is None:
            return []
        (through, own), comm = found
        data = torch.zeros(PASSED_BYTES // 4, device=self._device)
        call = self._sum(data)
        return torch_passing.added_us((call.by_nccl(through, comm), call.by_nccl(own, comm)), lambda: self._agree(0))

    def _added_to_taken(self, size: int) -> list[float]:
        """What it adds to a call of so many bytes that sennit takes, over sennit's own function."""
        found, own, why = self._nccl(), None, ""
        try:
            own = Communicator.create(
                device=self._device.index,
                timeout_seconds=60,
                place=(self._rank, self._job.ranks),
                gather=self._gather,
            )
            direct = ctypes.CDLL(str(find_library(NAME))).sennit_allreduce
        except (SennitError, Problem) as error:
            why = str(error)
        if self._agree(float(bool(why) or found is None))[0]:
            tell(self._rank, warning="What the drop-in adds to a call that sennit takes was not measured: "
                 f"{why or 'a rank cannot call both'}; see sennit doctor.")  # fmt: skip
            return []
        assert found is not None
        assert own is not None
        (through, _), comm = found
        data = torch.zeros(size // 4, device=self._device)
        call = self._sum(data)
        with own:
            return torch_passing.added_us(
                (call.by_nccl(through, comm), call.by_sennit(direct, own.handle)), lambda: self._agree(0),
                (torch_passing.SUCCESS,),
            )  # fmt: skip

    def _made(self) -> list[tuple[float, float]]:
        """What making a communicator takes under the drop-in and by NCCL alone."""
        both = torch_creation.makers()
        if self._agree(float(both is None))[0]:
            return []
        assert both is not None
        ranks = torch_creation.Ranks(
            self._rank, self._job.ranks, lambda mine: self._gather(mine)[0], lambda ms: self._agree(ms)[0]
        )
        return torch_creation.all_ms(both, ranks)

    def _nccl(self) -> tuple[tuple[torch_passing.Function, torch_passing.Function], int] | None:
        """ncclAllReduce as a program reaches it and the library's own, and PyTorch's communicator."""
        backend = dist.group.WORLD._get_backend(self._device)
        comm = backend._comm_ptr() if hasattr(backend, "_comm_ptr") else 0  # since PyTorch 2.6
        calls = torch_passing.functions("ncclAllReduce") if comm else None
        return (calls, comm) if calls is not None else None

    def _sum(self, data: torch.Tensor) -> torch_passing.Sum:
        return torch_passing.Sum(data.data_ptr(), data.numel(), torch.cuda.current_stream().cuda_stream)

    def _gather(self, mine: bytes) -> list[bytes]:
        """All ranks' bytes, over the host."""
        own = torch.tensor(list(mine), dtype=torch.uint8)
        told = [torch.empty_like(own) for _ in range(self._job.ranks)]
        dist.all_gather(told, own)
        return [bytes(each.tolist()) for each in told]


def run(text: str, rank: int) -> None:
    """All that is asked."""
    Rank(Job.read(text), rank).run()


if __name__ == "__main__":
    main(run, lambda text: Job.read(text).limit_s)
