"""A rank that sends and reduces buffers of every kind through mpi4py, and checks what comes. test_mpi_buffers.py
starts it with emulated GPU memory, you with CuPy on GPUs. Names of checks are those to leave out.
It is long, as one job has all checks.

    sennit run -- mpirun -n 4 python tests/interop/mpi_buffers.py
"""

from __future__ import annotations

import array
import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

from mpi4py import MPI
from mpi_collectives import (
    a_mapping_of_buffers_may_change_from_call_to_call,
    a_neighbour_that_is_nobody_sends_nothing,
    collectives_of_every_kind,
    ones_own_message_stays_where_it_is,
    parts_of_the_world_have_their_own,
    scans_reduce_the_ranks_before,
)
from mpi_memory import GPU, INTS, KINDS, RANK, SIZE, WORLD, Host, do_in_turn


def persistent_send(data: Any) -> None:
    request = WORLD.Send_init(data, 0, 3)
    request.Start()
    request.Wait()
    request.Free()


def buffered_send(data: Any) -> None:
    space = MPI.Alloc_mem(INTS * 4 + MPI.BSEND_OVERHEAD)
    MPI.Attach_buffer(space)
    WORLD.Bsend(data, 0, 3)
    MPI.Detach_buffer()
    MPI.Free_mem(space)


SENDS: list[Callable[[Any], object]] = [
    lambda data: WORLD.Send(data, 0, 3),
    lambda data: WORLD.Ssend(data, 0, 3),
    lambda data: WORLD.Isend(data, 0, 3).Wait(),
    lambda data: WORLD.Issend(data, 0, 3).Wait(),
    buffered_send,
    persistent_send,
]


def probe(data: Any, status: MPI.Status) -> None:
    WORLD.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    assert status.Get_count(MPI.INT) == INTS, "a probe tells another length"
    WORLD.Recv(data, status.Get_source(), status.Get_tag(), status)


def matched_probe(data: Any, status: MPI.Status) -> None:
    message = WORLD.Mprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    assert status.Get_count(MPI.INT) == INTS, "a matched probe tells another length"
    message.Recv(data, status)


def poll(data: Any, status: MPI.Status) -> None:
    request = WORLD.Irecv(data, 1, 3)
    while not request.Test(status):
        os.sched_yield()


def look_and_wait(data: Any, status: MPI.Status) -> None:
    request = WORLD.Irecv(data, 1, 3)
    while not request.Get_status(status):
        os.sched_yield()
    request.Wait(status)


def persistent_receive(data: Any, status: MPI.Status) -> None:
    request = WORLD.Recv_init(data, 1, 3)
    request.Start()
    request.Wait(status)
    request.Free()


def wait_any(data: Any, status: MPI.Status) -> None:
    assert MPI.Request.Waitany([MPI.REQUEST_NULL, WORLD.Irecv(data, 1, 3)], status) == 1


def wait_some(data: Any, status: MPI.Status) -> None:
    assert MPI.Request.Waitsome([MPI.REQUEST_NULL, WORLD.Irecv(data, 1, 3)], [status, MPI.Status()]) == [1]


RECEIVES: list[Callable[[Any, MPI.Status], object]] = [
    lambda data, status: WORLD.Recv(data, 1, 3, status),
    lambda data, status: WORLD.Recv(data, MPI.ANY_SOURCE, MPI.ANY_TAG, status),
    lambda data, status: WORLD.Irecv(data, 1, 3).Wait(status),
    probe,
    matched_probe,
    poll,
    look_and_wait,
    persistent_receive,
    wait_any,
    wait_some,
]


def every_send_meets_every_receive() -> None:
    """From rank 1 to rank 0, from and to memory of both kinds; statuses tell of the message."""
    status = MPI.Status()
    for source, target in itertools.product(KINDS, KINDS):
        data, there = source(INTS), target(INTS)
        for round_, (send, receive) in enumerate(itertools.product(SENDS, RECEIVES)):
            if RANK == 1:
                data.fill(round_)
                send(data.mpi())
            elif RANK == 0:
                there.fill(-1)
                receive(there.mpi(), status)
                case = (source.__name__, target.__name__, SENDS.index(send), RECEIVES.index(receive))
                assert there.get() == [round_] * INTS, case
                told = (status.Get_source(), status.Get_tag(), status.Get_count(MPI.INT))
                assert told == (1, 3, INTS), (case, told)


