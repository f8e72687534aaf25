"""Jobs of several variants in turns, so that what a machine does from one minute to the next hits all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sennit import console
from sennit.peers.run import Outcome
from sennit.problem import Exit, Problem
from sennit.progress import Bar, Step

Progress = Callable[[int, int, str], None]
Outcomes = dict[str, list[Outcome]]  # of each variant's jobs


def measure_in_turns(
    title: str, variants: Sequence[str], runs: int, job: Callable[[str, Progress], Outcome],
    show: Callable[[Outcomes], None],
) -> None:  # fmt: skip
    """As take_turns(), and shows what was told, also where the user stops it (Ctrl-C, SIGTERM) once there is a job of
    each variant: an hour's figures are not lost for the last minutes'."""
    outcomes: Outcomes = {}
    try:
        take_turns(title, variants, runs, job, outcomes)
    except BaseException as stopped:
        if isinstance(stopped, Exception) or not all(outcomes.values()):
            raise
        done = sum(map(len, outcomes.values()))
        outcomes[variants[0]][0].warnings.append(f"It was stopped after {done} of {runs * len(variants)} jobs.")
        show(outcomes)
        raise
    show(outcomes)


def take_turns(
    title: str, variants: Sequence[str], runs: int, job: Callable[[str, Progress], Outcome],
    outcomes: Outcomes | None = None,
) -> Outcomes:  # fmt: skip
    """What the jobs of each variant told, `runs` of each; `outcomes` has it job by job. Raises Problem (environment)
    when one fails."""
    outcomes = {} if outcomes is None else outcomes
    outcomes.update({variant: [] for variant in variants})
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
