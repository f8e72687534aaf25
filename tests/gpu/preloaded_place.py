"""What a rank of the scenarios knows, and numbers that every rank can make."""

from __future__ import annotations

from dataclasses import dataclass

import torch

MARGIN = 37  # elements around a buffer that must stay as they were; odd, so that buffers are not aligned
POISON = 99


@dataclass(frozen=True)
class Place:
    """This rank and its GPU."""

    rank: int
    ranks: int
    device: torch.device
    shares: bool  # the GPU with another rank: each meeting then takes a time slice of the driver's

    def numbers(self, count: int, kind: torch.dtype, seed: int) -> torch.Tensor:
        """1 to 3: exact in every type, and in every sum and product of four ranks."""
        at = torch.arange(count, device=self.device)
        return ((at * 7 + (at >> 5) + seed * 5) % 3 + 1).to(kind)

    def given(self, count: int, kind: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
        """What every rank gives."""
        return [self.numbers(count, kind, seed * 31 + rank) for rank in range(self.ranks)]


class Guarded:
    """A buffer between margins."""

    def __init__(self, place: Place, count: int, kind: torch.dtype) -> None:
        self._whole = torch.full((count + 2 * MARGIN,), POISON, dtype=kind, device=place.device)
        self.data = self._whole[MARGIN : MARGIN + count]

    def expect(self, wanted: torch.Tensor, what: str) -> None:
        """Ends the rank where something else is there, or a margin is not as it was."""
        expect(self.data, wanted, what)
        margins = torch.cat([self._whole[:MARGIN], self._whole[-MARGIN:]])
        assert bool((margins == POISON).all()), f"{what}: it wrote beyond its output"


def expect(found: torch.Tensor, wanted: torch.Tensor, what: str) -> None:
    """Ends the rank where the numbers are others."""
    if not torch.equal(found, wanted):
        at = int((found != wanted).flatten().nonzero()[0])
        raise AssertionError(f"{what}: element {at} is {found.flatten()[at]}, not {wanted.flatten()[at]}")
