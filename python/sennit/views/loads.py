"""How busy the links and devices of a machine were, for its picture: what is written there, and in which colour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from sennit import units
from sennit.model.machine import Link
from sennit.model.sim import Load

# Where bands end, in per cent, and their names in the legend. Band 0 is of what carried nothing.
BANDS = [(0, "nothing"), (25, "below 25 %"), (50, "25 to 49 %"), (75, "50 to 74 %"), (90, "75 to 89 %")]
LAST_BAND = "90 % and more"
NEXT = 112  # from a band to the next one in the legend
NOTHING: Mapping[str, str] = {}

# The busiest stand out most: lightness falls from band to band, and rises on a dark page, so that the order shows
# with any colour vision and without colours. Labels say the same in per cent.
LIGHT = ["#b4bcc4", "#f0b429", "#ef7f36", "#d1495b", "#8e2f72", "#3b0f70"]
DARK = ["#4a525b", "#6a3d8f", "#b0467f", "#ea6a55", "#fca63f", "#fcf07a"]


def _rules(colours: Sequence[str]) -> str:
    return "".join(f".machine .load{band}{{stroke:{colour}}}" for band, colour in enumerate(colours))


STYLE = f"{_rules(LIGHT)}@media(prefers-color-scheme:dark){{{_rules(DARK)}}}"


def band(busy: float) -> int:
    """Which colour. By the whole number of per cent that is written beside it."""
    percent = round(100 * min(busy, 1))
    return 0 if busy <= 0 else next((index for index, (end, _) in enumerate(BANDS) if percent < end), len(BANDS))


class Loads:
    """The loads of a call: the `heading` says of which collective, `call` by which plan, and `note`, where there is
    one, what else a reader must know. `boxes`: what is written in devices, by their ids; `amounts`: what was carried,
    by resource."""

    def __init__(
        self, loads: Iterable[Load], heading: str, call: str, note: str = "", boxes: Mapping[str, str] = NOTHING,
        amounts: Mapping[str, str] = NOTHING,
    ) -> None:  # fmt: skip
        self.heading, self.call, self.note, self.boxes, self._amounts = heading, call, note, boxes, amounts
        self._busy: dict[str, float] = {}
        for load in loads:
            # Links side by side share a name.
            self._busy[load.resource] = max(load.busy, self._busy.get(load.resource, 0))

    def of(self, link: Link) -> tuple[float, float, float]:
        """From its first end to its second, back, and both ways together."""
        one, other = link.from_, link.to
        both = max(self._busy.get(f"{one}<>{other}", 0), self._busy.get(f"{other}<>{one}", 0))
        return self._busy.get(f"{one}>{other}", 0), self._busy.get(f"{other}>{one}", 0), both

    def amounts(self, link: Link) -> tuple[str, str]:
        """Carried there, and back; empty where nothing is to be said."""
        one, other = link.from_, link.to
        return self._amounts.get(f"{one}>{other}", ""), self._amounts.get(f"{other}>{one}", "")

    def told(self, link: Link) -> str:
        """In words: "gpu0>gpu1 77 %, gpu1>gpu0 20 %, both ways together 81 %"."""
        forward, backward, both = self.of(link)
        one, other = f"{link.from_}>{link.to}", f"{link.to}>{link.from_}"
        together = f", both ways together {units.percent(both)}" if both > 0 else ""
        return f"{one} {units.percent(forward)}, {other} {units.percent(backward)}{together}"

    def limits(self, device: str) -> list[tuple[str, float]]:
        """Of a device's own limits ("write", "memory") those that carried something, the busiest first."""
        own = [
            (resource.removeprefix(f"{device}:"), busy)
            for resource, busy in self._busy.items()
            if resource.startswith(f"{device}:") and busy > 0
        ]
        return sorted(own, key=lambda each: -each[1])


def ways(right: float, down: float) -> str:
    """How the ways along a line are written: there, back, and both alike. A line that is not level goes up or down,
    however far to the side."""
    if down:
        return "↓↑↕" if down > 0 else "↑↓↕"
    return "→←↔" if right >= 0 else "←→↔"


def link_lines(
    forward: float, backward: float, both: float, arrows: str, amounts: Sequence[str] = ("", "")
) -> list[str]:
    """The label of a link: ["↑ 77 %", "↓ 20 %", "Σ 81 %"], the last where both ways together are the tighter limit;
    ["↕ 77 %"] where they are alike. Nothing of a link that carried nothing. `amounts`: written before each."""
    if max(forward, backward, both) <= 0:
        return []
    each = [units.percent(forward), units.percent(backward)]
    if each[0] == each[1] and amounts[0] == amounts[1]:
        lines = [amounts[0], f"{arrows[2]} {each[0]}"]
    else:
        lines = [amounts[0], f"{arrows[0]} {each[0]}", amounts[1], f"{arrows[1]} {each[1]}"]
    lines = [line for line in lines if line]
    together = units.percent(both)
    return lines + ([f"Σ {together}"] if both > max(forward, backward) and together not in each else [])


IN_BOXES = "In boxes: the tightest of a device's own limits. "
EXPLAINED = [
    "Per cent of what a link can carry: ↑ ↓ ← → that way, ↕ ↔ each way, Σ both ways together where",
    f"that is the tighter limit. {IN_BOXES}Widths are bandwidths.",
]


def height() -> float:
    """What the lines below the picture need more than those without loads."""
    return 18 * len(EXPLAINED)


def width(loads: Loads) -> float:
    """What the lines above and below the picture need."""
    texts = [loads.heading, loads.call, *EXPLAINED, loads.note]
    return max(NEXT * (len(BANDS) + 1), *(6.2 * len(text) for text in texts))


def legend(loads: Loads, left: float, top: float) -> str:
    """The bands, and what the labels mean."""
    parts = []
    for index, name in enumerate([*(name for _, name in BANDS), LAST_BAND]):
        at = left + index * NEXT
        parts.append(f'<path class="load{index}" stroke-width="5" d="M{at:.0f} {top + 14:.0f}h18"/>')
        parts.append(f'<text x="{at + 23:.0f}" y="{top + 18:.0f}">{escape(name)}</text>')
    for index, text in enumerate([*EXPLAINED, loads.note]):
        text = text.replace(IN_BOXES, "") if loads.boxes else text
        parts.append(f'<text x="{left:.0f}" y="{top + 40 + 18 * index:.0f}">{escape(text)}</text>' if text else "")
    return "".join(parts)
