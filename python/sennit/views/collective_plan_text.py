"""Why a collective works as it does: the candidates as a table, what cannot do it, and what decided, in sentences."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.collective_plan import Candidate, CollectivePlan
from sennit.operations import REDUCING
from sennit.units import NOTHING
from sennit.views.text_table import Table, print_table

TAKEN = "→"


def print_collective_plan(plan: CollectivePlan, console: Console) -> None:
    """Prints the whole document."""
    console.print(Text(title(plan), style="bold"))
    print_table(_candidates(plan), console)
    if plan.rejected:
        console.print(Text("\nCannot do it:"))
        width = max(len(one.algorithm) for one in plan.rejected)
        for one in plan.rejected:
            console.print(Text(f"  {one.algorithm:<{width}}  {one.why}"))
    console.print()
    for sentence in sentences(plan):
        console.print(Text(sentence))


def title(plan: CollectivePlan) -> str:
    """For example: allreduce 64 MiB, float32 sum, 4 ranks on gpu0, gpu1, gpu2, gpu3 of hgx-h200-4."""
    numbers = f", {plan.type} {plan.operator}" if plan.operation in REDUCING else ""
    where = f" on {', '.join(plan.layout)}" if plan.layout else ""
    machine = f"{' of' if plan.layout else ' on'} {plan.machine}" if plan.machine else ""
    operation = plan.operation.replace("_", "-")
    return f"{operation} {units.size(plan.bytes)}{numbers}, {plan.ranks} ranks{where}{machine}"


def sentences(plan: CollectivePlan) -> list[str]:
    """What decided, and what to expect."""
    lines = [f"{plan.reason.rstrip('.')}."]
    if plan.source == "simulator":
        lines.append(
            "Simulated: of many calls, back to back. Predicted, launch, crossing and moving: the cost model's."
        )
    if plan.table and not plan.table.used:
        lines.append(f"The table {plan.table.file} is passed over: {plan.table.why}.")
    if taken := next((one for one in plan.candidates if _is_taken(one, plan)), None):
        if plan.source == "table":  # else the reason says it
            lines.append(f"Predicted for {taken.name}: {units.time(taken.predicted_us)}.")
        if plan.source != "simulator" and plan.link_gbps > 0 and taken.moving_us > 0.5 * taken.predicted_us:
            needs = units.time(taken.sent_bytes / plan.link_gbps / 1e3)
            sent, rate = units.size(taken.sent_bytes), units.rate(plan.link_gbps)
            lines.append(f"The busiest rank sends {sent}, which takes {needs} at the {rate} of its links.")
    return lines


def _is_taken(candidate: Candidate, plan: CollectivePlan) -> bool:
    return candidate.name == plan.chosen.name


def _measured(candidate: Candidate) -> str:
    """When the machine was tuned, perhaps at a size nearby, which the reason names."""
    if candidate.measured_us is None:
        return NOTHING
    return units.time(candidate.measured_us, candidate.spread_us or 0).removesuffix(" µs")


def _simulated(candidate: Candidate) -> str:
    return NOTHING if candidate.simulated_us is None else units.three_digits(candidate.simulated_us)


def _candidates(plan: CollectivePlan) -> Table:
    measured = any(one.measured_us is not None for one in plan.candidates)
    simulated = any(one.simulated_us is not None for one in plan.candidates)
    times = [*(["simulated µs"] if simulated else []), "predicted µs", *(["measured µs"] if measured else [])]
    lines = [
        [
            TAKEN if _is_taken(one, plan) else "",
            one.name,
            *([_simulated(one)] if simulated else []),
            units.three_digits(one.predicted_us),
            *([_measured(one)] if measured else []),
            units.time(one.launch_us),
            f"{one.crossings:g}",
            units.time(one.crossing_us),
            units.size(one.sent_bytes),
            units.time(one.moving_us),
        ]
        for one in plan.candidates
    ]
    bold = [number for number, one in enumerate(plan.candidates) if _is_taken(one, plan)]
    return Table(["", "plan", *times, "launch", "crossings", "crossing", "sends", "moving"], lines, bold=bold)
