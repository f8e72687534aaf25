"""What docs/tune/bench-partitioned.md shows of results/: each document, and each claim of the slides beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from kept_documents import NONE_YET, documents
from sennit import units
from sennit.model.document import parse
from sennit.model.partitioned import OWN, PARTITIONED, Partitioned, PatternRow, Row
from sennit.model.result import MeasuredOn
from sennit.views import partitioned_patterns as patterns
from sennit.views.charts.frame import standalone
from sennit.views.markdown import pipes
from sennit.views.origin import place
from sennit.views.partitioned import partitioned_markdown, sooner
from sennit.views.partitioned_charts import gantt, overheads, perceived, whole_rate
from sennit.views.partitioned_patterns import THREADS, faster, slower, suites_claims

NOT_MEASURED = "not measured yet"
PROJECTION = "projection"


class Kept(NamedTuple):
    """All that was measured of one MPI."""

    rows: list[Row]
    patterns: list[PatternRow]


def partitioned_sections(root: Path, figures: dict[str, str]) -> str:
    """All documents, one behind the other; adds the charts of MPI's own messages to `figures`."""
    made = []
    for name, path, document in documents(root, PARTITIONED):
        found = parse(Partitioned, document, path)
        drawn = _drawn(name, found)
        figures |= drawn
        pictures = " ".join(f"![{each}](../figures/{each})" for each in drawn)
        body = partitioned_markdown(found).strip()
        made += [f"### {name}", f"Source: `{path}`.", *([pictures] if pictures else []), body]
    for name, path, document in documents(root, PROJECTION):
        made += [f"### {name}", f"Source: `{path}`.", *projected(document)]
    return "\n\n".join(made) or NONE_YET


