"""One communicator on several streams, CUDA graphs, and several communicators at once."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from preloaded_calls import sum_of
from preloaded_place import Place, expect

PER_THREAD = 2  # the handle of cudaStreamPerThread


@contextmanager
def foreign_stream(place: Place, waits: bool = True) -> Iterator[torch.cuda.Stream]:
    """One that is not PyTorch's, and gone afterwards; its work may not be (not `waits`)."""
    runtime = torch.cuda.cudart()
    handle = ctypes.c_void_p()
    assert int(runtime.cudaStreamCreate(ctypes.addressof(handle))) == 0
    assert handle.value is not None
    stream = torch.cuda.ExternalStream(handle.value, device=place.device)
    try:
        yield stream
        if waits:
            stream.synchronize()
    finally:
        assert int(runtime.cudaStreamDestroy(handle.value)) == 0


def streams(place: Place) -> dict[str, float]:
    """Calls of one communicator, one after the other on other streams; nothing but it orders them."""
    device = place.device
    with foreign_stream(place) as foreign:
        several = [
            torch.cuda.current_stream(device),
            torch.cuda.Stream(device),
            torch.cuda.Stream(device, priority=-1),
            torch.cuda.ExternalStream(PER_THREAD, device=device),
            foreign,
        ]
        waiting = []
        for call in range(10 if place.shares else 100):
            count = (3, 5000, 60001)[call % 3]
            with torch.cuda.stream(several[call % len(several)]):
                given = place.given(count, torch.float32, call)
                data = given[place.rank]
                wanted = sum_of(given) if call % 4 else given[call % place.ranks].clone()
                if call % 4 == 0:
                    dist.broadcast(data, src=call % place.ranks)
                elif call % 4 == 3:  # NCCL's own
                    dist.all_reduce(data, op=dist._make_nccl_premul_sum(1.0))
                else:
                    dist.all_reduce(data)
                waiting.append((data, wanted))
        torch.cuda.synchronize()
        for call, (data, wanted) in enumerate(waiting):
            expect(data, wanted, f"call {call} on one of several streams")
    # Their stream is gone when the next call comes.
    for call in range(3 if place.shares else 20):
        data = place.numbers(777, torch.float32, place.rank)
        torch.cuda.synchronize()
        with foreign_stream(place) as foreign, torch.cuda.stream(foreign):
            dist.all_reduce(data, op=dist._make_nccl_premul_sum(1.0) if call % 2 else dist.ReduceOp.SUM)
        expect(data, sum_of(place.given(777, torch.float32)), f"call {call} on a stream that is gone")
    # Its work goes on, while the next stream gets its handle.
    for call in range(3 if place.shares else 60):
        given = place.given(300_000, torch.float32, call)
        data, wanted = given[place.rank], sum_of(given)
        torch.cuda.synchronize()
        with foreign_stream(place, waits=False) as foreign, torch.cuda.stream(foreign):
            dist.all_reduce(data)
        with foreign_stream(place) as foreign, torch.cuda.stream(foreign):
            dist.all_reduce(data, op=dist._make_nccl_premul_sum(1.0) if call % 2 else dist.ReduceOp.MAX)
        expect(data, wanted * place.ranks if call % 2 else wanted, f"call {call} behind a stream that is gone")
    awaited(place)
    dist.destroy_process_group()
    return {}


def awaited(place: Place) -> None:
    """Begun behind one stream, waited for on another."""
    side = torch.cuda.Stream(place.device)
    for call in range(3 if place.shares else 20):
        data = place.given(30000, torch.float32, call)[place.rank]
        wanted = 2 * sum_of(place.given(30000, torch.float32, call)) + 1
        torch.cuda._sleep(1_000_000)
        data.mul_(2)
        work = dist.all_reduce(data, async_op=True)
        with torch.cuda.stream(side):
            work.wait()
            found = data + 1
        side.synchronize()
        expect(found, wanted, f"call {call} that is awaited elsewhere")


def graphs(place: Place) -> dict[str, float]:
    """Captured once, replayed with fresh numbers; by turns with another graph and with calls outside."""
    ranks, rank, device = place.ranks, place.rank, place.device
    made = []
    for count in (64, 9000, 60000):
        data = torch.zeros(count * ranks, device=device)
        gathered = torch.zeros(count * ranks * ranks, device=device)
        part = torch.zeros(count, device=device)

        def step(data: torch.Tensor = data, gathered: torch.Tensor = gathered, part: torch.Tensor = part) -> None:
            dist.all_reduce(data)
            dist.all_gather_into_tensor(gathered, data)
            dist.reduce_scatter_tensor(part, data)
            part.add_(1)
            works = [dist.all_reduce(part, async_op=True), dist.all_reduce(data, async_op=True)]
            for work in works:
                work.wait()

        step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            step()
        made.append((graph, data, gathered, part))
    for replay in range(3 if place.shares else 25):
        for graph, data, gathered, part in made:
            given = place.given(data.numel(), torch.float32, replay)
            data.copy_(given[rank])
            graph.replay()
            total = sum_of(given)
            what = f"replay {replay} of {data.numel()}"
            expect(gathered, total.repeat(ranks), f"allgather, {what}")
            parts = [each * ranks + 1 for each in total.chunk(ranks)]
            expect(part, sum_of(parts), f"allreduce of what was scattered, {what}")
            expect(data, total * ranks, f"allreduce, {what}")
        between = place.numbers(100, torch.float32, rank)
        dist.all_reduce(between)
        expect(between, sum_of(place.given(100, torch.float32)), f"outside of graphs, after replay {replay}")
    torch.cuda.synchronize()
    made.clear()
    del graph
    dist.destroy_process_group()
    return {}


