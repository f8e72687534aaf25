"""One rank of PyTorch's symmetric memory: `python -m sennit.baselines.symmetric_rank JOB RANK`, on the GPU of that
number.

Written for PyTorch 2.8 and later. Its allreduce kernels are asked for by name, so that none is chosen which uses
NVLink multicast."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from sennit.baselines import numbers, symmetric
from sennit.baselines.job import ERROR, Case, Job, message
from sennit.baselines.timing import row_of, timed
from sennit.programs.packages import install

MARGIN = 64  # numbers beyond the output that must stay as they were


class Refused(Exception):
    """The library does not do this case; others go on."""


class Rank:
    """This process with its GPU, its stream and its buffers."""

    def __init__(self, job: Job, rank: int, meeting: Path) -> None:
        # Not imported by name: the types of a package that few have installed cannot be checked.
        self._torch: Any = import_module("torch")
        self._dist: Any = import_module("torch.distributed")
        self._symmetric: Any = import_module("torch.distributed._symmetric_memory")
        self._job, self._rank = job, rank
        torch = self._torch
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if gpus < job.ranks:
            raise RuntimeError(
                f"torch {torch.__version__} sees {gpus} GPUs and needs {job.ranks}; install one with CUDA: "
                f"{install('torch')}"
            )
        self._device = torch.device("cuda", rank)
        torch.cuda.set_device(self._device)
        # Through the host: ranks meet between runs, and nothing of that is on the GPU.
        self._dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=job.ranks)
        self._group: str = self._dist.group.WORLD.group_name
        self._stream = torch.cuda.Stream(self._device)
        self._symmetric_of: dict[str, Any] = {}
        self._other_of: dict[str, Any] = {}
        self._go: Callable[[], object] = lambda: None

    def run(self) -> None:
        """Measures every case in every way; rank 0 tells each row at once."""
        job = self._job
        self._tell(versions={symmetric.NAME: str(self._torch.__version__)})
        ways = [(case, variant) for case in job.cases for variant in symmetric.variants(case)]
        with self._torch.cuda.stream(self._stream):
            for done, (case, variant) in enumerate(ways):
                self._tell(progress=[done, len(ways), f"{case} by {variant}"])
                try:
                    row = self._measure(case, variant)
                except Refused as refused:
                    self._tell(warning=f"{variant} is left out of {case}: {refused}; try other --sizes or --type.")
                else:
                    self._tell(row=row)
        self._meet()  # nobody frees what others may still read
        self._dist.destroy_process_group()

    def _tell(self, **said: object) -> None:
        if self._rank == 0:
            print(message(**said), flush=True)

    def _measure(self, case: Case, variant: str) -> dict[str, Any]:
        buffer, other = self._buffers(case.type)
        count = case.bytes // buffer.element_size()
        ops, group = self._torch.ops.symm_mem, self._group
        data, output = buffer[:count], other[:count]
        if variant == symmetric.ONE_SHOT:
            written = other
            call = lambda: ops.one_shot_all_reduce_out(data, "sum", group, out=output)  # noqa: E731
        else:
            written = buffer
            call = lambda: ops.two_shot_all_reduce_(data, "sum", group)  # noqa: E731
        self._verify(call, data, written, count)
        times = timed(partial(self._prepare, call), self._run, self._job.seconds)
        return row_of(
            case, variant, self._job.ranks, times, graph=not self._job.eager, skew_us=self._job.skew_us,
            in_place=variant == symmetric.TWO_SHOT,
        )  # fmt: skip

    def _buffers(self, type_name: str) -> tuple[Any, Any]:
        """The symmetric buffer of a type and an ordinary one, for the largest case; the former is mapped by all ranks
        at its first use."""
        if type_name not in self._symmetric_of:
            torch = self._torch
            kind = getattr(torch, type_name)
            most = max(case.bytes for case in self._job.cases) // kind.itemsize + MARGIN
            made = self._symmetric.empty(most, dtype=kind, device=self._device)
            self._symmetric.rendezvous(made, self._group)
            self._symmetric_of[type_name] = made
            self._other_of[type_name] = torch.empty(most, dtype=kind, device=self._device)
        return self._symmetric_of[type_name], self._other_of[type_name]

    def _tensor(self, period: list[int], count: int, kind: Any) -> Any:
        """A period again and again."""
        torch = self._torch
        one = torch.tensor(period, dtype=torch.float32, device=self._device).to(kind)
        return one.repeat(count // len(period) + 1)[:count]

    def _verify(self, call: Callable[[], object], data: Any, written: Any, count: int) -> None:
        """One call on fresh numbers, against what should come of it. Raises Refused, on every rank alike."""
        torch = self._torch
        written.fill_(-7)
        inputs = [numbers.small(rank) for rank in range(self._job.ranks)]
        data.copy_(self._tensor(inputs[self._rank], count, data.dtype))
        self._meet()  # a peer's kernel may read this as soon as it starts
        wrong = ""
        try:
            call()
            torch.cuda.synchronize()
        except (RuntimeError, AttributeError, TypeError) as error:  # NotImplementedError is a RuntimeError
            wrong = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        else:
            sums = [sum(each) for each in zip(*inputs, strict=True)]
            right = torch.equal(written[:count], self._tensor(sums, count, data.dtype))
            kept = bool((written[count : count + MARGIN] == -7).all())
            wrong = "" if right and kept else "it gave wrong numbers" if kept else "it wrote beyond the output"
        all_wrong: list[str] = [""] * self._job.ranks
        self._dist.all_gather_object(all_wrong, wrong)
        if any(all_wrong):
            raise Refused(max(all_wrong))

    def _meet(self) -> None:
        self._torch.cuda.synchronize()
        self._dist.barrier()

    def _prepare(self, call: Callable[[], object], calls: int) -> None:
        def all_calls() -> None:
            for _ in range(calls):
                call()

        if self._job.eager:
            self._go = all_calls
            return
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            all_calls()
        self._go = graph.replay

    def _run(self) -> float:
        """µs of as many calls as were prepared, on the slowest rank."""
        torch, skew = self._torch, self._job.skew_us
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._meet()
        if skew > 0 and self._rank == self._job.ranks - 1:
            until = time.perf_counter() + skew / 1e6
            while time.perf_counter() < until:  # a sleep would not be as exact
                pass
        begin.record(self._stream)
        self._go()
        end.record(self._stream)
        end.synchronize()
        # From the last rank's start: what others did before does not count.
        before = 0.0 if self._rank == self._job.ranks - 1 else skew
        most = torch.tensor([begin.elapsed_time(end) * 1e3 - before], dtype=torch.float64)
        self._dist.all_reduce(most, op=self._dist.ReduceOp.MAX)
        return max(float(most.item()), 1e-3)


def main() -> None:
    """The program. A rank that fails is the end of all: who started it ends the others."""
    file, rank = Path(sys.argv[1]), int(sys.argv[2])
    job = Job.read(file.read_text(encoding="utf-8"))
    signal.alarm(job.limit_s)  # ends this process even where a kernel waits without end
    try:
        Rank(job, rank, file.with_name("meeting")).run()
    except Exception as error:
        said = str(error).strip().splitlines() or [""]
        print(f"{ERROR}{type(error).__name__}: {said[0]}", file=sys.stderr, flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
