"""One rank of a test of sennit.torch that only GPUs can show: `python torch_rank_gpu.py SCENARIO FOLDER`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import sennit.torch
import torch
import torch.distributed as dist
import torch_ranks
from torch_ranks import DEVICE, RANK, SIZE

MiB = 1 << 20
LONG = 200_000_000  # cycles of a kernel that keeps a stream busy for about 0.1 s


def captured(step: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """A graph of a step, which is done once before, so that ranks have met."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def begin() -> None:
    torch_ranks.begin(60)
    dist.all_reduce(torch.zeros(1, device=DEVICE))  # the ranks have met


def expect_all(found: torch.Tensor, wanted: float) -> None:
    assert bool(found.eq(wanted).all()), f"{found.unique()[:8]} instead of {wanted}"


TOTAL = float(sum(range(1, SIZE + 1)))  # of all ranks' numbers plus one


def streams() -> None:
    """Calls run behind what the caller's stream has, hosts do not wait, and what comes later sees the result."""
    begin()
    for asynchronous in (False, True):
        for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                tensor = torch.zeros(4 * MiB, device=DEVICE)
                # CUDA loads code at its first use, and waits for what runs.
                tensor.fill_(1)
                dist.all_reduce(tensor)
                doubled = tensor * 2
                torch.cuda.synchronize()
                since = time.monotonic()
                torch.cuda._sleep(LONG)
                tensor.fill_(RANK + 1)
                work = dist.all_reduce(tensor, async_op=asynchronous)
                if work is not None:
                    work.wait()
                doubled = tensor * 2
                host = time.monotonic() - since
                busy = not stream.query()
            stream.synchronize()
            assert busy, f"the host waited for {host * 1e3:.1f} ms"
            expect_all(doubled, 2 * TOTAL)
    # A barrier is between hosts.
    torch.cuda._sleep(LONG)
    dist.barrier()
    assert torch.cuda.current_stream().query(), "the barrier did not wait for the stream"


def memory() -> None:
    """Memory that a call still reads or writes is not used again, also where nobody keeps the tensor or waits."""
    begin()
    for number in range(100):
        count = 1000 + 40_000 * (number % 7)
        torch.cuda._sleep(LONG // 100)
        kept = torch.full((count,), float(RANK + 1), device=DEVICE)
        works = [dist.all_reduce(kept, async_op=True)]
        dist.all_reduce(torch.full((count,), 5.0, device=DEVICE), async_op=True)
        gathered = [torch.empty(count, device=DEVICE) for _ in range(SIZE)]
        works.append(dist.all_gather(gathered, torch.full((count,), float(RANK), device=DEVICE), async_op=True))
        for _ in range(8):
            torch.full((count,), -1e9, device=DEVICE)
        for work in works:
            work.wait()
        expect_all(kept, TOTAL)
        for rank, part in enumerate(gathered):
            expect_all(part, rank)


def graphs() -> None:
    """Captured once, run many times: at once and asynchronous, of one group and of two."""
    begin()
    other = dist.new_group(list(range(SIZE)))
    dist.all_reduce(torch.zeros(1, device=DEVICE), group=other)
    given = torch.zeros(MiB, device=DEVICE)
    total, again = torch.empty_like(given), torch.empty_like(given)
    parts = torch.empty(SIZE * MiB, device=DEVICE)

    def step() -> None:
        total.copy_(given)
        dist.all_reduce(total)
        again.copy_(total)
        work = dist.all_reduce(again, group=other, async_op=True)
        dist.all_gather_into_tensor(parts, given)
        work.wait()

    graph = captured(step)
    for number in range(20):
        given.fill_(RANK + 1 + number)
        graph.replay()
        expect_all(total, TOTAL + SIZE * number)
        expect_all(again, SIZE * (TOTAL + SIZE * number))
        for rank, part in enumerate(parts.view(SIZE, -1)):
            expect_all(part, rank + 1 + number)


def several_groups() -> None:
    """Large calls of several groups at the same time, which each would take a whole GPU."""
    begin()
    groups = [dist.new_group(list(range(SIZE))) for _ in range(3)]
    side = torch.cuda.Stream()
    for _ in range(20):
        tensors = [torch.full((16 * MiB,), float(RANK + 1), device=DEVICE) for _ in groups]
        pairs = list(zip(tensors, groups, strict=True))
        works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in pairs]
        beside = torch.full((16 * MiB,), float(RANK + 1), device=DEVICE)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            dist.all_reduce(beside)
            expect_all(beside, TOTAL)
        for tensor, work in zip(tensors, works, strict=True):
            work.wait()
            expect_all(tensor, TOTAL)


