"""What the drop-in adds to the making of a communicator: ncclCommInitRank as a program's own name leads to it, and
NCCL's own, in turns in one process, with all that sennit makes for the communicator before its first call."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass

from sennit.baselines.torch_passing import SUCCESS, Function, functions

ROUNDS = 5


class Identity(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = (("bytes", ctypes.c_ubyte * 128),)


@dataclass(frozen=True)
class Maker:
    """The functions of one side, with their arguments in C."""

    unique_id: Function
    init: Function
    destroy: Function


@dataclass(frozen=True)
class Ranks:
    """Who makes a communicator, and how they meet meanwhile: `share` gives all what rank 0 has, and `slowest` the
    largest number of all, once all streams are done."""

    rank: int
    size: int
    share: Callable[[bytes], bytes]
    slowest: Callable[[float], float]


def makers() -> tuple[Maker, Maker] | None:
    """As a program reaches them, and the library's own; none where nothing is between them."""
    found = [functions(name) for name in ("ncclGetUniqueId", "ncclCommInitRank", "ncclCommDestroy")]
    if found[1] is None or found[2] is None:
        return None
    through, own = zip(found[1], found[2], strict=True)
    # The id may be NCCL's alone to give.
    ids = found[0] or functions("ncclGetUniqueId", same=True)
    return (Maker(ids[0], *through), Maker(ids[1], *own)) if ids is not None else None


def took_ms(maker: Maker, ranks: Ranks) -> float:
    """Of one communicator, on the slowest rank. Raises RuntimeError."""
    identity = Identity()
    if ranks.rank == 0:
        _check(maker.unique_id(ctypes.byref(identity)), "ncclGetUniqueId")
    identity = Identity.from_buffer_copy(ranks.share(bytes(identity)))
    made = ctypes.c_void_p()
    ranks.slowest(0)
    start = time.perf_counter()
    code = maker.init(ctypes.byref(made), ctypes.c_int(ranks.size), identity, ctypes.c_int(ranks.rank))
    took = ranks.slowest((time.perf_counter() - start) * 1e3)
    _check(code, "ncclCommInitRank")
    _check(maker.destroy(made), "ncclCommDestroy")
    return took


def all_ms(both: tuple[Maker, Maker], ranks: Ranks, rounds: int = ROUNDS) -> list[tuple[float, float]]:
    """What each takes, in every round. Each is first as often, or nearly."""
    found = []
    for round_ in range(rounds + 1):
        took = {which: took_ms(both[which], ranks) for which in ((0, 1) if round_ % 2 else (1, 0))}
        found.append((took[0], took[1]))
    return found[1:]  # the first loads what is loaded once


def _check(code: int, what: str) -> None:
    if code != SUCCESS:
        raise RuntimeError(f"{what} returned {code}")
