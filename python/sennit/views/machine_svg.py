"""A machine as a picture: devices as boxes, links as lines whose width is their bandwidth and whose colour their
kind. Solid lines were measured, dashed ones specified or assumed. With the loads of a call, colours and labels say
how busy links and devices were instead. Readable on a light and on a dark page."""

from __future__ import annotations

from html import escape

from sennit import units
from sennit.model.machine import Device, Link, Machine
from sennit.views import loads as busy
from sennit.views.loads import Loads
from sennit.views.machine_layout import Places, place
from sennit.views.machine_text import KIND_NAMES, device_label, link_label

COLUMN, ROW = 118, 122  # distances between the middles of boxes
BOX_WIDTH, BOX_HEIGHT = 100, 44
MARGIN = 24
LABEL = 13  # from a line of a label to the next
NARROWEST, WIDEST = 1.5, 9.0  # line widths in pixels; the widest link of the machine gets the widest line
COLOURS = {"nvlink": "#2f9e57", "pcie": "#3b7dd8", "socket": "#d9822b", "network": "#9a5fd0"}
STYLE = (
    "svg.machine{font:12px system-ui,sans-serif;fill:#24292f}"
    ".machine .box{fill:#f3f5f7;stroke:#8c959f;stroke-width:1.2}.machine .gpu .box{stroke:#2f9e57;stroke-width:2}"
    ".machine .host .box{stroke:#d9822b;stroke-width:2}.machine .id{font-weight:600}.machine .small{font-size:10px}"
    ".machine .rate{font-size:11px;stroke:#fff;stroke-width:3.5px;paint-order:stroke}.machine .link{fill:none;"
    "stroke-linecap:butt}"
    "@media(prefers-color-scheme:dark){svg.machine{fill:#d8dee4}.machine .box{fill:#22282f}"
    ".machine .rate{stroke:#14181d}}"
)


def machine_svg(machine: Machine, loads: Loads | None = None) -> str:
    """The picture as the text of an SVG file; of how busy everything was, where `loads` are given."""
    places = place(machine)
    ends = [(places[link.from_], places[link.to]) for link in machine.links if {link.from_, link.to} <= places.keys()]
    spans = [abs(one[0] - other[0]) for one, other in ends if one[1] == other[1] == 0]
    above = int(MARGIN + 20 + max(spans, default=0) * 26)  # room for the arcs over the top row
    above += 28 if loads else 0  # and for a second line of the heading, and of labels
    # Where no link delivers anything all lines are of the narrowest width.
    widest = max((_width(link) for link in machine.links), default=0) or 1.0
    columns = max((column for column, _ in places.values()), default=0)
    left = MARGIN + BOX_WIDTH / 2 - COLUMN * min((column for column, _ in places.values()), default=0)
    spots = {
        device: (left + column * COLUMN, above + BOX_HEIGHT / 2 + row * ROW)
        for device, (column, row) in places.items()
    }
    bottom = max((y for _, y in spots.values()), default=above) + BOX_HEIGHT / 2 + 30
    width, height = max(left + columns * COLUMN + BOX_WIDTH / 2 + MARGIN, 560), bottom + 54
    if loads:
        width, height = max(width, busy.width(loads) + 2 * MARGIN), height + busy.height()
    name = loads.heading if loads else machine.name
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="machine" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(name)}">',
        f"<style>{STYLE}{busy.STYLE if loads else ''}</style>",
        f'<text class="id" x="{MARGIN}" y="18">{escape(name)}</text>',
    ]
    parts += [f'<text x="{MARGIN}" y="36">{escape(loads.call)}</text>'] if loads else []
    links = [link for link in machine.links if {link.from_, link.to} <= spots.keys()]
    if loads:  # the busiest on top of the others
        links.sort(key=lambda link: max(loads.of(link)))
    lines = [_line(link, spots, places, widest, loads) for link in links]
    parts += [line for line, _ in lines]
    parts += [_box(device, *spots[device.id], loads) for device in machine.devices]
    parts += [label for _, label in lines]
    parts.append(busy.legend(loads, MARGIN, bottom) if loads else _legend(machine, bottom))
    return "\n".join(parts) + "\n</svg>\n"


def _width(link: Link) -> float:
    return max(link.forward_gbps.value, link.backward_gbps.value)