def large_messages() -> None:
    """Large messages round a ring, all ranks sending first."""
    begin()
    given = torch.full((64 * MiB,), float(RANK), device=DEVICE)
    got = torch.empty_like(given)
    for _ in range(5):
        got.fill_(-1)
        operations = [dist.P2POp(dist.isend, given, (RANK + 1) % SIZE),
                      dist.P2POp(dist.irecv, got, (RANK - 1) % SIZE)]  # fmt: skip
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        expect_all(got, (RANK - 1) % SIZE)


def crossing_messages() -> None:
    """Large messages both ways with every peer beside large collectives, posted before them on some ranks and after
    them on others; what a rank receives first it may send last."""
    begin()
    peers = [rank for rank in range(SIZE) if rank != RANK]
    other = dist.new_group(list(range(SIZE)))
    for number in range(20):
        given = torch.full((4 * MiB,), float(RANK + number), device=DEVICE)
        got = {peer: torch.full((4 * MiB,), -1.0, device=DEVICE) for peer in peers}
        tensors = [torch.full((16 * MiB,), float(RANK + 1), device=DEVICE) for _ in range(2)]
        coming = [dist.irecv(got[peer], peer) for peer in peers]
        going = [dist.isend(given, peer) for peer in peers if (RANK + peer + number) % 2]
        dist.all_reduce(tensors[0])
        work = dist.all_reduce(tensors[1], group=other, async_op=True)
        going += [dist.isend(given, peer) for peer in peers if (RANK + peer + number) % 2 == 0]
        for each in (*coming, *going, work):
            each.wait()
        for tensor in tensors:
            expect_all(tensor, TOTAL)
        for peer in peers:
            expect_all(got[peer], peer + number)


def message_graphs() -> None:
    """Messages round a ring in a graph, beside a collective."""
    begin()
    given, got = torch.zeros(MiB, device=DEVICE), torch.empty(MiB, device=DEVICE)
    total = torch.empty_like(given)

    def step() -> None:
        coming = dist.irecv(got, (RANK - 1) % SIZE)
        total.copy_(given)
        dist.all_reduce(total)
        going = dist.isend(given, (RANK + 1) % SIZE)
        coming.wait()
        going.wait()

    graph = captured(step)
    for number in range(20):
        given.fill_(RANK + 1 + number)
        graph.replay()
        expect_all(total, TOTAL + SIZE * number)
        expect_all(got, (RANK - 1) % SIZE + 1 + number)


def milliseconds(call: Callable[[], object], calls: int = 5) -> float:
    """Of one call on the current stream: the best of three runs."""
    begin_event, end_event = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = float("inf")
    for _ in range(3):
        call()
        torch.cuda.synchronize()
        begin_event.record()
        for _ in range(calls):
            call()
        end_event.record()
        end_event.synchronize()
        best = min(best, begin_event.elapsed_time(end_event) / calls)
    return best


def pattern(count: int) -> torch.Tensor:
    """Bytes that tell where they belong."""
    return (torch.arange(count, dtype=torch.int64) * 2654435761 >> 13).to(torch.uint8)