def beside(place: Place) -> dict[str, float]:
    """Two graphs and calls outside, of one communicator, at the same time: nothing but it orders them."""
    device = place.device
    side = torch.cuda.Stream(device)
    for count in (64, 9000, 700000):
        called = torch.zeros(count, device=device)
        held = [torch.zeros(count, device=device) for _ in range(2)]
        parts = [torch.zeros(count * place.ranks, device=device) for _ in held]
        graphs_ = [torch.cuda.CUDAGraph() for _ in held]
        dist.all_reduce(called)
        torch.cuda.synchronize()
        for graph, data, whole in zip(graphs_, held, parts, strict=True):
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                dist.all_reduce(data)
                dist.all_gather_into_tensor(whole, data)
                data.add_(1)
                dist.all_reduce(data)
        for replay in range(3 if place.shares else 50):
            given = [place.given(count, torch.float32, 3 * replay + number) for number in range(3)]
            for data, of_all in zip((*held, called), given, strict=True):
                data.copy_(of_all[place.rank])
            side.wait_stream(torch.cuda.current_stream(device))
            work = dist.all_reduce(called, async_op=True)
            graphs_[0].replay()
            with torch.cuda.stream(side):
                graphs_[1].replay()
            other = dist.all_reduce(called, async_op=True)
            work.wait()
            other.wait()
            torch.cuda.current_stream(device).wait_stream(side)
            what = f"beside other calls, replay {replay} of {count}"
            for data, whole, of_all in zip(held, parts, given, strict=False):
                expect(data, (sum_of(of_all) + 1) * place.ranks, f"graph {what}")
                expect(whole, sum_of(of_all).repeat(place.ranks), f"allgather in a graph {what}")
            expect(called, sum_of(given[2]) * place.ranks, f"call {what}")
        torch.cuda.synchronize()
        del graph
        graphs_.clear()
    dist.destroy_process_group()
    return {}


def behind(place: Place) -> dict[str, float]:
    """The end of the program comes while a replay is still waiting, on all ranks but the first."""
    data = place.numbers(60000, torch.float32, place.rank)
    graph = torch.cuda.CUDAGraph()
    dist.all_reduce(torch.zeros(1, device=place.device))
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        dist.all_reduce(data)
    if place.rank != 0:
        torch.cuda._sleep(500_000_000)
    graph.replay()
    del graph  # CUDA keeps it until it is done
    if place.rank != 0:
        dist.destroy_process_group()
        os._exit(0)  # which ends what is still in a stream
    torch.cuda.synchronize()
    expect(data, sum_of(place.given(60000, torch.float32)), "the replay that the others left behind")
    dist.destroy_process_group()
    return {}


def communicators(place: Place) -> dict[str, float]:
    """Several at once, on streams of their own, and none waits for another."""
    everybody = list(range(place.ranks))
    several = [dist.new_group(everybody) for _ in range(3)]
    alone = [dist.new_group([rank]) for rank in everybody][place.rank]
    streams_ = [torch.cuda.Stream(place.device) for _ in several]
    waiting = []
    for call in range(5 if place.shares else 60):
        for number, (group, stream) in enumerate(zip(several, streams_, strict=True)):
            with torch.cuda.stream(stream):
                given = place.given((4, 3000, 50000)[(call + number) % 3], torch.bfloat16, call + number)
                data = given[place.rank].clone()
                dist.all_reduce(data, group=group)
                whole = torch.empty(data.numel() * place.ranks, dtype=data.dtype, device=place.device)
                dist.all_gather_into_tensor(whole, given[place.rank], group=group)
                waiting.append((data, sum_of(given), whole, torch.cat(given)))
    single = place.numbers(100, torch.float32, 5)
    dist.all_reduce(single, group=alone)
    torch.cuda.synchronize()
    for call, (data, wanted, whole, wanted_whole) in enumerate(waiting):
        expect(data, wanted, f"allreduce {call} of several communicators")
        expect(whole, wanted_whole, f"allgather {call} of several communicators")
    expect(single, place.numbers(100, torch.float32, 5), "allreduce of a rank alone")
    dist.destroy_process_group()
    return {}
