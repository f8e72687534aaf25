"""One rank of a test of sennit.capi: `python capi_rank.py SCENARIO FOLDER`."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

from sennit.capi import Code, Communicator, Message, Operator, SennitError, Type
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


def windows() -> None:
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


def partitions() -> None:
    """A ring of messages in partitions, cut differently at both ends."""
    with Communicator.create(timeout_seconds=20) as comm:
        mine, got = Numbers([0] * 90), comm.allocate(360)
        send = comm.send_partitioned(mine.at, 18, 20, OTHER, 4)
        receive = comm.receive_partitioned(got, 5, 72, BEFORE, 4)
        assert receive.arrived(0, 4), "nothing is on its way"
        for start in range(3):
            send.start()
            receive.start()
            for i in range(90):
                mine.array[i] = 1000 * start + 100 * RANK + i
            send.ready_list([3, 1, 2, 0])
            until = time.monotonic() + 20
            while not receive.arrived(0):
                assert time.monotonic() < until
            assert not receive.arrived(1, 4)
            assert not receive.test()
            comm.meet()  # no rank has made more ready before
            send.ready(4, 16)
            send.enqueue_ready(17)
            receive.enqueue_await(1, 4)
            copied = Numbers([0] * 90)
            comm.copy(copied.at, got, 360)
            receive.wait()
            send.wait()
            comm.synchronize()
            assert copied.values == [1000 * start + 100 * BEFORE + i for i in range(90)]
        error = expect_error(Code.INVALID_ARGUMENT, "ready before start 4", lambda: send.ready(0))
        assert f"rank {OTHER} with tag 4" in error.where
        receive.free()
        send.free()


def to(peer: int, numbers: Numbers) -> Message:
    return Message(peer, True, numbers.at, 4 * len(numbers.array))


def from_(peer: int, numbers: Numbers) -> Message:
    return Message(peer, False, numbers.at, 4 * len(numbers.array))


def messages() -> None:
    """Messages between pairs, in whatever calls their ranks have them, beside collectives of all."""
    with Communicator.create(messages=True, most_blocks=1 + RANK) as comm:
        # A ring in which everybody sends first.
        mine, got = Numbers(list(range(RANK, RANK + 50_000))), Numbers([-1] * 50_000)
        comm.send_receive([to(OTHER, mine), from_(BEFORE, got)])
        comm.synchronize()
        assert got.values == list(range(BEFORE, BEFORE + 50_000))
        # Together on rank 0, one by one on rank 1, and the other way round; the third rank takes no part.
        sent = [Numbers([100 * RANK + i] * (1 + i)) for i in range(3)]
        received = [Numbers([-1] * (1 + i)) for i in range(3)]
        if RANK == 0:
            comm.send_receive([*(from_(1, each) for each in received), *(to(1, each) for each in sent)])
        elif RANK == 1:
            for going, coming in zip(sent, received, strict=True):
                comm.send_receive([to(0, going)])
                comm.send_receive([from_(0, coming)])
        comm.synchronize()
        if RANK < 2:
            assert [each.values for each in received] == [[100 * (1 - RANK) + i] * (1 + i) for i in range(3)]
        rank, sums = Numbers([RANK]), Numbers([0])
        comm.allreduce(rank.at, sums.at, 1, Type.INT32, Operator.SUM)
        # Nothing, and to oneself; all pairs at once, more than one launch holds.
        to_self = Numbers([-1])
        comm.send_receive([])
        comm.send_receive([Message(OTHER, True, 0, 0), to(RANK, rank), from_(RANK, to_self)])
        peers = [peer for peer in range(SIZE) if peer != RANK]
        pairs = [(peer, Numbers([RANK, i]), Numbers([-1, -1])) for peer in peers for i in range(60)]
        comm.send_receive([to(peer, going) for peer, going, _ in pairs]
                          + [from_(peer, coming) for peer, _, coming in pairs])  # fmt: skip
        comm.synchronize()
        assert sums.values == [sum(range(SIZE))]
        assert to_self.values == [RANK]
        assert [coming.values for _, _, coming in pairs] == [[peer, i] for peer in peers for i in range(60)]

        error = expect_error(Code.INVALID_ARGUMENT, f"there is no rank {SIZE}",
                             lambda: comm.send_receive([to(SIZE, mine)]))  # fmt: skip
        assert (error.where, error.remedy) == ("send and receive", f"Use 0 to {SIZE - 1}")
        error = expect_error(Code.INVALID_ARGUMENT, "output is null",
                             lambda: comm.send_receive([Message(OTHER, False, 0, 4)]))  # fmt: skip
        assert f"from rank {OTHER}" in error.where
        expect_error(Code.INVALID_ARGUMENT, "1 messages from this rank to itself, and 0 that it receives",
                     lambda: comm.send_receive([to(RANK, mine)]))  # fmt: skip
    with Communicator.create() as comm:
        error = expect_error(Code.UNSUPPORTED, "made without messages", lambda: comm.send_receive([to(OTHER, mine)]))
        assert "options.messages" in error.remedy
    expect_error(Code.INVALID_ARGUMENT, "options.most_blocks is -1", lambda: Communicator.create(most_blocks=-1))
    unlike = lambda: Communicator.create(messages=RANK == 0)  # noqa: E731
    expect_error(Code.MISMATCH, "options.messages is 1 on rank 0 and 0 on rank 1", unlike)


def late_message() -> None:
    """A rank whose message does not come is named."""
    comm = Communicator.create(messages=True, timeout_seconds=1)
    got = Numbers([0])
    if RANK == 0:
        comm.send_receive([from_(1, got)])
        expect_error(Code.TIMED_OUT, "rank 1", comm.synchronize)
        (FOLDER / "timed out").touch()
    while not (FOLDER / "timed out").exists():
        time.sleep(0.01)
    with contextlib.suppress(SennitError):
        comm.destroy()


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


def another_build() -> None:
    """Rank 1 has a library that lays its memory out in another way, as far as anyone knows."""
    if RANK == 1:
        os.environ["SENNIT_PROGRAMS"] = str(FOLDER / "bin")
        library.cache_clear()
    expect_error(Code.MISMATCH, "rank 1 another build, ", Communicator.create)


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