def all_copies() -> None:
    """Rank 0: pinned memory and its GPU, and two GPUs, checked; then timed beside torch's copy_."""
    torch.cuda.set_device(DEVICE)
    others = [torch.device("cuda", index) for index in range(torch.cuda.device_count()) if index != RANK][:1]
    for count in (0, 1, 4096, 5 * MiB + 7, 64 * MiB, 128 * MiB + 3):
        for shift in (0, 3):
            wanted = pattern(count)
            pinned = torch.empty(count + shift, dtype=torch.uint8, pin_memory=True)[shift:]
            pinned.copy_(wanted)
            there = torch.empty(count, dtype=torch.uint8, device=DEVICE)
            assert sennit.torch.copying.spreads(there, pinned) or count == 0
            assert sennit.torch.copy_(there, pinned) is there
            assert torch.equal(there.cpu(), wanted), f"{count} bytes to the GPU"
            back = torch.empty(count + shift, dtype=torch.uint8, pin_memory=True)[shift:].fill_(0)
            sennit.torch.copy_(back, there)
            torch.cuda.synchronize()
            assert torch.equal(back, wanted), f"{count} bytes from the GPU"
            for other in others:
                far = sennit.torch.copy_(torch.empty(count, dtype=torch.uint8, device=other), there)
                assert torch.equal(far.cpu(), wanted), f"{count} bytes to another GPU"
            pageable = sennit.torch.copy_(torch.empty(count, dtype=torch.uint8), there)
            torch.cuda.synchronize()
            assert torch.equal(pageable, wanted), f"{count} bytes to pageable memory"
    # In the order of a stream, and pinned memory that nobody keeps.
    stream, there = torch.cuda.Stream(), torch.zeros(16 * MiB, device=DEVICE)
    torch.cuda.synchronize()
    for number in range(20):
        sennit.torch.copy_(there, torch.full((16 * MiB,), float(number)).pin_memory(), stream)
        with torch.cuda.stream(stream):
            seen = there.sum(dtype=torch.float64)
        torch.full((16 * MiB,), -1.0).pin_memory()
        stream.synchronize()
        assert seen.item() == 16 * MiB * number
    for size in (1, 16, 256, 1024):
        pinned = torch.empty(size * MiB, dtype=torch.uint8, pin_memory=True)
        there = torch.empty(size * MiB, dtype=torch.uint8, device=DEVICE)
        far = [torch.empty(size * MiB, dtype=torch.uint8, device=other) for other in others]
        for name, dst, src in (("host -> gpu", there, pinned), ("gpu -> host", pinned, there),
                               *[("gpu -> gpu", each, there) for each in far]):  # fmt: skip
            ours = milliseconds(partial(sennit.torch.copy_, dst, src))
            theirs = milliseconds(partial(dst.copy_, src, non_blocking=True))
            print(f"{name} {size:5} MiB: sennit {size * MiB / ours / 1e6:6.1f} GB/s, torch "
                  f"{size * MiB / theirs / 1e6:6.1f} GB/s: {theirs / ours:.2f} x", file=sys.stderr)  # fmt: skip


def pinned_windows() -> None:
    """Pinned memory that nobody keeps, put to a peer and got into: it is not another tensor's before that is done."""
    begin()
    count, peer, before = 4 * MiB, (RANK + 1) % SIZE, (RANK - 1) % SIZE
    inbox = sennit.torch.empty([count])
    with sennit.torch.register(inbox) as window:
        for number in range(10):
            torch.cuda._sleep(LONG)
            window.put(peer, torch.full((count,), float(10 * RANK + number)).pin_memory())
            torch.full((count,), -1.0).pin_memory()
            window.arrive()
            expect_all(inbox, 10 * before + number)
            torch.cuda._sleep(LONG)
            window.get(peer, torch.empty(count, pin_memory=True))
            other = torch.empty(count, pin_memory=True).fill_(-1)
            window.arrive()
            expect_all(other, -1)


def times() -> None:
    """Collectives through torch.distributed, of both backends: on the stream, and what a call takes of the host."""
    begin()
    groups = {"sennit": dist.group.WORLD, "nccl": dist.new_group(backend="nccl")}
    average = dist.ReduceOp.AVG
    for size in (1 << 10, 64 << 10, MiB, 16 * MiB, 256 * MiB):
        floats = torch.zeros(size // 4, device=DEVICE)
        halves = torch.zeros(size // 2, dtype=torch.bfloat16, device=DEVICE)
        part = torch.zeros(size // 2 // SIZE, dtype=torch.bfloat16, device=DEVICE)
        whole = halves[: part.numel() * SIZE]
        # As DDP and FSDP call them.
        calls: dict[str, Callable[..., object]] = {
            "all_reduce of float32": partial(dist.all_reduce, floats),
            "reduce_scatter of bfloat16, average": partial(dist.reduce_scatter_tensor, part, whole, average),
            "all_gather of bfloat16": partial(dist.all_gather_into_tensor, whole, part),
        }
        for name, call in calls.items():
            took = {library: measured(partial(call, group=group)) for library, group in groups.items()}
            ours, theirs = took["sennit"], took["nccl"]
            if RANK == 0:
                print(f"{name:36}{size:10} B: ours {ours[0]:8.1f} us (host {ours[1]:.1f}), NCCL {theirs[0]:8.1f} us "
                      f"(host {theirs[1]:.1f}): {theirs[0] / ours[0]:.2f} x", file=sys.stderr)  # fmt: skip


def measured(call: Callable[[], object]) -> tuple[float, float]:
    """Microseconds of a call on the stream, and of the host."""
    stream = milliseconds(call, 50) * 1e3
    torch.cuda.synchronize()
    dist.barrier()
    since = time.perf_counter()
    for _ in range(20):
        call()
    host = (time.perf_counter() - since) / 20 * 1e6
    torch.cuda.synchronize()
    return stream, host


def main() -> None:
    globals()[sys.argv[1]]()
    if dist.is_initialized():
        dist.destroy_process_group()
    print("all right")


main()
