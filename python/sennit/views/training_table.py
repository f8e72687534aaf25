"""The benchmark of training on the terminal and as Markdown: a line for each model and batch."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sennit.baselines.timing import LEAST_VALUES
from sennit.baselines.torch_job import NCCL, SENNIT
from sennit.baselines.training import difference, tolerance
from sennit.compare.ratio import NOISE, Ratio, speedup
from sennit.model.training import TrainingResult, TrainingRow
from sennit.views.columns import NOTHING
from sennit.views.markdown import pipes
from sennit.views.origin import origin

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
COLOURS = {"faster": "green", "slower": "red", "same": ""}


def pairs(result: TrainingResult) -> list[tuple[TrainingRow | None, TrainingRow | None]]:
    """The rows of sennit and of NCCL for each case that has any, in the document's order."""
    found: dict[tuple[str, str, int, int, str], dict[str, TrainingRow]] = {}
    for row in result.rows:
        if row.variant in (SENNIT, NCCL):
            found.setdefault(row.case, {})[row.variant] = row
    return [(each.get(SENNIT), each.get(NCCL)) for each in found.values()]


def ratio(own: TrainingRow | None, other: TrainingRow | None) -> Ratio | None:
    """How many times as fast training is: within a job, or between jobs, whose spreads those are already."""
    if own is not None and own.gain:
        return Ratio(own.gain, own.gain_spread)
    if own is None or other is None:
        return None
    return speedup(own.median_ms, own.spread_ms, other.median_ms, other.spread_ms)


def losses(own: TrainingRow | None, other: TrainingRow | None) -> str:
    """How the losses of both compare."""
    if own is None or other is None or len(own.losses) != len(other.losses) or not own.losses:
        return NOTHING
    apart = difference(own.losses, other.losses)
    if apart == 0:
        return "same bits"
    return f"{apart:.1g}" + ("" if apart <= tolerance(own.model, own.parallel) else f" {UNEQUAL}")


def alone(own: TrainingRow | None, other: TrainingRow | None) -> str:
    """How many times as fast steps without communication are, where they were measured: what chance does."""
    if own is None or other is None or not own.silent_ms or not other.silent_ms:
        return NOTHING
    return f"{other.silent_ms / own.silent_ms:.2f}"


def percent(row: TrainingRow | None, other: TrainingRow | None) -> str:
    """The exposed part. `other`: the other library's row."""
    if row is None or row.exposed is None or row.exposed_spread(other) >= EXPOSED_SPREAD:
        return NOTHING
    return f"{row.exposed:.0%}"


def case_of(row: TrainingRow) -> str:
    """For example: vgg16 ddp 32 25 MB."""
    return f"{row.name} {row.batch}" + (f" {row.bucket_mb} MB" if row.bucket_mb else "")


def tells(own: TrainingRow) -> bool:
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


def is_nccls(own: TrainingRow | None) -> bool:
    """Whether all calls under sennit were NCCL's: a difference is chance, and no difference shows nothing."""
    return own is not None and own.calls == NCCL


def compared(result: TrainingResult) -> list[tuple[TrainingRow, Ratio]]:
    """The cases of which both libraries' figures are known: sennit's row, and how many times as fast it is."""
    return [(own, found) for own, other in pairs(result) if own is not None and (found := ratio(own, other))]


def telling(result: TrainingResult) -> list[tuple[TrainingRow, Ratio]]:
    """Those whose calls were not all NCCL's."""
    return [(own, found) for own, found in compared(result) if not is_nccls(own)]


def by_verdict(known: list[tuple[TrainingRow, Ratio]]) -> dict[str, list[tuple[TrainingRow, Ratio]]]:
    """By whether they are as fast as is aimed at: missed, undecided and shown."""
    said: dict[str, list[tuple[TrainingRow, Ratio]]] = {"missed": [], "undecided": [], "shown": []}
    for own, found in known:
        said[reached(found, tells(own)).partition(":")[0]].append((own, found))
    return said


def aims(result: TrainingResult) -> list[str]:
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


def is_above(own: TrainingRow, found: Ratio) -> bool:
    """Whether training is faster than under NCCL, beyond the noise."""
    return tells(own) and found.value - NOISE * found.spread > 1


