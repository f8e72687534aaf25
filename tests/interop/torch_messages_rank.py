"""One rank of a test of messages over sennit.torch: `python torch_messages_rank.py SCENARIO FOLDER`."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from sennit.capi import Code
from torch_ranks import DEVICE, LAST, NEXT, RANK, RANKS, begin, expect, expect_error, main, of, say, wait_for


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


def itself() -> None:
    """Messages to oneself, as programs post that send to all ranks alike."""
    begin()
    peers = [dist.P2POp(dist.isend, of(RANK + rank, 10 + rank), rank) for rank in RANKS]
    parts = [torch.empty(10 + RANK, device=DEVICE) for _ in RANKS]
    peers += [dist.P2POp(dist.irecv, part, rank) for part, rank in zip(parts, RANKS, strict=True)]
    for work in dist.batch_isend_irecv(peers):
        work.wait()
    for rank, part in zip(RANKS, parts, strict=True):
        expect(part, of(rank + RANK, 10 + RANK))
    # Receives first; in order; of nothing; and of another length, which fails on both ends.
    got = [torch.empty(10, device=DEVICE) for _ in range(2)]
    works = [dist.irecv(each, RANK) for each in got]
    works += [dist.isend(of(number, 10), RANK) for number in (1, 2)]
    works += [dist.isend(torch.empty(0, device=DEVICE), RANK), dist.irecv(torch.empty(0, device=DEVICE), RANK)]
    for work in works:
        work.wait()
    expect(got[0], of(1, 10))
    expect(got[1], of(2, 10))
    sent = dist.isend(of(RANK, 10), RANK)
    expect_error(Code.INVALID_ARGUMENT, "40 bytes", lambda: dist.irecv(torch.empty(3, device=DEVICE), RANK))
    expect_error(Code.INVALID_ARGUMENT, "the same length", sent.wait)
    alone = dist.irecv(got[0], RANK)
    say("done")
    wait_for("done", list(RANKS))
    dist.group.WORLD.abort()
    expect_error(Code.ABORTED, "the process group was aborted", alone.wait)


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


main(globals())
