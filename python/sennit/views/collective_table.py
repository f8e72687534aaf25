"""The benchmark of collectives on the terminal, a table each in the columns of nccl-tests, and as Markdown."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sennit import units
from sennit.compare.ratio import Ratio, speedup
from sennit.model.collective import BARRIER, OWN, REDUCING, CollectiveResult, CollectiveRow
from sennit.views.columns import NOTHING
from sennit.views.markdown import pipes
from sennit.views.origin import origin, repetitions
from sennit.views.plain_table import plain_table

COLOURS = {"faster": "green", "slower": "red", "same": ""}

Rows = list[CollectiveRow]  # of one operation


def by_operation(result: CollectiveResult) -> list[Rows]:
    """The rows of each operation, in the document's order."""
    found: dict[str, Rows] = {}
    for row in result.rows:
        found.setdefault(row.operation, []).append(row)
    return list(found.values())


def peers(rows: Rows) -> list[str]:
    """Everybody else who was measured in the same run, in the document's order."""
    return list(dict.fromkeys(row.variant for row in rows if row.is_peer))


def headings(rows: Rows, links_gbps: float) -> list[str]:
    """The names of the columns. `links_gbps`: what a rank's links carry each way, 0 where nobody measured it."""
    links = ["% links"] if links_gbps > 0 else []
    beside = [name for peer in peers(rows) for name in (f"{peer} µs", f"× {peer}")]
    sms = ["SMs"] if on_gpus(rows) else []
    host = ["host µs"] if by_call(rows) else []
    return ["size", "time µs", *host, "algbw", "busbw", *links, *sms, "plan", *beside]


def on_gpus(rows: Rows) -> bool:
    """Whether it is known how many SMs were taken."""
    return any(row.sms > 0 for row in rows)


def by_call(rows: Rows) -> bool:
    """Whether it is known how long callers were busy with a call."""
    return any(row.host_us > 0 for row in rows)


def cells(rows: Rows, links_gbps: float) -> list[list[str]]:
    """A line for every size."""
    lines = []
    for own in of(OWN, rows):
        line = [
            units.size(own.bytes) if sized(own) else NOTHING,
            units.time(own.median_us, own.spread_us).removesuffix(" µs"),
            *([units.three_digits(own.host_us)] if by_call(rows) else []),
            units.three_digits(own.gbps) if sized(own) else NOTHING,
            units.three_digits(own.busbw_gbps) if sized(own) else NOTHING,
            *([_part(own, links_gbps)] if links_gbps > 0 else []),
            *([str(own.sms)] if on_gpus(rows) else []),
            own.plan,
        ]
        for name in peers(rows):
            peer = peer_of(rows, own, name)
            line.append(units.three_digits(peer.median_us) if peer else NOTHING)
            line.append(str(ratio(own, peer) or NOTHING))
        lines.append(line)
    return lines


def _part(row: CollectiveRow, links_gbps: float) -> str:
    return units.percent(row.busbw_gbps / links_gbps).removesuffix(" %") if sized(row) else NOTHING


def sized(row: CollectiveRow) -> bool:
    """Whether there is a size to speak of: a barrier has none."""
    return row.operation != BARRIER


def of(variant: str, rows: Rows) -> Rows:
    """The rows of one variant."""
    return [row for row in rows if row.variant == variant]


def peer_of(rows: Rows, own: CollectiveRow, peer: str) -> CollectiveRow | None:
    """The peer's row of the same size."""
    return next((row for row in of(peer, rows) if row.bytes == own.bytes), None)


def ratio(own: CollectiveRow, peer: CollectiveRow | None) -> Ratio | None:
    """How many times as fast as the peer."""
    return speedup(own.median_us, own.spread_us, peer.median_us, peer.spread_us) if peer else None


def alternatives(rows: Rows) -> list[list[str]]:
    """What other plans would have taken, where they were asked for: of each algorithm the fastest at each size, and
    how many times as fast as the plan taken it is. A line each, the fastest first."""
    lines = []
    for own in of(OWN, rows):
        best: dict[str, CollectiveRow] = {}
        for row in rows:
            algorithm = row.plan.split(" ")[0]
            if row.is_forced and row.bytes == own.bytes:
                best[algorithm] = min(best.get(algorithm, row), row, key=lambda each: each.median_us)
        for row in sorted(best.values(), key=lambda each: each.median_us):
            lines.append(
                [
                    units.size(row.bytes) if sized(row) else NOTHING,
                    row.plan,
                    units.time(row.median_us, row.spread_us).removesuffix(" µs"),
                    str(speedup(row.median_us, row.spread_us, own.median_us, own.spread_us)),
                ]
            )
    return lines


ALTERNATIVES = ["size", "plan asked for", "time µs", "× plan taken"]