def both_may_send_before_they_receive() -> None:
    """MPIs keep short messages until somebody receives them, and programs rely on it, though they may not."""
    if RANK > 1:
        return
    count = 1000  # within what every MPI keeps

    def begin(data: Any) -> MPI.Request:
        return WORLD.Isend(data, 1 - RANK, 4)

    def test_until_over(data: Any) -> None:
        request = begin(data)
        while not MPI.Request.Testall([MPI.REQUEST_NULL, request]):
            os.sched_yield()

    def look_until_over(data: Any) -> None:
        request = begin(data)
        while not request.Get_status():
            os.sched_yield()
        request.Free()

    sends: list[Callable[[Any], object]] = [
        lambda data: WORLD.Send(data, 1 - RANK, 4),
        lambda data: begin(data).Wait(),
        lambda data: MPI.Request.Waitall([begin(data), MPI.REQUEST_NULL]),
        lambda data: MPI.Request.Waitany([MPI.REQUEST_NULL, begin(data)]),
        lambda data: MPI.Request.Waitsome([begin(data)]),
        test_until_over,
        look_until_over,
    ]
    for there, send in itertools.product(KINDS, sends):
        mine, theirs = GPU(count), there(count)
        for round_ in range(3):
            mine.fill(10 * round_ + RANK)
            send(mine.mpi())
            mine.fill(-1)  # it is the program's again
            WORLD.Recv(theirs.mpi(), 1 - RANK, 4)
            assert theirs.get() == [10 * round_ + 1 - RANK] * count


def a_send_that_is_over_may_be_cancelled() -> None:
    """Some MPIs do so as long as nobody has received it, and then nobody may."""
    count = 1000
    mine, theirs, cancelled = GPU(count), GPU(count), array.array("i", [0])
    mine.fill(5)
    if RANK == 0:
        request, status = WORLD.Isend(mine.mpi(), 1, 6), MPI.Status()
        while not request.Get_status():
            os.sched_yield()
        request.Cancel()
        request.Wait(status)
        cancelled[0] = status.Is_cancelled()
        WORLD.Send(cancelled, 1, 7)
        mine.fill(6)
        WORLD.Send(mine.mpi(), 1, 6)
    elif RANK == 1:
        WORLD.Recv(cancelled, 0, 7)
        for expected in [6] if cancelled[0] else [5, 6]:
            WORLD.Recv(theirs.mpi(), 0, 6)
            assert theirs.get() == [expected] * count, (expected, cancelled[0])


def requests_move_while_ranks_wait_elsewhere() -> None:
    """A receive that is open takes its message while its rank is in another call; MPI wants no less."""
    mine, theirs = GPU(INTS), GPU(INTS)
    mine.fill(RANK)
    if RANK < 2:  # both send first
        request = WORLD.Irecv(theirs.mpi(), 1 - RANK, 9)
        WORLD.Send(mine.mpi(), 1 - RANK, 9)
        WORLD.Barrier()
        request.Wait()
        assert theirs.get() == [1 - RANK] * INTS
    else:
        WORLD.Barrier()
    apart = WORLD.Dup()  # whose ranks have not met
    if RANK == 0:
        apart.Send(mine.mpi(), 1, 1)
    request = apart.Irecv(theirs.mpi(), 0, 1) if RANK == 1 else MPI.REQUEST_NULL
    apart.Barrier()
    total = array.array("i", [1])
    apart.Allreduce(MPI.IN_PLACE, total)
    request.Wait()
    assert total[0] == SIZE
    assert RANK != 1 or theirs.get() == [0] * INTS
    apart.Free()
    small, other = Host(2), Host(2)
    exchanges: list[Callable[[], object]] = [
        lambda: WORLD.Sendrecv(small.mpi(), 1 - RANK, 8, other.mpi(), 1 - RANK, 8),
        lambda: WORLD.Sendrecv_replace(small.mpi(), 1 - RANK, 8, 1 - RANK, 8),
        lambda: WORLD.Sendrecv_replace(mine.mpi(), 1 - RANK, 8, 1 - RANK, 8),
    ]
    for exchange in exchanges if RANK < 2 else []:
        mine.fill(RANK)
        theirs.fill(7)
        small.fill(RANK)
        if RANK == 0:
            request = WORLD.Irecv(theirs.mpi(), 1, 1)
            exchange()
            request.Wait()
            assert theirs.get() == [1] * INTS
        else:
            WORLD.Send(mine.mpi(), 0, 1)
            exchange()
    assert RANK >= 2 or mine.get() == [1 - RANK] * INTS
    # One that replaces its buffer meets a send that waits for its receiver.
    if RANK == 0:
        WORLD.Sendrecv_replace(mine.mpi(), 1, 8, 1, 9)
        assert mine.get() == [0] * INTS
    elif RANK == 1:
        WORLD.Send(mine.mpi(), 0, 9)
        WORLD.Recv(theirs.mpi(), 0, 8)
        assert theirs.get() == [1] * INTS


