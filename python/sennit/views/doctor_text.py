"""What works on this machine, a line a capability, and the exact fix of what does not."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit.model.doctor import Check, Doctor

# A sign, a word and a colour: none of the three alone reaches every reader.
STATES = {
    "works": ("✔", "works", "green"),
    "degraded": ("!", "limited", "yellow"),
    "missing": ("✘", "missing", "red"),
    "not_applicable": ("·", "not here", "dim"),
}


def print_doctor(doctor: Doctor, console: Console) -> None:
    """Prints all checks, then one sentence."""
    width = max((len(check.title) for check in doctor.checks), default=0)
    for check in doctor.checks:
        sign, word, style = STATES[check.state]
        head = Text.assemble((f"{sign} {word:<9}", style), (f"{check.title:<{width}}  ", "bold"))
        # The detail hangs in its own column, so that titles stay a list that can be scanned.
        for index, line in enumerate(Text(check.detail).wrap(console, max(30, console.width - head.cell_len))):
            console.print(head + line if index == 0 else Text(" " * head.cell_len) + line, soft_wrap=True)
        if check.fix:
            # A command to copy is never broken, nor cut off.
            console.print(Text(f"{' ' * head.cell_len}fix: {check.fix}"), soft_wrap=True)
    console.print()
    console.print(Text(summary(doctor)))


def summary(doctor: Doctor) -> str:
    """For example: 14 work, 2 are limited, 1 is missing; nothing that is needed."""
    count = {state: sum(check.state == state for check in doctor.checks) for state in STATES}
    parts = [f"{count['works']} {'works' if count['works'] == 1 else 'work'}"]
    for state, word in (("degraded", "limited"), ("missing", "missing")):
        if count[state]:
            parts.append(f"{count[state]} {'is' if count[state] == 1 else 'are'} {word}")
    needed: list[Check] = doctor.missing
    if needed:
        return f"{', '.join(parts)}. Needed and missing: {', '.join(check.title for check in needed)}."
    return f"{', '.join(parts)}. Nothing that is needed is missing."
