"""An exchange of messages of different lengths, which lie side by side in the order of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from sennit.capi import Communicator, Type
from sennit.torch.member import Call


def exchange(src: int, going: Sequence[int], dst: int, coming: Sequence[int]) -> Call:
    """The call that sends so many bytes of `src` to each rank and receives so many from each in `dst`."""

    def places(lengths: Sequence[int]) -> list[int]:
        return [0, *accumulate(lengths)][:-1]

    def call(comm: Communicator, stream: int | None) -> None:
        comm.all_to_all_v(src, going, places(going), dst, coming, places(coming), Type.UINT8, stream=stream)

    return call
