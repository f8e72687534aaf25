"""Blocking collectives of buffers of every kind, and what they bring: checks of mpi_buffers.py."""

from __future__ import annotations

from mpi4py import MPI
from mpi_memory import GPU, INTS, KINDS, RANK, SIZE, WORLD, Host


def collectives_of_every_kind() -> None:
    """On all kinds of memory at once, each rank's own: what one has on the host need not be so for another."""
    for count in (1, 1000, INTS):
        for kinds in ([GPU] * SIZE, [Host] * SIZE, [KINDS[rank % 2] for rank in range(SIZE)]):
            here = kinds[RANK]
            mine, all_ = here(count), here(count * SIZE)
            mine.fill(RANK + 1)
            WORLD.Allreduce(MPI.IN_PLACE, mine.mpi())
            assert mine.get() == [SIZE * (SIZE + 1) // 2] * count
            mine.fill(RANK)
            WORLD.Allgather(mine.mpi(), all_.mpi(count))
            assert all_.get() == [rank for rank in range(SIZE) for _ in range(count)]
            WORLD.Bcast(mine.mpi(), root=SIZE - 1)
            assert mine.get() == [SIZE - 1] * count
            there = here(count * SIZE)
            all_.put([10 * RANK + rank for rank in range(SIZE) for _ in range(count)])
            WORLD.Alltoall(all_.mpi(count), there.mpi(count))
            assert there.get() == [10 * rank + RANK for rank in range(SIZE) for _ in range(count)]


def scans_reduce_the_ranks_before() -> None:
    """Also of more than is gathered at a time."""
    for count in (1, 1000, 2_500_001):
        mine, theirs = GPU(count), GPU(count)
        mine.put(i % 1000 + RANK for i in range(count))
        theirs.fill(-1)
        sums = [[ranks * (i % 1000) + ranks * (ranks - 1) // 2 for i in range(count)] for ranks in (RANK, RANK + 1)]
        WORLD.Scan(mine.mpi(), theirs.mpi())
        assert theirs.get() == sums[1]
        theirs.fill(-1)
        WORLD.Exscan(mine.mpi(), theirs.mpi())
        assert theirs.get() == ([-1] * count if RANK == 0 else sums[0])  # the first rank's is left as it is
        WORLD.Exscan(MPI.IN_PLACE, mine.mpi())
        assert RANK == 0 or mine.get() == sums[0]
        mine.fill(RANK + 1)
        WORLD.Scan(MPI.IN_PLACE, mine.mpi(), MPI.MAX)
        assert mine.get() == [RANK + 1] * count


def ones_own_message_stays_where_it_is() -> None:
    """In place, with messages of different lengths and gaps between them."""
    for unit in (1, 1000, 40_000):
        counts = [(rank + 1) % SIZE * unit for rank in range(SIZE)]
        places = [(2 * rank + 1) * SIZE * unit for rank in reversed(range(SIZE))]
        whole = (2 * SIZE + 1) * SIZE * unit
        every = [-1] * whole
        for rank in range(SIZE):
            every[places[rank] : places[rank] + counts[rank]] = [rank] * counts[rank]
        own = [value if value == RANK else -1 for value in every]
        all_, mine = GPU(whole), GPU(max(counts[RANK], 1))
        described = [all_.view, counts, places, MPI.INT]
        all_.put(own)
        WORLD.Allgatherv(MPI.IN_PLACE, described)
        assert all_.get() == every
        for root in range(SIZE):
            all_.put(own)
            mine.fill(RANK)
            WORLD.Gatherv(MPI.IN_PLACE if root == RANK else mine.mpi(counts[RANK]), described, root)
            assert all_.get() == (every if root == RANK else own)
            mine.fill(-2)
            all_.put(every)
            WORLD.Scatterv(described, MPI.IN_PLACE if root == RANK else mine.mpi(counts[RANK]), root)
            assert all_.get() == every
            assert root == RANK or mine.get()[: counts[RANK]] == [RANK] * counts[RANK]


def a_mapping_of_buffers_may_change_from_call_to_call() -> None:
    buffers = {kind: kind(100) for kind in KINDS}
    for round_ in range(300):
        # Any rule that is not the same on all ranks.
        mine = buffers[KINDS[(round_ * (RANK + 1) // 3) % 2]]
        mine.fill(round_ + RANK)
        if round_ % 3 == 0:
            WORLD.Bcast(mine.mpi(), root=round_ % SIZE)
            assert mine.get() == [round_ + round_ % SIZE] * 100
        else:
            WORLD.Allreduce(MPI.IN_PLACE, mine.mpi(), MPI.MAX)
            assert mine.get() == [round_ + SIZE - 1] * 100


def parts_of_the_world_have_their_own() -> None:
    half = WORLD.Split(RANK % 2, -RANK)
    for communicator in (half, WORLD, half.Dup()):
        mine = GPU(1000)
        mine.fill(1)
        communicator.Allreduce(MPI.IN_PLACE, mine.mpi())
        assert mine.get() == [communicator.Get_size()] * 1000
    half.Free()
    again = WORLD.Split(0, 0)  # may have the handle that was freed
    mine.fill(2)
    again.Allreduce(MPI.IN_PLACE, mine.mpi())
    assert mine.get() == [2 * SIZE] * 1000
    again.Free()


def a_neighbour_that_is_nobody_sends_nothing() -> None:
    line = WORLD.Create_cart([SIZE], periods=[False])
    mine, theirs = GPU(100), GPU(200)
    mine.fill(RANK)
    theirs.fill(-7)
    line.Neighbor_allgather(mine.mpi(), theirs.mpi(100))
    before = RANK - 1 if RANK > 0 else -7
    after = RANK + 1 if RANK + 1 < SIZE else -7
    assert theirs.get() == [before] * 100 + [after] * 100
    line.Free()
