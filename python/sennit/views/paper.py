"""A paper's experiments done again: its numbers beside ours, what it claims, and what is left out."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.sim import Paper, PaperNumber, Papers, Series
from sennit.units import NOTHING
from sennit.views.charts.bars import Bar, bar_chart
from sennit.views.charts.frame import count_axis, linear_axis, size_axis, time_axis
from sennit.views.charts.lines import Point, line_chart
from sennit.views.charts.lines import Series as Line
from sennit.views.markdown import pipes
from sennit.views.text_table import Table, print_table

ACROSS = 3  # lines of a figure that stand side by side on a screen
HEADINGS = ["figure", "what", "paper", "ours", "ratio", ""]


def judged(paper: Paper) -> list[PaperNumber]:
    """What was measured, and nothing was fitted to."""
    return [each for each in paper.numbers if not each.fitted and not each.chosen]


def summary(paper: Paper) -> list[str]:
    """How far off, and how many claims hold."""
    lines = []
    if numbers := judged(paper):
        errors = [abs(each.ratio - 1) for each in numbers]
        outside = [each for each in numbers if not each.within]
        how_many = f"{len(numbers)} number{'s' if len(numbers) > 1 else ''}"
        median = units.percent(statistics.median(errors))
        lines.append(f"{how_many}: median error {median}, {len(outside) or 'none'} outside their band.")
    if paper.claims:
        lines.append(f"{sum(each.holds for each in paper.claims)} of {len(paper.claims)} claims hold.")
    return lines


def summary_of_all(papers: Sequence[Paper]) -> str:
    """The same of the numbers of several machines together."""
    numbers = [each for paper in papers for each in judged(paper)]
    inside = sum(each.within for each in numbers)
    median = units.percent(statistics.median(abs(each.ratio - 1) for each in numbers))
    return (
        f"Of {len(numbers)} numbers that nothing was fitted to, {inside} lie within their band "
        f"({units.percent(inside / len(numbers))}), and half within {median}."
    )


def value(number: float, unit: str) -> str:
    """ "72 GB/s", "1.25 ×", "89 %"."""
    text = units.three_digits(number)
    return f"{text} {'×' if unit == 'x' else unit}"


def mark(number: PaperNumber) -> str:
    """What stands in the last column."""
    outside = "" if number.within else "outside"
    return "fitted" if number.fitted else f"chosen {outside}".strip() if number.chosen else outside


def lines_of(paper: Paper) -> list[list[str]]:
    """A line of the table for each number."""
    return [
        [
            each.figure,
            each.what,
            value(each.paper, each.unit),
            value(each.ours, each.unit),
            f"{each.ratio:.2f}",
            mark(each),
        ]
        for each in paper.numbers
    ]


def whys(paper: Paper) -> list[str]:
    """What is known of numbers, of those outside first, and of claims that do not hold."""
    told = sorted((each for each in paper.numbers if each.why), key=lambda each: each.within)
    lines = [f"{each.figure}, {each.what}: {each.why}" for each in told]
    return lines + [f"{each.figure}, {each.what}: {each.why}" for each in paper.claims if each.why]


def fits(paper: Paper) -> str:
    """The rates and latencies that were taken from the paper."""
    named = [f"{each.name} {each.value:g} {each.unit}".strip() + f" ({each.where})" for each in paper.fitted]
    return f"Taken from the paper, or assumed: {'; '.join(named)}. All else follows." if named else ""


def figures(paper: Paper) -> list[tuple[str, list[str], list[list[str]]]]:
    """Of each figure that is drawn again its name, the headings, and a line a size: sizes down, its lines across."""
    drawn = []
    for figure in dict.fromkeys(each.figure for each in paper.series):
        series = [each for each in paper.series if each.figure == figure]
        sizes = list(dict.fromkeys(size for each in series for size, _ in each.points))
        values = [dict(each.points) for each in series]
        lines = [
            [place(size, series[0]), *(said(each[size], series[0]) if size in each else NOTHING for each in values)]
            for size in sizes
        ]
        drawn.append((f"{figure} ({series[0].unit})", [series[0].over, *(each.name for each in series)], lines))
    return drawn


def place(at: float, series: Series) -> str:
    """Where a value of a figure lies: a size, or a number of nodes."""
    return units.size(round(at)) if series.over == "size" else str(round(at))


def said(value: float, series: Series) -> str:
    """A value of a figure: whole per cents and µs; of rates, and of short times, three digits."""
    return str(round(value)) if series.unit == "%" or abs(value) >= 100 else units.three_digits(value)


def paper_figures(paper: Paper) -> dict[str, str]:
    """A chart of each figure that has lines, by its name."""
    charts = {}
    for figure in dict.fromkeys(each.figure for each in paper.series):
        series = [each for each in paper.series if each.figure == figure]
        places = sorted({round(at) for each in series for at, _ in each.points})
        values = [value for each in series for _, value in each.points]
        over = size_axis(places) if series[0].over == "size" else count_axis(places)
        up = time_axis(values) if series[0].unit == "µs" else linear_axis(min(0, *values), max(values))
        lines = [
            Line(
                each.name,
                [
                    Point(at, value, note=f"{place(at, each)}: {said(value, each)} {each.unit}")
                    for at, value in each.points
                ],
            )
            for each in series
        ]
        charts[figure] = line_chart(f"{figure} ({series[0].unit}), over {series[0].over}", over, up, lines)
    return charts


def beside(paper: Paper, figure: str) -> str:
    """What the paper says of a figure, and what came of it here, in a line."""
    numbers = [
        f"{each.what} {value(each.paper, each.unit)}, here {value(each.ours, each.unit)}"
        for each in paper.numbers
        if each.figure == figure
    ]
    claims = [
        f"{each.what}: {'holds' if each.holds else 'does not hold'}" for each in paper.claims if each.figure == figure
    ]
    return "; ".join([*numbers, *claims])


def print_paper(paper: Paper, console: Console) -> None:
    """Everything."""
    console.print(Text(f"{'; '.join(paper.papers)}, on {paper.machine} (simulated)", style="bold"))
    print_table(Table(HEADINGS, lines_of(paper)), console)
    console.print()
    for each in paper.claims:
        console.print(Text(f"{'✓' if each.holds else '✗'} {each.figure}: {each.what} ({each.ours})"))
    console.print()
    for name, headings, lines in figures(paper):
        console.print(Text(name, style="bold"))
        for first in range(1, len(headings), ACROSS):
            columns = [0, *range(first, min(first + ACROSS, len(headings)))]
            part = [[line[column] for column in columns] for line in lines]
            print_table(Table([headings[column] for column in columns], part), console)
        console.print()
    for line in filter(None, [*summary(paper), fits(paper), *whys(paper)]):
        console.print(Text(line))
    for left in paper.left_out:
        console.print(Text(f"Left out: {left.figure}, {left.what}: {left.why}"))


def print_papers(found: Papers, console: Console) -> None:
    """Everything of each machine, and how far off all of it is."""
    for paper in found.machines:
        print_paper(paper, console)
        console.print()
    console.print(Text(summary_of_all(found.machines)))


def papers_markdown(found: Papers) -> str:
    """The same, as tables and lists."""
    parts = [f"## {paper.machine}\n\n{paper_markdown(paper)}" for paper in found.machines]
    return "\n".join([*parts, f"{summary_of_all(found.machines)}\n"])


def paper_markdown(paper: Paper) -> str:
    """Everything, as tables and lists."""
    parts = [
        f"Papers: {'; '.join(paper.papers)}. {' '.join(summary(paper))} {fits(paper)}",
        pipes([HEADINGS, ["---", "---", "--:", "--:", "--:", "---"], *lines_of(paper)]),
    ]
    if paper.claims:
        claims = [[each.figure, each.what, each.ours, "holds" if each.holds else "does not"] for each in paper.claims]
        parts.append(pipes([["figure", "claim", "here", ""], ["---", "---", "---", "---"], *claims]))
    for name, headings, lines in figures(paper):
        parts += [f"{name}:", pipes([headings, ["--:"] * len(headings), *lines])]
    notes = [f"- {each}" for each in whys(paper)]
    notes += [f"- Left out: {left.figure}, {left.what}. {left.why}" for left in paper.left_out]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def paper_chart(paper: Paper) -> str:
    """Ours over the paper's, of each number; the line is where they are equal."""
    widest = 2.0  # what is further off is cut there
    return bar_chart(
        f"{paper.machine}: simulated / paper",
        [Bar(f"{each.what}", each.ratio / widest, f"{each.ratio:.2f}") for each in paper.numbers],
        marked=1 / widest,
    )
