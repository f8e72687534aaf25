"""One rank of a test of groups over sennit.torch and their ends: `python torch_groups_rank.py SCENARIO FOLDER`."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import warnings
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import sennit.torch
import torch
import torch.distributed as dist
from sennit.capi import Code
from sennit.torch import SennitError, stream_order
from sennit.torch.attach import member_of
from torch_ranks import (
    BACKEND,
    DEVICE,
    FOLDER,
    LAST,
    NEXT,
    ON_GPUS,
    RANK,
    RANKS,
    SIZE,
    begin,
    expect,
    expect_error,
    main,
    of,
    say,
    wait_for,
)


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


def outsiders() -> None:
    """On a rank that is not in the group allreduce() warns and does nothing, as torch's does; the rest raises."""
    begin()
    members = list(RANKS[:-1])
    for backend in (BACKEND, "gloo"):
        group: Any = dist.new_group(members, backend=backend)
        tensor = of(RANK)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert sennit.torch.allreduce(tensor, group=group) is tensor
        if RANK in members:
            assert [str(each.message) for each in warned if "group" in str(each.message)] == []
            expect(tensor, torch.stack([of(rank) for rank in members]).sum(0))
            continue
        expect(tensor, of(RANK))
        assert [str(each.message) for each in warned] == [
            f"allreduce() on global rank {RANK}, which is not in the group, does nothing"
        ]
        assert warned[0].filename == __file__
        for call in (partial(sennit.torch.register, tensor, group), partial(sennit.torch.empty, [10], group=group)):
            error = expect_error(Code.INVALID_ARGUMENT, "this rank is not in the group", call)
            assert "members alone" in error.remedy


def forgotten() -> None:
    """What functions on tensors made for a group goes with the group, when all ranks have let go of it."""
    begin()
    group: Any = dist.new_group(backend="gloo")
    dist.all_reduce(of(RANK))
    members = stream_order.of(DEVICE).members if ON_GPUS else 0
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
    while ON_GPUS and stream_order.of(DEVICE).members != members:
        assert time.monotonic() < until
    dist.all_reduce(of(RANK))


def ends() -> None:
    """A group ends on all ranks together: until then others may read what this one has."""
    begin()
    group: Any = dist.new_group()
    dist.all_reduce(of(RANK), group=group)
    sent = dist.isend(of(RANK), NEXT, group=group)
    dist.recv(torch.empty(1000, device=DEVICE), LAST, group=group)
    sent.wait()
    dist.barrier(group)
    if RANK == 0:
        time.sleep(1.5)
        say("comes")
    dist.destroy_process_group(group)
    assert (FOLDER / "comes 0").exists(), "it has not waited for rank 0"


def own_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def restarts() -> None:
    """A program that aborts its group and begins anew, again and again, keeps nothing of the old ones."""
    threads, files = 0, 0
    for round in range(4):  # noqa: A001
        store = dist.FileStore(str(FOLDER / f"store-{round}"), SIZE)
        if ON_GPUS:
            torch.cuda.set_device(DEVICE)
        dist.init_process_group(BACKEND, store=store, rank=RANK, world_size=SIZE)
        dist.all_reduce(of(RANK))
        sent = dist.isend(of(RANK), NEXT)
        dist.recv(torch.empty(1000, device=DEVICE), LAST)
        sent.wait()
        say(f"done-{round}")
        wait_for(f"done-{round}", list(RANKS))
        dist.distributed_c10d._abort_process_group()
        until = time.monotonic() + 20
        if round == 0:
            time.sleep(2)
            threads, files = threading.active_count(), own_files()
        while threading.active_count() > threads or own_files() > files:
            assert time.monotonic() < until, (
                f"{threading.active_count()} threads, {own_files()} files: {files} before"
            )
            time.sleep(0.01)
    begin()


