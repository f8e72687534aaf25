"""One rank of a test of sennit.torch: `python torch_rank.py SCENARIO FOLDER`. On the host executor it is for CPU
tensors; where SENNIT_TEST_GPUS is set, for tensors of the GPU of the rank's number."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import sennit.torch
import torch
import torch.distributed as dist
from sennit.capi import Code
from sennit.torch import SennitError, turns
from sennit.torch.attach import member_of

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FOLDER = Path(sys.argv[2])
ON_GPUS = bool(os.environ.get("SENNIT_TEST_GPUS"))
DEVICE = torch.device("cuda", RANK) if ON_GPUS else torch.device("cpu")
BACKEND = "cuda:sennit,cpu:gloo" if ON_GPUS else "cpu:sennit"
NEXT, LAST = (RANK + 1) % SIZE, (RANK - 1) % SIZE
RANKS = range(SIZE)

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
MOVED = [torch.float8_e4m3fn, torch.float8_e5m2, torch.bool, torch.complex64]


def begin(seconds: float = 30) -> None:
    store = dist.FileStore(str(FOLDER / "store"), SIZE)
    if ON_GPUS:
        torch.cuda.set_device(DEVICE)
    dist.init_process_group(BACKEND, store=store, rank=RANK, world_size=SIZE, timeout=timedelta(seconds=seconds))


def of(rank: int, count: int = 1000, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """What a rank has: small whole numbers, whose sums are exact in every type."""
    return (torch.arange(count, device=DEVICE) % 7 + rank).to(dtype)


def stored(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Whole numbers in another type; integers wrap."""
    return numbers.to(torch.int64).to(dtype)


def expect(found: torch.Tensor, wanted: torch.Tensor) -> None:
    assert torch.equal(found, wanted), f"{found[:8]} instead of {wanted[:8]}"


def say(what: str) -> None:
    """To the other ranks, by no collective."""
    (FOLDER / f"{what} {RANK}").touch()


def wait_for(what: str, ranks: list[int]) -> None:
    """Until these have said it."""
    while not all((FOLDER / f"{what} {rank}").exists() for rank in ranks):
        time.sleep(0.01)


def expect_error(code: Code | None, part: str, call: Callable[[], object]) -> SennitError:
    """The call fails so, by whatever code where that is None."""
    raised = None
    try:
        call()
    except SennitError as error:
        raised = error
    assert raised is not None, "it did not fail"
    assert code in (raised.code, None), str(raised)
    assert part in str(raised), str(raised)
    return raised