def sentences(rows: Rows) -> list[str]:
    """What the figures come to: than whom sennit is faster and where, where slower, and which forced plans beat its
    choice."""
    said = [sentence for peer in peers(rows) for sentence in beside(rows, peer)]
    for row in of(OWN, rows):
        forced = [other for other in rows if other.bytes == row.bytes and other.is_forced]
        best = min(forced, key=lambda other: other.median_us, default=None)
        better = speedup(best.median_us, best.spread_us, row.median_us, row.spread_us) if best else None
        if best and better and better.verdict == "faster":
            where = f"At {units.size(row.bytes)} " if sized(row) else ""
            said.append(f"{where}{best.plan} is {better} times as fast as the plan taken.")
    return said


def beside(rows: Rows, peer: str) -> list[str]:
    """Where sennit is faster than this peer, and where slower."""
    verdicts: dict[str, list[str]] = {"faster": [], "slower": [], "same": []}
    for row in of(OWN, rows):
        if found := ratio(row, peer_of(rows, row, peer)):
            verdicts[found.verdict].append(f"{units.size(row.bytes)} ({found})" if sized(row) else f"({found})")
    at = "at " if sized(rows[0]) else ""
    return [
        f"{verdict.capitalize()} than {peer} {at}{', '.join(verdicts[verdict])}."
        for verdict in ("faster", "slower")
        if verdicts[verdict]
    ]


def title(rows: Rows) -> str:
    """For example: Allreduce: float32 sum, 4 ranks, in place, as a CUDA graph."""
    row = rows[0]
    what = []
    if sized(row):
        what.append(f"{row.type} {row.operator}" if row.operation in REDUCING else row.type)
    what.append(f"{row.ranks} ranks")
    if sized(row):
        what.append("in place" if row.in_place else "out of place")
        what += ["registered"] if row.registered else []
    what.append("as a CUDA graph" if row.graph else "each waited for" if row.waited else "call by call")
    return f"{row.operation.replace('_', '-').capitalize()}: {', '.join(what)}"


def print_collective(result: CollectiveResult, console: Console) -> None:
    """Prints everything a reader needs to believe the figures."""
    console.print(Text(f"{result.kind}. {origin(result)} {repetitions(result)}"))
    if not result.rows:
        console.print(Text("\nNothing was measured."))
    for rows in by_operation(result):
        console.print()
        console.print(Text(title(rows), style="bold"))
        console.print(table(rows, result.links_gbps, console.width))
        if others := alternatives(rows):
            console.print()
            console.print(plain_table(ALTERNATIVES, others))
        for sentence in sentences(rows):
            console.print(Padding(Text(sentence), (0, 0, 0, 1)))
    for warning in result.warnings:
        console.print(Text(f"\nwarning: {warning}", style="yellow"))


def fitting(names: list[str], lines: list[list[str]], others: list[str], width: int) -> list[str]:
    """The columns that a screen has room for: where those of several peers are too many, their times go and how many
    times as fast sennit is stays."""
    columns = zip(names, *lines, strict=True)
    if len(others) < 2 or sum(max(map(len, column)) + 3 for column in columns) <= width + 3:
        return names
    return [name for name in names if name not in [f"{peer} µs" for peer in others]]


def table(rows: Rows, links_gbps: float, width: int) -> Table:
    """The table of an operation, for a screen of that width."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    names, lines = headings(rows, links_gbps), cells(rows, links_gbps)
    kept = fitting(names, lines, peers(rows), width)
    for name in kept:
        # As Text: a peer's name is nothing for rich to find styles in.
        drawn.add_column(Text(name), justify="left" if name == "plan" else "right", no_wrap=True)
    for row, line in zip(of(OWN, rows), lines, strict=True):
        found = {f"× {peer}": ratio(row, peer_of(rows, row, peer)) for peer in peers(rows)}
        texts = []
        for name, cell in zip(names, line, strict=True):
            judged = found.get(name)
            if name in kept:
                texts.append(Text(cell, style=COLOURS[judged.verdict] if judged else ""))
        drawn.add_row(*texts)
    return drawn


def collective_markdown(result: CollectiveResult) -> str:
    """The same as Markdown."""
    operations = by_operation(result)
    head = f"{origin(result)} {repetitions(result)}"
    if len(operations) == 1:
        head += f" {title(operations[0])}."
    parts = [head] if operations else [f"{head} Nothing was measured."]
    for rows in operations:
        names = headings(rows, result.links_gbps)
        lines = [names, ["---" if name == "plan" else "--:" for name in names], *cells(rows, result.links_gbps)]
        parts += [f"**{title(rows)}.**"] if len(operations) > 1 else []
        parts.append(pipes(lines))
        if others := alternatives(rows):
            marks = ["---" if name.startswith("plan") else "--:" for name in ALTERNATIVES]
            parts.append(pipes([ALTERNATIVES, marks, *others]))
        parts += ["\n".join(sentences(rows))]
    return "\n\n".join(part for part in parts if part) + "\n"
