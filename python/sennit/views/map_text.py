"""A map of ranks to GPUs on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.map import Mapping, RankMap
from sennit.units import NOTHING
from sennit.views.text_table import Table, print_table

HEADINGS = ["mapping", "heaviest link", "bytes × hops", "exchange", "found", "proved"]
SHOWN = 32  # ranks of which the places are printed


def title(found: RankMap) -> str:
    """For example: 16 ranks on helios, traffic of 2d-torus:4x4,w=3, 1 MiB."""
    nodes = f"{found.nodes} × " if found.nodes > 1 else ""
    return f"{found.traffic.ranks} ranks on {nodes}{found.machine}, traffic of {found.traffic.origin}"


def proof(mapping: Mapping) -> str:
    """ "optimal", "within 3 %", or nothing."""
    gap = mapping.gap()
    if gap is None:
        return NOTHING
    return "optimal" if mapping.proved else f"within {units.percent(gap)}"


def exchange(mapping: Mapping) -> str:
    """ "812 µs (−34 %)"."""
    change = round(-100 * mapping.gain)
    return units.time(mapping.exchange_us) + (f" ({change:+d} %)".replace("-", "−") if change else "")


def lines(found: RankMap) -> list[list[str]]:
    """A line a mapping."""
    rows = []
    for index, each in enumerate(found.mappings):
        ms = units.time(each.found_ms * 1e3) if each.found_ms < 1 else f"{units.three_digits(each.found_ms)} ms"
        rows.append(
            [
                each.name,
                units.time(each.heaviest_us),
                units.size(round(each.byte_hops)),
                exchange(each),
                ms if index and each.found_ms else NOTHING,
                proof(each),
            ]
        )
    return rows


def places(found: RankMap) -> str:
    """Which GPU each rank gets: "0 gpu2, 1 gpu0, …"; of several nodes with the node before it."""
    shown = [
        f"{each.rank} {f'{each.host or each.node}/' if found.nodes > 1 else ''}{each.gpu}"
        for each in found.ranks[:SHOWN]
    ]
    return ", ".join(shown) + (", …" if len(found.ranks) > SHOWN else "")


def sentences(found: RankMap, file: str = "") -> list[str]:
    """What is said below the table. `file`: where the map was written."""
    said = [f"{found.verdict[:1].upper()}{found.verdict[1:]}."]
    if found.advised:
        pays = f"It pays after {found.pays_after:.0f} exchanges." if found.pays_after else ""
        if reasons := " ".join(filter(None, [found.why, pays])):
            said.append(f"Why: {reasons}")
        busiest = [found.mappings[0].heaviest, found.best.heaviest]
        said.append(f"Busiest: {busiest[0]} as it is, {busiest[1]} mapped.")
        said.append(f"Ranks: {places(found)}.")
        said.append(use_of(found, file))
    if found.traffic.assumed:
        said.append(f"Assumed: {'; '.join(found.traffic.assumed)}.")
    if found.kept:
        said.append(f"{found.kept[:1].upper()}{found.kept[1:]}.")
    said += [f"Left out: {each}." for each in found.left_out]
    return said


def use_of(found: RankMap, file: str) -> str:
    """How a program gets the map."""
    if not file:
        return "Keep it: -o map.json"
    if found.nodes == 1 and all(each.uuid for each in found.ranks):
        return f"Use it: sennit run --map {file} -- mpirun -n {found.traffic.ranks} ./program"
    return f"The map is in {file}."


def print_map(found: RankMap, console: Console, file: str = "") -> None:
    """Everything; where there is nothing to gain, that in one line."""
    if found.advised or len(found.mappings) > 2:
        console.print(Text(title(found), style="bold"))
        print_table(Table(HEADINGS, lines(found), left=["mapping"]), console)
        console.print()
    for sentence in sentences(found, file):
        console.print(Text(sentence))
