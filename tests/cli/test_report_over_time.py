"""What a report says over the time of a run: what processes did, queues, variables of the MPI, and who came last."""

from __future__ import annotations

import csv
import io
from typing import Any

import made_up_profiles as made_up
from conftest import Programs
from sennit.views.profile.sections import parts
from test_report import read, save


def part_of(document: Any, title: str) -> Any:
    return next(part for part in parts(read(document)) if part.title == title)


def test_what_is_known_over_time_is_drawn_and_listed() -> None:
    """By rows, one a process; each with its numbers."""
    document = made_up.server()
    timeline = part_of(document, "Timeline")
    assert timeline.table.headings == [
        "rank",
        "outside of calls",
        "waiting",
        "collectives",
        "messages",
        "other calls",
    ]
    assert timeline.table.lines[7] == ["7", "61 %", "16 %", "17 %", "5 %", "1 %"]
    assert timeline.pictures["timeline"].count("<g>") == 8
    assert 'class="nccl"' not in timeline.pictures["timeline"]
    queues = part_of(document, "Queues")
    assert queues.table.lines[0] == ("0", "19.67", "40", "0.12", "1", "1000", "0")
    assert ">the darkest: 39.3</text>" in queues.pictures["queues-unexpected"]
    assert queues.sentences[0].startswith("Lengths are found from the sends and receives of all ranks")
    why = "the MPI has no variable of a queue, or was not asked (--pvar)"
    assert f"Not from the MPI’s own variables: {why}." in queues.sentences
    assert queues.sentences[-1] == "4 starts of persistent requests are not in it."
    late = part_of(document, "Who comes last")
    assert late.table.lines[-1] == ("7", "10 %", "5.000", "1900", "2000", "2.63 ms")
    polls = part_of(document, "Polls")
    assert polls.table.lines == [("MPI_Iprobe", "7200000", "7190000", "8 %", "15 %", "22 %")]
    assert 'class="spread" d="M28' in polls.pictures["polls"]
    overlapped = part_of(document, "Nonblocking calls")
    assert "MPI_Isend: 75 %" in overlapped.pictures["overlap"]
    large = part_of(made_up.over_time(made_up.large(200)), "Timeline")
    assert large.pictures["timeline"].count("<g>") == 50
    assert large.sentences[-1] == "The picture has each 4th process; the table has all."


def test_queues_that_nobody_knows_say_why() -> None:
    document = made_up.server()
    why = {
        "reconstructed": "the ranks are on several hosts, whose clocks are not compared",
        "variables": "they were not",
    }
    document["queues"] = {"shown": "polls", "why_not": why}
    part = part_of(document, "Queues")
    assert part.pictures == {}
    assert part.sentences == [
        "Only polls that found nothing tell of queues here: see there.",
        f"Not from the sends and receives of all ranks: {why['reconstructed']}.",
        "Not from the MPI’s own variables: they were not.",
    ]
    document["polls"] = []
    assert "Queues" not in [part.title for part in parts(read(document))]


def test_csv_has_what_is_known_over_time(programs: Programs) -> None:
    save(programs, made_up.server())
    assert programs.sennit("report", "run", "--text", "--csv", "it.csv").returncode == 0
    lines = list(csv.DictReader(io.StringIO((programs.folder / "it-timeline.csv").read_text())))
    assert len(lines) == 8 * 60
    first = {"rank": "0", "begin_seconds": "0.0", "computing": "0.15", "collective": "0.3", "message": "0.05"}
    assert lines[0] == first | {"waiting": "0.0", "nccl": "0.0", "other": "0.5"}
    lines = list(csv.DictReader(io.StringIO((programs.folder / "it-queues.csv").read_text())))
    assert lines[59]["unexpected_most"] == "40"


def test_variables_of_the_mpi_have_a_table_of_their_own() -> None:
    document = made_up.server()
    assert "Variables of the MPI" not in [part.title for part in parts(read(document))]
    document["variables"] = [
        variable(0, "unexpected", samples=10, mean=3.0, most=40, points=[[0.0, 1], [25.0, 40], [49.9, 2]]),
        variable(1, "unexpected", samples=30, mean=1.0, most=7, points=[[1.0, 7]]),
        variable(0, "posted", samples=10, mean=0.0, most=0, points=[[0.0, 0]]),
        variable(0, "broken", samples=0, mean=0.0, most=0, points=[], failed="it cannot be read"),
    ]
    document["queues"] = {"shown": "variables", "why_not": {"reconstructed": "there were several clocks"}}
    part = part_of(document, "Variables of the MPI")
    assert part.table.lines == [("unexpected", "2", "40", "1.50", "40", "0"), ("posted", "1", "10", "0.00", "0", "–")]
    assert part.sentences[-1] == "Not looked at: broken: it cannot be read."
    assert list(part.pictures) == ["variable-1"], "of what was never more than 0 there is none"
    assert ">the darkest: 40</text>" in part.pictures["variable-1"]
    said = part_of(document, "Queues").sentences
    assert said[0] == "Only the MPI’s own variables tell of queues here: see there."


def variable(
    rank: int, name: str, *, samples: int, mean: float, most: int, points: list[Any], failed: str | None = None
) -> dict[str, Any]:
    return {"rank": rank, "name": name, "failed": failed, "samples": samples, "mean": mean, "most": most,
            "points": points}  # fmt: skip
