"""What recording costs, as tables, as Markdown, as a page and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.baselines.recording import ALL, PAUSED, RECORDERS, SAMPLED
from sennit.model.recording_cost import Added, CallCost, GpuTime, RecordingCost, TrainingCost
from sennit.units import NOTHING
from sennit.views.csv import lines_csv
from sennit.views.origin import place
from sennit.views.page import html_table, page
from sennit.views.sections import Section, table_markdown
from sennit.views.text_table import Table, print_part

# What is aimed at: of a call the host's and the stream's µs, of training a part of a step's time, and of times on
# GPUs how far they may be from torch.profiler's.
SAMPLED_HOST_US, TIMED_HOST_US, TIMED_STREAM_US = 0.3, 2.5, 1.0
SLOWER, SLOWER_AT_MOST = 0.005, 0.01
LARGE, LARGE_APART, SMALL_APART_US = 16 << 20, 0.03, 2.0
HOW = (
    "In brackets: where the median lies in 19 of 20 runs. Sampled, all and torch.profiler: in turns with the same "
    "calls without it, in one job; sennit’s beside its recorder paused. Loaded but paused, and Flight Recorder: jobs "
    "beside jobs without, as many pairs as there were runs; of few the brackets are the least and the most."
)
WIDTH = 18  # letters of a cell that stay together
COLUMNS = ("what", "bytes", "model", "recorder", "median", "low", "high", "pairs", "of_jobs", "alone")


def sections(cost: RecordingCost) -> list[Section]:
    """All parts that there is something of."""
    found = []
    if cost.calls:
        tables = [_calls(cost.calls, "host"), _calls(cost.calls, "stream")]
        found.append(Section(f"What recording adds to a call of all_reduce, {cost.ranks} ranks, µs", tables,
                             call_sentences(cost.calls)))  # fmt: skip
    if cost.times:
        found.append(Section("How long a call takes on the GPU, as each says", [_times(cost.times)],
                             time_sentences(cost.times)))  # fmt: skip
    if cost.training:
        found.append(Section(f"How much slower training is, {cost.ranks} ranks", [_training(cost.training)],
                             training_sentences(cost.training)))  # fmt: skip
    return found


# ---- tables -------------------------------------------------------------------------------------------------------


def _recorders(rows: Sequence[CallCost] | Sequence[TrainingCost]) -> list[str]:
    there = {row.recorder for row in rows}
    return [each for each in RECORDERS if each in there]


def added_text(added: Added | None, text: Callable[[float], str]) -> str:
    """Such as: 0.21 (0.15…0.27)."""
    return f"{text(added.median)} ({text(added.low)}…{text(added.high)})" if added else NOTHING


def _us(value: float) -> str:
    return f"{value:.2f}"


def _percent(part: float) -> str:
    return f"{100 * part:.2f} %"


def _calls(rows: Sequence[CallCost], whose: str) -> Table:
    recorders = _recorders(rows)
    lines = []
    for size in dict.fromkeys(row.bytes for row in rows):
        by_recorder = {row.recorder: row for row in rows if row.bytes == size}
        alone = getattr(next(iter(by_recorder.values())), f"alone_{whose}_us")
        cells = [
            added_text(getattr(by_recorder[each], f"{whose}_us") if each in by_recorder else None, _us)
            for each in recorders
        ]
        lines.append([units.size(size), units.three_digits(alone), *cells])
    return Table(["size", f"{whose}, alone", *recorders], lines, left=(), wraps=dict.fromkeys(recorders, WIDTH))


def _times(rows: Sequence[GpuTime]) -> Table:
    def ratio(value: float | None) -> str:
        return f"{value:.3f}" if value is not None else NOTHING

    def us(value: float | None) -> str:
        return units.three_digits(value) if value is not None else NOTHING

    lines = [
        (units.size(row.bytes), us(row.torch_us), us(row.events_us), ratio(row.events_ratio), us(row.kernels_us),
         ratio(row.kernels_ratio))
        for row in rows
    ]  # fmt: skip
    return Table(
        ("size", "torch.profiler µs", "events µs", "events / torch", "kernels µs", "kernels / torch"), lines, left=()
    )


def _training(rows: Sequence[TrainingCost]) -> Table:
    recorders = _recorders(rows)
    lines = []
    for model, batch in dict.fromkeys((row.model, row.batch) for row in rows):
        by_recorder = {row.recorder: row for row in rows if (row.model, row.batch) == (model, batch)}
        step = next(iter(by_recorder.values())).alone_us / 1e3
        cells = [
            added_text(by_recorder[each].slower if each in by_recorder else None, _percent) for each in recorders
        ]
        lines.append([model, str(batch), units.three_digits(step), *cells])
    return Table(
        ["model", "batch", "step, ms", *recorders], lines, left=("model",), wraps=dict.fromkeys(recorders, WIDTH)
    )


# ---- sentences ----------------------------------------------------------------------------------------------------


def verdict(added: Added, aim: float) -> str:
    """Whether no more is added than is aimed at, as far as the interval tells."""
    return "shown" if added.high <= aim else "missed" if added.low > aim else "undecided"


def _said(verdicts: dict[str, str]) -> str:
    """Such as: shown at 1 KiB, 64 KiB; missed at 1 MiB. `verdicts`: by the name of what they are of."""
    parts = []
    for each in ("shown", "missed", "undecided"):
        if names := [name for name, found in verdicts.items() if found == each]:
            where = "for all" if len(names) == len(verdicts) else f"at {', '.join(names)}"
            parts.append(f"{each} {where}")
    return "; ".join(parts)


def call_sentences(rows: Sequence[CallCost]) -> list[str]:
    """What is aimed at, and whether it is so."""
    said = []
    for recorder, member, aim, what in (
        (SAMPLED, "host_us", SAMPLED_HOST_US, "Sampled, of the host’s time"),
        (ALL, "host_us", TIMED_HOST_US, "Of a call that is timed, of the host’s time"),
        (ALL, "stream_us", TIMED_STREAM_US, "Of a call that is timed, of the stream’s time"),
    ):
        found = {
            units.size(row.bytes): verdict(getattr(row, member), aim) for row in rows if row.recorder == recorder
        }
        if found:
            said.append(f"{what}: aimed at: at most {aim:g} µs; {_said(found)}.")
    if any(row.recorder == PAUSED for row in rows):
        said.append(HOW)
    return said


def time_sentences(rows: Sequence[GpuTime]) -> list[str]:
    """What is aimed at, and whether it is so."""
    said = [
        "Each timed calls of its own, as CUPTI has one user at a time. Events also have what is between two kernels."
    ]
    for what, member in (("events", "events_us"), ("kernels", "kernels_us")):
        found = {}
        for row in rows:
            us = getattr(row, member)
            if us and row.torch_us:
                apart = abs(us - row.torch_us)
                is_near = apart <= (LARGE_APART * row.torch_us if row.bytes >= LARGE else SMALL_APART_US)
                found[units.size(row.bytes)] = "shown" if is_near else "missed"
        if found:
            said.append(
                f"By {what}, aimed at: within 3 % of torch.profiler from 16 MiB on, 2 µs below; {_said(found)}."
            )
    return said


def training_sentences(rows: Sequence[TrainingCost]) -> list[str]:
    """What is aimed at, and whether it is so."""
    found = {}
    for row in rows:
        if row.recorder == SAMPLED:
            slower = row.slower
            is_shown = slower.median <= SLOWER and slower.high <= SLOWER_AT_MOST
            is_missed = slower.median > SLOWER and slower.low > 0
            found[row.model] = "shown" if is_shown else "missed" if is_missed else "undecided"
    aim = "Aimed at, recorded (sampled): at most 0.5 % slower, the interval’s upper end at most 1 %"
    return [*([f"{aim}; {_said(found)}."] if found else []), HOW]


# ---- views --------------------------------------------------------------------------------------------------------


def origin(cost: RecordingCost) -> str:
    """Where it was measured."""
    return f"Measured {cost.date[:10]} on {place(cost.machine, cost.versions)}."


def print_cost(cost: RecordingCost, out: Console) -> None:
    """On a terminal."""
    out.print(Text(f"{cost.kind}. {origin(cost)}"))
    if not sections(cost):
        out.print(Text("\nNothing was measured."))
    for section in sections(cost):
        print_part(section.title, section.tables, section.sentences, out)
    for warning in cost.warnings:
        out.print(Text(f"\nwarning: {warning}", style="yellow"))


def cost_markdown(cost: RecordingCost) -> str:
    """For an issue, and for docs/."""
    said = [origin(cost)]
    for section in sections(cost):
        said += [f"**{section.title}.**", *map(table_markdown, section.tables), *section.sentences]
    said += [f"- Warning: {warning}" for warning in cost.warnings]
    return "\n\n".join(said) + "\n"


def cost_html(cost: RecordingCost) -> str:
    """The page."""
    title = f"sennit {cost.kind}: {cost.machine.name}"
    body = [f'<main class="report"><h1>{escape(title)}</h1>', f'<p class="origin">{escape(origin(cost))}</p>']
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in cost.warnings]
    for section in sections(cost):
        tables = "".join(
            html_table(one.headings, one.lines, left=one.left, name=section.title) for one in section.tables
        )
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in section.sentences)
        body.append(f"<section><h2>{escape(section.title)}</h2>{tables}{sentences}</section>")
    return page(title, [*body, "</main>"])


def cost_csv(cost: RecordingCost) -> str:
    """A line each interval."""
    lines = [
        {"what": f"{whose}_us", "bytes": row.bytes, "model": "", "recorder": row.recorder,
         "alone": getattr(row, f"alone_{whose}_us"), **getattr(row, f"{whose}_us").model_dump()}
        for row in cost.calls for whose in ("host", "stream")
    ]  # fmt: skip
    lines += [
        {"what": "slower", "bytes": "", "model": row.model, "recorder": row.recorder, "alone": row.alone_us,
         **row.slower.model_dump()}
        for row in cost.training
    ]  # fmt: skip
    for time in cost.times:
        for name, us in (("torch.profiler", time.torch_us), ("events", time.events_us), ("kernels", time.kernels_us)):
            lines.append(dict.fromkeys(COLUMNS, "") | {"what": "gpu_us", "bytes": time.bytes, "recorder": name,
                                                       "median": us if us is not None else ""})  # fmt: skip
    return lines_csv(COLUMNS, lines)