def _line(
    link: Link, spots: dict[str, tuple[float, float]], places: Places, widest: float, loads: Loads | None
) -> tuple[str, str]:
    """The line of a link, and its label, which is drawn above all lines and boxes."""
    (x1, y1), (x2, y2) = spots[link.from_], spots[link.to]
    arrows = busy.ways(x2 - x1, y2 - y1)
    if link.kind == "socket" and y1 == y2:
        # Hosts have a row of their own with nothing between two neighbours.
        x1, x2 = min(x1, x2) + BOX_WIDTH / 2, max(x1, x2) - BOX_WIDTH / 2
        path = f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y1:.0f}"
        at = ((x1 + x2) / 2, y1 if x2 - x1 > 40 else y1 + BOX_HEIGHT / 2 + 10)
    elif y1 == y2:
        # Over the boxes, as a straight line would pass behind a third one.
        y = y1 - BOX_HEIGHT / 2
        reach = min(26 * abs(places[link.from_][0] - places[link.to][0]), 150)
        lift = y - reach * 4 / 3
        path = f"M{x1:.0f} {y:.0f}C{x1:.0f} {lift:.0f} {x2:.0f} {lift:.0f} {x2:.0f} {y:.0f}"
        at = ((x1 + x2) / 2, y - reach)
    else:
        if y2 < y1:
            (x1, y1), (x2, y2) = (x2, y2), (x1, y1)
        y1, y2 = y1 + BOX_HEIGHT / 2, y2 - BOX_HEIGHT / 2
        path = f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}"
        # Nearer to the end that has fewer lines: many meet at a switch or at a host, few at a GPU.
        part = 0.42 if places[link.from_][1] != 0 and places[link.to][1] != 0 else 0.62
        if loads and any(loads.amounts(link)):  # longer labels
            upper = min(link.from_, link.to, key=lambda end: spots[end][1])
            part = 0.25 if upper in loads.boxes else 0.75
        at = (x1 + part * (x2 - x1), y1 + part * (y2 - y1))
    thickness = max(NARROWEST, WIDEST * _width(link) / widest)
    title = f"{link.from_} – {link.to}: {link_label(link, link.from_)}"
    if loads:
        look = f'class="link load{busy.band(max(loads.of(link)))}"'
        title += f"; {loads.told(link)}"
        labels = busy.link_lines(*loads.of(link), arrows, loads.amounts(link))
    else:
        look, labels = f'class="link" stroke="{COLOURS[link.kind]}"', [units.three_digits(_width(link))]
    dashes = "" if loads or link.forward_gbps.source == "measured" else ' stroke-dasharray="7 4"'
    line = f'<path {look} stroke-width="{thickness:.1f}"{dashes} d="{path}"><title>{escape(title)}</title></path>'
    first = at[1] + 4 - LABEL / 2 * (len(labels) - 1)
    written = ""
    for index, label in enumerate(labels):
        spot = f'x="{at[0]:.0f}" y="{first + LABEL * index:.0f}"'
        written += f'<text class="rate" {spot} text-anchor="middle">{escape(label)}</text>'
    return line, written


def _box(device: Device, x: float, y: float, loads: Loads | None) -> str:
    model = device.model.replace("NVIDIA ", "").replace("(R)", "")
    model = loads.boxes.get(device.id, model) if loads else model
    second = model if len(model) <= 16 else model[:15].rstrip() + "…"
    limits = [f"{name} {units.percent(part)}" for name, part in loads.limits(device.id)] if loads else []
    below = [line for line in (second, *limits[:1]) if line]
    shift = [4, -3, -9][len(below)]
    text = f'<text class="id" x="{x:.0f}" y="{y + shift:.0f}" text-anchor="middle">{escape(device.id)}</text>'
    for index, line in enumerate(below):
        at = y + shift + (15 if len(below) == 1 else 12) * (index + 1)
        text += f'<text class="small" x="{x:.0f}" y="{at:.0f}" text-anchor="middle">{escape(line)}</text>'
    # Colours of kinds would be taken for loads.
    kind = "device" if loads else device.kind
    busiest = f" load{busy.band(loads.limits(device.id)[0][1])}" if loads and limits else ""
    label = "; ".join([device_label(device), *limits])
    return (
        f'<g class="{kind}"><title>{escape(label)}</title><rect class="box{busiest}" '
        f'x="{x - BOX_WIDTH / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
        f"{text}</g>"
    )


def _legend(machine: Machine, top: float) -> str:
    parts = []
    at = float(MARGIN)
    for kind in COLOURS:
        if any(link.kind == kind for link in machine.links):
            parts.append(f'<path stroke="{COLOURS[kind]}" stroke-width="4" d="M{at:.0f} {top + 14:.0f}h22"/>')
            parts.append(f'<text x="{at + 28:.0f}" y="{top + 18:.0f}">{KIND_NAMES[kind]}</text>')
            at += 50 + 7 * len(KIND_NAMES[kind])
    note = "GB/s each way of the whole bundle; dashed: not measured"
    parts.append(f'<text x="{MARGIN}" y="{top + 40:.0f}">{note}</text>')
    return "".join(parts)