def reductions() -> None:
    """Allreduce, reduce and reduce-scatter: types, operators, at once and asynchronous."""
    begin()
    op = dist.ReduceOp
    results: dict[Any, Callable[[torch.Tensor], torch.Tensor]] = {
        op.SUM: lambda all_of: all_of.sum(0), op.PRODUCT: lambda all_of: all_of.prod(0),
        op.MIN: lambda all_of: all_of.amin(0), op.MAX: lambda all_of: all_of.amax(0),
    }  # fmt: skip
    for dtype in FLOATS + INTEGERS:
        all_of = torch.stack([of(rank, dtype=torch.float64) for rank in RANKS])
        for which, wanted in results.items():
            tensor = of(RANK, dtype=dtype)
            dist.all_reduce(tensor, which)
            expect(tensor, stored(wanted(all_of), dtype))
        tensor = of(RANK, dtype=dtype)
        dist.reduce(tensor, SIZE - 1)
        expect(tensor, all_of.sum(0).to(dtype) if RANK == SIZE - 1 else of(RANK, dtype=dtype))
        output = torch.empty(10, dtype=dtype, device=DEVICE)
        dist.reduce_scatter_tensor(output, of(RANK, 10 * SIZE, dtype))
        whole = torch.stack([of(rank, 10 * SIZE, torch.float64) for rank in RANKS]).sum(0).to(dtype)
        expect(output, whole[10 * RANK :][:10])
        dist.reduce_scatter(output.zero_(), list(of(RANK, 10 * SIZE, dtype).split(10)))
        expect(output, whole[10 * RANK :][:10])
        apart = [part.clone() for part in of(RANK, 10 * SIZE, dtype).split(10)]
        work = dist.reduce_scatter(output.zero_(), apart, async_op=True)
        work.wait()
        expect(output, whole[10 * RANK :][:10])
    means = torch.full((3,), float(RANK), device=DEVICE)
    dist.all_reduce(means, op.AVG)
    expect(means, torch.full((3,), sum(RANKS) / SIZE, device=DEVICE))
    tensor = of(RANK)
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
    expect(tensor, torch.stack([of(rank) for rank in RANKS]).sum(0) / 2)
    bits = torch.tensor([RANK + 1], dtype=torch.int32, device=DEVICE)
    dist.all_reduce(bits, op.BOR)
    found = 0
    for rank in RANKS:
        found |= rank + 1
    assert bits.item() == found
    truths = torch.tensor([RANK == 0, True, False], device=DEVICE)
    dist.all_reduce(truths)
    assert truths.tolist() == [True, True, False]
    dist.all_reduce(truths.logical_and_(torch.tensor([RANK == 0, True, False], device=DEVICE)), op.MIN)
    assert truths.tolist() == [False, True, False]
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        ones = torch.ones(100, device=DEVICE).to(dtype)
        dist.all_reduce(ones)
        expect(ones.float(), torch.full((100,), float(SIZE), device=DEVICE))
    # Order of dimensions and strides, and nothing at all.
    columns = of(RANK, 12).view(3, 4).t()
    dist.all_reduce(columns)
    expect(columns, torch.stack([of(rank, 12).view(3, 4).t() for rank in RANKS]).sum(0))
    dist.all_reduce(torch.empty(0, device=DEVICE))
    dist.all_reduce(torch.tensor(1.0, device=DEVICE))
    several = [of(RANK, count) for count in (1, 10, 5000)]
    dist.all_reduce_coalesced(several)
    for tensor in several:
        expect(tensor, torch.stack([of(rank, tensor.numel()) for rank in RANKS]).sum(0))
    numbers = of(RANK, dtype=torch.complex64)
    dist.all_reduce(numbers)
    expect(numbers, torch.stack([of(rank, dtype=torch.complex64) for rank in RANKS]).sum(0))


def moves() -> None:
    """What only moves: every type, whole tensors and lists."""
    begin()
    for dtype in FLOATS + INTEGERS + MOVED:
        tensors = [of(rank, 24, dtype) for rank in RANKS]
        mine = tensors[RANK]

        def same(found: torch.Tensor, wanted: torch.Tensor) -> None:
            expect(found.view(torch.uint8), wanted.view(torch.uint8))

        tensor = mine.clone()
        dist.broadcast(tensor, SIZE - 1)
        same(tensor, tensors[-1])
        together = torch.empty(24 * SIZE, dtype=dtype, device=DEVICE)
        dist.all_gather_into_tensor(together, mine)
        same(together, torch.cat(tensors))
        in_place = torch.zeros_like(together)
        in_place[24 * RANK :][:24] = mine
        dist.all_gather_into_tensor(in_place, in_place[24 * RANK :][:24])
        same(in_place, together)
        apart = [torch.empty_like(mine) for _ in RANKS]
        dist.all_gather(apart, mine)
        same(torch.cat(apart), together)
        views = list(torch.empty_like(together).split(24))
        dist.all_gather(views, mine)
        same(torch.cat(views), together)
        got = [torch.empty_like(mine) for _ in RANKS] if RANK == 0 else None
        dist.gather(mine, got, 0)
        if got is not None:
            same(torch.cat(got), together)
        part = torch.empty_like(mine)
        dist.scatter(part, tensors if RANK == SIZE - 1 else None, SIZE - 1)
        same(part, mine)
        # Part r of rank s's message is s's number, r times shifted.
        sent = torch.cat([of(RANK + 10 * rank, 4, dtype) for rank in RANKS])
        swapped = torch.empty_like(sent)
        dist.all_to_all_single(swapped, sent)
        same(swapped, torch.cat([of(rank + 10 * RANK, 4, dtype) for rank in RANKS]))
        outputs = [torch.empty(4, dtype=dtype, device=DEVICE) for _ in RANKS]
        dist.all_to_all(outputs, list(sent.split(4)))
        same(torch.cat(outputs), swapped)
    # Rank s sends s + r rows of 3 to rank r; the first two none to each other where s + r is 0.
    going = [RANK + rank for rank in RANKS]
    rows = torch.cat([torch.full((RANK + rank, 3), 10.0 * RANK + rank, device=DEVICE) for rank in RANKS])
    coming = torch.empty(sum(going), 3, device=DEVICE)
    dist.all_to_all_single(coming, rows, going, going)
    wanted = [torch.full((rank + RANK, 3), 10.0 * rank + RANK, device=DEVICE) for rank in RANKS]
    expect(coming, torch.cat(wanted))
    lists = [torch.empty_like(each) for each in wanted]
    dist.all_to_all(lists, list(rows.split(going)))
    expect(torch.cat(lists), torch.cat(wanted))


