"""The tables of docs/tune/bench-training.md: one for each machine, of all results in its folder, in which each case
is as it was measured last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kept_documents import NONE_YET, kept_results
from sennit.baselines.timing import LEAST_VALUES
from sennit.baselines.training import MULTIPLY_ADDS, PARALLEL, STEPS, Case, read_unfinished, unfinished
from sennit.compare.ratio import NOISE, Ratio
from sennit.model.result import NCCL, OWN, TRAINING, MeasuredOn, Result, Row
from sennit.units import NOTHING
from sennit.views.origin import place
from sennit.views.sections import table_markdown
from sennit.views.training import (
    AIM,
    COST_AIM,
    EXPLAINED,
    STEADY,
    by_verdict,
    case,
    case_of,
    compared,
    costs,
    exposed_cases,
    is_above,
    is_nccls,
    left,
    left_known,
    left_parts,
    pairs,
    spread,
    table,
    telling,
    tells,
    title,
)

CALLS = "calls"  # a column that the table of a single result does not have
CALLS_EXPLAINED = f"{CALLS}: NCCL's where sennit did none of a case's, so that NCCL is compared with itself."

# What has to be the same where cases of several results stand in one table: the folder in results/, the devices, the
# versions of PyTorch and of NCCL, and how many ranks there were.
Equal = tuple[str, tuple[str, ...], str, str, tuple[int, ...]]


@dataclass(frozen=True)
class Source:
    """A result in results/."""

    path: str  # results/MACHINE/NAME.json
    result: Result

    @property
    def folder(self) -> str:
        """The machine, as results/ names it."""
        return Path(self.path).parent.name

    @property
    def measured_on(self) -> Equal:
        """What of it has to be equal."""
        torch, nccl = (self.result.versions.get(name, "") for name in ("torch", "nccl"))
        ranks = tuple(sorted({row.ranks for row in self.result.rows}))
        return self.folder, tuple(self.result.machine.devices), torch, nccl, ranks


@dataclass(frozen=True)
class Section:
    """What was measured on equal machines."""

    name: str
    result: Result  # of all cases, in the order of `order`; its date is the newest
    sources: list[Source]  # those that have a case of it, the newest first


def order(row: Row) -> tuple[int | str, ...]:
    """By way, step, model, size of buckets and batch; what this version of sennit does not know comes last."""

    def at(name: str, known: Iterable[str]) -> int:
        names = list(known)
        return names.index(name) if name in names else len(names)

    known = (at(row.parallel, PARALLEL), at(row.step, ("", *STEPS)), at(row.model, MULTIPLY_ADDS))
    return (*known, row.parallel, row.step, row.model, row.bucket_mb, row.batch)


def named(row: Row) -> str:
    """The case as warnings name it."""
    return Case(row.model, row.parallel, row.batch, row.bucket_mb, step=row.step).name


def merged_warnings(sources: Sequence[Source], shown: Sequence[Source], rows: Sequence[Row]) -> list[str]:
    """Of all results: the cases that jobs did not finish and that none has. Of those that are shown: all others, with
    the name of the file, as they are of that one alone."""
    has = {named(row) for row in rows}
    missing: dict[str, dict[str, None]] = {}
    others = []
    for source in sources:
        for warning in source.result.warnings:
            if found := read_unfinished(warning):
                lacks, names = found
                missing.setdefault(lacks, {}).update(dict.fromkeys(name for name in names if name not in has))
            elif source in shown:
                others.append(f"Of `{Path(source.path).name}`: {warning}")
    return [unfinished(lacks, list(names)) for lacks, names in missing.items() if names] + others


def in_common(sources: Sequence[Source]) -> dict[str, str]:
    """The versions that all of them have."""
    first, *rest = (source.result.versions for source in sources)
    return {name: version for name, version in first.items() if all(one.get(name) == version for one in rest)}


def merge(name: str, sources: Sequence[Source]) -> Section:
    """One result of several of equal machines, in which each case is as it was measured last. Dates are sennit's, all
    in UTC, so their order is that of their texts. At least one of them has to have rows of NCCL or of sennit."""
    by_age = sorted(sources, key=lambda one: (one.result.date, one.path), reverse=True)
    newest: dict[object, Source] = {}
    for source in by_age:
        for row in source.result.rows:
            if row.variant in (OWN, NCCL):
                newest.setdefault(case(row), source)
    rows = [row for source in by_age for row in source.result.rows if newest.get(case(row)) is source]
    rows.sort(key=order)
    shown = [source for source in by_age if source in newest.values()]
    drivers, cudas = (
        " and ".join(dict.fromkeys(filter(None, values)))
        for values in zip(*((one.result.machine.driver, one.result.machine.cuda) for one in shown), strict=True)
    )
    result = shown[0].result.model_copy(
        update={
            "machine": shown[0].result.machine.model_copy(update={"driver": drivers, "cuda": cudas}),
            "versions": in_common(shown),
            "settings": {},
            "rows": rows,
            "warnings": merged_warnings(by_age, shown, rows),
        }
    )
    return Section(name, result, shown)


def sections(sources: Sequence[Source]) -> list[Section]:
    """One for each folder, in their order. A folder of machines that differ has one for each of them, the newest
    first, whose name says what it is of."""
    found: dict[str, dict[Equal, list[Source]]] = {}
    for source in sources:
        if pairs(source.result):
            found.setdefault(source.folder, {}).setdefault(source.measured_on, []).append(source)
    merged = []
    for folder, groups in sorted(found.items()):
        of_folder = [merge(folder if len(groups) == 1 else distinct(equal), group) for equal, group in groups.items()]
        merged += sorted(of_folder, key=lambda one: one.result.date, reverse=True)
    return merged


def distinct(equal: Equal) -> str:
    """The name of one of a folder's sections."""
    folder, devices, torch, nccl, ranks = equal
    where = place(MeasuredOn(name=folder, devices=list(devices)), {"torch": torch, "nccl": nccl})
    return f"{where}, {' and '.join(map(str, ranks))} ranks"


