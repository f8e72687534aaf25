"""What is known of stretches of memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Ranges(Generic[T]):
    """A value for every byte, the same over long stretches: at first one for all."""

    def __init__(self, value: T) -> None:
        self._starts = [0]  # ascending; each stretch ends where the next one starts, the last one never
        self._values = [value]

    def _split(self, at: int) -> int:
        """The index of the stretch that starts at `at`, made where there was none."""
        index = bisect_right(self._starts, at) - 1
        if self._starts[index] == at:
            return index
        self._starts.insert(index + 1, at)
        self._values.insert(index + 1, self._values[index])
        return index + 1

    def set(self, begin: int, end: int, value: T) -> None:
        """One value from `begin` up to `end`."""
        if begin >= end:
            return
        first = self._split(begin)
        last = self._split(end)
        self._starts[first:last] = [begin]
        self._values[first:last] = [value]

    def change(self, begin: int, end: int, change: Callable[[T], T]) -> None:
        """Every value from `begin` up to `end` becomes what `change` makes of it."""
        if begin >= end:
            return
        first = self._split(begin)
        last = self._split(end)
        self._values[first:last] = [change(value) for value in self._values[first:last]]

    def of(self, begin: int, end: int) -> Iterator[T]:
        """The values from `begin` up to `end`, in order, each once a stretch."""
        if begin >= end:
            return
        index = bisect_right(self._starts, begin) - 1
        while index < len(self._starts) and self._starts[index] < end:
            yield self._values[index]
            index += 1
