"""`sennit bench partitioned --pattern`: its views, what is left of the public suite's claim, and its arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Programs, data, shown
from partitioned_tables import partitioned_claims, with_equal_bytes
from sennit.baselines import partitioned as jobs
from sennit.compare.partitioned import as_result
from sennit.compare.runs import compare
from sennit.model.document import parse
from sennit.model.partitioned import Partitioned, PatternRow
from sennit.programs.problem import Exit, Problem
from sennit.verbs.partitioned import back_ends
from sennit.views.partitioned import partitioned_csv, partitioned_html, partitioned_markdown, print_partitioned
from sennit.views.partitioned_patterns import sections, suites_claims, verdict


def around(median: float) -> dict[str, float]:
    return {"median": median, "low": 0.98 * median, "high": 1.02 * median}


def row(back_end: str, size: int, round_us: float, single_us: float, **changes: Any) -> dict[str, Any]:
    return {
        "pattern": "sweep3d", "grid": [2, 2, 1], "steps": 64, "back_end": back_end, "bytes": size, "partitions": 16,
        "threads": 4, "compute_us": 1000, "noise": "uniform:4", "order": "linear", "cache": "hot",
        "state": "measured", "rounds": 9,
        "steady": True, "verified": True, "faces": 256, "bytes_sent": 256 * size, "bytes_received": 256 * size,
        "updates": 1 << 20, "round_us": around(round_us), "single_us": around(single_us),
        "speedup": around(single_us / round_us),
    } | changes  # fmt: skip


# Partitions take 100 µs at 4 KiB and 800 at 64 KiB, a send a thread 1000 there, whole messages 1200.
ROWS = [row("mpi", 4 << 10, 100, 90), row("mpi", 64 << 10, 800, 1200), row("threads", 64 << 10, 1000, 1200),
        row("threads", 4 << 10, 95, 90)]  # fmt: skip


def document(*rows: dict[str, Any]) -> Any:
    return data("partitioned") | {"rows": [], "patterns": list(rows or ROWS), "warnings": []}


def read(*rows: dict[str, Any]) -> Partitioned:
    return parse(Partitioned, document(*rows), "it")


def test_the_public_suites_claim_is_of_unequal_bytes() -> None:
    ((one, small, said, true),) = suites_claims(read().patterns)
    assert (one.bytes, small.bytes) == (64 << 10, 4 << 10)
    assert said == pytest.approx(1000 / 100), "threads of 64 KiB over partitions of 4 KiB, as if they were equal"
    assert true == pytest.approx(1000 / 800)
    assert with_equal_bytes(read().patterns) == (
        "falls: as published up to 10 × threads (mpi), which then move 16 × the bytes (64 KiB and 4 KiB); with equal "
        "bytes 1.25 ×"
    )
    others = [row("mpi", 4 << 10, 100, 90, noise="none"), *ROWS[1:3]]
    assert suites_claims(read(*others).patterns) == [], "they differ in something else"
    assert with_equal_bytes([]) == "not measured yet"


def test_the_verdict_is_of_partitioned_messages() -> None:
    assert verdict(read().patterns, "MPI") == (
        "With partitioned messages of MPI sweep3d is faster than with whole ones in 1 of 2 lines, slower in 1; at "
        "best it is 1.5 × as fast (64 KiB in 16), with the same bytes."
    )
    assert verdict(read(ROWS[2]).patterns, "MPI").endswith("in a pattern: add partitioned to --send.")
    hung = row("mpi", 4096, 1, 1, state="hung", why="hung after 3 messages.")
    assert verdict(read(hung).patterns, "MPI").endswith("in a pattern: hung after 3 messages.")


def test_every_view_has_the_rows() -> None:
    hung = row(
        "persistent", 64 << 10, 1, 1, state="hung", why="hung after 3 messages.", command="run it", speedup=None
    )
    found = read(*ROWS, hung)
    text = shown(lambda out: print_partitioned(found, out), 160)
    assert "sweep3d on 2 × 2 ranks, 64 steps" in text
    assert "1.50 (1.47…1.53)" in text
    assert "persistent, 64 KiB in 16: hung after 3 messages." in text
    assert "hung: run it" in text
    (section,) = sections(found.patterns)
    assert [len(table.lines) for table in section.tables] == [4, 1]
    assert section.tables[1].lines[0][3:] == ("10.0", "1.25")
    assert "<svg" in section.charts()[0]
    for view in (partitioned_markdown(found), partitioned_html(found)):
        assert "moved the same bytes" in view
    lines = partitioned_csv(found).splitlines()
    assert lines[0].startswith("pattern,back_end,bytes")
    assert len(lines) == 6
    schema = json.loads((ROOT / "schemas/partitioned.schema.json").read_text())
    jsonschema.validate(document(*ROWS, hung), schema)


def test_patterns_are_compared_too() -> None:
    before, after = (as_result(read(each)) for each in (row("mpi", 4096, 100, 90), row("mpi", 4096, 150, 90)))
    pair, control = compare(before, after).pairs
    assert (pair.judged.verdict, control.judged.verdict) == ("slower", "same")
    assert pair.case.title.startswith("sweep3d on 2 × 2 × 1 ranks, 64 steps, 16 partitions")


def test_a_row_alone_is_the_same_pattern() -> None:
    for pattern, planes in (("sweep3d", "8"), ("halo3d", "64")):
        arguments = jobs.alone(row("mpi", 4096, 1, 1, pattern=pattern))
        assert arguments[:4] == ["--pattern", pattern, "--planes", planes]


def test_back_ends_of_a_pattern_need_no_window() -> None:
    assert back_ends("single,threads,partitioned", ("single", "threads", "mpi")) == ["single", "threads", "mpi"]
    with pytest.raises(Problem, match="no back end 'rma_flush' here") as caught:
        back_ends("rma_flush", ("single", "threads", "mpi"))
    assert caught.value.exit_code == Exit.USAGE
    assert back_ends("all", ("single", "threads", "mpi")) == ["single", "threads", "mpi"]


def test_claims_are_told_of_each_mpi(tmp_path: Path) -> None:
    folder = tmp_path / "results/made-up"
    folder.mkdir(parents=True)
    (folder / "sweep.json").write_text(json.dumps(document()))
    told = partitioned_claims(tmp_path)
    assert "| Sweep3D | threads beat one thread | in 1 of 2 lines, slower in 1; up to 1.2 × |" in told
    assert (
        "| Sweep3D | up to 15.1 × higher throughput for large messages | falls: as published up to 10 × threads (mpi)"
        in told
    )


def test_a_kept_pattern_is_shown_again(programs: Programs) -> None:
    (programs.folder / "s.json").write_text(json.dumps(document()))
    done = programs.sennit("report", "s.json", "--html", "s.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("With partitioned messages of Open MPI v5.0.11 sweep3d")
    assert "sweep3d in 16 partitions" in (programs.folder / "s.html").read_text()


def test_a_row_without_a_grid_is_refused() -> None:
    with pytest.raises(Problem, match="grid"):
        parse(PatternRow, {name: value for name, value in ROWS[0].items() if name != "grid"}, "it", version=None)
