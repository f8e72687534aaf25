"""Jobs of several variants in turns, so that what a machine does from one minute to the next hits all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sennit import console
from sennit.peers.run import Outcome
from sennit.problem import Exit, Problem
from sennit.progress import Bar, Step

Progress = Callable[[int, int, str], None]


def take_turns(
    title: str, variants: Sequence[str], runs: int, job: Callable[[str, Progress], Outcome]
) -> dict[str, list[Outcome]]:
    """What the jobs of each variant told, `runs` of each. Raises Problem (environment) when one fails."""
    outcomes: dict[str, list[Outcome]] = {variant: [] for variant in variants}
    total = runs * len(variants)
    with Bar(title, console.messages()) as bar:
        for before in range(total):
            variant = variants[before % len(variants)]

            def progress(done: int, of: int, what: str, before: int = before, variant: str = variant) -> None:
                bar.update(Step(before * of + done, total * of, f"{what}, under {variant}"))

            outcome = job(variant, progress)
            if outcome.reason:
                raise Problem(
                    f"{title} under {variant} failed: {outcome.reason}",
                    "See what its ranks printed: " + " / ".join(outcome.errors[-3:]),
                    Exit.ENVIRONMENT,
                )
            outcomes[variant].append(outcome)
    return outcomes
