"""Tuned collectives on the terminal: for each operation a table of sizes, a sentence, and whether it is followed."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.compare.kinds import KindClass, changed_by_windows, kinds, layouts
from sennit.model.plans import FEW_BLOCKS, CollectiveTable, KeptTable, TunedCase
from sennit.units import NOTHING
from sennit.views.text_table import Table, print_part

AGAIN = "Run sennit tune collectives"


def print_plan_table(table: CollectiveTable, console: Console) -> None:
    """Prints what was measured."""
    console.print(Text(f"The fastest plans of collectives, {origin(table)}"))
    for one in kinds(table):
        said = [verdict(one), *windows_text(changed_by_windows(table, one))]
        print_part(one.kind.title, [_sizes(one)], [" ".join(said)], console)
    if not table.entries:
        console.print(Text("Nothing was tuned yet."))
    if any(_is_wide(one) for one in kinds(table)):
        console.print(Text(f"\nfew: by a plan of at most {FEW_BLOCKS} blocks, as sennit takes in NCCL's programs."))


def print_kept(kept: KeptTable, console: Console) -> None:
    """Prints the whole document."""
    print_plan_table(kept.table, console)
    console.print()
    console.print(Text(f"{followed(kept)} It lies in {kept.file}."))
    if kept.left:
        console.print(Text(left_text(kept.left)))
    for warning in kept.warnings:
        console.print(Text(f"\nwarning: {warning}", style="yellow"))


def origin(table: CollectiveTable) -> str:
    """For example: measured 2026-11-22 on machine 0123456789abcdef, cuda 13.0, sennit 0.1.0, 64 MiB of scratch."""
    software = "".join(f", {name} {version}" for name, version in table.versions.items() if version)
    scratch = units.size(table.scratch_bytes)
    return f"measured {table.date} on machine {table.fingerprint}{software}, {scratch} of scratch memory"


def verdict(one: KindClass) -> str:
    """Where tuning gained most over what would be taken without it."""
    gained = one.gained
    wrong = ", ".join(units.size(case.bytes) for case in one.cases if case.model_us == 0)
    left_out = f" At {wrong} the model's choice was left out, as its results were wrong." if wrong else ""
    if not gained:
        return f"At no size another plan than the cost model's is faster.{left_out}"
    best = gained[0]
    sizes = f"At {len(gained)} of {len(one.cases)} sizes another plan than the cost model's is faster"
    return f"{sizes}, most at {units.size(best.bytes)}: {best.over_model} times, by {best.taken.name}.{left_out}"


def windows_text(changed: list[TunedCase]) -> list[str]:
    """Of which sizes the drop-in for NCCL decides otherwise between windows, a sentence for each library."""
    said = []
    for ours, here, there in ((True, "sennit's", "NCCL's"), (False, "NCCL's", "sennit's")):
        if sizes := ", ".join(units.size(case.bytes) for case in changed if case.is_sennits == ours):
            said.append(f"In NCCL's programs those of {sizes} are {here}, and in ordinary buffers {there}.")
    return said


def followed(kept: KeptTable) -> str:
    """Whether communicators here go by the table."""
    if kept.used:
        return "Communicators on this machine follow it."
    why = kept.why or "no reason is given"
    return f"Communicators on this machine do not follow it: {why}. {AGAIN} to measure it anew."


def left_text(left: int) -> str:
    """What the budget left, and how to go on."""
    cases = f"{left} case{'s' if left > 1 else ''} did not fit into the budget and {'are' if left > 1 else 'is'} left"
    return f"{cases} untuned. {AGAIN} again: it continues where it stopped."


def check_text(kept: KeptTable, *, named: bool) -> str:
    """One sentence. `named`: it was asked about a file that communicators need not have been told of."""
    if not kept.used:
        why = kept.why or "no reason is given"
        return f"Communicators on this machine do not follow {kept.file}: {why}; {AGAIN.lower()} to measure it anew."
    table = kept.table
    count = len(table.entries)
    if not count:
        return f"{kept.file} holds no case, so the cost model decides on all; {AGAIN.lower()}."
    where = " and on ".join(layouts(table)[:3])
    more = f" and {len(layouts(table)) - 3} others" if len(layouts(table)) > 3 else ""
    cases = f"{count} case{'s' if count > 1 else ''} of ranks on {where}{more}, measured {table.date}"
    follow = f"follow {kept.file}{' where SENNIT_TABLE names it' if named else ''}"
    return f"Communicators on this machine {follow}: {cases}."


def _sizes(one: KindClass) -> Table:
    few = ["× nccl, few"] if _is_wide(one) else []
    lines, verdicts = [], []
    for case in one.cases:
        plan = case.taken
        ratios = {"× model": case.over_model, "× nccl": case.over_nccl} | dict.fromkeys(few, case.narrow_over_nccl)
        times = {heading: str(ratio or NOTHING) for heading, ratio in ratios.items()}
        if case.model_us == plan.us > 0:  # the model was right
            times["× model"], ratios["× model"] = "1", None
        us, blocks = units.plain_time(plan.us, plan.spread_us), f"{plan.blocks} × {plan.threads}"
        lines.append([units.size(case.bytes), us, plan.algorithm, blocks, *times.values()])
        verdicts.append(ratios)
    return Table(
        ["size", "µs", "algorithm", "blocks × threads", "× model", "× nccl", *few],
        lines,
        verdicts,
        less=[["× model"]],
    )


def _is_wide(one: KindClass) -> bool:
    """Whether its fastest plans leave other kernels no room."""
    return any(case.taken.blocks > FEW_BLOCKS for case in one.cases)
