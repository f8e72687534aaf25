"""What was tuned, put side by side: pairs that were found alike share one measurement, so they share one table."""

from __future__ import annotations

from dataclasses import dataclass

from sennit.model.tuned import PutTable, TunedPut

Pair = tuple[str, str]
Figures = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class PairClass:
    """Pairs with the same measurement, in the order of the table; the entries are the first pair's, by size."""

    pairs: list[Pair]
    both_ways: bool
    entries: list[TunedPut]

    @property
    def title(self) -> str:
        """For example: gpu0 → gpu1 and 11 pairs linked alike, while as much travels back."""
        source, destination = self.pairs[0]
        others = len(self.pairs) - 1
        alike = f" and {others} pair{'s' if others > 1 else ''} linked alike" if others else ""
        return f"{source} → {destination}{alike}, {'while as much travels back' if self.both_ways else 'one way'}"

    @property
    def best(self) -> TunedPut | None:
        """The entry that gains most; None where no size is split."""
        split = [(gain.value, entry) for entry in self.entries if (gain := entry.gain) is not None]
        return max(split, key=lambda pair: pair[0])[1] if split else None


def pair_classes(table: PutTable) -> list[PairClass]:
    """All classes, one way before both ways, otherwise in the order of the table."""
    entries: dict[tuple[bool, Pair], list[TunedPut]] = {}
    for entry in table.entries:
        entries.setdefault((entry.both_ways, (entry.from_, entry.to)), []).append(entry)
    pairs: dict[tuple[bool, Figures], list[Pair]] = {}
    for (both_ways, pair), own in entries.items():
        pairs.setdefault((both_ways, _figures(own)), []).append(pair)
    classes = [
        PairClass(alike, both_ways, sorted(entries[both_ways, alike[0]], key=lambda entry: entry.bytes))
        for (both_ways, _), alike in pairs.items()
    ]
    return sorted(classes, key=lambda one: one.both_ways)


def _figures(entries: list[TunedPut]) -> Figures:
    """What tells one measurement from another: two of them never take the same times to the last bit."""
    return tuple(sorted((entry.bytes, entry.us, entry.spread_us, entry.single_us) for entry in entries))