def abandoned() -> None:
    """An abort ends a first call whose other ranks do not come, and later ones."""
    begin()
    if RANK != 0:
        wait_for("abandoned", [0])
        return
    group = dist.group.WORLD
    threading.Timer(0.5, group.abort).start()
    since = time.monotonic()
    for _ in range(2):
        expect_error(Code.ABORTED, "the process group was aborted", lambda: dist.all_reduce(of(RANK)))
    assert time.monotonic() - since < 10
    say("abandoned")


def ends_at_once() -> None:
    """A process that ends right behind an abort ends well, though a thread still ends what there was."""
    begin()
    group: Any = dist.group.WORLD
    if not ON_GPUS:  # what there is beside a group for GPUs
        store = dist.PrefixStore("gloo/", group.get_group_store())
        group._gloo = dist.ProcessGroupGloo(store, RANK, SIZE, timeout=timedelta(seconds=20))
    dist.all_reduce(of(RANK))
    say("done")
    wait_for("done", list(RANKS))
    group.abort()
    print("all right")
    sys.exit()  # without destroy_process_group()


def called_off() -> None:
    """An abort ends first calls and first messages of ranks that wait for this one."""
    begin()
    if RANK == SIZE - 1:
        wait_for("waits", list(RANKS[:-1]))
        dist.group.WORLD.abort()
        wait_for("called off", list(RANKS[:-1]))
        return
    coming = dist.irecv(torch.empty(10, device=DEVICE), SIZE - 1)
    say("waits")
    since = time.monotonic()
    expect_error(Code.ABORTED, "the process group was aborted", lambda: dist.all_reduce(of(RANK)))
    expect_error(Code.ABORTED, "the process group was aborted", coming.wait)
    assert time.monotonic() - since < 10
    say("called off")


def unwanted() -> None:
    """An abort in another thread ends a group's end that waits for a rank, and leaves tensors that empty() gave."""
    begin()
    lent: Any = sennit.torch.empty([1000])
    lent[:] = of(RANK)
    dist.all_reduce(of(RANK))
    group: Any = dist.new_group()
    dist.all_reduce(of(RANK), group=group)
    dist.barrier()
    if RANK == 0:
        threading.Timer(0.5, group.abort).start()
        since = time.monotonic()
        group.shutdown()
        assert time.monotonic() - since < 10
        say("ended")
    wait_for("ended", [0])
    dist.group.WORLD.abort()
    time.sleep(0.5)
    expect(lent, of(RANK))
    expect_error(Code.ABORTED, "the process group was aborted", lambda: dist.all_reduce(of(RANK)))


def patient() -> None:
    """Who wants no limit gives a long one."""
    begin(60 * 60 * 24 * 30)
    dist.all_reduce(of(RANK))
    sent = dist.isend(of(RANK), NEXT)
    dist.recv(torch.empty(1000, device=DEVICE), LAST)
    sent.wait()


def together() -> None:
    """CPU tensors of a group for GPUs are Gloo's, several at once too."""
    begin()
    group: Any = dist.group.WORLD
    if not ON_GPUS:  # as if CPU tensors were not sennit's
        group._gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo/", group.get_group_store()), RANK, SIZE)
        group._kind = "cuda"
    large = torch.full((4_000_000,), float(RANK))
    with dist.distributed_c10d._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.all_reduce(large)
    manager.wait()
    assert large.unique().tolist() == [float(sum(RANKS))]
    outputs = [torch.empty(SIZE * 10) for _ in range(2)]
    work = group.allgather_into_tensor_coalesced(outputs, [torch.full((10,), RANK + 10.0 * i) for i in range(2)])
    work.wait()
    for i, output in enumerate(outputs):
        assert output.view(SIZE, 10)[:, 0].tolist() == [rank + 10.0 * i for rank in RANKS]
    mine = [torch.empty(10) for _ in range(2)]
    work = group.reduce_scatter_tensor_coalesced(mine, [torch.ones(SIZE * 10) for _ in range(2)])
    work.wait()
    assert [each.unique().tolist() for each in mine] == [[SIZE]] * 2
    if not ON_GPUS:
        group._kind = "cpu"


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


main(globals())
