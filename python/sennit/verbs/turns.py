"""Jobs of several variants in turns, so that what a machine does from one minute to the next hits all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sennit.baselines.run import Outcome
from sennit.programs import console
from sennit.programs.problem import Exit, Problem
from sennit.programs.progress import Bar, Step

Progress = Callable[[int, int, str], None]
Outcomes = dict[str, list[Outcome]]  # of each variant's jobs, the one that was begun last included
JobInTurns = Callable[[str, Progress, Outcome], object]  # a variant's; it fills the outcome as its ranks tell

STOPPED = "it was stopped"  # the reason of an outcome until its job has ended


class Enough(Exception):
    """Raised by a job, before or after it ran, where what there is has to do: why, in half a sentence."""


def finished(outcomes: Outcomes) -> Outcomes:
    """Those of jobs that came to their end."""
    return {variant: [outcome for outcome in each if not outcome.reason] for variant, each in outcomes.items()}


def measure_in_turns(
    title: str, variants: Sequence[str], runs: int, job: JobInTurns, show: Callable[[Outcomes], None],
    is_worth: Callable[[Outcomes], bool] = lambda outcomes: all(finished(outcomes).values()),
) -> None:  # fmt: skip
    """As take_turns(), and shows what was told, also where the user stops it (Ctrl-C, SIGTERM), a job fails or it is
    Enough, once it is worth it (a job of each ended): an hour's figures are not lost for the last minutes'."""
    outcomes: Outcomes = {variant: [] for variant in variants}

    def show_part(why: str) -> None:
        done = sum(map(len, finished(outcomes).values()))
        outcomes[variants[0]][0].warnings.append(f"{why} after {done} of {runs * len(variants)} jobs.")
        show(outcomes)

    try:
        take_turns(title, variants, runs, job, outcomes)
    except Enough as enough:
        if not is_worth(outcomes):
            told = [warning for each in outcomes.values() for outcome in each for warning in outcome.warnings]
            remedy = " / ".join(told) or "Allow more, or ask for less"
            raise Problem(f"{title} measured nothing: {enough}", remedy, Exit.ENVIRONMENT) from None
        show_part(f"{_sentence(str(enough))},")
    except BaseException as stopped:
        if isinstance(stopped, Problem) and is_worth(outcomes):
            show_part(f"{_sentence(stopped.what)},")
        elif not isinstance(stopped, Exception) and is_worth(outcomes):
            show_part("It was stopped")
        raise
    else:
        show(outcomes)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def take_turns(
    title: str, variants: Sequence[str], runs: int, job: JobInTurns, outcomes: Outcomes | None = None
) -> Outcomes:
    """What the jobs of each variant told, `runs` of each; `outcomes` has it as it is told. Raises Problem
    (environment) when one fails."""
    outcomes = {} if outcomes is None else outcomes
    outcomes.update({variant: [] for variant in variants})
    total = runs * len(variants)
    with Bar(title, console.messages()) as bar:
        for before in range(total):
            variant = variants[before % len(variants)]

            def progress(done: int, of: int, what: str, before: int = before, variant: str = variant) -> None:
                bar.update(Step(before * of + done, total * of, f"{what}, under {variant}"))

            outcome = Outcome(reason=STOPPED)
            outcomes[variant].append(outcome)
            job(variant, progress, outcome)
            if outcome.reason:
                raise Problem(
                    f"{title} under {variant} failed: {outcome.reason}",
                    "See what its ranks printed: " + " / ".join(outcome.errors[-3:]),
                    Exit.ENVIRONMENT,
                )
    return outcomes