def works() -> None:
    """Works, futures, barriers, objects and coalesced calls."""
    begin()
    tensor = of(RANK)
    wanted = torch.stack([of(rank) for rank in RANKS]).sum(0)
    work = dist.all_reduce(tensor, async_op=True)
    assert work.wait()
    expect(tensor, wanted)
    assert work.is_completed() or ON_GPUS
    assert work.exception() is None
    assert work.result()[0].data_ptr() == tensor.data_ptr()
    work.wait(timedelta(seconds=20))
    assert work.is_success()
    tensor = of(RANK)
    halved = dist.all_reduce(tensor, async_op=True).get_future().then(lambda future: future.value()[0] / 2)
    expect(halved.wait(), wanted / 2)
    dist.barrier()
    dist.barrier(async_op=True).wait()
    told: list[Any] = [None] * SIZE
    dist.all_gather_object(told, {"rank": RANK})
    assert told == [{"rank": rank} for rank in RANKS]
    with dist.distributed_c10d._coalescing_manager(device=DEVICE, async_ops=True) as manager:
        several = [of(RANK, count) for count in (3, 300)]
        for each in several:
            dist.all_reduce(each)
    manager.wait()
    for each in several:
        expect(each, torch.stack([of(rank, each.numel()) for rank in RANKS]).sum(0))
    outputs = [torch.empty(SIZE * count, device=DEVICE) for count in (3, 300)]
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
        for output, count in zip(outputs, (3, 300), strict=True):
            dist.all_gather_into_tensor(output, of(RANK, count))
    manager.wait()
    for output, count in zip(outputs, (3, 300), strict=True):
        expect(output, torch.cat([of(rank, count) for rank in RANKS]))
    group = dist.distributed_c10d._get_default_group()
    assert (group.rank(), group.size(), group.name(), dist.get_backend()) == (RANK, SIZE, "sennit", BACKEND)


