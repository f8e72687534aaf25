"""One rank of a test of sennit.capi: `python capi_rank.py SCENARIO FOLDER`."""

from __future__ import annotations

import os
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

from sennit.capi import Code, Communicator, Operator, SennitError, Type
from sennit.capi.library import library

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FOLDER = Path(sys.argv[2])
OTHER = (RANK + 1) % SIZE
BEFORE = (RANK - 1) % SIZE


class Numbers:
    """An array of C integers, and where it is."""

    def __init__(self, values: list[int]) -> None:
        self.array = array("i", values)

    @property
    def at(self) -> int:
        return self.array.buffer_info()[0]

    @property
    def values(self) -> list[int]:
        return self.array.tolist()


def expect_error(code: Code, part: str, call: Callable[[], object]) -> SennitError:
    """The call fails so."""
    raised = None
    try:
        call()
    except SennitError as error:
        raised = error
    assert raised is not None, "it did not fail"
    assert raised.code == code, str(raised)
    assert part in str(raised), str(raised)
    return raised


def gather_over_files() -> Callable[[bytes], list[bytes]]:
    """An exchange of the program's own."""
    rounds = 0

    def gather(mine: bytes) -> list[bytes]:
        nonlocal rounds
        rounds += 1
        written = FOLDER / f"{rounds}.{RANK}.new"
        written.write_bytes(mine)
        written.rename(FOLDER / f"{rounds}.{RANK}")
        theirs = [FOLDER / f"{rounds}.{rank}" for rank in range(SIZE)]
        until = time.monotonic() + 20
        while not all(file.exists() for file in theirs):
            if time.monotonic() > until:
                raise TimeoutError("ranks are missing")
            time.sleep(0.001)
        return [file.read_bytes() for file in theirs]

    return gather


def collectives() -> None:
    """Every collective, against what it should give."""
    with Communicator.create() as comm:
        assert (comm.rank, comm.size, comm.node_size()) == (RANK, SIZE, SIZE)
        assert all(comm.same_node(rank) for rank in range(SIZE))
        mine = Numbers([10 * RANK, 10 * RANK + 1])
        all_of = [10 * rank + i for rank in range(SIZE) for i in (0, 1)]

        sums = Numbers([0, 0])
        comm.allreduce(mine.at, sums.at, 2, Type.INT32, Operator.SUM)
        tripled = Numbers([0, 0])
        comm.allreduce(mine.at, tripled.at, 2, Type.INT32, Operator.PREMULTIPLIED_SUM, scale=3)
        at_root = Numbers([-1, -1])
        comm.reduce(mine.at, at_root.at, 2, Type.INT32, Operator.MAX, SIZE - 1)
        gathered = Numbers([0] * 2 * SIZE)
        comm.allgather(mine.at, gathered.at, 2, Type.INT32)
        scattered = Numbers([0, 0])
        each_rank = Numbers([RANK * i for i in range(2 * SIZE)])
        comm.reduce_scatter(each_rank.at, scattered.at, 2, Type.INT32, Operator.SUM)
        sent = Numbers(mine.values)
        comm.broadcast(sent.at, sent.at, 2, Type.INT32, 1)
        at_first = Numbers([-1] * 2 * SIZE)
        comm.gather(mine.at, at_first.at, 2, Type.INT32, 0)
        given, got = Numbers(list(range(2 * SIZE))), Numbers([0, 0])
        comm.scatter(given.at, got.at, 2, Type.INT32, 0)
        for_each, swapped = Numbers([100 * RANK + i for i in range(SIZE)]), Numbers([0] * SIZE)
        comm.all_to_all(for_each.at, swapped.at, 1, Type.INT32)
        comm.synchronize()
        assert sums.values == [sum(all_of[0::2]), sum(all_of[1::2])]
        assert tripled.values == [3 * value for value in sums.values]
        assert at_root.values == (all_of[-2:] if RANK == SIZE - 1 else [-1, -1])
        assert gathered.values == all_of
        assert scattered.values == [sum(range(SIZE)) * (2 * RANK + i) for i in (0, 1)]
        assert sent.values == [10, 11]
        assert at_first.values == (all_of if RANK == 0 else [-1] * 2 * SIZE)
        assert got.values == [2 * RANK, 2 * RANK + 1]
        assert swapped.values == [100 * rank + RANK for rank in range(SIZE)]

        # Rank r sends r + 1 numbers to each.
        line, all_lines = Numbers([RANK] * (RANK + 1)), Numbers([-1] * sum(range(SIZE + 1)))
        places = [sum(range(rank + 1)) for rank in range(SIZE)]
        comm.all_to_all_v(line.at, [RANK + 1] * SIZE, [0] * SIZE, all_lines.at, [rank + 1 for rank in range(SIZE)],
                          places, Type.INT32)  # fmt: skip
        comm.barrier()
        comm.synchronize()
        assert all_lines.values == [rank for rank in range(SIZE) for _ in range(rank + 1)]
        comm.check()