def a_message_that_is_too_long_is_an_error() -> None:
    here = WORLD.Dup()
    here.Set_errhandler(MPI.ERRORS_RETURN)
    data = GPU(INTS)
    if RANK == 1:
        here.Send(data.mpi(), 0, 2)
    if RANK == 0:
        code = MPI.SUCCESS
        try:
            here.Recv(data.mpi(INTS // 2), 1, 2)
        except MPI.Exception as error:
            code = error.Get_error_class()
        assert code == MPI.ERR_TRUNCATE, code
    here.Free()


def a_request_that_fails_is_forgotten() -> None:
    """Its handle goes to another request, which has nothing to do with its memory."""
    here = WORLD.Dup()
    here.Set_errhandler(MPI.ERRORS_RETURN)
    ends: list[Callable[[MPI.Request], object]] = [
        lambda request: request.Wait(),
        lambda request: MPI.Request.Waitall([request]),
        lambda request: MPI.Request.Waitany([request]),
        lambda request: MPI.Request.Waitsome([request]),
    ]
    for end in ends:
        if RANK == 1:
            two = Host(2)
            two.fill(9)
            here.Send(two.mpi(), 0, 2)
            here.Send(two.mpi(1), 0, 3)
        if RANK == 0:
            mine, other = GPU(1), Host(1)
            code = MPI.SUCCESS
            try:
                end(here.Irecv(mine.mpi(), 1, 2))
            except MPI.Exception as error:
                code = error.Get_error_class()
            assert code in (MPI.ERR_TRUNCATE, MPI.ERR_IN_STATUS), code
            mine.fill(5)
            here.Irecv(other.mpi(), 1, 3).Wait()
            assert (mine.get(), other.get()) == ([5], [9]), ends.index(end)
    here.Free()


def types_with_gaps_are_packed() -> None:
    vector = MPI.INT.Create_vector(5000, 2, 4).Commit()  # 10 000 integers in 20 000
    status = MPI.Status()
    for source, target in itertools.product(KINDS, KINDS):
        data, there = source(20_000), target(20_000)
        data.put(list(range(20_000)))
        there.fill(-1)
        if RANK == 0:
            WORLD.Send(data.of(1, vector), 1, 4)
            WORLD.Send(data.of(10_000, MPI.INT), 1, 5)
        if RANK == 1:
            WORLD.Recv(there.of(1, vector), 0, 4, status)
            assert there.get()[:6] == [0, 1, -1, -1, 4, 5]
            there.fill(-1)
            WORLD.Recv(there.of(1, vector), 0, 5, status)
            assert there.get()[:6] == [0, 1, -1, -1, 2, 3]
            assert there.get()[19_996:19_998] == [9_998, 9_999]
            assert status.Get_count(MPI.INT) == 10_000
    vector.Free()


def columns_and_faces_of_large_arrays_go_alone() -> None:
    """Types whose data lies in rows with long gaps between, each against MPI's own idea of where the data is."""
    n = 48  # of a cube; its whole is some 400 KiB
    cube = [n, n, n]
    types = [
        MPI.INT.Create_vector(n * n, 1, n),
        MPI.INT.Create_vector(n, 3, n * n),
        MPI.INT.Create_hvector(n, 2, 4 * n * n),
        MPI.INT.Create_contiguous(2).Create_vector(n, 1, n * n // 2),
        MPI.INT.Create_vector(n, 1, n).Create_resized(0, 4).Create_hvector(7, 1, 4 * n * n),
        MPI.INT.Create_subarray(cube, [n - 2, n - 2, 1], [1, 1, n - 1]),
        MPI.INT.Create_subarray(cube, [1, n - 2, n - 2], [2, 1, 1], MPI.ORDER_FORTRAN),
        MPI.INT.Create_subarray(cube, [n, 1, n], [0, n - 1, 0]).Dup(),
        MPI.INT.Create_indexed([1, 2, 1], [5, n * n, 30 * n * n]),
    ]
    total = n * n * n
    before = array.array("i", [-1 - i for i in range(total)])
    if RANK >= 2:
        return
    for number, kind in enumerate(types):
        kind.Commit()
        count = kind.Get_size() // 4
        numbers = array.array("i", range(1000 * number, 1000 * number + count))
        expected = before[:]
        MPI.COMM_SELF.Sendrecv([numbers, count, MPI.INT], 0, 1, [expected, 1, kind], 0, 1)
        data = GPU(total)
        if RANK == 1:
            data.put(before)
            WORLD.Recv(data.of(1, kind), 0, number)
            WORLD.Send(data.of(1, kind), 0, number)
            there = data.get()
            WORLD.send(there, 0, 99)
        else:
            data.put(expected)
            WORLD.Send(data.of(1, kind), 1, number)
            back = GPU(count)
            WORLD.Recv(back.mpi(), 1, number)
            assert back.get() == numbers.tolist(), f"type {number}: other numbers come back"
            assert WORLD.recv(source=1, tag=99) == expected.tolist(), (
                f"type {number} lies elsewhere, or gaps are written"
            )
        kind.Free()


def what_a_look_has_brought_is_the_programs() -> None:
    """Short ones, staged, and a request that is completed after the program has used what came."""
    data = GPU(64)
    for repeat in range(3):
        if RANK == 1:
            data.fill(repeat)
            WORLD.Send(data.mpi(), 0, 9)
        elif RANK == 0:
            request, status = WORLD.Irecv(data.mpi(), 1, 9), MPI.Status()
            while not request.Get_status(status):
                os.sched_yield()
            assert data.get() == [repeat] * 64, "a look has not brought what came"
            data.fill(77)
            request.Wait(status)
            assert data.get() == [77] * 64, "completing the request has brought it once more"
            assert status.Get_count(MPI.INT) == 64


def persistent_ones_may_end_while_ranks_look() -> None:
    """At any moment of a look that is for any of several, and for some."""
    data, came = GPU(100), GPU(100)
    if RANK == 1:
        for turn in range(1000):
            data.fill(turn)
            WORLD.Send(data.mpi(), 0, 4)
    elif RANK == 0:
        request = WORLD.Recv_init(came.mpi(), 1, 4)
        for turn in range(1000):
            request.Start()
            if turn % 2:
                assert MPI.Request.Waitany([MPI.REQUEST_NULL, request]) == 1
            else:
                assert MPI.Request.Waitsome([request, MPI.REQUEST_NULL]) == [0]
            assert came.get() == [turn] * 100
        request.Free()


def many_messages_arrive_in_order() -> None:
    if RANK >= 2:
        return
    for count in (5000, 400, 2):
        sent = [GPU(count) for _ in range(40)]
        came = [GPU(count) for _ in range(40)]
        for number, each in enumerate(sent):
            each.fill(100 * RANK + number)
        requests = [WORLD.Irecv(each.mpi(), 1 - RANK, number % 4) for number, each in enumerate(came)]
        requests += [WORLD.Isend(each.mpi(), 1 - RANK, number % 4) for number, each in enumerate(sent)]
        MPI.Request.Waitall(requests)
        for number, each in enumerate(came):
            assert each.get() == [100 * (1 - RANK) + number] * count


def main() -> None:
    checks = [
        every_send_meets_every_receive,
        both_may_send_before_they_receive,
        a_send_that_is_over_may_be_cancelled,
        requests_move_while_ranks_wait_elsewhere,
        a_message_that_is_too_long_is_an_error,
        a_request_that_fails_is_forgotten,
        types_with_gaps_are_packed,
        columns_and_faces_of_large_arrays_go_alone,
        what_a_look_has_brought_is_the_programs,
        persistent_ones_may_end_while_ranks_look,
        many_messages_arrive_in_order,
        collectives_of_every_kind,
        scans_reduce_the_ranks_before,
        ones_own_message_stays_where_it_is,
        a_mapping_of_buffers_may_change_from_call_to_call,
        parts_of_the_world_have_their_own,
        a_neighbour_that_is_nobody_sends_nothing,
    ]
    do_in_turn(check for check in checks if check.__name__ not in sys.argv[1:])


if __name__ == "__main__":
    main()
