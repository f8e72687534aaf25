"""A part of a profile's page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sennit.views.charts.frame import Axis, linear_axis
from sennit.views.text_table import Table

MOST_SHARE = 1000.0  # of an axis: what threads at once could have, and no broken figure has


@dataclass(frozen=True)
class Part:
    """A title, what is to be known, charts by their names as files, and the table of the same numbers. `drawings`: of
    the width that there is, above both."""

    title: str
    sentences: Sequence[str]
    pictures: dict[str, str]
    table: Table
    drawings: dict[str, str] = field(default_factory=dict)


def percent_axis(most: float) -> Axis:
    """From nothing to about `most`, a share."""
    axis = linear_axis(0, 100 * min(max(most, 0.01), MOST_SHARE), " %")
    return Axis(0, axis.high / 100, [(value / 100, label) for value, label in axis.ticks])
