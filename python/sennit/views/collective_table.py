"""A collective's benchmark on the terminal, in the columns of nccl-tests, and as Markdown."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sennit import units
from sennit.model.collective import CollectiveResult, CollectiveRow
from sennit.ratio import Ratio, speedup
from sennit.views.origin import origin, repetitions

COLOURS = {"faster": "green", "slower": "red", "same": ""}
OWN, PEER = "sennit", "nccl"


def has_peer(result: CollectiveResult) -> bool:
    """Whether NCCL was measured in the same run; without it its columns are left out."""
    return any(row.variant == PEER for row in result.rows)


def headings(result: CollectiveResult) -> list[str]:
    """The names of the columns."""
    return ["size", "time µs", "algbw", "busbw", "plan"] + (["nccl µs", "× nccl"] if has_peer(result) else [])


def cells(result: CollectiveResult) -> list[list[str]]:
    """A row for every size."""
    rows = []
    for own in result.rows:
        if own.variant != OWN:
            continue
        line = [
            units.size(own.bytes),
            units.time(own.median_us, own.spread_us).removesuffix(" µs"),
            units.three_digits(own.gbps),
            units.three_digits(own.busbw_gbps),
            own.plan,
        ]
        if has_peer(result):
            peer = peer_of(result, own)
            line.append(units.three_digits(peer.median_us) if peer else "–")
            line.append(str(ratio(own, peer) or "–"))
        rows.append(line)
    return rows


def peer_of(result: CollectiveResult, own: CollectiveRow) -> CollectiveRow | None:
    """NCCL's row of the same size."""
    return next((row for row in result.rows if row.variant == PEER and row.bytes == own.bytes), None)


def ratio(own: CollectiveRow, peer: CollectiveRow | None) -> Ratio | None:
    """How many times as fast as the peer."""
    return speedup(own.median_us, own.spread_us, peer.median_us, peer.spread_us) if peer else None


def sentences(result: CollectiveResult) -> list[str]:
    """What the figures come to: where sennit is faster, where slower, and which forced plans beat its choice."""
    own = [row for row in result.rows if row.variant == OWN]
    verdicts: dict[str, list[str]] = {"faster": [], "slower": [], "same": []}
    for row in own:
        if found := ratio(row, peer_of(result, row)):
            verdicts[found.verdict].append(f"{units.size(row.bytes)} ({found})")
    said = []
    if verdicts["faster"]:
        said.append(f"Faster than nccl at {', '.join(verdicts['faster'])}.")
    if verdicts["slower"]:
        said.append(f"Slower than nccl at {', '.join(verdicts['slower'])}.")
    for row in own:
        forced = [other for other in result.rows if other.bytes == row.bytes and other.variant not in (OWN, PEER)]
        best = min(forced, key=lambda other: other.median_us, default=None)
        better = speedup(best.median_us, best.spread_us, row.median_us, row.spread_us) if best else None
        if best and better and better.verdict == "faster":
            said.append(f"At {units.size(row.bytes)} {best.plan} is {better} times as fast as the plan taken.")
    return said


def title(result: CollectiveResult) -> str:
    """For example: float32 sum, 4 ranks, in place, as a CUDA graph."""
    if not result.rows:
        return "nothing was measured"
    row = result.rows[0]
    how = "as a CUDA graph" if row.graph else "call by call"
    return f"{row.type} {row.operator}, {row.ranks} ranks, {'in' if row.in_place else 'out of'} place, {how}"


def print_collective(result: CollectiveResult, console: Console) -> None:
    """Prints everything a reader needs to believe the figures."""
    console.print(Text(f"{result.kind}. {origin(result)} {repetitions(result)}"))
    console.print()
    console.print(Text(title(result), style="bold"))
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    names = headings(result)
    for name in names:
        drawn.add_column(Text(name), justify="left" if name == "plan" else "right", no_wrap=True)
    own = [row for row in result.rows if row.variant == OWN]
    for row, line in zip(own, cells(result), strict=True):
        found = ratio(row, peer_of(result, row))
        style = COLOURS[found.verdict] if found else ""
        drawn.add_row(*line[:-1], Text(line[-1], style=style))
    console.print(drawn)
    for sentence in sentences(result):
        console.print(Padding(Text(sentence), (0, 0, 0, 1)))
    for warning in result.warnings:
        console.print(Text(f"\nwarning: {warning}", style="yellow"))


def collective_markdown(result: CollectiveResult) -> str:
    """The same as Markdown."""
    names = headings(result)
    lines = [f"{origin(result)} {repetitions(result)} {title(result).capitalize()}.", ""]
    lines += ["| " + " | ".join(names) + " |", "|" + "|".join("---" if n == "plan" else "--:" for n in names) + "|"]
    lines += ["| " + " | ".join(line) + " |" for line in cells(result)]
    lines += ["", *sentences(result)]
    return "\n".join(lines) + "\n"
