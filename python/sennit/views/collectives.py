"""The benchmark of collectives: a table for each operation, in the columns of nccl-tests."""

from __future__ import annotations

from functools import partial

from sennit import units
from sennit.compare.groups import Group, groups
from sennit.compare.ratio import speedup
from sennit.compare.verdicts import beside
from sennit.model.result import OWN, Result, Row
from sennit.units import NOTHING
from sennit.views import result_charts
from sennit.views.sections import Section
from sennit.views.text_table import Table


def sections(result: Result) -> list[Section]:
    """All of them."""
    found = []
    for group in groups(result):
        tables = [table(group, result.links_gbps)]
        if others := alternatives(group):
            tables.append(Table(ALTERNATIVES, others))
        charts = partial(result_charts.times, group) if group.is_sized() else tuple
        found.append(Section(title(group), tables, sentences(group), charts))
    return found


def title(group: Group) -> str:
    """For example: Allreduce: float32 sum, 4 ranks, in place, as a CUDA graph."""
    row = group.first
    return f"{group.title}, {'as a CUDA graph' if row.graph else 'each waited for' if row.waited else 'call by call'}"


def own_rows(group: Group) -> list[Row]:
    """sennit's, by size."""
    return [row for size in group.sizes if (row := group.row(size))]


def table(group: Group, links_gbps: float) -> Table:
    """A line for every size. `links_gbps`: what a rank's links carry each way, 0 where nobody measured it. On a
    narrow screen the times of several peers go, and how many times as fast sennit is stays."""
    rows, peers = own_rows(group), group.peers
    links = ["% links"] if links_gbps > 0 else []
    sms = ["SMs"] if any(row.sms > 0 for row in group.all_rows) else []
    host = ["host µs"] if any(row.host_us > 0 for row in group.all_rows) else []
    beside = [name for peer in peers for name in (f"{peer} µs", f"× {peer}")]
    sized = group.is_sized()
    times = [f"{peer} µs" for peer in peers] if len(peers) > 1 else []
    lines = []
    for row in rows:
        cells = [
            units.size(row.bytes) if sized else NOTHING,
            units.plain_time(row.median_us, row.spread_us),
            *([units.three_digits(row.host_us)] if host else []),
            *(units.three_digits(rate) if sized else NOTHING for rate in (row.gbps, row.busbw_gbps)),
        ]
        if links:
            cells.append(units.percent(row.busbw_gbps / links_gbps).removesuffix(" %") if sized else NOTHING)
        cells += [*([str(row.sms)] if sms else []), row.plan]
        for peer in peers:
            other = group.row(row.bytes, peer)
            cells += [units.three_digits(other.median_us) if other else NOTHING]
            cells += [str(group.ratio(row.bytes, peer) or NOTHING)]
        lines.append(cells)
    return Table(
        ["size", "time µs", *host, "algbw", "busbw", *links, *sms, "plan", *beside],
        lines,
        [{f"× {peer}": group.ratio(row.bytes, peer) for peer in peers} for row in rows],
        less=[times, ["host µs"], ["SMs"], ["algbw"], [f"{peer} µs" for peer in peers], ["% links"]],
    )


ALTERNATIVES = ["size", "plan asked for", "time µs", "× plan taken"]


def forced(group: Group, own: Row) -> list[Row]:
    """Other plans that were asked for at the size of one of sennit's rows, the fastest first."""
    return sorted((row for row in group.rows[own.bytes].values() if row.is_forced), key=lambda row: row.median_us)


def alternatives(group: Group) -> list[list[str]]:
    """What other plans would have taken, where they were asked for: of each algorithm the fastest at each size, and
    how many times as fast as the plan taken it is. A line each, the fastest first."""
    lines = []
    for own in own_rows(group):
        best: dict[str, Row] = {}
        for row in forced(group, own):
            best.setdefault(row.plan.split(" ")[0], row)
        for row in best.values():
            gain = speedup(row.median_us, row.spread_us, own.median_us, own.spread_us)
            size = units.size(row.bytes) if group.is_sized() else NOTHING
            lines.append([size, row.plan, units.plain_time(row.median_us, row.spread_us), str(gain)])
    return lines


def sentences(group: Group) -> list[str]:
    """What the figures come to: than whom sennit is faster and where, where slower, and which forced plans beat its
    choice."""
    said = [sentence for peer in group.peers if peer != OWN for sentence in beside(group, peer, peer)]
    for own in own_rows(group):
        best = next(iter(forced(group, own)), None)
        better = speedup(best.median_us, best.spread_us, own.median_us, own.spread_us) if best else None
        if best and better and better.verdict == "faster":
            where = f"At {units.size(own.bytes)} " if group.is_sized() else ""
            said.append(f"{where}{best.plan} is {better} times as fast as the plan taken.")
    return said
