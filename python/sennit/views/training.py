"""The benchmark of training: one table, a line for each model and batch."""

from __future__ import annotations

import math

from sennit.baselines.timing import LEAST_VALUES
from sennit.baselines.training import difference, tolerance
from sennit.compare.groups import ratio, training_name
from sennit.compare.ratio import NOISE, Ratio
from sennit.model.result import NCCL, OWN, Result, Row
from sennit.units import NOTHING
from sennit.views.sections import Section
from sennit.views.text_table import Table

HEADINGS = [
    "model",
    "batch",
    "bucket",
    "unit",
    "NCCL /s",
    "sennit /s",
    "× NCCL",
    "× alone",
    "exposed, NCCL",
    "sennit",
    "losses",
]
LEFT = ("model", "unit", "losses")
WRAPS = ("model", "NCCL /s", "sennit /s", "exposed, NCCL", "losses")
LONGEST = 24  # letters of a word that stay together on a narrow screen
UNEQUAL = "not equal"
EXPLAINED = (
    "× NCCL: of one job, whose calls are sennit's and NCCL's in turns; where that was not measured, of jobs. "
    "× alone: of sennit's jobs to those without sennit, without communication, in which neither library has a part: "
    "so far jobs differ by chance. exposed: the part of a step that is there because ranks communicate, where it is "
    "known to less than five points. losses: how far sennit's are from NCCL's, relative, at most: up "
    "to 0.001, or 0.01 where a model computes in bfloat16, counts as equal, as they add in another order; what is "
    f"beyond is {UNEQUAL}."
)
AIM = 0.99  # times as fast as under NCCL, never less
COST_AIM = 0.01  # more of a step's time where all calls are left to NCCL
STEADY = 0.005  # steps that vary by less tell what that is
EXPOSED_SPREAD = 0.05  # beyond it the exposed part of a step is not shown


Case = tuple[str, str, int, int, str]


def sections(result: Result) -> list[Section]:
    """The table, and what its columns are."""
    return [Section(title(result), [table(result)], sentences(result)), Section("The columns", sentences=[EXPLAINED])]


def case(row: Row) -> Case:
    """What both libraries do."""
    return row.model, row.parallel, row.batch, row.bucket_mb, row.step


def exposed(row: Row) -> float | None:
    """The part of a step that is there because ranks communicate; none where that is not known."""
    return max(0.0, 1 - row.silent_us / row.median_us) if row.silent_us else None


def exposed_spread(row: Row, other: Row | None) -> float:
    """How far that may be off: by the spread of steps with communication and without, or by what those without
    differ by in the jobs of the other library, which has no part in them."""
    if not row.silent_us:
        return 0.0
    relative = math.hypot(row.spread_us / row.median_us, row.silent_spread_us / row.silent_us)
    apart = abs(row.silent_us - other.silent_us) if other is not None and other.silent_us else 0.0
    return max(relative * row.silent_us, apart) / row.median_us


def pairs(result: Result) -> list[tuple[Row | None, Row | None]]:
    """The rows of sennit and of NCCL for each case that has any, in the document's order."""
    found: dict[Case, dict[str, Row]] = {}
    for row in result.rows:
        if row.variant in (OWN, NCCL):
            found.setdefault(case(row), {})[row.variant] = row
    return [(each.get(OWN), each.get(NCCL)) for each in found.values()]


def losses(own: Row | None, other: Row | None) -> str:
    """How the losses of both compare."""
    if own is None or other is None or len(own.losses) != len(other.losses) or not own.losses:
        return NOTHING
    apart = difference(own.losses, other.losses)
    if apart == 0:
        return "same bits"
    return f"{apart:.1g}" + ("" if apart <= tolerance(own.model, own.parallel) else f" {UNEQUAL}")


def alone(own: Row | None, other: Row | None) -> str:
    """How many times as fast steps without communication are, where they were measured: what chance does."""
    if own is None or other is None or not own.silent_us or not other.silent_us:
        return NOTHING
    return f"{other.silent_us / own.silent_us:.2f}"


def percent(row: Row | None, other: Row | None) -> str:
    """The exposed part. `other`: the other library's row."""
    if row is None or (part := exposed(row)) is None or exposed_spread(row, other) >= EXPOSED_SPREAD:
        return NOTHING
    return f"{part:.0%}"


