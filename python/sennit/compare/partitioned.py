"""Two runs of `sennit bench partitioned` side by side: a document as a result, so that runs.py compares it as any
other. Pure."""

from __future__ import annotations

from typing import Any

from sennit import units
from sennit.compare.groups import PARTITIONED_MESSAGE
from sennit.compare.ratio import NOISE
from sennit.model.partitioned import FAILED, HUNG, QUESTIONS, Figure, Partitioned, PatternRow, Row
from sennit.model.result import Result
from sennit.model.result import Row as Measured


def as_result(found: Partitioned) -> Result:
    """Of each line the time in which some partition travels, or that of a round of a pattern, and the whole message's
    beside it: a control, as nothing about that is partitioned. Lines that hung or failed are rows that nothing can be
    said of."""
    rows = []
    for row in found.lines:
        if row.is_measured:
            rows.append(_row(row, row.back_end, row.transfer_us if isinstance(row, Row) else row.round_us))
            rows.append(_row(row, f"whole, beside {row.back_end}", row.single_us))
        elif row.state in (HUNG, FAILED):
            rows.append(_row(row, row.back_end, None))
    return Result(
        version=1,
        kind=found.kind,
        date=found.date,
        machine=found.machine,
        versions=found.versions,
        settings=found.settings | _answers(found),
        rows=rows,
    )


def _row(row: Row | PatternRow, variant: str, time: Figure | None) -> Measured:
    slept = ", threads that sleep" if row.computed == "slept" else ""
    pattern = (
        f"{row.pattern} on {' × '.join(map(str, row.grid))} ranks, {row.steps} steps, "
        if isinstance(row, PatternRow) else ""
    )  # fmt: skip
    what = (
        f"{pattern}{row.partitions} partition{'' if row.partitions == 1 else 's'}, {row.threads} "
        f"thread{'' if row.threads == 1 else 's'}, {row.cache} cache, noise {row.noise}, order {row.order}, "
        f"{units.time(row.compute_us)} of compute{slept}"
    )
    return Measured(
        operation=PARTITIONED_MESSAGE,
        variant=variant,
        bytes=row.bytes,
        way=what,
        # Of a message that did not arrive there is no time, and runs.py looks at none.
        median_us=time.median if time is not None and time.median > 0 else 1,
        # The median lies within its interval in 19 of 20 runs, as within NOISE spreads.
        spread_us=(time.high - time.low) / 2 / NOISE if time is not None else 0,
        repetitions=row.rounds,
        verified=row.verified,
        plan="" if time is not None else row.state,
    )


def _answers(found: Partitioned) -> dict[str, Any]:
    """Of a probe, as circumstances: another answer is a difference that is said first."""
    if found.probe is None:
        return {}
    answers: dict[str, Any] = {
        "early at": [units.size(one.bytes) for one in found.probe.early if one.early] or "none"
    }
    for question in QUESTIONS[1:]:
        answer = getattr(found.probe, question)
        if answer is not None and answer.works is not None:
            answers[question.replace("_", " ")] = "works" if answer.works else "does not work"
    return answers
