"""How many CPU seconds each stage of `make test` may take, so that time does not creep back.

CPU seconds of all processes together, since those of the clock say as much of what else a machine does. A build's
are those with an empty compiler cache, as CI's first run has it; with a full one it takes a tenth. Ranks that look
for messages all the time use more CPU seconds on a machine that is busy elsewhere, and machines differ: so a stage
may take half more. A stage that is over that fails in CI and is named elsewhere; then find what became dear (a stage
prints its ten slowest tests), or raise its budget here and say why in the commit."""

from __future__ import annotations

BUDGETS = {
    "release build": 1500,
    "release": 240,
    "asan build": 1300,
    "asan": 500,
    "tsan build": 1000,
    "tsan": 500,
    "cli": 300,
    "interop": 1300,
    "lint": 500,
}


def over(stage: str, cpu_seconds: float) -> str:
    """What is told of a stage that took half more than its budget; empty of one that did not."""
    budget = BUDGETS[stage]
    if cpu_seconds <= 1.5 * budget:
        return ""
    return f"{stage}: {cpu_seconds:.0f} s of CPU, more than half over its budget of {budget} s (scripts/budgets.py)"