def case_of(row: Row) -> str:
    """For example: vgg16 ddp 32 25 MB."""
    return f"{training_name(row)} {row.batch}" + (f" {row.bucket_mb} MB" if row.bucket_mb else "")


def tells(own: Row) -> bool:
    """Whether there are so many pairs of blocks that their spread says how sharp they are, where there are any."""
    return not own.gain or own.steps >= LEAST_VALUES


def reached(found: Ratio, is_told: bool) -> str:
    """Whether training is as fast as is aimed at, as far as its spread tells, where it does."""
    if not is_told:
        return f"undecided: {spread(found)}"
    if found.below(AIM):
        return "missed"
    return "shown" if found.reaches(AIM) else f"undecided: {spread(found)}"


def spread(found: Ratio) -> str:
    """With the digits that it is shown with."""
    return f"±{str(found).partition('±')[2]}"


def is_nccls(own: Row | None) -> bool:
    """Whether all calls under sennit were NCCL's: a difference is chance, and no difference shows nothing."""
    return own is not None and own.plan.startswith("NCCL")


def compared(result: Result) -> list[tuple[Row, Ratio]]:
    """The cases of which both libraries' figures are known: sennit's row, and how many times as fast it is."""
    return [(own, found) for own, other in pairs(result) if own is not None and (found := ratio(own, other))]


def telling(result: Result) -> list[tuple[Row, Ratio]]:
    """Those whose calls were not all NCCL's."""
    return [(own, found) for own, found in compared(result) if not is_nccls(own)]


def by_verdict(known: list[tuple[Row, Ratio]]) -> dict[str, list[tuple[Row, Ratio]]]:
    """By whether they are as fast as is aimed at: missed, undecided and shown."""
    said: dict[str, list[tuple[Row, Ratio]]] = {"missed": [], "undecided": [], "shown": []}
    for own, found in known:
        said[reached(found, tells(own)).partition(":")[0]].append((own, found))
    return said


def aims(result: Result) -> list[str]:
    """What is aimed at, and what of it is missed, undecided and shown; and which cases cannot tell."""
    every, known = compared(result), telling(result)
    if not every:
        return []
    aim = f"Aimed at: never below {AIM:g} of NCCL's"
    if not known:
        return [f"{aim}; no case tells, as all calls were left to NCCL."]
    said = by_verdict(known)
    missed = [f"{case_of(own)} ({found})" for own, found in said["missed"]]
    undecided = [f"{case_of(own)} ({spread(found)}{'' if tells(own) else f', {own.steps} ratios'})"
                 for own, found in said["undecided"]]  # fmt: skip
    parts = [f"by more than {NOISE:g} × ± shown in {len(said['shown'])} of {len(known)} cases"]
    parts += [f"missed: {', '.join(missed) or 'none'}", f"undecided: {', '.join(undecided) or 'none'}"]
    if others := [case_of(own) for own, _ in every if is_nccls(own)]:
        parts.append(f"all calls left to NCCL: {', '.join(others)}")
    return [f"{aim}; {'; '.join(parts)}."]


def is_above(own: Row, found: Ratio) -> bool:
    """Whether training is faster than under NCCL, beyond the noise."""
    return tells(own) and found.value - NOISE * found.spread > 1


def exposed_cases(result: Result) -> list[tuple[Row, Ratio]]:
    """Those of which communication is known to be exposed, and whose calls were not all NCCL's."""
    return [
        (own, found)
        for own, other in pairs(result)
        if own is not None
        and other is not None
        and (found := ratio(own, other))
        and is_exposed(other, own)
        and not is_nccls(own)
    ]


def gains(result: Result) -> list[str]:
    """Whether training is faster than under NCCL where communication is known to be exposed."""
    exposed = exposed_cases(result)
    if not exposed:
        return []
    above = [case for case, found in exposed if is_above(case, found)]
    rest = [f"{case_of(own)} ({found})" for own, found in exposed if own not in above]
    return [f"Aimed at: above NCCL's where communication is exposed; shown in {len(above)} of {len(exposed)} cases; "
            f"not shown: {', '.join(rest) or 'none'}."]  # fmt: skip


