"""One rank of an MPI peer: `python -m sennit.baselines.mpi_rank JOB`, started by that MPI's own launcher."""

from __future__ import annotations

import gc
import mmap
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mpi4py import MPI

from sennit.baselines import numbers
from sennit.baselines.job import ERROR, Case, Job, message, shared_files
from sennit.baselines.layout import NEVER_IN_PLACE, ROOT, Layout
from sennit.baselines.timing import row_of, timed

MARGIN = 256  # bytes beyond the output that must stay as they were

TYPES = {
    "int8": MPI.INT8_T, "uint8": MPI.UINT8_T, "int16": MPI.INT16_T, "uint16": MPI.UINT16_T, "int32": MPI.INT32_T,
    "uint32": MPI.UINT32_T, "int64": MPI.INT64_T, "uint64": MPI.UINT64_T, "float32": MPI.FLOAT, "float64": MPI.DOUBLE,
}  # fmt: skip
OPERATORS = {
    "sum": MPI.SUM, "product": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX, "bit_and": MPI.BAND, "bit_or": MPI.BOR,
    "bit_xor": MPI.BXOR, "logical_and": MPI.LAND, "logical_or": MPI.LOR, "logical_xor": MPI.LXOR,
}  # fmt: skip


class Rank:
    """This process with its two buffers: ordinary private memory, in whole pages."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._comm = MPI.COMM_WORLD
        room = max(case.bytes for case in job.cases) + MARGIN
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._input = memoryview(mmap.mmap(-1, room, flags=flags))
        self._other = memoryview(mmap.mmap(-1, room, flags=flags))
        self._calls: list[Callable[[], object]] = []  # of the next run

    def run(self) -> None:
        """Measures every case; rank 0 tells each row at once, so that what is found is kept if a later one hangs."""
        job = self._job
        for done, case in enumerate(job.cases):
            self._tell(progress=[done, len(job.cases), f"{case} by {job.peer}"])
            layout = self._layout(case)
            call = self._call(case, layout)
            wrong = self._verify(case, layout, call)
            self._tell(shared=shared_files(Path("/proc/self/maps").read_text(encoding="utf-8")))
            if wrong:
                self._tell(warning=f"{job.peer} is left out of {case}: {wrong}; please report this.")
                continue
            times = timed(partial(self._prepare, call), self._run, job.seconds)
            row = row_of(case, job.peer, job.ranks, times, in_place=layout.in_place, skew_us=job.skew_us)
            self._tell(row=row)

    def _tell(self, **said: object) -> None:
        if self._comm.rank == 0:
            print(message(**said), flush=True)

    def _layout(self, case: Case) -> Layout:
        # MPI_Bcast knows one buffer only; where messages go both ways all measure out of place.
        in_place = case.operation == "broadcast" or (case.in_place and case.operation not in NEVER_IN_PLACE)
        return Layout(case.operation, case.bytes, self._comm.rank, self._comm.size, in_place)

    def _output(self, layout: Layout) -> memoryview:
        return self._input if layout.in_place else self._other

    def _call(self, case: Case, layout: Layout) -> Callable[[], object]:
        """One call, with everything that it is given made beforehand."""
        comm, root = self._comm, layout.rank == ROOT
        kind = TYPES.get(case.type, MPI.BYTE)  # where numbers are only moved any type will do
        op = OPERATORS.get(case.operator, MPI.SUM)
        give = [self._input[layout.input], kind]
        take = [self._output(layout)[layout.output], kind]
        if layout.in_place and case.operation == "reduce_scatter":
            take = [self._input[: layout.bytes], kind]
        send = MPI.IN_PLACE if layout.in_place else give
        match case.operation:
            case "allreduce":
                return lambda: comm.Allreduce(send, take, op)
            case "reduce_scatter":
                return lambda: comm.Reduce_scatter_block(send, take, op)
            case "allgather":
                return lambda: comm.Allgather(send, take)
            case "reduce":
                if root:
                    return lambda: comm.Reduce(send, take, op, ROOT)
                return lambda: comm.Reduce(give, None, op, ROOT)
            case "broadcast":
                return lambda: comm.Bcast(give if root else take, ROOT)
            case "gather":
                if root:
                    return lambda: comm.Gather(send, take, ROOT)
                return lambda: comm.Gather(give, None, ROOT)
            case "scatter":
                if root:
                    return lambda: comm.Scatter(give, MPI.IN_PLACE if layout.in_place else take, ROOT)
                return lambda: comm.Scatter(None, take, ROOT)
            case "all_to_all":
                return lambda: comm.Alltoall(give, take)
            case "all_to_all_v":
                each = layout.message // kind.size
                counts, places = [each] * layout.ranks, [rank * each for rank in range(layout.ranks)]
                send_v, take_v = [give[0], counts, places, kind], [take[0], counts, places, kind]
                return lambda: comm.Alltoallv(send_v, take_v)
            case "sendrecv":
                target = (layout.rank + 1) % layout.ranks
                return lambda: comm.Sendrecv(give, target, recvbuf=take, source=layout.before)
            case "barrier":
                return comm.Barrier
        raise ValueError(f"no call for {case.operation}")

    def _verify(self, case: Case, layout: Layout, call: Callable[[], object]) -> str:
        """One call on fresh numbers, against what should come of it; the same answer on every rank."""
        memory = self._output(layout)
        # In place the rest of the buffer is input; otherwise nothing at all lies behind the output.
        end = layout.bytes if layout.in_place else layout.output.stop
        memory[: layout.bytes] = b"\xa5" * layout.bytes
        self._input[layout.input] = numbers.given(layout, case.type)
        memory[end : end + MARGIN] = b"\x5a" * MARGIN
        call()
        right = bytes(memory[layout.output]) == numbers.expected(layout, case.type, case.operator)
        kept = bytes(memory[end : end + MARGIN]) == b"\x5a" * MARGIN
        wrong = "" if right and kept else "it gave wrong numbers" if kept else "it wrote beyond the output"
        every: list[str] = self._comm.allgather(wrong)
        return max(every)

    def _prepare(self, call: Callable[[], object], calls: int) -> None:
        self._calls = [call] * calls

    def _run(self) -> float:
        """µs of as many calls as were prepared, on the slowest rank."""
        comm, calls, skew = self._comm, self._calls, self._job.skew_us
        comm.Barrier()
        if skew > 0 and comm.rank == comm.size - 1:
            until = time.perf_counter() + skew / 1e6
            while time.perf_counter() < until:  # a sleep would not be as exact
                pass
        begin = time.perf_counter()
        for call in calls:
            call()
        mine = (time.perf_counter() - begin) * 1e6
        # From the last rank's start: what others did before does not count.
        most: float = comm.allreduce(mine if comm.rank == comm.size - 1 else mine - skew, MPI.MAX)
        return max(most, 1e-3)


def main() -> None:
    """The program. A rank that fails ends all."""
    job = Job.read(Path(sys.argv[1]).read_text(encoding="utf-8"))
    signal.alarm(job.limit_s)  # ends this process even where the library waits without end
    gc.disable()
    try:
        if MPI.COMM_WORLD.size != job.ranks:
            raise RuntimeError(f"{MPI.COMM_WORLD.size} ranks were started instead of {job.ranks}")
        Rank(job).run()
    except Exception as error:
        print(f"{ERROR}{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


if __name__ == "__main__":
    main()
