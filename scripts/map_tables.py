"""Tables of docs/use/map.md, from results/map/; and what those results are made by.

scripts/map_tables.py cases [--scotch FILE]   # our maps beside Scotch's and all permutations', on 308 problems
scripts/map_tables.py gains                   # what maps give on the machines that come with sennit, simulated
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from house import ROOT
from kept_documents import NONE_YET, documents
from sennit import __version__, units
from sennit.programs import process
from sennit.programs.map import PROGRAM, Question, ask
from sennit.units import NOTHING
from sennit.views.markdown import pipes

CASES, GAINS, PATTERNS = "map cases", "map gains", "bench patterns"
FOLDER = ROOT / "results" / "map"
SIZE = "1M"
# Machine, how many of them, ranks, and the patterns that so many ranks have.
SIXTEEN = ("2d-stencil:4x4,w=3", "2d-torus:4x4,w=3", "3d-torus:4x2x2,w=3,order=yxz", "4d-hypercube:w=3,order=tzyx")
EIGHT = ("2d-stencil:4x2,w=3", "2d-torus:4x2,w=3", "ring:8", "parallel:tp=2,pp=2,dp=2")
FOUR = ("2d-stencil:2x2,w=3", "ring:4", "parallel:tp=2,pp=1,dp=2")
MACHINES: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("dgx-1v", 1, EIGHT),
    ("helios", 1, (*SIXTEEN, "parallel:tp=4,pp=2,dp=2")),
    ("cscs", 1, EIGHT),
    ("mist", 1, FOUR),
    ("cedar", 1, FOUR),
    ("dgx-h100", 4, ("2d-torus:8x4,w=3", "3d-torus:4x4x2,w=3", "ring:32", "parallel:tp=4,pp=4,dp=2")),
    ("dgx-h100", 8, ("2d-torus:8x8,w=3", "all-pairs:64")),
    ("dgx-h100", 128, ("2d-torus:32x32,w=3",)),
)
# What 16 ranks of examples/heat.c were recorded to send each other, and for which machines that is mapped.
HEAT = FOLDER / "heat-16-ranks.csv"
OF_HEAT = (("helios", 1), ("dgx-1v", 2), ("dgx-h100", 2))


def map_cases(root: Path) -> str:
    """A line a kind of machine and of traffic."""
    found = [document for _, _, document in documents(root, CASES)]
    if not found:
        return NONE_YET
    lines = [
        [
            "machine",
            "traffic",
            "found in",
            "by swaps alone the best",
            "proved",
            "in",
            "best of all",
            "Scotch",
            "it costs more",
        ]
    ]
    lines.append(["---", "---", "--:", "--:", "--:", "--:", "--:", "--:", "--:"])
    rows = [row for document in found for row in document["rows"]]
    for row in rows:
        of = row["cases"]
        lines.append(
            [
                f"{row['machine']}, {row['slots']}",
                row["traffic"],
                milliseconds(row["found_ms"]),
                f"{row['best_by_swaps']} of {of}",
                f"{row['proved']} of {of}",
                milliseconds(row["proof_ms"]),
                f"{row['optimal']} of {row['brute_forced']}" if row["brute_forced"] else NOTHING,
                milliseconds(row["scotch_ms"]),
                f"{units.percent(row['scotch_mean_loss'])}, at most {units.percent(row['scotch_loss']['most'])}"
                if row["scotch_loss"]
                else NOTHING,
            ]
        )
    cases = sum(row["cases"] for row in rows)
    worse = sum(row["worse_than_scotch"] for row in rows)
    brute = sum(row["brute_forced"] for row in rows)
    optimal = sum(row["optimal"] for row in rows)
    said = (
        f"{cases} problems: by swaps alone a map costs more than Scotch's in {worse} of them. Of the {brute} small "
        f"enough to try every permutation the best is found in {optimal}. Times are of one processor of "
        f"{', '.join(document.get('computer', 'two-cores') for document in found)}: the median, and the most."
    )
    return f"{said}\n\n{pipes(lines)}"


def milliseconds(spread: dict[str, float] | None) -> str:
    """ "0.13 ms, 0.2 ms"."""
    if not spread:
        return NOTHING
    return ", ".join(f"{units.three_digits(spread[each])}" for each in ("median", "most")) + " ms"


def map_gains(root: Path) -> str:
    """A line a machine and pattern."""
    found = [document for _, _, document in documents(root, GAINS)]
    if not found:
        return NONE_YET
    lines = [
        ["machine", "pattern", "as it is", "mapped", "gain", "advised", "found in"],
        ["---", "---", "--:", "--:", "--:", "---", "--:"],
    ]
    for row in (row for document in found for row in document["rows"]):
        machine = f"{row['nodes']} × {row['machine']}" if row["nodes"] > 1 else row["machine"]
        times = [units.time(row["before_us"]), units.time(row["after_us"])]
        gain = units.percent(max(0.0, row["gain"]))
        advised = "yes" if row["advised"] else "no"
        found_in = f"{units.three_digits(row['found_ms'])} ms"
        lines.append([machine, f"`{row['pattern']}`", *times, gain, advised, found_in])
    computers = ", ".join(document["computer"] for document in found)
    said = (
        "One exchange, simulated; messages of patterns have 1 MiB, and `heat.c` sent what `sennit profile` recorded "
        f"of 20 steps of 16 ranks. Maps were found, without a proof, in this time of a processor of {computers}."
    )
    return f"{said}\n\n{pipes(lines)}"


def measured_gains(root: Path) -> str:
    """A line a pattern, size and MPI: the map that the contention metric finds, and the worst one, beside what was
    predicted of both."""
    found = [document for _, _, document in documents(root, PATTERNS)]
    if not found:
        return NONE_YET
    lines = [
        ["pattern", "size", "MPI", "as it is", "mapped", "it takes less by", "predicted", "the worst takes more by",
         "predicted"],
        ["---", "--:", "---", "--:", "--:", "--:", "--:", "--:", "--:"],
    ]  # fmt: skip
    by_case: dict[tuple[str, int, str], list[Any]] = {}
    for document in found:
        for row in document["rows"]:
            by_case.setdefault((row["pattern"], row["bytes"], document["versions"]["mpi"]), []).append(row)
    for (pattern, size, library), rows in by_case.items():
        named = {name: row for row in rows for name in row["variant"].split(", ")}
        if not {"as it is", "contention"} <= set(named):
            continue
        before, mapped, worst = named["as it is"], named["contention"], named.get("worst")
        kept = mapped is before
        lines.append([
            f"`{pattern}`", units.size(size), library, units.time(before["median_us"]),
            "the same" if kept else units.time(mapped["median_us"]),
            *([NOTHING] * 2 if kept else [saved(mapped, 1), predicted(mapped, before, 1)]),
            *([NOTHING] * 2 if worst in (None, before) else [saved(worst, -1), predicted(worst, before, -1)]),
        ])  # fmt: skip
    machines = {(document["machine"]["devices"][0], document["date"][:10]) for document in found}
    sizes = {(row["ranks"], row["nodes"]) for document in found for row in document["rows"]}
    shapes = ", ".join(f"{ranks} ranks on {nodes} nodes" for ranks, nodes in sorted(sizes))
    hosts = "; ".join(f"{device}, {date}" for device, date in sorted(machines))
    said = (
        f"GPU buffers of {shapes}, which are one machine ({hosts}), under sennit's drop-in.\n"
        "In brackets: where the median lies in 19 of 20 runs."
    )
    return f"{said}\n\n{pipes(lines)}"


def saved(row: Any, sign: int) -> str:
    """ "62.5 % (62.1 to 62.9)"; `sign`: -1 of what a map costs."""
    part = row["saved"]
    low, high = sorted((sign * part["low"], sign * part["high"]))
    return f"{100 * sign * part['part']:.3g} % ({100 * low:.3g} to {100 * high:.3g})"


def predicted(row: Any, before: Any, sign: int) -> str:
    """The same, simulated."""
    return f"{100 * sign * (1 - row['predicted_us'] / before['predicted_us']):.3g} %"


def gain_rows() -> list[dict[str, Any]]:
    """Asks sennit-map."""
    asked = [
        (pattern, Question(pattern=pattern, size=SIZE, machine=machine, nodes=nodes))
        for machine, nodes, patterns in MACHINES
        for pattern in patterns
    ]
    asked += [("heat.c", Question(matrix=[HEAT], machine=machine, nodes=nodes)) for machine, nodes in OF_HEAT]
    rows = []
    for name, question in asked:
        found, _ = ask(question)
        before, best = found.mappings[0], found.best
        rows.append(
            {
                "machine": question.machine,
                "nodes": question.nodes,
                "pattern": name,
                "before_us": before.exchange_us,
                "after_us": best.exchange_us,
                "gain": best.gain,
                "advised": found.advised,
                "proved": best.proved,
                "verdict": found.verdict,
                "found_ms": sum(mapping.found_ms for mapping in found.mappings),
            }
        )
    return rows


def main() -> int:
    """Makes a result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cases", "gains"])
    parser.add_argument("--scotch", default="")
    parser.add_argument("--computer", default="two-cores", help="the one that this runs on, as results/ names it")
    asked = parser.parse_args()
    if asked.what == "cases":
        more = ["--scotch", asked.scotch] if asked.scotch else []
        document, _ = process.document(PROGRAM, "cases", "--progress", *more, title="mapping 308 problems")
    else:
        document = {"version": 1, "kind": GAINS, "rows": gain_rows()}
    document |= {"computer": asked.computer, "date": date.today().isoformat(), "sennit": __version__}
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{asked.what}.json"
    file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {file.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
