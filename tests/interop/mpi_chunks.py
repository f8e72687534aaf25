"""A rank that sends long GPU buffers to ranks of other nodes through mpi4py, and checks what comes.
test_mpi_chunks.py starts it with emulated GPU memory and each rank on a node of its own, you with CuPy on GPUs.

    sennit run -- mpirun -n 2 sh -c 'SENNIT_NODE=$RANK python tests/interop/mpi_chunks.py'
"""

from __future__ import annotations

import array
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable

from mpi4py import MPI
from mpi_memory import GPU, KINDS, RANK, SIZE, WORLD, Host, do_in_turn
from mpi_nodes import Ints, repeated

LEAST = 1 << 20  # integers of the shortest message that goes in chunks: 4 MiB
LONG = LEAST + LEAST // 3 + 12_345  # five pieces, and a short one
CARD = 544 // 4  # integers of a host message that is as long as what stands for a long one
OTHER = 1 - RANK


def numbers(seed: int, count: int) -> Ints:
    return repeated((seed * 1000 + i for i in range(997)), count)


def check(what: str, buffer: Host, expected: Ints) -> None:
    """Its beginning is what was expected, and what lies behind was never written to."""
    assert buffer.begins_with(expected), f"rank {RANK}: {what}: other numbers came"
    behind = buffer.view.tobytes()[4 * len(expected) :]
    assert behind == b"\xff" * len(behind), f"rank {RANK}: {what}: what lies behind was written to"


def empty(kind: type[Host], count: int) -> Host:
    buffer = kind(count)
    buffer.fill(-1)
    return buffer


def full(seed: int, count: int, kind: type[Host] = GPU) -> Host:
    buffer = kind(count)
    buffer.put(numbers(seed, count))
    return buffer


def the_first_messages_tell_that_all_listen() -> None:
    """A process looks at what it receives from its first receive on, and says so."""
    for other in range(SIZE):
        if other != RANK:
            WORLD.Sendrecv(GPU(4).mpi(), other, 0, GPU(4).mpi(), other, 0)
    WORLD.Barrier()
    # Of each a long one, so that each has asked; it may be staged where the answer says `not yet`.
    requests = [WORLD.Irecv(GPU(LEAST).mpi(), other, 1) for other in range(SIZE) if other != RANK]
    for other in range(SIZE):
        if other != RANK:
            WORLD.Send(GPU(LEAST).mpi(), other, 1)
    MPI.Request.Waitall(requests)