def projected(document: Any) -> list[str]:
    """A projection beside what the program then took both ways, as scripts/measure_sweep.py keeps it."""
    best, ran = document["ways"][0], document["ran"]
    before, after = (median(ran[way]) for way in ("whole", "partitioned"))
    ratios = sorted(one / other for one, other in zip(ran["whole"], ran["partitioned"], strict=True))
    factor, gone = best["speedup"], "without end"
    low, high = (f"{factor[name]:.2f}" if factor[name] is not None else gone for name in ("low", "high"))
    said = f"{factor['median']:.2f}" if factor["median"] is not None else gone
    machine, versions = parse(MeasuredOn, document["machine"], "the machine", version=None), document["versions"]
    lines = [
        ["what", "× as fast", "from", "to"], ["---", "--:", "--:", "--:"],
        ["projected", said, low, high],
        [f"ran, {len(ratios)} pairs of runs", f"{median(ratios):.2f}", f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"],
    ]  # fmt: skip
    return [
        f"`{document['profile']}`: {before:.3f} s with whole messages, {after:.3f} s with partitions, in the median "
        f"of runs in turns. Measured {document['date'][:10]} on {place(machine, versions)}. Projected from its "
        f"profile and from `{document['measured']}`: {best['way']}.",
        pipes(lines),
    ]


def _drawn(name: str, found: Partitioned) -> dict[str, str]:
    """File name → SVG: overheads, perceived bandwidth and one message, with noise where there is some."""
    if found.patterns and not found.rows:
        return {f"{name}.svg": standalone(svg) for svg in patterns.charts(found.patterns)}
    rows = [row for row in found.measured if row.back_end == OWN and row.cache == "hot"]
    rows = [row for row in rows if row.noise == rows[-1].noise and row.order == rows[-1].order]
    if not rows:
        return {}
    pictures = {"overhead": overheads(rows, OWN), "perceived": perceived(rows, OWN, whole_rate(found.measured))}
    if cut := [row for row in rows if row.timeline and row.partitions > 1]:
        pictures["partitions"] = gantt(max(cut, key=lambda row: (row.partitions, row.bytes)))
    return {f"{name}-{kind}.svg": standalone(svg) for kind, svg in pictures.items() if svg}


def partitioned_claims(root: Path) -> str:
    """A line a claim, a column an MPI."""
    kept = [parse(Partitioned, document, path) for _, path, document in documents(root, PARTITIONED)]
    by_mpi: dict[str, Kept] = {}
    for found in kept:
        mine = by_mpi.setdefault(found.mpi, Kept([], []))
        mine.rows.extend(row for row in found.measured if row.back_end == OWN)
        mine.patterns.extend(found.patterns)
    by_mpi = {mpi: mine for mpi, mine in by_mpi.items() if mine.rows or mine.patterns}
    if not by_mpi:
        return NONE_YET
    lines = [["slide", "says", *by_mpi], ["---", "---", *["---"] * len(by_mpi)]]
    for slide, says, judge in CLAIMS:
        lines.append([slide, says, *(judge(mine.rows) for mine in by_mpi.values())])
    for slide, says, judge_pattern in PATTERN_CLAIMS:
        lines.append([slide, says, *(judge_pattern(mine.patterns) for mine in by_mpi.values())])
    return pipes(lines)


def _plain(rows: Sequence[Row], cache: str = "hot") -> list[Row]:
    return [row for row in rows if row.cache == cache and row.noise == "none" and row.order == "linear"]


def _overhead(row: Row) -> float:
    return row.overhead.median if row.overhead else 0.0


def grows_with_partitions(rows: Sequence[Row]) -> str:
    """In how many sizes the overhead of the most partitions is above that of one, beyond both intervals."""
    more, sizes, largest = 0, 0, 0.0
    for size in sorted({row.bytes for row in _plain(rows)}):
        here = sorted((row for row in _plain(rows) if row.bytes == size), key=lambda row: row.partitions)
        if len(here) < 2 or not (here[0].overhead and here[-1].overhead):
            continue
        sizes += 1
        more += here[-1].overhead.low > here[0].overhead.high
        largest = max(largest, here[-1].overhead.median / here[0].overhead.median)
    return f"holds in {more} of {sizes} sizes; up to {largest:.3g} × that of one partition" if sizes else NOT_MEASURED


def falls_with_size(rows: Sequence[Row]) -> str:
    """The overhead of the most partitions, at the smallest and at the largest size."""
    most = max((row.partitions for row in _plain(rows)), default=0)
    here = sorted((row for row in _plain(rows) if row.partitions == most), key=lambda row: row.bytes)
    if len(here) < 2:
        return NOT_MEASURED
    first, last = here[0], here[-1]
    holds = "holds" if _overhead(first) > _overhead(last) else "does not hold"
    return (f"{holds}: {_overhead(first):.3g} at {units.size(first.bytes)}, {_overhead(last):.3g} at "
            f"{units.size(last.bytes)} ({most} partitions)")  # fmt: skip


def cold_beside_hot(rows: Sequence[Row]) -> str:
    """The median over lines of the overhead's ratio."""
    hot = {(row.bytes, row.partitions): _overhead(row) for row in _plain(rows)}
    ratios = [
        _overhead(row) / hot[(row.bytes, row.partitions)]
        for row in _plain(rows, "cold") if hot.get((row.bytes, row.partitions))
    ]  # fmt: skip
    if not ratios:
        return NOT_MEASURED
    return (
        f"cold is {median(ratios):.2f} × hot, the median of {len(ratios)} lines ({min(ratios):.2f}…{max(ratios):.2f})"
    )


def _perceived(row: Row) -> float:
    return row.perceived_gbps.median if row.perceived_gbps else 0.0


def ordinary_without_noise(rows: Sequence[Row]) -> str:
    """Perceived bandwidth of one partition over a whole message's."""
    ratios = [
        _perceived(row) * 1e3 * row.single_us.median / row.bytes
        for row in _plain(rows) if row.partitions == 1 and row.single_us
    ]  # fmt: skip
    if not ratios:
        return NOT_MEASURED
    return f"one partition reaches {min(ratios):.2f} to {max(ratios):.2f} × what a whole message does"


def _noisy(rows: Sequence[Row]) -> list[Row]:
    most = max((row.partitions for row in rows if row.noise != "none" and row.cache == "hot"), default=0)
    here = [row for row in rows if row.noise != "none" and row.cache == "hot" and row.partitions == most]
    return sorted((row for row in here if row.noise == here[0].noise), key=lambda row: row.bytes)


def peaks_in_the_middle(rows: Sequence[Row]) -> str:
    """Where perceived bandwidth under noise is highest."""
    here = _noisy(rows)
    if len(here) < 3:
        return NOT_MEASURED
    peak = max(here, key=_perceived)
    holds = "holds" if peak not in (here[0], here[-1]) else "does not hold"
    return (f"{holds}: {units.rate(_perceived(peak))} at {units.size(peak.bytes)} of {units.size(here[0].bytes)} to "
            f"{units.size(here[-1].bytes)} ({peak.partitions} partitions, {peak.noise})")  # fmt: skip


def drops_where_the_wire_is_full(rows: Sequence[Row]) -> str:
    """Perceived bandwidth of the largest message over the peak, and over the wire's."""
    here = _noisy(rows)
    if len(here) < 3:
        return NOT_MEASURED
    peak, last, wire = max(map(_perceived, here)), _perceived(here[-1]), whole_rate(rows)
    holds = "holds" if last < peak else "does not hold"
    return f"{holds}: at {units.size(here[-1].bytes)} {last / peak:.2f} × the peak, {last / wire:.2f} × the wire"


def saves(rows: Sequence[Row]) -> str:
    """In how many lines of more than one partition a program gains."""
    cut = [row for row in rows if row.partitions > 1]
    return f"sooner than a whole message in {sum(map(sooner, cut))} of {len(cut)} lines" if cut else NOT_MEASURED


def never(_: Sequence[Row]) -> str:
    """Of what needs a profile."""
    return "no profile of SNAP-C is kept; `sennit bench project` does it of a program's"


def threads_beat_one(rows: Sequence[PatternRow]) -> str:
    """In how many lines of Sweep3D a send a thread is faster than one thread's whole messages."""
    mine = [row for row in rows if row.is_measured and row.pattern == "sweep3d" and row.back_end == THREADS]
    if not mine:
        return NOT_MEASURED
    best = max(row.speedup.median for row in mine if row.speedup)
    return f"in {sum(map(faster, mine))} of {len(mine)} lines, slower in {sum(map(slower, mine))}; up to {best:.3g} ×"


def with_equal_bytes(rows: Sequence[PatternRow]) -> str:
    """What the public suite would say of partitions beside threads in Sweep3D, and what is left of it."""
    found = suites_claims([row for row in rows if row.pattern == "sweep3d"])
    if not found:
        return NOT_MEASURED
    one, small, said, true = max(found, key=lambda each: each[2])
    return (
        f"falls: as published up to {said:.3g} × threads ({one.back_end}), which then move {one.partitions} × the "
        f"bytes ({units.size(one.bytes)} and {units.size(small.bytes)}); with equal bytes {true:.3g} ×"
    )


CLAIMS: tuple[tuple[str, str, Callable[[Sequence[Row]], str]], ...] = (
    ("Overhead Results", "the number of partitions correlates with overhead", grows_with_partitions),
    ("Overhead Results", "overheads mostly impact small messages", falls_with_size),
    ("Overhead Results", "(a) cold cache, (b) hot cache", cold_beside_hot),
    ("Perceived Bandwidth", "without noise it is the ordinary curve of bandwidth", ordinary_without_noise),
    ("Perceived Bandwidth", "it peaks at medium sizes", peaks_in_the_middle),
    ("Perceived Bandwidth", "it drops where the network is saturated", drops_where_the_wire_is_full),
    ("Benchmarking for MPI-Partitioned", "a good implementation is not serialised as point-to-point is", saves),
    ("Potential Application Improvements", "SNAP-C would be faster by a projected factor", never),
)

PATTERN_CLAIMS: tuple[tuple[str, str, Callable[[Sequence[PatternRow]], str]], ...] = (
    ("Sweep3D", "threads beat one thread", threads_beat_one),
    ("Sweep3D", "up to 15.1 × higher throughput for large messages", with_equal_bytes),
)