def messages() -> None:
    """Windows, put, get and copy, where ranks meet by an exchange of their own."""
    with Communicator.create(place=(RANK, SIZE), gather=gather_over_files(), timeout_seconds=20) as comm:
        inbox = comm.allocate(64)
        assert comm.allocate(0) == 0
        window = comm.register(inbox, 64)
        assert [window.bytes_of(rank) for rank in range(SIZE)] == [64] * SIZE
        message = Numbers([RANK, 7])
        window.put(OTHER, 8, message.at, 8)
        comm.synchronize()
        comm.meet()
        got, theirs = Numbers([0, 0]), Numbers([0, 0])
        comm.copy(got.at, inbox + 8, 8)
        window.get(OTHER, 8, theirs.at, 8)
        comm.synchronize()
        assert got.values == [BEFORE, 7]
        assert theirs.values == [RANK, 7], "what this rank put there"
        expect_error(Code.INVALID_ARGUMENT, "beyond", lambda: window.put(OTHER, 60, message.at, 8))
        expect_error(Code.INVALID_ARGUMENT, "is registered", lambda: comm.free(inbox))
        comm.meet()
        window.deregister()
        comm.free(inbox)
        symmetric = comm.register_symmetric(comm.allocate(4096), 4096)
        symmetric.deregister()
        comm.free(comm.allocate_pinned(4096))


def errors() -> None:
    """What goes wrong is an exception with all that there is to say."""
    comm = Communicator.create()
    numbers = Numbers([0])
    error = expect_error(
        Code.INVALID_ARGUMENT, "there is no rank 9", lambda: comm.broadcast(numbers.at, numbers.at, 1, Type.INT32, 9)
    )
    assert error.where == "broadcast 1 elements"
    assert error.remedy == f"Use 0 to {SIZE - 1}"
    expect_error(Code.INVALID_ARGUMENT, "bit_and is not for float32",
                 lambda: comm.allreduce(numbers.at, numbers.at, 1, Type.FLOAT32, Operator.BIT_AND))  # fmt: skip
    expect_error(Code.INVALID_ARGUMENT, "1 counts",
                 lambda: comm.all_to_all_v(0, [0], [0], 0, [0], [0], Type.INT8))  # fmt: skip
    expect_error(Code.INVALID_ARGUMENT, "place", lambda: Communicator.create(place=(0, 1)))
    comm.meet()  # nobody ends while others still ask
    if RANK == 0:
        comm.abort("enough")
    else:
        until = time.monotonic() + 20
        while True:
            try:
                comm.check()
            except SennitError:
                break
            assert time.monotonic() < until, "nothing was heard of the end"
            time.sleep(0.001)
        expect_error(Code.ABORTED, "enough", comm.check)
    expect_error(Code.ABORTED, "", comm.destroy)
    expect_error(Code.INVALID_ARGUMENT, "", comm.destroy)


def failed_meeting() -> None:
    """What an exchange function raises is the cause of the error."""

    def gather(mine: bytes) -> list[bytes]:
        raise KeyError(f"no store for {len(mine)} bytes")

    def create() -> Communicator:
        return Communicator.create(place=(RANK, SIZE), gather=gather)

    error = expect_error(Code.SYSTEM_ERROR, "exchange function", create)
    assert isinstance(error.__cause__, KeyError), repr(error.__cause__)
    short = lambda: Communicator.create(place=(RANK, SIZE), gather=lambda _: [b""])  # noqa: E731
    assert isinstance(expect_error(Code.SYSTEM_ERROR, "exchange function", short).__cause__, ValueError)


def lost() -> None:
    """A rank that dies is named, and leaving a `with` by an error waits for nobody."""

    def work() -> None:
        with Communicator.create() as comm:
            comm.meet()
            if RANK == 0:
                os._exit(0)
            comm.meet()

    expect_error(Code.PEER_LOST, "rank 0", work)


def main() -> None:
    assert library().version().count(".") == 2
    globals()[sys.argv[1]]()
    print("all right")


main()