def counted(count: int, what: str) -> str:
    """For example: 1 case, 3 cases."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def span(texts: Sequence[str]) -> str:
    """From the first to the last of them, which may be the same."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def listed(cases: Sequence[tuple[Row, Ratio]]) -> str:
    """With their figures."""
    return ", ".join(f"{case_of(own)} ({found})" for own, found in cases) or "none"


def never_below(result: Result) -> list[str]:
    """What views/training.aims says, of more cases than one wants to read the names of."""
    every, known = compared(result), telling(result)
    if not every:
        return []
    said = f"Aimed at: never below {AIM:g} of NCCL's"
    if known:
        found = by_verdict(known)
        said += f"; by more than {NOISE:g} × ± shown in {len(found['shown'])} of {counted(len(known), 'case')}"
        said += f"; missed: {listed(found['missed'])}; undecided: {undecided(found['undecided'])}"
    if nccls := len(every) - len(known):
        said += f". {counted(nccls, 'further case' if known else 'case')} cannot tell, as all calls were left to NCCL"
    return [f"{said}."]


def undecided(cases: Sequence[tuple[Row, Ratio]]) -> str:
    """How many, and why."""
    wide = sorted((found for own, found in cases if tells(own)), key=lambda found: found.spread)
    reasons = [f"{len(wide)} by their ± of {span([spread(found)[2:] for found in wide])}"] if wide else []
    if few := len(cases) - len(wide):
        reasons.append(f"{few} of fewer than {LEAST_VALUES} ratios")
    return ", ".join(reasons) or "none"


def above(result: Result) -> list[str]:
    """Which cases are faster than NCCL's, and what of that is aimed at."""
    known = telling(result)
    if not known:
        return []
    said = f"By more than {NOISE:g} × ± above NCCL's: {listed([case for case in known if is_above(*case)])}."
    if exposed := exposed_cases(result):
        fast = sum(is_above(*case) for case in exposed)
        said += f" Aimed at where communication is exposed: shown in {fast} of {counted(len(exposed), 'case')}."
    return [said]


def left_to_nccl(result: Result) -> list[str]:
    """What views/training.left says, as a range."""
    told = left_parts(result)
    if not told:
        return left(result)
    parts = span([f"{part:.3f}" for part in sorted(told.values())])
    missed = ", ".join(f"{case} ({part:.3f})" for case, part in told.items() if costs(part)) or "none"
    return [
        f"Left to NCCL under sennit, of a step's time without it: {parts}, in those {len(told)} of "
        f"{counted(len(left_known(result)), 'case')} whose steps vary by less than {STEADY:.1%}; aimed at: within "
        f"{COST_AIM:.0%}, missed: {missed}."
    ]


def markdown(section: Section) -> str:
    """A section of the page."""
    result, sources = section.result, section.sources
    calls = [NOTHING if own is None or not is_nccls(own) else "NCCL's" for own, _ in pairs(result)]
    shown = table(result)
    lines = [[*line, cell] for line, cell in zip(shown.lines, calls, strict=True)]
    shown = replace(shown, headings=[*shown.headings, CALLS], lines=lines, left=[*shown.left, CALLS])
    days = span(sorted({source.result.date[:10] for source in sources}))
    files = [
        f"- `{source.path}`: {source.result.date[:10]}, sennit {source.result.versions.get('sennit') or NOTHING}"
        for source in sources
    ]
    parts = [f"## {section.name}", f"Measured {days} on {place(result.machine, result.versions)}."]
    parts += [f"Warning: {warning}" for warning in result.warnings]
    parts += [
        f"**{title(result)}.**",
        table_markdown(shown),
        *never_below(result),
        *above(result),
        *left_to_nccl(result),
    ]
    return "\n\n".join([*parts, "Sources:", "\n".join(files)])


def kept_sections(root: Path) -> list[Section]:
    """Those of all results in results/."""
    return sections([Source(kept.path, kept.result) for kept in kept_results(root, TRAINING)])


def training_sections(root: Path) -> str:
    """All of them, behind what their columns are."""
    found = kept_sections(root)
    return "\n\n".join([f"{EXPLAINED} {CALLS_EXPLAINED}", *map(markdown, found)]) if found else NONE_YET


def training_summary(root: Path) -> str:
    """Of all machines, in a sentence."""
    measured = kept_sections(root)
    known = [case for section in measured for case in telling(section.result)]
    if not known:
        return ""
    models = sorted({model for section in measured for model in section.result.machine.devices})
    found = by_verdict(known)
    faster = [gain.value for own, gain in known if is_above(own, gain)]
    most = f" (up to {max(faster):.2f} ×)" if faster else ""
    told = counted(len(found["shown"]) + len(found["missed"]), "case")
    return (
        f"Whole training steps of PyTorch ({', '.join(models)}): of {told} steady enough to tell,\n{len(faster)} are "
        f"faster than under NCCL{most}, and {len(found['missed']) or 'none'} slower than {AIM:g} of it."
    )
