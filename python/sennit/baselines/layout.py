"""Where a rank's messages lie in its two buffers, as src/bench/collective/layout.h has it, but where MPI defines it
otherwise. Pure."""

from __future__ import annotations

from dataclasses import dataclass

ROOT = 0
GATHERS = ("allgather", "gather", "all_to_all", "all_to_all_v")  # a rank gets a message of each
SCATTERS = ("reduce_scatter", "scatter", "all_to_all", "all_to_all_v")  # a rank gives a message to each
NEVER_IN_PLACE = ("all_to_all", "all_to_all_v", "sendrecv")


@dataclass(frozen=True)
class Layout:
    """One rank's part in an operation whose larger buffer has so many bytes."""

    operation: str
    bytes: int
    rank: int
    ranks: int
    in_place: bool

    @property
    def message(self) -> int:
        """Bytes that one rank gives another, or all of them."""
        return self.bytes // (self.ranks if self.operation in GATHERS + SCATTERS else 1)

    @property
    def given(self) -> int:
        """Messages that this rank gives."""
        if self.operation == "barrier" or (self.operation in ("broadcast", "scatter") and self.rank != ROOT):
            return 0
        return self.ranks if self.operation in SCATTERS else 1

    @property
    def taken(self) -> int:
        """Messages that it gets."""
        if self.operation == "barrier" or (self.operation in ("reduce", "gather") and self.rank != ROOT):
            return 0
        return self.ranks if self.operation in GATHERS else 1

    @property
    def before(self) -> int:
        """The rank that sends to this one, where each sends to the next."""
        return (self.rank - 1) % self.ranks

    @property
    def input(self) -> slice:
        """Its place in the first buffer."""
        return self._place(self.given, self.in_place and self.operation in GATHERS)

    @property
    def output(self) -> slice:
        """Its place in the second buffer, or in place in the first. In place MPI_Reduce_scatter_block puts the result
        at the buffer's beginning, other than sennit and NCCL."""
        own = self.in_place and self.operation in SCATTERS and self.operation != "reduce_scatter"
        return self._place(self.taken, own)

    def _place(self, messages: int, own: bool) -> slice:
        begin = self.rank * self.message if own else 0
        return slice(begin, begin + messages * self.message)


def bus_factor(operation: str, ranks: int) -> float:
    """What nccl-tests multiplies size / time with, so that it compares with a link."""
    if operation == "allreduce":
        return 2 * (ranks - 1) / ranks
    return 1.0 if operation in ("broadcast", "reduce", "sendrecv") else (ranks - 1) / ranks