def messages_of_all_lengths_and_sides() -> None:
    status = MPI.Status()
    lengths = [LEAST - 1, LEAST, LEAST + 1, LEAST + LEAST // 4, LONG, 3 * LEAST - 1]
    sends: list[Callable[[Host], object]] = [
        lambda data: WORLD.Send(data.mpi(), 0, 3),
        lambda data: WORLD.Ssend(data.mpi(), 0, 3),
        lambda data: WORLD.Isend(data.mpi(), 0, 3).Wait(),
    ]
    for number, (count, source, target) in enumerate(itertools.product(lengths, KINDS, KINDS)):
        if RANK == 1:
            data = full(number, count, source)
            sends[number % 3](data)
            check("what was sent", data, numbers(number, count))
        elif RANK == 0:
            there = empty(target, count + 100)
            if number % 2:
                WORLD.Recv(there.mpi(), 1, 3, status)
            else:
                WORLD.Irecv(there.mpi(), MPI.ANY_SOURCE, MPI.ANY_TAG).Wait(status)
            check(f"{count} from {source.__name__} to {target.__name__}", there, numbers(number, count))
            told = (status.Get_source(), status.Get_tag(), status.Get_count(MPI.INT))
            assert told == (1, 3, count), told


def many_messages_cross() -> None:
    """Both ways at once; the receives are posted in another order than the sends."""
    if RANK > 1:
        return
    window = 64
    came = [empty(GPU, LEAST + number) for number in range(window)]
    sent = [full(100 * RANK + number, LEAST + number) for number in range(window)]
    order = [(7 * number) % window for number in range(window)]
    requests = [WORLD.Irecv(came[number].mpi(), OTHER, number) for number in order]
    requests += [WORLD.Isend(sent[number].mpi(), OTHER, number) for number in range(window)]
    MPI.Request.Waitall(requests)
    for number in range(window):
        check(f"message {number} of many", came[number], numbers(100 * OTHER + number, LEAST + number))


def all_ranks_send_to_all() -> None:
    """With wildcards, and whoever looks takes those that have come."""
    others = [rank for rank in range(SIZE) if rank != RANK]
    came = [empty(GPU, LONG) for _ in others]
    requests = [WORLD.Irecv(each.mpi(), MPI.ANY_SOURCE, 4) for each in came]
    sent = full(RANK, LONG)
    requests += [WORLD.Isend(sent.mpi(), rank, 4) for rank in others]
    statuses = [MPI.Status() for _ in requests]
    left = len(requests)
    while left:
        if left % 2:
            status = MPI.Status()
            index = MPI.Request.Waitany(requests, status)
            statuses[index] = status
            left -= 1
        else:
            some = [MPI.Status() for _ in requests]
            done = MPI.Request.Waitsome(requests, some) or []
            for place, index in enumerate(done):
                statuses[index] = some[place]
            left -= len(done)
    sources = [statuses[i].Get_source() for i in range(len(others))]
    assert sorted(sources) == others, sources
    for source, each in zip(sources, came, strict=True):
        check("a message from anybody", each, numbers(source, LONG))


def long_and_short_ones_stay_in_order() -> None:
    counts = [3, LONG, 1, LEAST, 2000, LEAST - 1, LONG, 4]
    if RANK == 1:
        data = [full(number, count, KINDS[number % 3 == 2]) for number, count in enumerate(counts)]
        MPI.Request.Waitall([WORLD.Isend(each.mpi(), 0, 5) for each in data])
    elif RANK == 0:
        status = MPI.Status()
        for number, count in enumerate(counts):
            there = empty(KINDS[number % 2], LONG)
            WORLD.Recv(there.mpi(), 1, MPI.ANY_TAG, status)
            assert status.Get_count(MPI.INT) == count, (number, status.Get_count(MPI.INT))
            check(f"message {number} in order", there, numbers(number, count))


def a_receive_that_is_too_short_is_an_error() -> None:
    """Its sender goes on; what lies behind the buffer stays as it was."""
    here = WORLD.Dup()
    here.Set_errhandler(MPI.ERRORS_RETURN)
    for kind, wait in itertools.product(KINDS, (False, True)):
        if RANK == 1:
            here.Send(full(9, LONG).mpi(), 0, 2)
        elif RANK == 0:
            there, code = empty(kind, LONG), MPI.SUCCESS
            try:
                if wait:
                    here.Irecv(there.mpi(LEAST), 1, 2).Wait()
                else:
                    here.Recv(there.mpi(LEAST), 1, 2)
            except MPI.Exception as error:
                code = error.Get_error_class()
            assert code == MPI.ERR_TRUNCATE, code
            check("what lies behind", there, array.array("i", there.view.tobytes()[: 4 * LEAST]))
    here.Free()


def probes_tell_how_long_a_message_is() -> None:
    """Also where host messages are as long as what stands for it, before it and with another tag."""
    if RANK == 1:
        words = [full(number, CARD + 16 * number, Host) for number in range(3)]
        requests = [WORLD.Isend(each.mpi(), 0, 6) for each in words]
        long = [full(20 + number, LONG + number) for number in range(4)]
        requests += [WORLD.Isend(each.mpi(), 0, 6) for each in long]
        requests += [WORLD.Isend(words[0].mpi(), 0, 7)]
        MPI.Request.Waitall(requests)
    elif RANK == 0:
        status, there = MPI.Status(), empty(GPU, LONG + 4)
        WORLD.Probe(1, 7, status)
        assert status.Get_count(MPI.INT) == CARD, status.Get_count(MPI.INT)
        for count in [CARD + 16 * number for number in range(3)] + [LONG + number for number in range(4)]:
            if count == LONG + 1:
                message = WORLD.Mprobe(MPI.ANY_SOURCE, 6, status)
                assert status.Get_count(MPI.INT) == count, (count, status.Get_count(MPI.INT))
                message.Recv(there.mpi(), status)
            else:
                while not WORLD.Iprobe(MPI.ANY_SOURCE, 6, status):
                    os.sched_yield()
                assert status.Get_count(MPI.INT) == count, (count, status.Get_count(MPI.INT))
                WORLD.Recv(there.mpi(), 1, 6, status)
            assert status.Get_count(MPI.INT) == count
        check("a message that was probed", there, numbers(23, LONG + 3))
        WORLD.Recv(Host(CARD).mpi(), 1, 7)


def a_receive_may_be_cancelled() -> None:
    if RANK == 0:
        never = WORLD.Irecv(GPU(LONG).mpi(), 1, 8)
        never.Cancel()
        status = MPI.Status()
        never.Wait(status)
        assert status.Is_cancelled()
    if RANK < 2:
        WORLD.Sendrecv(Host(1).mpi(), OTHER, 0, Host(1).mpi(), OTHER, 0)
    if RANK == 1:
        WORLD.Send(full(3, LONG).mpi(), 0, 8)
    elif RANK == 0:
        there = empty(GPU, LONG)
        WORLD.Recv(there.mpi(), 1, 8)
        check("the message after it", there, numbers(3, LONG))


def ones_own_message_and_nobodys() -> None:
    there = empty(GPU, LONG)
    request = WORLD.Irecv(there.mpi(), RANK, 1)
    WORLD.Send(full(5, LONG).mpi(), RANK, 1)
    request.Wait()
    check("one's own message", there, numbers(5, LONG))
    WORLD.Send(there.mpi(), MPI.PROC_NULL, 1)


def persistent_ones_start_again() -> None:
    there = empty(GPU, LONG)
    if RANK == 0:
        request = WORLD.Recv_init(there.mpi(), 1, 9)
        for turn in range(4):
            request.Start()
            request.Wait()
            check(f"turn {turn}", there, numbers(turn, LONG))
        request.Free()
    elif RANK == 1:
        request = WORLD.Send_init(there.mpi(), 0, 9)
        for turn in range(4):
            there.put(numbers(turn, LONG))
            if turn % 2:
                request.Start()
                request.Wait()
            else:
                WORLD.Send(there.mpi(), 0, 9)
        request.Free()


def exchanges_by_one_call() -> None:
    """Round and round; one rank's neighbour may call the same in parts."""
    right, left = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    for kind in KINDS:
        data, there = full(RANK, LONG, kind), empty(kind, LONG)
        WORLD.Sendrecv(data.mpi(), right, 1, there.mpi(), left, 1)
        check("a message round", there, numbers(left, LONG))
        WORLD.Sendrecv_replace(data.mpi(), right, 2, left, 2)
        check("a message in place of another", data, numbers(left, LONG))
        if RANK == 0:
            WORLD.Sendrecv_replace(data.mpi(), 1, 3, 1, 4)
            check("a message in place of another, from a send", data, numbers(77, LONG))
        elif RANK == 1:
            came = empty(kind, LONG)
            WORLD.Send(full(77, LONG).mpi(), 0, 4)
            WORLD.Recv(came.mpi(), 0, 3)
            check("what was replaced", came, numbers(SIZE - 1, LONG))


def communicators_are_apart() -> None:
    """The same tags in two communicators, one of them the other way round; received in the other order."""
    twin, backwards = WORLD.Dup(), WORLD.Split(0, -RANK)
    comms = [WORLD, twin, backwards]
    if RANK == 1:
        data = [full(number, LONG) for number in range(3)]
        MPI.Request.Waitall(
            [
                comm.Isend(each.mpi(), SIZE - 1 if comm == backwards else 0, 1)
                for comm, each in zip(comms, data, strict=True)
            ]
        )
    elif RANK == 0:
        for number, comm in reversed(list(enumerate(comms))):
            there, status = empty(GPU, LONG), MPI.Status()
            comm.Probe(MPI.ANY_SOURCE, 1, status)
            assert status.Get_count(MPI.INT) == LONG, status.Get_count(MPI.INT)
            comm.Recv(there.mpi(), MPI.ANY_SOURCE, 1)
            check(f"communicator {number}", there, numbers(number, LONG))
    backwards.Free()
    twin.Free()


def types_with_gaps_and_without() -> None:
    vector = MPI.INT.Create_vector(LEAST // 2, 2, 3).Commit()  # LEAST integers in half as many again
    pair = MPI.INT.Create_contiguous(2).Commit()
    for kind in KINDS:
        if RANK == 1:
            data = full(1, 3 * LEAST // 2)
            WORLD.Send(data.of(LEAST // 2, pair), 0, 1)
            WORLD.Send(data.of(1, vector), 0, 1)
        elif RANK == 0:
            there = empty(kind, 3 * LEAST // 2)
            WORLD.Recv(there.of(1, vector), 1, 1)
            values = numbers(1, LEAST)
            got = array.array("i", there.view.tobytes())
            assert (got[0::3], got[1::3]) == (values[0::2], values[1::2]), "other numbers in a vector"
            assert set(got[2:-1:3]) == {-1}, "gaps of a vector were written to"
            there.fill(-1)
            WORLD.Recv(there.mpi(), 1, 1)
            values, got = numbers(1, 3 * LEAST // 2), array.array("i", there.view.tobytes())
            assert (got[0:LEAST:2], got[1:LEAST:2]) == (values[0::3], values[1::3]), "others from a vector"
    vector.Free()
    pair.Free()


def requests_move_while_ranks_wait_elsewhere() -> None:
    """Whatever call of the program waits for a rank that waits for a long message first."""
    one, total = array.array("i", [1]), array.array("i", [0])
    apart = WORLD.Dup()  # whose ranks have not met
    small, more = Host(3), Host(3)
    waits: list[Callable[[], object]] = [
        WORLD.Barrier,
        apart.Barrier,
        lambda: apart.Allreduce(one, total),
        lambda: apart.Bcast(one, 1),
        lambda: apart.Allreduce(GPU(10).mpi(), GPU(10).mpi()),
        lambda: apart.Allreduce(GPU(LEAST).mpi(), GPU(LEAST).mpi()),
        lambda: WORLD.Iallreduce(one, total).Wait(),
    ]
    if SIZE == 2:
        waits += [
            lambda: WORLD.Sendrecv(small.mpi(), OTHER, 40, more.mpi(), OTHER, 40),
            lambda: WORLD.Sendrecv(GPU(LONG).mpi(), OTHER, 40, GPU(LONG).mpi(), OTHER, 40),
            lambda: WORLD.Sendrecv_replace(small.mpi(), OTHER, 41, OTHER, 41),
            lambda: WORLD.Sendrecv_replace(GPU(LONG).mpi(), OTHER, 41, OTHER, 41),
            lambda: WORLD.Recv(small.mpi(), 1, 42) if RANK == 0 else WORLD.Ssend(small.mpi(), 0, 42),
            lambda: WORLD.Ssend(small.mpi(), 1, 42) if RANK == 0 else WORLD.Recv(small.mpi(), 0, 42),
            lambda: WORLD.Probe(1, 43) if RANK == 0 else WORLD.Send(small.mpi(), 0, 43),
        ]
    # What rank 0 has open meanwhile: a receive into such memory from this source, or a send.
    opened: list[tuple[type[Host], int | None]] = [(GPU, 1), (Host, MPI.ANY_SOURCE), (GPU, None)]
    for (number, wait), (kind, source) in itertools.product(enumerate(waits), opened):
        there, data = empty(kind, LONG), full(number, LONG)
        receives = source is not None
        if RANK == 0:
            request = WORLD.Irecv(there.mpi(), source, 30) if source is not None else WORLD.Isend(data.mpi(), 1, 30)
            wait()
            request.Wait()
        elif RANK == 1:
            if receives:
                WORLD.Send(data.mpi(), 0, 30)
            else:
                WORLD.Recv(there.mpi(), 0, 30)
            wait()
        else:
            wait()
        if receives == (RANK == 0) and RANK < 2:
            check(f"wait {number}, {'receiving' if receives else 'sending'}", there, numbers(number, LONG))
    if RANK == 0 and SIZE == 2:
        for _ in opened:
            WORLD.Recv(small.mpi(), 1, 43)  # what was probed
    apart.Free()


def a_rank_that_dies_keeps_nobody_waiting() -> None:
    """Rank 0 has a long message under way to rank 1, which ends as a process that was killed does."""
    if RANK == 1:
        request = WORLD.Irecv(GPU(LONG).mpi(), 0, 1)
        while not request.Test():
            os.sched_yield()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    WORLD.Send(full(1, LONG).mpi(), 1, 1)
    WORLD.Isend(full(1, LONG).mpi(), 1, 2).Wait()
    print("it ended", flush=True)


CHECKS = [
    messages_of_all_lengths_and_sides,
    many_messages_cross,
    all_ranks_send_to_all,
    long_and_short_ones_stay_in_order,
    a_receive_that_is_too_short_is_an_error,
    probes_tell_how_long_a_message_is,
    a_receive_may_be_cancelled,
    ones_own_message_and_nobodys,
    persistent_ones_start_again,
    exchanges_by_one_call,
    communicators_are_apart,
    types_with_gaps_and_without,
    requests_move_while_ranks_wait_elsewhere,
]


def main() -> None:
    the_first_messages_tell_that_all_listen()
    if "dies" in sys.argv[1:]:
        a_rank_that_dies_keeps_nobody_waiting()
    do_in_turn(CHECKS)


if __name__ == "__main__":
    main()