def exposed_cases(result: TrainingResult) -> list[tuple[TrainingRow, Ratio]]:
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


def gains(result: TrainingResult) -> list[str]:
    """Whether training is faster than under NCCL where communication is known to be exposed."""
    exposed = exposed_cases(result)
    if not exposed:
        return []
    above = [case for case, found in exposed if is_above(case, found)]
    rest = [f"{case_of(own)} ({found})" for own, found in exposed if own not in above]
    return [f"Aimed at: above NCCL's where communication is exposed; shown in {len(above)} of {len(exposed)} cases; "
            f"not shown: {', '.join(rest) or 'none'}."]  # fmt: skip


def is_exposed(row: TrainingRow, other: TrainingRow) -> bool:
    """Whether ranks wait for communication, by more than what steps vary by."""
    spread = row.exposed_spread(other)
    return row.exposed is not None and spread < EXPOSED_SPREAD and row.exposed > NOISE * spread


def left_known(result: TrainingResult) -> list[tuple[TrainingRow, TrainingRow]]:
    """Both rows of the cases of whose steps sennit's jobs left some to NCCL."""
    return [(own, other) for own, other in pairs(result) if own is not None and other is not None and own.left_ms]


def left_parts(result: TrainingResult) -> dict[str, float]:
    """What the drop-in costs steps whose calls are all NCCL's: their time in sennit's jobs as a part of that in
    NCCL's, where they vary so little that it tells. By the name of the case."""
    return {
        case_of(own): own.left_ms / other.median_ms
        for own, other in left_known(result)
        if max(own.spread_ms, own.left_spread_ms) < STEADY * own.left_ms
        and other.spread_ms < STEADY * other.median_ms
    }


def left(result: TrainingResult) -> list[str]:
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


def rates(own: TrainingRow | None, other: TrainingRow | None) -> tuple[float | None, float | None]:
    """Images or tokens a second: NCCL's, of the job that had both where there is one, and sennit's."""
    if own is not None and own.left_ms:
        return own.per_second * own.median_ms / own.left_ms, own.per_second
    return other.per_second if other else None, own.per_second if own else None


def cells(own: TrainingRow | None, other: TrainingRow | None) -> list[str]:
    """A line of the table."""
    row = own or other
    assert row is not None
    found = ratio(own, other)
    return [
        row.name,
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


def title(result: TrainingResult) -> str:
    """What is shown, of how many ranks."""
    ranks = sorted({row.ranks for row in result.rows})
    return f"Training on {', '.join(map(str, ranks))} ranks, under NCCL and under sennit in turns."


def sentences(result: TrainingResult) -> list[str]:
    """What the table comes to."""
    return [*aims(result), *gains(result), *left(result)]


def print_training(result: TrainingResult, out: Console) -> None:
    """For people."""
    table = Table(title=title(result), title_justify="left", box=None, header_style="bold")
    for name in HEADINGS:
        # The longest word of a model's name is whole.
        least = 11 if name == "model" else None
        justify: Literal["left", "right"] = "left" if name in LEFT else "right"
        table.add_column(name, justify=justify, min_width=least, no_wrap=name == "× NCCL")
    for own, other in pairs(result):
        texts = [Text(cell) for cell in cells(own, other)]
        found = ratio(own, other)
        if own is not None and found is not None and tells(own) and not is_nccls(own):
            texts[HEADINGS.index("× NCCL")].stylize(COLOURS[found.verdict])
        table.add_row(*texts)
    out.print(table)
    for sentence in sentences(result):
        out.print(Text(sentence))
    out.print(EXPLAINED, style="dim")


def markdown_lines(result: TrainingResult) -> list[list[str]]:
    """The table as Markdown has it: headings, how columns are aligned, and a line for each case."""
    aligned = [":--" if name in LEFT else "--:" for name in HEADINGS]
    return [HEADINGS, aligned, *(cells(own, other) for own, other in pairs(result))]


def training_markdown(result: TrainingResult) -> str:
    """The same as Markdown."""
    table = pipes(markdown_lines(result))
    said = [line for sentence in sentences(result) for line in (sentence, "")]
    return "\n".join([origin(result), "", f"**{title(result)}**", "", table, "", *said, EXPLAINED, ""])
