"""A map of ranks to GPUs as pictures: the machine before and after, and the traffic in both orders."""

from __future__ import annotations

import re

from sennit import units
from sennit.model.machine import Machine
from sennit.model.map import Mapping, RankMap
from sennit.views.charts.heat import heat_chart
from sennit.views.loads import Loads
from sennit.views.machine_svg import machine_svg
from sennit.views.map_text import title

BETWEEN = 24  # pixels from one picture to the next
WIDE = 1000  # pixels of a picture that has no room for another one beside it
SIZES = re.compile(r'width="(\d+)" height="(\d+)"')


def slots(found: RankMap, mapping: Mapping) -> dict[int, list[int]]:
    """The ranks of each GPU, by its number among all nodes' GPUs."""
    ranks: dict[int, list[int]] = {}
    a_node = found.gpus * found.ranks_per_gpu
    for rank, slot in enumerate(mapping.map):
        ranks.setdefault(slot // a_node * found.gpus + slot % a_node % found.gpus, []).append(rank)
    return ranks


def tenants(found: RankMap, mapping: Mapping, machine: Machine) -> dict[str, str]:
    """What stands in the box of each GPU of the first node: "rank 3", "ranks 3, 7"."""
    named = gpu_ids(found, machine)
    ranks = slots(found, mapping)
    texts = {}
    for gpu, name in enumerate(named):
        here = ranks.get(gpu, [])
        texts[name] = f"rank{'s' if len(here) != 1 else ''} {', '.join(map(str, here))}" if here else "no rank"
    return texts


def gpu_ids(found: RankMap, machine: Machine) -> list[str]:
    """The ids of a node's GPUs in the order of the slots: those of the machine, where all of them are used."""
    every = [device.id for device in machine.devices if device.kind == "gpu"]
    if len(every) == found.gpus:
        return every
    # Some were chosen, maybe in another order: a rank's own place says which it is.
    mapping = found.best if found.advised else found.mappings[0]
    a_node = found.gpus * found.ranks_per_gpu
    known = {mapping.map[each.rank] % a_node % found.gpus: each.gpu for each in found.ranks}
    return [known.get(gpu, f"gpu{gpu}") for gpu in range(found.gpus)]


def before_and_after(found: RankMap, machine: Machine) -> str:
    """The machine with its ranks and the loads of an exchange, as it is and with the chosen map."""
    pictures = []
    for name, mapping, loads in (
        ("As it is", found.mappings[0], found.loads.before),
        ("Mapped", found.best, found.loads.after),
    ):
        call = f"{name}: an exchange takes {units.time(mapping.exchange_us)} (simulated)"
        note = f"Ranks of the first of {found.nodes} nodes; loads of the busiest." if found.nodes > 1 else ""
        boxes = tenants(found, mapping, machine)
        pictures.append(machine_svg(machine, Loads(loads, title(found), call, note, boxes)))
    return side_by_side(pictures)


def side_by_side(pictures: list[str]) -> str:
    """Several SVG files as one; one below the other where they are wide."""
    sizes = []
    for picture in pictures:
        size = SIZES.search(picture)
        assert size, "a picture says how large it is"
        sizes.append((int(size[1]), int(size[2])))
    below = max((width for width, _ in sizes), default=0) > WIDE
    x, y, width, height, inner = 0, 0, 0, 0, []
    for picture, (wide, high) in zip(pictures, sizes, strict=True):
        inner.append(picture.replace("<svg ", f'<svg x="{x}" y="{y}" ', 1))
        width, height = max(width, x + wide), max(height, y + high)
        x, y = (0, y + high + BETWEEN) if below else (x + wide + BETWEEN, 0)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="Before and after">'
    )
    return head + "\n" + "".join(inner) + "</svg>\n"


def matrices(found: RankMap) -> list[str]:
    """Who sends to whom, in the order of ranks and in that of the GPUs they are mapped to."""
    matrix = found.traffic.matrix
    if {len(matrix), *map(len, matrix)} != {found.traffic.ranks}:
        return []  # of many ranks there is none
    charts = []
    for name, order in (("In the order of ranks", list(range(len(matrix)))), ("In the order of GPUs", by_gpu(found))):
        values = {
            (row, column): (matrix[one][other], units.size(round(matrix[one][other])))
            for row, one in enumerate(order)
            for column, other in enumerate(order)
            if matrix[one][other] > 0
        }
        charts.append(heat_chart(name, [str(rank) for rank in order], values))
    return charts


def by_gpu(found: RankMap) -> list[int]:
    """The ranks as they come GPU by GPU with the chosen map."""
    ranks = slots(found, found.best)
    return [rank for gpu in sorted(ranks) for rank in ranks[gpu]]