def messages() -> None:
    """Messages in whatever order they are posted."""
    begin()
    got = torch.empty(1000, device=DEVICE)
    if RANK == 0:
        dist.send(of(0), 1)
    elif RANK == 1:
        assert dist.recv(got, 0) == 0
        expect(got, of(0))
    # A ring in which everybody sends first.
    operations = [dist.P2POp(dist.isend, of(RANK), NEXT), dist.P2POp(dist.irecv, got, LAST)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    expect(got, of(LAST))
    # Two at once, and both ways.
    numbers = [of(RANK + 100, 10), of(RANK + 200, 5, torch.int32)]
    received = [torch.empty(10, device=DEVICE), torch.empty(5, dtype=torch.int32, device=DEVICE)]
    works = [dist.irecv(each, NEXT) for each in received] + [dist.isend(each, LAST) for each in numbers]
    dist.all_reduce(torch.ones(1, device=DEVICE))  # starts them
    for work in works:
        work.wait()
    expect(received[0], of(NEXT + 100, 10))
    expect(received[1], of(NEXT + 200, 5, torch.int32))
    expect_error(Code.UNSUPPORTED, "Name the sender", lambda: dist.recv(got))


def orders() -> None:
    """Messages that ranks post in orders of their own, between collectives and beside each other, as soon as there is
    a group: nothing waits for one but what waits for that one."""
    begin()
    one = torch.ones(1, device=DEVICE)
    got, late = torch.empty(1000, device=DEVICE), torch.empty(1000, device=DEVICE)
    # A receive that is posted early is in nobody's way.
    if RANK == 0:
        coming = dist.irecv(got, 1)
        dist.send(of(0), 1)
        coming.wait()
        expect(got, of(1))
    elif RANK == 1:
        dist.send(of(1), 0)
        dist.recv(got, 0)
        expect(got, of(0))
    # Nor in that of collectives, and of what is sent after one.
    if RANK == 0:
        coming = dist.irecv(got, 1)
        dist.all_reduce(one)
        dist.send(of(5), 1)
        coming.wait()
        expect(got, of(6))
    elif RANK == 1:
        dist.all_reduce(one)
        dist.recv(got, 0)
        dist.send(of(6), 0)
        expect(got, of(5))
    else:
        dist.all_reduce(one)
    # A circle in which each receives first, and sends after a collective.
    coming = dist.irecv(got, LAST)
    assert not coming.is_completed()
    dist.all_reduce(one)
    dist.send(of(RANK), NEXT)
    coming.wait()
    expect(got, of(LAST))
    # Each waits for its first message alone: the second is for later.
    if RANK == 0:
        first, second = dist.isend(of(1), 1), dist.isend(of(2), 1)
        first.wait()
        dist.recv(got, 1)
        second.wait()
        expect(got, of(3))
    elif RANK == 1:
        dist.recv(got, 0)
        dist.send(of(3), 0)
        dist.recv(late, 0)
        expect(got, of(1))
        expect(late, of(2))
    # Many in flight, with every peer, both ways, beside collectives.
    peers = [rank for rank in RANKS if rank != RANK]
    parts = {(peer, i): torch.empty(1 + 997 * i, device=DEVICE) for peer in peers for i in range(20)}
    works = []
    for (peer, i), part in parts.items():
        works.append(dist.irecv(part, peer))
        works.append(dist.isend(of(RANK + i, 1 + 997 * i), peer))
        if i % 5 == 4:
            tensor = of(RANK)
            dist.all_reduce(tensor)
            expect(tensor, torch.stack([of(rank) for rank in RANKS]).sum(0))
    for work in reversed(works):
        work.wait()
    for (peer, i), part in parts.items():
        expect(part, of(peer + i, 1 + 997 * i))
    # Nothing at all, and what nobody waits for: it goes nevertheless.
    dist.isend(torch.empty(0, device=DEVICE), NEXT)
    dist.recv(torch.empty(0, device=DEVICE), LAST)
    coming = dist.irecv(got, NEXT)
    # Before anything is behind the receive on one of PyTorch's own streams: CUDA lets streams wait for each other
    # that share a connection to the GPU, of which there are mostly 8; under NCCL, too.
    dist.isend(of(RANK), LAST)
    future = coming.get_future().then(lambda done: done.value()[0] + 1)
    expect(future.wait(), of(NEXT) + 1)
    dist.isend(of(RANK + 7), NEXT)
    dist.recv(got, LAST)
    expect(got, of(LAST + 7))


def no_message() -> None:
    """A message that does not come is an error that names its ranks, as is one of a rank that dies."""
    begin(3)
    got, last = torch.empty(1000, device=DEVICE), int(RANKS[-1])
    if RANK == 0:
        error = expect_error(Code.TIMED_OUT, "rank 1 did not come within 0:00:03", lambda: dist.send(got, 1))
        assert error.where == "first message from rank 0 to rank 1"
        say("late")
    wait_for("late", [0])
    dist.all_reduce(of(RANK))
    if RANK == 0:
        dist.recv(got, last)
        dist.all_reduce(of(RANK))
    elif last == RANK:
        dist.send(of(RANK), 0)
        dist.all_reduce(of(RANK))
    else:
        dist.all_reduce(of(RANK))
    dist.barrier()
    if last == RANK:
        os._exit(0)

    def go_on() -> None:
        dist.recv(got, last)
        dist.barrier()  # on GPUs the call before only enqueued

    # Of rank 0 the communicator is there, of others it is about to be made.
    expect_error(Code.PEER_LOST, f"rank {last}", go_on)


def left() -> None:
    """A process ends although a message that it waits for never comes."""
    begin()
    dist.all_reduce(of(RANK))
    if RANK == 0:
        dist.irecv(torch.empty(1000, device=DEVICE), 1)
        print("all right")
        sys.exit(0)


def forgotten() -> None:
    """What functions on tensors made for a group goes with the group, when all ranks have let go of it."""
    begin()
    group: Any = dist.new_group(backend="gloo")
    dist.all_reduce(of(RANK))
    members = turns.of(DEVICE).members if ON_GPUS else 0
    sennit.torch.allreduce(of(RANK), group=group)
    communicator = member_of(group).communicator(DEVICE)
    inbox: Any = sennit.torch.empty([10], group=group)
    window: Any = sennit.torch.register(inbox, group)
    dist.destroy_process_group(group)

    def ended() -> bool:
        try:
            communicator.check()
        except SennitError as error:
            return "destroyed before" in str(error)
        return False

    # Windows keep it, and on the host executor their memory.
    if RANK < SIZE - 1 or not ON_GPUS:
        del group
    gc.collect()
    window.put(NEXT, torch.ones(10, device=DEVICE))
    window.arrive()
    window.close()
    expect(inbox, torch.ones(10, device=DEVICE))
    if RANK == SIZE - 1:
        wait_for("forgotten", list(RANKS[:-1]))
        time.sleep(0.3)
        assert not ended(), "this rank still has something of it"
    group = inbox = window = None
    gc.collect()
    say("forgotten")
    until = time.monotonic() + 20
    while not ended():
        assert time.monotonic() < until, "it is still there"
        time.sleep(0.01)
    while ON_GPUS and turns.of(DEVICE).members != members:
        assert time.monotonic() < until
    dist.all_reduce(of(RANK))


def groups() -> None:
    """Several groups, each with communicators of its own, ended one by one."""
    begin()
    halves = [dist.new_group([rank for rank in RANKS if rank % 2 == half]) for half in (0, 1)]
    mine = [rank for rank in RANKS if rank % 2 == RANK % 2]
    tensor = of(RANK)
    dist.all_reduce(tensor, group=halves[RANK % 2])
    expect(tensor, torch.stack([of(rank) for rank in mine]).sum(0))
    dist.all_reduce(tensor)
    weights = [len([rank for rank in RANKS if rank % 2 == each % 2]) for each in RANKS]
    expect(tensor, sum(weight * of(rank) for rank, weight in zip(RANKS, weights, strict=True)))
    dist.broadcast(tensor, mine[-1], group=halves[RANK % 2])
    dist.destroy_process_group(halves[RANK % 2])
    dist.all_reduce(tensor)
    dist.destroy_process_group()
    again = dist.FileStore(str(FOLDER / "second"), SIZE)
    dist.init_process_group(BACKEND, store=again, rank=RANK, world_size=SIZE)
    tensor = of(RANK)
    dist.all_reduce(tensor)
    expect(tensor, torch.stack([of(rank) for rank in RANKS]).sum(0))


def functional() -> None:
    """Functional collectives, which tensor parallelism is made of."""
    import torch.distributed._functional_collectives as collectives

    begin()
    group = dist.distributed_c10d._get_default_group()
    all_of = torch.stack([of(rank, 12) for rank in RANKS])
    expect(collectives.all_reduce(of(RANK, 12), "sum", group), all_of.sum(0))
    expect(collectives.all_gather_tensor(of(RANK, 12), 0, group), all_of.view(-1))
    wanted = torch.stack([of(rank, 4 * SIZE) for rank in RANKS]).sum(0)[4 * RANK :][:4]
    expect(collectives.reduce_scatter_tensor(of(RANK, 4 * SIZE), "sum", 0, group), wanted)
    swapped = collectives.all_to_all_single(of(RANK, SIZE), None, None, group)
    expect(swapped, torch.stack([of(rank, SIZE) for rank in RANKS])[:, RANK])
    expect(collectives.broadcast(of(RANK, 12), 0, group), of(0, 12))
    several = collectives.all_reduce_coalesced([of(RANK, 3), of(RANK, 5)], "avg", group)
    expect(several[1], torch.stack([of(rank, 5) for rank in RANKS]).mean(0))


def functions() -> None:
    """allreduce() on groups of sennit's and of another backend."""
    begin()
    wanted = torch.stack([of(rank) for rank in RANKS]).sum(0)
    tensor = of(RANK)
    assert sennit.torch.allreduce(tensor) is tensor
    expect(tensor, wanted)
    others = dist.new_group(backend="gloo")
    for _ in range(2):
        expect(sennit.torch.allreduce(of(RANK), "max", others), of(SIZE - 1))
    expect(sennit.torch.allreduce(of(RANK), dist.ReduceOp.AVG), wanted / SIZE)
    try:
        sennit.torch.allreduce(of(RANK), "sums")
    except ValueError as error:
        refused = str(error)
    assert "bit_xor" in refused
    if ON_GPUS:
        stream, tensor = torch.cuda.Stream(), of(RANK)
        stream.wait_stream(torch.cuda.current_stream())
        sennit.torch.allreduce(tensor, stream=stream)
        stream.synchronize()
        expect(tensor, wanted)


def windows() -> None:
    """Tensors that others write to and read from."""
    begin()
    inbox = sennit.torch.empty([4, 1000], torch.int32)
    inbox.fill_(-1)
    assert sennit.torch.empty([0]).numel() == 0
    with sennit.torch.register(inbox) as window:
        window.arrive()
        sennit.torch.put(window, NEXT, of(RANK, 1000, torch.int32), 1000)
        window.put(LAST, of(RANK + 5, 10, torch.int32), 3990)
        window.arrive()
        expect(inbox[1], of(LAST, 1000, torch.int32))
        expect(inbox[3, -10:], of(NEXT + 5, 10, torch.int32))
        assert inbox[0].eq(-1).all()
        assert inbox[2].eq(-1).all()
        got = torch.empty(1000, dtype=torch.int32, device=DEVICE)
        expect(sennit.torch.get(window, NEXT, got, 1000), of(RANK, 1000, torch.int32))
        expect_error(Code.INVALID_ARGUMENT, "beyond", lambda: window.put(NEXT, got, 3999))
        expect_error(Code.INVALID_ARGUMENT, "for a window of", lambda: window.put(NEXT, got.float()))
        window.arrive()


def copies() -> None:
    """copy_() leaves to torch what only torch can copy."""
    begin()
    single = torch.arange(6.0, device=DEVICE).view(2, 3)
    copy = torch.empty(2, 3, dtype=torch.float64)
    assert sennit.torch.copy_(copy, single) is copy
    if ON_GPUS:
        torch.cuda.synchronize()
    expect(copy, single.cpu().double())
    expect(sennit.torch.copy_(torch.empty(2, 3, device=DEVICE), single[0]), single[:1].expand(2, 3))
    for shape in (3, 4):
        target = torch.empty(shape, device=DEVICE)
        expect_error(Code.INVALID_ARGUMENT, "does not fit", partial(sennit.torch.copy_, target, single))


def errors() -> None:
    """What goes wrong raises, on every rank alike, and the group goes on."""
    begin()
    gaps = torch.zeros(4, 4, device=DEVICE)[:, :2]
    error = expect_error(Code.INVALID_ARGUMENT, "is not contiguous", lambda: dist.all_reduce(gaps))
    assert "contiguous" in error.remedy
    expect_error(Code.INVALID_ARGUMENT, "of several types", lambda: dist.all_gather_into_tensor(
        torch.zeros(SIZE, device=DEVICE), torch.zeros(1, dtype=torch.float64, device=DEVICE)))  # fmt: skip
    expect_error(Code.INVALID_ARGUMENT, f"needs {SIZE}", lambda: dist.all_gather_into_tensor(
        torch.zeros(SIZE + 1, device=DEVICE), torch.zeros(1, device=DEVICE)))  # fmt: skip
    expect_error(Code.INVALID_ARGUMENT, "rows", lambda: dist.all_to_all_single(
        torch.zeros(SIZE, device=DEVICE), torch.zeros(SIZE, device=DEVICE), [1] * SIZE, [2] * SIZE))  # fmt: skip
    expect_error(Code.UNSUPPORTED, "there is no AVG of torch.bool",
                 lambda: dist.all_reduce(torch.ones(1, device=DEVICE) > 0, dist.ReduceOp.AVG))  # fmt: skip
    expect_error(Code.INVALID_ARGUMENT, f"tensors on meta and on {DEVICE}", lambda: dist.all_gather_into_tensor(
        torch.zeros(SIZE, device="meta"), torch.zeros(1, device=DEVICE)))  # fmt: skip
    expect_error(Code.UNSUPPORTED, "meta", lambda: dist.all_reduce(torch.empty(1, device="meta")))
    expect_error(Code.INVALID_ARGUMENT, "bit_and is not for float32",
                 lambda: dist.all_reduce(torch.ones(1, device=DEVICE), dist.ReduceOp.BAND))  # fmt: skip
    tensor = of(RANK)
    dist.all_reduce(tensor)
    expect(tensor, torch.stack([of(rank) for rank in RANKS]).sum(0))


def lost() -> None:
    """A rank that dies is named by the next call, and the end waits for nobody."""
    begin()
    dist.all_reduce(of(RANK))
    dist.barrier()
    if RANK == 0:
        os._exit(0)

    def go_on() -> None:
        for _ in range(1000):
            dist.all_reduce(of(RANK))
            dist.barrier()

    expect_error(Code.PEER_LOST, "rank 0", go_on)


def late() -> None:
    """A rank that does not come is named, at a group's first call and at later ones."""
    begin(2)
    dist.all_reduce(of(RANK))
    first, later = dist.new_group(timeout=timedelta(seconds=2)), dist.group.WORLD
    if RANK == 0:
        wait_for("late", [rank for rank in RANKS if rank])
        return

    def call(group: Any) -> None:
        dist.all_reduce(of(RANK), group=group)
        dist.barrier(group)  # on GPUs the call before only enqueued

    error = expect_error(Code.TIMED_OUT, "rank 0 did not come within 0:00:02", lambda: call(first))
    assert error.where == "first call of the group"
    # Who notices first ends it for the others, with the same reason.
    expect_error(None, "waited longer than its limit for rank 0", lambda: call(later))
    say("late")


def aborted() -> None:
    """What one rank aborts ends on all: collectives, and messages whose ranks have met or have not."""
    begin()
    dist.all_reduce(of(RANK))
    sent = dist.isend(of(RANK), NEXT)
    dist.recv(torch.empty(1000, device=DEVICE), LAST)
    sent.wait()
    coming = [dist.irecv(torch.empty(1000, device=DEVICE), peer) for peer in {LAST, NEXT}]
    say("met")
    if RANK == 0:
        wait_for("met", list(RANKS))
        dist.group.WORLD.abort()

    def call() -> None:
        for _ in range(1000):
            dist.all_reduce(of(RANK))
            dist.barrier()

    expect_error(Code.ABORTED, "the process group was aborted", call)

    def wait(message: Any) -> None:
        message.wait()
        if ON_GPUS:
            torch.cuda.synchronize()
            message.wait()

    for each in coming:
        expect_error(Code.ABORTED, "the process group was aborted", partial(wait, each))


def main() -> None:
    torch.set_num_threads(1)
    assert sennit.torch.NAME in dist.Backend.backend_list
    globals()[sys.argv[1]]()
    dist.destroy_process_group()
    print("all right")


main()
