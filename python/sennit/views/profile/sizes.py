"""A profile by the size of messages, in the bins of figure 5.8 of Temuçin 2021, CPU and GPU buffers apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sennit import units
from sennit.model.profile import Profile
from sennit.model.profile_sums import Sum, bins
from sennit.units import NOTHING
from sennit.views.charts.columns import Columns, column_chart, count_axis
from sennit.views.charts.frame import Axis
from sennit.views.profile.part import Part, percent_axis
from sennit.views.profile_text import span
from sennit.views.text_table import Table

SIDES = {"host": "CPU buffers", "gpu": "GPU buffers"}
SAID = "A bin has the sizes above its lower bound, up to its upper one. Pinned and managed memory are CPU buffers."

Cell = tuple[float, str]  # a value, and what is said of it


def sizes(profile: Profile) -> Part | None:
    """How many calls had which size, and what they took; None where no call has a size."""
    found = by_side(profile)
    names = {upper: span(total.rows[0]) for each in found.values() for upper, total in each.items()}
    if not names:
        return None
    shown = contiguous(sorted(names))

    def calls(total: Sum) -> Cell:
        return float(total.calls), str(total.calls)

    def time(total: Sum) -> Cell:
        share = profile.share(total.seconds)
        return share, units.percent(share)

    def drawn(title: str, cell: Callable[[Sum], Cell], axis: Callable[[float], Axis], unit: str) -> str:
        series = [
            Columns(SIDES[side], side, [cell(each[upper]) if upper in each else None for upper in shown])
            for side, each in found.items()
        ]
        most = max(value[0] for one in series for value in one.values if value)
        places = [(units.size(upper), names.get(upper, "")) for upper in shown]
        return column_chart(title, places, series, axis(most), unit)

    pictures = {
        "sizes-calls": drawn("Calls by size of their message", calls, count_axis, " calls"),
        "sizes-time": drawn("Share of run time by size", time, percent_axis, " of run time"),
    }
    headings = [f"{what}, {SIDES[side]}" for what in ("calls", "of run time") for side in found]
    lines = [
        [names[upper]]
        + [cell(each[upper])[1] if upper in each else NOTHING for cell in (calls, time) for each in found.values()]
        for upper in sorted(names)
    ]
    return Part("By size", [SAID], pictures, Table(["size", *headings], lines, left=("size",)))


def by_side(profile: Profile) -> dict[str, dict[int, Sum]]:
    """Calls of CPU buffers, and of GPU buffers, by the largest size of their bin; those that there are."""
    found = {}
    for side in SIDES:
        rows = [row for row in profile.counted if row.on_gpu == (side == "gpu")]
        found[side] = {upper: Sum.of(each, len(profile.ranks)) for upper, each in bins(rows).items()}
    return {side: each for side, each in found.items() if each}


def contiguous(uppers: Sequence[int]) -> list[int]:
    """All bins from the first to the last, so that distances are true. The bin of nothing stands by itself."""
    found = [upper for upper in uppers if upper == 0]
    positive = [upper for upper in uppers if upper > 0]
    upper = positive[0] if positive else 0
    while positive and upper <= positive[-1]:
        found.append(upper)
        upper *= 2
    return found if set(uppers) <= set(found) else list(uppers)