def is_exposed(row: Row, other: Row) -> bool:
    """Whether ranks wait for communication, by more than what steps vary by."""
    part, spread = exposed(row), exposed_spread(row, other)
    return part is not None and spread < EXPOSED_SPREAD and part > NOISE * spread


def left_known(result: Result) -> list[tuple[Row, Row]]:
    """Both rows of the cases of whose steps sennit's jobs left some to NCCL."""
    return [(own, other) for own, other in pairs(result) if own is not None and other is not None and own.left_us]


def left_parts(result: Result) -> dict[str, float]:
    """What the drop-in costs steps whose calls are all NCCL's: their time in sennit's jobs as a part of that in
    NCCL's, where they vary so little that it tells. By the name of the case."""
    return {
        case_of(own): own.left_us / other.median_us
        for own, other in left_known(result)
        if max(own.spread_us, own.left_spread_us) < STEADY * own.left_us
        and other.spread_us < STEADY * other.median_us
    }


def left(result: Result) -> list[str]:
    """What the drop-in costs steps whose calls are all NCCL's, in words."""
    known = left_known(result)
    if not known:
        return []
    told = left_parts(result)
    if not told:
        return [f"What the drop-in costs a program whose calls it leaves to NCCL: steps of all cases vary by "
                f"{STEADY:.1%} or more, which cannot tell."]  # fmt: skip
    more = f". Steps of the other cases vary by {STEADY:.1%} or more" if len(told) < len(known) else ""
    missed = [case for case, part in told.items() if costs(part)]
    parts = ", ".join(f"{part:.3f} ({case})" for case, part in told.items())
    return [f"Left to NCCL under sennit, of a step's time without it: {parts}; aimed at: within {COST_AIM:.0%}, "
            f"missed: {', '.join(missed) or 'none'}{more}."]  # fmt: skip


def costs(part: float) -> bool:
    """Whether steps whose calls are all NCCL's take longer under sennit than is aimed at."""
    return part - 1 > COST_AIM


def rate(per_second: float | None) -> str:
    """With four digits that count."""
    if per_second is None:
        return NOTHING
    return f"{per_second:.1f}" if per_second < 1000 else f"{float(f'{per_second:.4g}'):.0f}"


def rates(own: Row | None, other: Row | None) -> tuple[float | None, float | None]:
    """Images or tokens a second: NCCL's, of the job that had both where there is one, and sennit's."""
    if own is not None and own.left_us:
        return own.per_second * own.median_us / own.left_us, own.per_second
    return other.per_second if other else None, own.per_second if own else None


def cells(own: Row | None, other: Row | None) -> list[str]:
    """A line of the table."""
    row = own or other
    assert row is not None
    found = ratio(own, other)
    return [
        training_name(row),
        str(row.batch),
        f"{row.bucket_mb} MB" if row.bucket_mb else NOTHING,
        row.unit,
        *map(rate, rates(own, other)),
        str(found) if found else NOTHING,
        alone(own, other),
        percent(other, own),
        percent(own, other),
        losses(own, other),
    ]


def title(result: Result) -> str:
    """What is shown, of how many ranks."""
    ranks = sorted({row.ranks for row in result.rows})
    return f"Training on {', '.join(map(str, ranks))} ranks, under NCCL and under sennit in turns"


def sentences(result: Result) -> list[str]:
    """What the table comes to."""
    return [*aims(result), *gains(result), *left(result)]


def table(result: Result) -> Table:
    """All cases. Where a ratio decides nothing it has no colour."""
    both = pairs(result)
    told = [ratio(own, other) if own and tells(own) and not is_nccls(own) else None for own, other in both]
    lines = [cells(*pair) for pair in both]
    words = {heading: " ".join((heading, *column)).split() for heading, *column in zip(HEADINGS, *lines, strict=True)}
    return Table(
        HEADINGS,
        lines,
        [{"× NCCL": found} for found in told],
        left=LEFT,
        wraps={heading: min(len(max(words[heading], key=len)), LONGEST) for heading in WRAPS},
        less=[["unit"], ["× alone"], ["exposed, NCCL", "sennit"]],
    )
