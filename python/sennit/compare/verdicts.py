"""What a result says, in sentences."""

from __future__ import annotations

from sennit import units
from sennit.compare.groups import BASELINE, Group, groups, of_limit
from sennit.compare.ratio import Ratio
from sennit.model.result import Result

# What a reader calls each variant of puts; others go by their own name.
NAMES = {"engine": "the engine alone", "host": "the host path alone", "nccl": "NCCL", "ucx": "UCX"}


def spoken(variant: str) -> str:
    """A variant as a sentence names it."""
    return NAMES.get(variant, variant)


def verdicts(group: Group) -> list[str]:
    """The sentences about one case: where sennit gains most over the engine alone, whether it is ever slower, and
    how near the links' limit it comes. Empty when sennit itself was not measured."""
    sentences = []
    known = _ratios(group)
    if known:
        size, best = max(known, key=lambda pair: pair[1].value)
        if best.verdict == "faster":
            sentences.append(f"Most at {units.size(size)}: {best} times {spoken(BASELINE)}.")
        slower = [(size, ratio) for size, ratio in known if ratio.verdict == "slower"]
        if slower:
            places = ", ".join(f"{units.size(size)} ({ratio})" for size, ratio in slower)
            sentences.append(f"Slower than {spoken(BASELINE)} at {places}.")
            if any((row := group.row(size)) is not None and len(row.split) > 1 for size, _ in slower):
                sentences.append(
                    "Repeat with more --seconds; if it stays, set SENNIT_SPLIT=direct=1 for these sizes and "
                    "report it."
                )
            else:
                sentences.append(
                    "They took the direct path alone, so no split is to blame; report it if it stays with more "
                    "--seconds."
                )
        elif best.verdict == "faster":
            sentences.append(f"At no size slower than {spoken(BASELINE)} beyond the noise.")
        else:
            sentences.append(f"Within the noise of {spoken(BASELINE)} at every size.")
    reached = [(size, part) for size in group.sizes if (part := of_limit(group.row(size))) is not None]
    if reached:
        size, part = max(reached, key=lambda pair: pair[1])
        row = group.row(size)
        assert row is not None
        sentences.append(
            f"Nearest to the links' limit at {units.size(size)}: {units.rate(row.gbps)}, "
            f"{units.percent(part)} of {units.rate(row.limit_gbps)}."
        )
    unchecked = [size for size in group.sizes if (row := group.row(size)) and not row.verified]
    if unchecked:
        sentences.append(f"Not verified at {', '.join(units.size(size) for size in unchecked)}: do not use them.")
    return sentences


def beside(group: Group, peer: str, name: str) -> list[str]:
    """Where sennit is faster than this peer, and where slower. `name`: what a sentence calls the peer."""
    found: dict[str, list[str]] = {"faster": [], "slower": [], "same": []}
    for size, compared in _ratios(group, peer):
        found[compared.verdict].append(f"{units.size(size)} ({compared})" if group.is_sized() else f"({compared})")
    at = "at " if group.is_sized() else ""
    return [
        f"{verdict.capitalize()} than {name} {at}{', '.join(found[verdict])}."
        for verdict in ("faster", "slower")
        if found[verdict]
    ]


def below(result: Result, wanted: float) -> list[str]:
    """Where sennit is less than `wanted` times as fast as the engine alone, by more than the noise: a sentence each.
    Nothing to compare is also a sentence: a check that compared nothing did not pass."""
    sentences = []
    compared = False
    for group in groups(result):
        for size, ratio in _ratios(group):
            compared = True
            if ratio.below(wanted):
                sentences.append(
                    f"{group.title}, {units.size(size)}: {ratio} times {spoken(BASELINE)}, less than {wanted:g}"
                )
    if not compared:
        sentences.append("nothing was compared with the engine alone; add engine to --vs")
    return sentences


def _ratios(group: Group, peer: str = BASELINE) -> list[tuple[int, Ratio]]:
    return [(size, ratio) for size in group.sizes if (ratio := group.ratio(size, peer)) is not None]
