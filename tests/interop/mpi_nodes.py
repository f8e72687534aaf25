"""A rank that calls collectives of long GPU buffers over several nodes through mpi4py, and checks what comes.
test_mpi_nodes.py starts it with emulated GPU memory and SENNIT_NODE, you with CuPy on GPUs.

    sennit run -- mpirun -n 4 sh -c 'SENNIT_NODE=$((RANK / 2)) python tests/interop/mpi_nodes.py'
"""

from __future__ import annotations

import array
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from mpi4py import MPI
from mpi_memory import GPU, RANK, SIZE, WORLD, Host, do_in_turn

# Of messages that sennit takes: one chunk, several, and with a rest that no number of ranks divides.
COUNTS = [128 * 1024, 1_100_003, 4_300_000]


Ints: TypeAlias = "array.array[int]"  # which Python 3.10 cannot evaluate


def repeated(one: Iterable[int], count: int) -> Ints:
    """Numbers again and again, so many in all."""
    few = array.array("i", one)
    return (few * (count // len(few) + 1))[:count]


def given(rank: int, count: int) -> Ints:
    """What a rank puts in."""
    return repeated((rank * 11 + i for i in range(997)), count)


def reduced(comm: MPI.Comm, count: int, op: Callable[[Iterator[int]], int]) -> Ints:
    """Element by element over what the ranks put in."""
    return repeated((op(rank * 11 + i for rank in range(comm.Get_size())) for i in range(997)), count)


def check(what: str, buffer: Host, expected: Ints) -> None:
    if len(buffer.view) != len(expected) or not buffer.begins_with(expected):
        got = array.array("i", buffer.view.tobytes())
        at = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
        raise AssertionError(f"rank {RANK}: {what}: element {at} is {got[at]}, not {expected[at]}")


def allreduce(comm: MPI.Comm, count: int, kind: type[Host] = GPU) -> None:
    rank = comm.Get_rank()
    mine, result = kind(count), kind(count)
    operators: list[tuple[MPI.Op, Callable[[Iterator[int]], int]]] = [(MPI.SUM, sum), (MPI.MAX, max)]
    for op, plain in operators if count < COUNTS[2] else operators[:1]:
        mine.put(given(rank, count))
        result.fill(-1)
        comm.Allreduce(mine.mpi(), result.mpi(), op)
        check(f"allreduce of {count}", result, reduced(comm, count, plain))
        check("its input", mine, given(rank, count))
        comm.Allreduce(MPI.IN_PLACE, mine.mpi(), op)
        check(f"allreduce of {count} in place", mine, reduced(comm, count, plain))


def allreduces_of_every_length() -> None:
    for count in (100, *COUNTS):
        allreduce(WORLD, count)


def reduces_to_every_root() -> None:
    for root in range(SIZE):
        count = COUNTS[root % 2]
        mine, result = GPU(count), GPU(count)
        mine.put(given(RANK, count))
        result.fill(-1)
        WORLD.Reduce(mine.mpi(), result.mpi() if root == RANK else None, MPI.SUM, root)
        check(f"reduce to {root}", result, reduced(WORLD, count, sum) if root == RANK else repeated([-1], count))
        check("its input", mine, given(RANK, count))


def broadcasts_from_every_root() -> None:
    for root in range(SIZE):
        count = COUNTS[root % 2]
        data = GPU(count)
        data.put(given(RANK, count))
        WORLD.Bcast(data.mpi(), root)
        check(f"broadcast from {root}", data, given(root, count))


def broadcasts_among_some_ranks() -> None:
    """From every one of all ranks, of all but the last the other way round, and of the first and last."""
    for chosen in (range(SIZE), range(SIZE - 1)[::-1], (0, SIZE - 1)):
        some = WORLD.Create(WORLD.group.Incl(list(chosen)))
        if some == MPI.COMM_NULL:
            continue
        for root in range(some.Get_size()):
            count = COUNTS[root % 2]
            data = GPU(count)
            data.put(given(some.Get_rank(), count))
            some.Bcast(data.mpi(), root)
            check(f"bcast from {root} of {some.Get_size()}", data, given(root, count))
        some.Free()


def joined(comm: MPI.Comm, count: int) -> Ints:
    """What all ranks put in, one behind the other."""
    return array.array("i", b"".join(given(rank, count).tobytes() for rank in range(comm.Get_size())))


def allgather(comm: MPI.Comm, count: int) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    mine, result = GPU(count), GPU(count * size)
    mine.put(given(rank, count))
    result.fill(-1)
    comm.Allgather(mine.mpi(), result.of(count, MPI.INT))
    check(f"allgather of {count}", result, joined(comm, count))
    result.fill(-1)
    result.view[rank * count : (rank + 1) * count] = mine.view[:]
    comm.Allgather(MPI.IN_PLACE, result.of(count, MPI.INT))
    check(f"allgather of {count} in place", result, joined(comm, count))


def allgatherv(comm: MPI.Comm, count: int) -> None:
    """Lengths that differ a little, and places that are backwards and apart."""
    rank, size = comm.Get_rank(), comm.Get_size()
    counts = [count + 101 * other for other in range(size)]
    places = [1 + sum(counts[other + 1 :]) + size - other for other in range(size)]
    mine, result = GPU(counts[rank]), GPU(sum(counts) + size + 1)
    mine.put(given(rank, counts[rank]))
    expected = repeated([-1], len(result.view))
    for other in range(size):
        expected[places[other] : places[other] + counts[other]] = given(other, counts[other])
    for in_place in False, True:
        result.fill(-1)
        result.view[places[rank] : places[rank] + counts[rank]] = mine.view[:]
        comm.Allgatherv(MPI.IN_PLACE if in_place else mine.mpi(), [result.view, counts, places, MPI.INT])
        check(f"allgatherv of {count}{' in place' * in_place}", result, expected)


def gather_and_scatter(comm: MPI.Comm, count: int, root: int) -> None:
    """One's own message is in place every other time."""
    rank, size = comm.Get_rank(), comm.Get_size()
    here, in_place = rank == root, rank == root and root % 2 == 1
    mine, all_ = GPU(count), GPU(count * size)
    mine.put(given(rank, count))
    all_.fill(-1)
    if in_place:
        all_.view[rank * count : (rank + 1) * count] = mine.view[:]
    comm.Gather(MPI.IN_PLACE if in_place else mine.mpi(), all_.of(count, MPI.INT) if here else None, root)
    check(f"gather of {count} at {root}", all_, joined(comm, count) if here else repeated([-1], count * size))
    mine.fill(-1)
    comm.Scatter(all_.of(count, MPI.INT) if here else None, MPI.IN_PLACE if in_place else mine.mpi(), root)
    check(f"scatter of {count} from {root}", mine, repeated([-1], count) if in_place else given(rank, count))
    check("its input", all_, joined(comm, count) if here else repeated([-1], count * size))


def gatherv_and_scatterv(comm: MPI.Comm, counts: list[int], root: int) -> None:
    """Places are backwards and apart; the root's own message is in place every other time."""
    rank, size = comm.Get_rank(), comm.Get_size()
    here, in_place = rank == root, rank == root and root % 2 == 1
    places = [1 + sum(counts[other + 1 :]) + size - other for other in range(size)]
    expected = repeated([-1], sum(counts) + size + 1)
    for other in range(size):
        expected[places[other] : places[other] + counts[other]] = given(other, counts[other])
    mine, all_ = GPU(max(counts[rank], 1)), GPU(len(expected))
    mine.put(given(rank, len(mine.view)))
    all_.fill(-1)
    if in_place:
        all_.view[places[rank] : places[rank] + counts[rank]] = mine.view[: counts[rank]]
    own = MPI.IN_PLACE if in_place else [mine.view, counts[rank], MPI.INT]
    whole = [all_.view, counts, places, MPI.INT] if here else None
    comm.Gatherv(own, whole, root)
    check(f"gatherv of {counts} at {root}", all_, expected if here else repeated([-1], len(expected)))
    mine.fill(-1)
    comm.Scatterv(whole, own, root)
    came = repeated([-1], len(mine.view)) if in_place else given(rank, counts[rank])
    check(f"scatterv of {counts} from {root}", mine, came + repeated([-1], len(mine.view) - len(came)))
    check("its input", all_, expected if here else repeated([-1], len(expected)))


def gathervs_and_scattervs(comm: MPI.Comm) -> None:
    """Of about the same length, with none for one rank, with a long one among short ones, and with short ones, which
    the ranks that have them know, and the root."""
    size = comm.Get_size()
    for root in range(size):
        gatherv_and_scatterv(comm, [COUNTS[1] + 101 * other for other in range(size)], root)
        none = [0 if other == (root + 1) % size else COUNTS[1] - other for other in range(size)]
        gatherv_and_scatterv(comm, none if size > 2 else [COUNTS[1]] * size, root)
    gatherv_and_scatterv(comm, [4 * COUNTS[1]] + [COUNTS[1] // 2] * (size - 1), size - 1)
    gatherv_and_scatterv(comm, [COUNTS[1]] + [100] * (size - 1), 0)
    gatherv_and_scatterv(comm, [0] * size, 0)


def reduce_scatter_of_parts(comm: MPI.Comm, counts: list[int], in_place: bool = True) -> None:
    """Parts that differ, of which a rank may have none."""
    rank = comm.Get_rank()
    before = sum(counts[:rank])
    expected = reduced(comm, sum(counts), sum)[before : before + counts[rank]]
    mine, result = GPU(sum(counts)), GPU(counts[rank] + 1)
    mine.put(given(rank, sum(counts)))
    result.fill(-1)
    comm.Reduce_scatter(mine.mpi(), [result.view, counts[rank], MPI.INT], counts, MPI.SUM)
    check(f"reduce_scatter of {counts}", result, expected + repeated([-1], 1))
    check("its input", mine, given(rank, sum(counts)))
    if not in_place:
        return
    comm.Reduce_scatter(MPI.IN_PLACE, mine.mpi(), counts, MPI.SUM)
    result.view[: counts[rank]] = mine.view[: counts[rank]]
    check(f"reduce_scatter of {counts} in place", result, expected + repeated([-1], 1))


def reduce_scatter(comm: MPI.Comm, count: int) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    expected = reduced(comm, count * size, sum)[rank * count : (rank + 1) * count]
    mine, result = GPU(count * size), GPU(count)
    mine.put(given(rank, count * size))
    for what in "block", "equal counts":
        result.fill(-1)
        if what == "block":
            comm.Reduce_scatter_block(mine.of(count, MPI.INT), result.mpi(), MPI.SUM)
        else:
            comm.Reduce_scatter(mine.mpi(), result.mpi(), [count] * size, MPI.SUM)
        check(f"reduce_scatter of {count}, {what}", result, expected)
        check("its input", mine, given(rank, count * size))
    # mpi4py gives no MPI_IN_PLACE to the block form that has a count of its own.
    comm.Reduce_scatter(MPI.IN_PLACE, mine.mpi(), [count] * size, MPI.SUM)
    result.view[:] = mine.view[:count]
    check(f"reduce_scatter of {count} in place", result, expected)


def sent(source: int, target: int, count: int) -> Ints:
    """What a rank has for another."""
    return repeated((source * 100_000 + target * 1000 + i for i in range(997)), count)


def behind_each_other(parts: Iterable[Ints]) -> Ints:
    return array.array("i", b"".join(part.tobytes() for part in parts))


def alltoall(comm: MPI.Comm, count: int, kind: type[Host] = GPU) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    mine, result = kind(count * size), kind(count * size)
    given_out = behind_each_other(sent(rank, target, count) for target in range(size))
    expected = behind_each_other(sent(source, rank, count) for source in range(size))
    mine.put(given_out)
    result.fill(-1)
    comm.Alltoall(mine.of(count, MPI.INT), result.of(count, MPI.INT))
    check(f"alltoall of {count}", result, expected)
    check("its input", mine, given_out)
    comm.Alltoall(MPI.IN_PLACE, mine.of(count, MPI.INT))
    check(f"alltoall of {count} in place", mine, expected)


def alltoallv(comm: MPI.Comm, length: Callable[[int, int], int], kind: type[Host] = GPU) -> None:
    """`length`: of what a rank has for another. Messages lie apart, and the output backwards."""
    rank, size = comm.Get_rank(), comm.Get_size()
    counts = [length(rank, target) for target in range(size)]
    came = [length(source, rank) for source in range(size)]
    places = [3 + sum(counts[:target]) + target for target in range(size)]
    to = [1 + sum(came[source + 1 :]) + size - source for source in range(size)]
    mine, result = kind(sum(counts) + size + 3), kind(sum(came) + size + 2)
    given_out, expected = (repeated([-1], len(buffer.view)) for buffer in (mine, result))
    for other in range(size):
        given_out[places[other] : places[other] + counts[other]] = sent(rank, other, counts[other])
        expected[to[other] : to[other] + came[other]] = sent(other, rank, came[other])
    mine.put(given_out)
    result.fill(-1)
    comm.Alltoallv([mine.view, counts, places, MPI.INT], [result.view, came, to, MPI.INT])
    check("alltoallv", result, expected)
    check("its input", mine, given_out)


def alltoallvs(comm: MPI.Comm) -> None:
    """Of about the same length, with none for some, and with a long one among short ones."""
    alltoallv(comm, lambda source, target: 600_000 + 997 * source + 11 * target)
    alltoallv(comm, lambda source, target: 0 if (source + target) % 3 == 0 else 1_300_000 + source)
    alltoallv(comm, lambda source, target: 5_000_000 if source == target == 0 else 300_000)
    alltoallv(comm, lambda _, target: 300_000 + target, Host if comm.Get_rank() == 1 else GPU)


def one_message_is_much_longer_than_all_others() -> None:
    """Of eight ranks on four nodes: so many rounds would not pay, as ranks find out together."""
    alltoallv(WORLD, lambda source, target: 4_000_000 if source == 1 and target == 6 else 20_000)


def messages_in_the_order_of_ranks() -> None:
    """Of which some are whole chunks, some are not, and one is short; also where ranks are the other way round."""
    backwards = WORLD.Split(0, -RANK)
    for comm in WORLD, backwards:
        for count in (100, COUNTS[0] * 3) if comm == WORLD else (COUNTS[1],):
            allgather(comm, count)
            reduce_scatter(comm, count)
            alltoall(comm, count)
    allgatherv(backwards, COUNTS[1])
    for root in range(SIZE):
        gather_and_scatter(backwards, COUNTS[0] * 9 if root < 2 else COUNTS[1], root)
    gathervs_and_scattervs(backwards)
    reduce_scatter_of_parts(backwards, [COUNTS[1] - 101 * other for other in range(SIZE)])
    reduce_scatter_of_parts(backwards, [COUNTS[1] * (other < SIZE - 1) for other in range(SIZE)])
    # Where it is staged, MPICH 5.0 ends a program whose own part, in place, is as long as all before it or longer.
    reduce_scatter_of_parts(backwards, [100 if other != 1 else COUNTS[2] for other in range(SIZE)], in_place=False)
    alltoallvs(backwards)
    backwards.Free()


def one_host_buffer_is_enough_for_all_to_stage() -> None:
    """Which rank has one changes from call to call, so nodes that offered hear that another did not."""
    count = COUNTS[0]
    for turn in range(3 * SIZE):
        mine = (Host if turn % (SIZE + 1) == RANK else GPU)(count)
        mine.put(given(RANK, count))
        WORLD.Allreduce(MPI.IN_PLACE, mine.mpi(), MPI.SUM)
        check(f"allreduce in turn {turn}", mine, reduced(WORLD, count, sum))
    for turn in range(SIZE + 1):
        alltoall(WORLD, 2 * count, Host if turn == RANK else GPU)
    alltoall(WORLD, 2 * count, Host)


def words(code: str, one: list[int], count: int) -> Ints:
    """Numbers of another type as memory holds them."""
    return array.array("i", (array.array(code, one) * (count // len(one) + 1))[:count].tobytes())


def numbers_of_other_types_are_reduced() -> None:
    count = 8 * COUNTS[0]  # which nodes of one rank take too
    for datatype, code in ((MPI.DOUBLE, "d"), (MPI.FLOAT, "f"), (MPI.INT64_T, "q"), (MPI.UNSIGNED_SHORT, "H")):
        mine = GPU(count * datatype.Get_size() // 4)
        mine.put(words(code, [RANK + i for i in range(100)], count))
        WORLD.Allreduce(MPI.IN_PLACE, mine.of(count, datatype), MPI.SUM)
        total = words(code, [SIZE * i + SIZE * (SIZE - 1) // 2 for i in range(100)], count)
        check(f"allreduce of {datatype.Get_name()}", mine, total)


def parts_of_the_world_have_nodes_of_their_own() -> None:
    """All but the last rank, so that nodes may differ; the same in another order; and freed communicators."""
    part = WORLD.Split(0 if RANK < SIZE - 1 else MPI.UNDEFINED, RANK)
    backwards = WORLD.Split(0, -RANK)
    for _ in range(2):
        if part != MPI.COMM_NULL:
            allreduce(part, COUNTS[0])
            allreduce(part, COUNTS[1])
        allreduce(backwards, COUNTS[1])
        twin = backwards.Dup()
        allreduce(twin, COUNTS[0])
        twin.Free()
    if part != MPI.COMM_NULL:
        part.Free()
    backwards.Free()


def a_rank_without_memory_keeps_nobody_waiting() -> None:
    """On GPUs there is no such limit, and all ranks have memory."""
    comm = WORLD.Dup()
    mine, result = GPU(COUNTS[1]), GPU(COUNTS[1])
    mine.put(given(RANK, COUNTS[1]))
    WORLD.Allreduce(mine.mpi(), result.mpi(), MPI.SUM)
    before = resource.getrlimit(resource.RLIMIT_AS)
    if RANK == SIZE - 1:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        # Enough for threads, not for what goes between nodes.
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (64 << 20), before[1]))
    result.fill(-1)
    comm.Allreduce(mine.mpi(), result.mpi(), MPI.SUM)
    resource.setrlimit(resource.RLIMIT_AS, before)
    check("allreduce where a rank has no memory", result, reduced(comm, COUNTS[1], sum))
    comm.Free()


ALL = (
    allreduces_of_every_length,
    reduces_to_every_root,
    broadcasts_from_every_root,
    messages_in_the_order_of_ranks,
    a_rank_without_memory_keeps_nobody_waiting,
    one_host_buffer_is_enough_for_all_to_stage,
    numbers_of_other_types_are_reduced,
    parts_of_the_world_have_nodes_of_their_own,
)


def main() -> None:
    """All, or those that the arguments name."""
    others = (one_message_is_much_longer_than_all_others, broadcasts_among_some_ranks)
    chosen = {check.__name__: check for check in (*ALL, *others)}
    do_in_turn([chosen[name] for name in sys.argv[1:]] or ALL)


if __name__ == "__main__":
    main()
