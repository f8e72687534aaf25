"""One rank of a test of calls of sennit.torch: `python torch_rank.py SCENARIO FOLDER`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import sennit.torch
import torch
import torch.distributed as dist
from sennit.capi import Code
from torch_ranks import BACKEND, DEVICE, LAST, NEXT, ON_GPUS, RANK, RANKS, SIZE, begin, expect, expect_error, main, of

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
MOVED = [torch.float8_e4m3fn, torch.float8_e5m2, torch.bool, torch.complex64]


def stored(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Whole numbers in another type; integers wrap."""
    return numbers.to(torch.int64).to(dtype)


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
    turned = [(of(rank, 10 * SIZE) + 1j * (of(rank, 10 * SIZE) + 3)).to(torch.complex64) for rank in RANKS]
    summed = torch.stack(turned).sum(0)
    for tensor in (turned[RANK].clone(), turned[RANK].clone()):
        dist.reduce(tensor, 0)
        expect(tensor, summed if RANK == 0 else turned[RANK])
    output = torch.empty(10, dtype=torch.complex64, device=DEVICE)
    dist.reduce_scatter_tensor(output, turned[RANK], op.AVG)
    expect(torch.view_as_real(output * SIZE).round(), torch.view_as_real(summed[10 * RANK :][:10]))
    expect_error(Code.UNSUPPORTED, "no MAX of torch.complex64", lambda: dist.reduce(output, 0, op.MAX))
    # Parts of several lengths, one of them of nothing.
    parts = [of(RANK + 10 * rank, 7 * rank) for rank in RANKS]
    output = torch.empty(7 * RANK, device=DEVICE)
    dist.reduce_scatter(output, parts)
    expect(output, torch.stack([of(rank + 10 * RANK, 7 * RANK) for rank in RANKS]).sum(0))
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
    uneven = [torch.empty(5 * rank, device=DEVICE) for rank in RANKS]
    dist.all_gather(uneven, of(RANK, 5 * RANK))
    expect(torch.cat(uneven), torch.cat([of(rank, 5 * rank) for rank in RANKS]))
    wrong = [torch.empty(5 * rank + 1, device=DEVICE) for rank in RANKS]
    expect_error(Code.INVALID_ARGUMENT, "the output has", lambda: dist.all_gather(wrong, of(RANK, 5 * RANK)))
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


main(globals())
