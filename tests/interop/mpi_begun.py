"""A rank that begins collectives and goes on, through mpi4py, and checks what comes. test_mpi_begun.py starts it with
emulated GPU memory, you with CuPy on GPUs. It is long, as one job has all checks.

    sennit run --report -- mpirun -n 4 python tests/interop/mpi_begun.py
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mpi4py import MPI
from mpi_memory import GPU, RANK, SIZE, WORLD, Host

ALL = sum(range(1, SIZE + 1))
LONG = 50_000


KEPT: list[Host] = []  # mpi4py does not keep what a collective uses that ends in a request


def fresh(kind: type[Host], count: int) -> Host:
    made = kind(count)
    KEPT.append(made)
    return made


def filled(kind: type[Host], count: int, value: int) -> Host:
    made = fresh(kind, count)
    made.fill(value)
    return made


def the_first_collective_of_all_ends_in_a_request() -> None:
    mine, theirs = filled(GPU, 100, RANK + 1), filled(GPU, 100, -1)
    WORLD.Iallreduce(mine.mpi(), theirs.mpi()).Wait()
    assert theirs.get() == [ALL] * 100
    assert mine.get() == [RANK + 1] * 100


# A request, what it brings once it is over, and what it should.
Under = tuple[MPI.Request, Callable[[], object], object]
Begin = Callable[[type[Host], int, MPI.Intracomm], Under]


def iallreduce(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = filled(kind, count, rank + 1), filled(kind, count, -1)
    request = comm.Iallreduce(mine.mpi(), theirs.mpi())
    return request, theirs.get, [size * (size + 1) // 2] * count


def iallreduce_in_place(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine = filled(kind, count, rank)
    return comm.Iallreduce(MPI.IN_PLACE, mine.mpi(), MPI.MAX), mine.get, [size - 1] * count


def ireduce(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = filled(kind, count, rank + 1), filled(kind, count, -1)
    root = size - 1
    request = comm.Ireduce(mine.mpi(), theirs.mpi() if rank == root else None, root=root)
    return request, theirs.get, [size * (size + 1) // 2 if rank == root else -1] * count


def ireduce_scatter_block(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = fresh(kind, count * size), filled(kind, count, -1)
    mine.put(to * 10 + rank for to in range(size) for _ in range(count))
    request = comm.Ireduce_scatter_block(mine.mpi(count), theirs.mpi())
    return request, theirs.get, [rank * 10 * size + sum(range(size))] * count


def ireduce_scatter(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    counts = [count + of for of in range(size)]
    mine, theirs = filled(kind, sum(counts), rank + 1), filled(kind, counts[rank], -1)
    request = comm.Ireduce_scatter(mine.mpi(), theirs.mpi(), counts)
    return request, theirs.get, [size * (size + 1) // 2] * counts[rank]


def ibcast(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    root = comm.Get_size() - 1
    mine = filled(kind, count, comm.Get_rank())
    return comm.Ibcast(mine.mpi(), root), mine.get, [root] * count


def iallgather(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = filled(kind, count, rank), filled(kind, count * size, -1)
    request = comm.Iallgather(mine.mpi(), theirs.mpi(count))
    return request, theirs.get, [of for of in range(size) for _ in range(count)]


def iallgatherv(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    counts = [count + of for of in range(size)]
    mine, theirs = filled(kind, counts[rank], rank), filled(kind, sum(counts), -1)
    request = comm.Iallgatherv(mine.mpi(), [theirs.view, counts, MPI.INT])
    return request, theirs.get, [of for of in range(size) for _ in range(counts[of])]


def ialltoall(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = fresh(kind, count * size), filled(kind, count * size, -1)
    mine.put(rank * 100 + to for to in range(size) for _ in range(count))
    request = comm.Ialltoall(mine.mpi(count), theirs.mpi(count))
    return request, theirs.get, [of * 100 + rank for of in range(size) for _ in range(count)]


def igather(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = filled(kind, count, rank), filled(kind, count * size, -1)
    request = comm.Igather(mine.mpi(), theirs.mpi(count) if rank == 0 else None, 0)
    return request, theirs.get, [of if rank == 0 else -1 for of in range(size) for _ in range(count)]


def iscatter(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    size, rank = comm.Get_size(), comm.Get_rank()
    mine, theirs = fresh(kind, count * size), filled(kind, count, -1)
    mine.put(to for to in range(size) for _ in range(count))
    request = comm.Iscatter(mine.mpi(count) if rank == 0 else None, theirs.mpi(), 0)
    return request, theirs.get, [rank] * count


def iscan(kind: type[Host], count: int, comm: MPI.Intracomm) -> Under:
    rank = comm.Get_rank()
    mine, theirs = filled(kind, count, rank + 1), filled(kind, count, -1)
    request = comm.Iscan(mine.mpi(), theirs.mpi())
    return request, theirs.get, [sum(range(1, rank + 2))] * count


CALLS: list[Begin] = [
    iallreduce,
    iallreduce_in_place,
    ireduce,
    ireduce_scatter_block,
    ireduce_scatter,
    ibcast,
    iallgather,
    iallgatherv,
    ialltoall,
    igather,
    iscatter,
    iscan,
]


def every_collective_may_end_in_a_request() -> None:
    for call in CALLS:
        for count in (1, 1000, LONG):
            request, got, expected = call(GPU, count, WORLD)
            status = MPI.Status()
            request.Wait(status)
            assert got() == expected, call.__name__
            if not sys.argv[1:]:  # what is staged has the status that the MPI gives it
                assert (status.Get_count(MPI.BYTE), status.Is_cancelled(), status.Get_error()) == (0, False, 0)
                assert (status.Get_source(), status.Get_tag()) == (MPI.ANY_SOURCE, MPI.ANY_TAG), call.__name__


def many_are_under_way_at_once() -> None:
    for _ in range(5):
        begun = [call(GPU, 100 + i, WORLD) for i, call in enumerate(CALLS + CALLS)]
        MPI.Request.Waitall([request for request, _, _ in begun])
        for _, got, expected in begun:
            assert got() == expected


def completed_in_every_way(requests: list[MPI.Request], way: int) -> None:
    left = sum(request != MPI.REQUEST_NULL for request in requests)
    if way == 0:
        MPI.Request.Waitall(requests)
    elif way == 1:
        while not MPI.Request.Testall(requests):
            os.sched_yield()
    elif way == 2:
        for _ in range(left):
            assert MPI.Request.Waitany(requests) != MPI.UNDEFINED
        assert MPI.Request.Waitany(requests) == MPI.UNDEFINED
    elif way == 3:
        while left:
            index, flag = MPI.Request.Testany(requests)
            left -= flag and index != MPI.UNDEFINED
    elif way == 4:
        while MPI.Request.Waitsome(requests) is not None:
            os.sched_yield()
    elif way == 5:
        while MPI.Request.Testsome(requests) is not None:
            os.sched_yield()
    elif way == 6:
        for request in reversed(requests):
            while not request.Get_status():
                os.sched_yield()
            request.Wait()
    else:
        for request in reversed(requests):
            while not request.Test():
                os.sched_yield()
    assert all(request == MPI.REQUEST_NULL for request in requests)


def they_complete_in_every_way() -> None:
    for way in range(8):
        begun = [call(GPU, 10 + i, WORLD) for i, call in enumerate(CALLS)]
        completed_in_every_way([request for request, _, _ in begun], way)
        for _, got, expected in begun:
            assert got() == expected, way


def buffers_are_where_each_rank_likes() -> None:
    """Some on GPUs, some not, each rank its own, with blocking calls, messages and barriers between."""
    same, mine = random.Random(1), random.Random(RANK)
    for turn in range(30):
        begun = []
        for _ in range(same.randrange(1, 8)):
            call, count, where = same.choice(CALLS), same.randrange(1, 500), same.randrange(3)
            kind = (GPU, Host, mine.choice([GPU, Host]))[where]
            begun.append(call(kind, count, WORLD))
            what = same.randrange(8)
            if what == 0:
                total = filled(mine.choice([GPU, Host]), 10, -1)
                WORLD.Allreduce(filled(mine.choice([GPU, Host]), 10, RANK + 1).mpi(), total.mpi())
                assert total.get() == [ALL] * 10
            elif what == 1:
                WORLD.Barrier()
            elif what == 2:
                to, of = (RANK + 1) % SIZE, (RANK - 1) % SIZE
                came = filled(mine.choice([GPU, Host]), LONG, -1)
                WORLD.Sendrecv(filled(GPU, LONG, RANK).mpi(), to, 1, came.mpi(), of, 1)
                assert came.get() == [of] * LONG
            elif what == 3:
                request = WORLD.Ibarrier()
                begun.append((request, lambda: 0, 0))
            elif what == 4 and mine.randrange(2):
                begun[mine.randrange(len(begun))][0].Test()
        completed_in_every_way([request for request, _, _ in begun], turn % 6)
        for _, got, expected in begun:
            assert got() == expected


def who_comes_late_holds_up_nobodys_messages() -> None:
    """Rank 1 comes to the collective only after messages that others send while theirs is under way."""
    comm = WORLD.Dup()
    for begin_late in (True, False):
        mine, theirs = filled(GPU, 1000, RANK + 1), filled(GPU, 1000, -1)
        short, long = filled(GPU, 10, RANK), filled(GPU, LONG, RANK)
        request = None if RANK == 1 and begin_late else comm.Iallreduce(mine.mpi(), theirs.mpi())
        if RANK == 0:
            assert request is not None
            request.Test()
            for data in (short, long):
                WORLD.Send(data.mpi(), 1, 5)
                WORLD.Recv(data.mpi(), 1, 5)
                assert data.get()[0] == 1
        elif RANK == 1:
            for data in (short, long):
                came = filled(GPU, len(data.view), -1)
                WORLD.Recv(came.mpi(), 0, 5)
                WORLD.Send(data.mpi(), 0, 5)
                assert came.get()[-1] == 0
        if request is None:
            request = comm.Iallreduce(mine.mpi(), theirs.mpi())
        request.Wait()
        assert theirs.get() == [ALL] * 1000
    comm.Free()


def a_rank_that_computes_keeps_nobody_waiting() -> None:
    """Once the ranks know each other, what one has begun goes on without a call of MPI."""
    name = WORLD.bcast(tempfile.mktemp(prefix="sennit-begun-") if RANK == 0 else None, 0)
    WORLD.Allreduce(filled(GPU, 1, 1).mpi(), filled(GPU, 1, 1).mpi())
    if RANK == 0:
        time.sleep(0.2)
    mine, theirs = filled(GPU, 1000, RANK + 1), filled(GPU, 1000, -1)
    request = WORLD.Iallreduce(mine.mpi(), theirs.mpi())
    if RANK == 0:
        request.Wait()
        Path(name).touch()
    else:
        limit = time.monotonic() + 20
        while not Path(name).exists():
            assert time.monotonic() < limit, "rank 0 waits for a rank that computes"
            time.sleep(0.001)
        request.Wait()
    assert theirs.get() == [ALL] * 1000
    WORLD.Barrier()
    if RANK == 0:
        Path(name).unlink()


def what_a_look_has_brought_is_the_programs() -> None:
    """Of a call that waited for its turn, and is staged as another rank's memory is the host's."""
    mine, theirs = filled(GPU, 100, RANK + 1), filled(GPU if RANK == 0 else Host, 100, -1)
    request = WORLD.Iallreduce(mine.mpi(), theirs.mpi())
    while not request.Get_status():
        os.sched_yield()
    assert theirs.get() == [ALL] * 100
    theirs.fill(7)
    request.Wait()
    assert theirs.get() == [7] * 100


def communicators_come_and_go() -> None:
    """Several at once, begun in another order on each rank, and freed while calls are under way."""
    comms = [WORLD.Dup() for _ in range(6)]
    order = list(range(len(comms)))
    random.Random(RANK).shuffle(order)
    begun = [iallreduce(GPU, 100 + i, comms[i]) for i in order]
    for comm in comms:
        comm.Free()
    begun += [iallreduce(GPU, 10, WORLD)]
    half = MPI.Intracomm(WORLD.Split(RANK % 2, -RANK))
    begun += [iallgather(GPU, 33, half), ibcast(GPU, 7, half)]
    freed = MPI.Intracomm(half)
    freed.Free()
    MPI.Request.Waitall([request for request, _, _ in begun])
    for _, got, expected in begun:
        assert got() == expected
    request, got, expected = iallreduce(GPU, 5, MPI.COMM_SELF)
    request.Wait()
    assert got() == expected


def types_may_be_freed_at_once() -> None:
    """Also where the call itself waits behind others."""
    for late in range(SIZE):
        if late == RANK:
            time.sleep(0.05)
        first = iallreduce(GPU, 10, WORLD)
        two = MPI.INT.Create_vector(2, 1, 2).Commit()
        data = filled(GPU if RANK % 2 else Host, 3, RANK)
        bcast = WORLD.Ibcast([data.view, 1, two], late)
        two.Free()
        made, dup = WORLD.Idup()
        MPI.Request.Waitall([first[0], bcast, dup])
        assert first[1]() == first[2]
        assert data.get() == [late, RANK, late]
        made.Barrier()
        made.Free()


def a_blocking_one_may_follow_at_once() -> None:
    """What does the one before is what does the blocking one, too."""
    for turn in range(100):
        begun = [iallreduce(GPU, 100 + i, WORLD) for i in range(turn % 3 + 1)]
        mine, theirs = filled(GPU, 20, RANK + 1), filled(GPU, 20, -1)
        WORLD.Allreduce(mine.mpi(), theirs.mpi())
        assert theirs.get() == [ALL] * 20
        MPI.Request.Waitall([request for request, _, _ in begun])
        for _, got, expected in begun:
            assert got() == expected


def what_mpi_refuses_is_an_error() -> None:
    WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    data = GPU(4)
    begun = [iallreduce(GPU, 10, WORLD)]
    refused = MPI.SUCCESS
    try:
        request = WORLD.Ibcast([data.view, 4, MPI.INT], SIZE + 3)
        request.Wait()
    except MPI.Exception as error:
        refused = error.Get_error_class()
    assert refused == MPI.ERR_ROOT
    begun += [iallreduce(GPU, 20, WORLD)]
    MPI.Request.Waitall([request for request, _, _ in begun])
    for _, got, expected in begun:
        assert got() == expected


Again = tuple[MPI.Prequest, Host, Callable[[int], None], Callable[[int], None]]


def repeated(kind: type[Host], count: int) -> Again:
    """A persistent sum, what it brings, and how to give and check what belongs to a turn."""
    mine, theirs = filled(kind, count, -1), filled(kind, count, -1)
    request = WORLD.Allreduce_init(mine.mpi(), theirs.mpi())

    def check(turn: int) -> None:
        assert theirs.get() == [ALL + turn * SIZE] * count, turn

    return request, theirs, lambda turn: mine.fill(RANK + 1 + turn), check


def persistent_ones_start_again_and_again() -> None:
    request, theirs, give, check = repeated(GPU, 300)
    idle = MPI.Status()
    request.Wait(idle)  # not started
    for turn in range(400):  # each way may look just when the call comes to its end
        give(turn)
        theirs.fill(-1)
        request.Start()
        if turn % 4 == 1:
            while not request.Test():
                os.sched_yield()
        elif turn % 8 == 2:
            assert MPI.Request.Waitany([MPI.REQUEST_NULL, request]) == 1
        elif turn % 8 == 6:
            assert MPI.Request.Waitsome([request, MPI.REQUEST_NULL]) == [0]
        elif turn % 4 == 3:
            while not request.Get_status():
                os.sched_yield()
            request.Wait()
        else:
            request.Wait()
        check(turn)
    request.Free()


def persistent_ones_start_in_any_order() -> None:
    """Each rank its own, some of GPU memory and some not, beside others that end in a request; and a freed one makes
    room for another."""
    mine = random.Random(RANK)
    for kinds in ([GPU, GPU, Host, mine.choice([GPU, Host])], [GPU] * 6):
        ones = [repeated(kind, 50 + i) for i, kind in enumerate(kinds)]
        for turn in range(10):
            order = list(range(len(ones)))
            mine.shuffle(order)
            for i in order:
                ones[i][2](turn)
                ones[i][1].fill(-1)
            if turn % 2:
                MPI.Prequest.Startall([ones[i][0] for i in order])
            else:
                for i in order:
                    ones[i][0].Start()
            other, got, expected = iallreduce(GPU, 77, WORLD)
            mine.shuffle(order)
            MPI.Request.Waitall([other, *(ones[i][0] for i in order)])
            for one in ones:
                one[3](turn)
            assert got() == expected
        for one in ones:
            one[0].Free()


def persistent_ones_outlive_their_communicator() -> None:
    comm = WORLD.Dup()
    mine, theirs = filled(GPU, 10, RANK + 1), filled(GPU, 10, -1)
    request = comm.Bcast_init(mine.mpi(), 0)
    other = comm.Allreduce_init(mine.mpi(), theirs.mpi())
    request.Start()
    request.Wait()
    assert mine.get() == [1] * 10
    other.Start()
    other.Wait()
    assert theirs.get() == [SIZE] * 10
    comm.Free()
    if "Open MPI" not in MPI.Get_library_version():  # whose own crash then
        theirs.fill(-1)
        other.Start()
        other.Wait()
        assert theirs.get() == [SIZE] * 10
    request.Free()
    other.Free()


def main() -> None:
    checks = [
        the_first_collective_of_all_ends_in_a_request,
        every_collective_may_end_in_a_request,
        many_are_under_way_at_once,
        a_blocking_one_may_follow_at_once,
        they_complete_in_every_way,
        buffers_are_where_each_rank_likes,
        who_comes_late_holds_up_nobodys_messages,
        a_rank_that_computes_keeps_nobody_waiting,
        what_a_look_has_brought_is_the_programs,
        communicators_come_and_go,
        types_may_be_freed_at_once,
        persistent_ones_start_again_and_again,
        persistent_ones_outlive_their_communicator,
        persistent_ones_start_in_any_order,
        what_mpi_refuses_is_an_error,
    ]
    old = "Open MPI v4" in MPI.Get_library_version()  # it has no persistent collectives
    for check in checks:
        if check.__name__ in sys.argv[1:]:
            continue
        if not (old and check.__name__.startswith("persistent")):
            check()
        KEPT.clear()
        WORLD.Barrier()
        if RANK == 0:
            print(check.__name__, flush=True)


if __name__ == "__main__":
    main()
