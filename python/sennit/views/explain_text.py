"""Why a message travels as it does: the split as a table, what was rejected, and what to expect, in sentences."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.compare.ratio import speedup
from sennit.model.explain import Explanation
from sennit.views.text_table import READABLE, Table, print_table

SOURCES = {"measured": "measured", "specification": "specified", "assumed": "assumed"}

DECIDED_BY = {
    "request": "The shares are those that were asked for.",
    "table": "The shares are the measured fastest, found by sennit tune.",
    "model": "The shares are computed from the machine.",
    "caution": "This machine was never tuned, so the direct path carries everything; sennit tune finds what others "
    "add.",
}


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Prints the whole document."""
    title = f"{explanation.operation} {units.size(explanation.bytes)}, {explanation.from_} → {explanation.to}"
    console.print(Text(f"{title}, on {explanation.machine}" if explanation.machine else title, style="bold"))
    print_table(_shares(explanation), console)
    if explanation.rejected:
        console.print(Text("\nCarrying nothing:"))
        width = max(len(route.route) for route in explanation.rejected)
        for route in explanation.rejected:
            console.print(Text(f"  {route.route:<{width}}  {units.rate(route.rate_gbps)}: {route.reason}"))
    console.print()
    for sentence in sentences(explanation):
        console.print(Text(sentence))


def sentences(explanation: Explanation) -> list[str]:
    """What to expect."""
    if explanation.bytes == 0:
        return ["Nothing to move."]
    lines = [DECIDED_BY[explanation.decided_by]]
    lines.append(f"Predicted: {units.time(explanation.predicted_us)} ({units.rate(explanation.predicted_gbps)}).")
    if ratio := speedup(explanation.predicted_us, 0, explanation.single_us, 0):
        alone = f"the best path alone ({units.time(explanation.single_us)}, {units.rate(explanation.single_gbps)})"
        if len(explanation.shares) > 1 or ratio.value >= 1.005:
            lines.append(f"That is {ratio.value:.2f} times as fast as {alone}.")
        elif explanation.decided_by != "caution":  # which says why already
            lines.append("One path carries everything: at this size no second one pays.")
    if explanation.limit_gbps > 0:
        part = units.percent(explanation.predicted_gbps / explanation.limit_gbps)
        lines.append(f"All links together allow {units.rate(explanation.limit_gbps)}; the prediction reaches {part}.")
    guessed = sorted({share.source for share in explanation.shares} - {"measured", ""})
    if guessed:
        what = " and ".join(SOURCES.get(source, source) for source in guessed)
        lines.append(f"Some figures are {what}, not measured; sennit topo --measure makes them exact.")
    return lines


def _shares(explanation: Explanation) -> Table:
    lines = [
        [
            share.route,
            units.size(share.bytes),
            units.percent(share.share),
            units.time(share.startup_us),
            units.rate(share.rate_gbps),
            units.size(share.chunk_bytes) if share.chunk_bytes else "whole",
            units.time(share.finish_us),
            ", ".join(share.links),
        ]
        for share in explanation.shares
    ]
    headings = ["path", "carries", "share", "start-up", "rate", "chunk", "finishes", "over"]
    over = [f"{share.route}: over {', '.join(share.links)}" for share in explanation.shares if share.links]
    return Table(headings, lines, left=("path", "over"), wraps={"over": READABLE}, less=[["over"]], instead=over)
