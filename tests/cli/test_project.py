"""`sennit bench project`: what a program would gain by partitioned messages, by numbers that were worked by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from conftest import Programs, data, shown
from partitioned_tables import projected
from sennit.model.document import parse
from sennit.model.partitioned import Partitioned
from sennit.model.profile import Profile
from sennit.model.projection import Gain, Spent, best, between, project, spent_by, spent_of, ways
from sennit.programs.problem import Exit, Problem
from sennit.views.projection_text import answer, print_projection, projection_document

KIB, MIB = 1 << 10, 1 << 20
TIMES = "bytes,seconds\n# of rank 0\nrun, 10\n64K,2\n\n1M,1\n1M,2\n16M,1\n"


def line(size: int, saved: float, low: float, high: float, **changes: Any) -> Any:
    """One that saves so much of a whole message of 100 µs."""
    row = data("partitioned")["rows"][0]
    return row | {
        "bytes": size, "partitions": 4, "threads": 4, "noise": "none",
        "single_us": {"median": 100.0, "low": 99.0, "high": 101.0},
        "saved_us": {"median": saved, "low": low, "high": high},
    } | changes  # fmt: skip


def measured(*rows: dict[str, Any]) -> Partitioned:
    return parse(Partitioned, data("partitioned") | {"rows": list(rows)}, "p.json")


HALF_AND_QUARTER = (line(64 * KIB, 50, 40, 60), line(MIB, 25, 15, 35))


def test_a_projection_is_amdahls_law_by_size() -> None:
    ((way, gains),) = ways(measured(*HALF_AND_QUARTER).rows).items()
    found = project(spent_of(TIMES, "t.csv"), way, gains)
    # Of 10 s, 2 s become 2 times as fast and 3 s become 4/3 times; 1 s is of a size that nobody measured.
    assert found.speedup[0] == pytest.approx(10 / (10 - 2 * 0.5 - 3 * 0.25))
    assert found.speedup[1] == pytest.approx(10 / (10 - 2 * 0.4 - 3 * 0.15))
    assert found.speedup[2] == pytest.approx(10 / (10 - 2 * 0.6 - 3 * 0.35))
    assert [each.gain and each.gain.speedup[0] for each in found.lines] == [2.0, pytest.approx(4 / 3), None]
    assert found.covered == pytest.approx(5 / 6)


def test_sizes_between_two_that_were_measured_are_between_them() -> None:
    gains = {KIB: Gain(0.2, 0.1, 0.3), 4 * KIB: Gain(0.6, 0.5, 0.7)}
    middle = between(gains, 2 * KIB)
    assert middle is not None
    assert [middle.median, middle.low, middle.high] == pytest.approx([0.4, 0.3, 0.5])
    assert between(gains, KIB) == gains[KIB]
    assert between(gains, 4 * KIB) == gains[4 * KIB]
    assert between(gains, 4 * KIB + 1) is None
    assert between(gains, KIB - 1) is None
    assert between({}, KIB) is None


def test_no_message_saves_more_than_itself_and_some_lose() -> None:
    ((way, gains),) = ways(measured(line(KIB, 300, 250, 400), line(MIB, -100, -150, -50)).rows).items()
    assert gains[KIB] == Gain(1, 1, 1)
    assert gains[KIB].speedup == (math.inf, math.inf, math.inf)
    assert list(gains[MIB].speedup) == pytest.approx([0.5, 0.4, 1 / 1.5])
    found = project(Spent(10, {MIB: 5}), way, gains)
    assert found.speedup[0] == pytest.approx(10 / 15)
    assert answer([found], "MPI").startswith("With partitioned messages of MPI the run would become slower in every")
    whole = project(Spent(10, {KIB: 10}), way, gains)
    assert whole.speedup[0] == math.inf
    assert "∞ × as fast" in answer([whole], "MPI")
    assert projection_document([whole], ("a", "b"))["ways"][0]["speedup"] == {
        "median": None,
        "low": None,
        "high": None,
    }


def test_the_best_way_is_that_which_is_sure_to_gain_most() -> None:
    rows = (line(MIB, 60, -40, 90, partitions=16), line(MIB, 30, 20, 40))
    found = [project(Spent(10, {MIB: 5}), way, gains) for way, gains in ways(measured(*rows).rows).items()]
    assert best(found).way.partitions == 4
    text = shown(lambda out: print_projection(found, measured(*rows), out), 160)
    assert text.startswith(
        "With partitioned messages of Open MPI v5.0.11 the run would be 1.18 × as fast (1.11 to 1.25)"
    )
    assert "The run took 10.0 s, 50 % of it in messages" in text
    assert "1.43 (1.25…1.67)" in text
    assert text.index("mpi, 4 partitions") < text.index("mpi, 16 partitions")


def profile_document(**changes: Any) -> Any:
    document = data("profile")
    for row in document["rows"]:
        if row["function"] in ("MPI_Isend", "MPI_Irecv"):
            row |= {"bytes_out" if row["function"] == "MPI_Irecv" else "bytes_in": 3 * 8000, "waited_seconds": 6.0}
            row |= changes
    return document


def profile(**changes: Any) -> Profile:
    return parse(Profile, profile_document(**changes), "profile")


def test_a_profiles_waits_belong_to_the_messages_that_are_waited_for() -> None:
    found = spent_by(profile())
    # Three processes waited for 6 s of either function, beside some µs in the calls.
    assert found.seconds == pytest.approx(38.7)
    assert found.by_size == {8000: pytest.approx(4.0, abs=1e-3)}
    with pytest.raises(Problem, match="no messages between two ranks"):
        spent_by(profile(calls=0))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("run,10\n64K", "line 2"),
        ("run,10\n64K,x", "line 2"),
        ("run,10\n64K,-1", "is no time"),
        ("run,nan\n", "is no time"),
        ("run,10\n0,1", "is no size"),
        ("run,10\nsmall,1", "line 2"),
        ("64K,1", "does not say how long the run was"),
        ("run,10", "does not say any size"),
        ("run,1\n64K,2", "take longer than the run"),
        ("", "does not say how long the run was"),
    ],
)
def test_a_broken_csv_is_told(text: str, why: str) -> None:
    with pytest.raises(Problem, match=why) as caught:
        spent_of(text, "t.csv")
    assert caught.value.exit_code == Exit.USAGE


def test_the_verb_reads_profiles_and_tables(programs: Programs) -> None:
    folder = programs.folder
    (folder / "t.csv").write_text(TIMES)
    (folder / "run1.json").write_text(json.dumps(profile_document()))
    document = data("partitioned") | {"rows": [line(KIB, 50, 40, 60), *HALF_AND_QUARTER]}
    (folder / "p.json").write_text(json.dumps(document))
    for what in ("t.csv", "run1.json"):
        done = programs.sennit("bench", "project", what, "--measured", "p.json")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("With partitioned messages of Open MPI v5.0.11 the run would be")
    done = programs.sennit("bench", "project", "t.csv", "--measured", "p.json", "--json")
    (found,) = json.loads(done.stdout)["ways"]
    assert found["speedup"]["median"] == pytest.approx(10 / 8.25)
    for wrong, why in (
        (("t.csv", "--measured", "t.csv"), "t.csv"),
        (("none.csv", "--measured", "p.json"), "cannot be read"),
        (("p.json", "--measured", "p.json"), "is no profile"),
        (("t.csv", "--measured", "run1.json"), "is no measurement of partitioned messages"),
        (("t.csv", "--measured", "p.json", "--by", "post"), "there is no back end 'post'"),
        (("t.csv", "--measured", "p.json", "--by", "rma_pscw"), "has no line of rma_pscw"),
    ):
        done = programs.sennit("bench", "project", *wrong)
        assert (done.returncode, why in done.stderr) == (2, True), (wrong, done.stderr)


def test_a_projection_stands_beside_what_was_run() -> None:
    """What docs/ has of results/: ratios of runs that took turns, from the smallest to the largest."""
    ((way, gains),) = ways(measured(*HALF_AND_QUARTER).rows).items()
    document = projection_document([project(spent_of(TIMES, "t.csv"), way, gains)], ("sweep.c", "bench"))
    document |= {"date": "2026-11-29T00:00:00Z", "machine": {"name": "node1"}, "versions": {"mpi": "MPI 1"},
                 "ran": {"whole": [1.0, 2.0, 3.0], "partitioned": [1.0, 1.0, 2.0]}}  # fmt: skip
    said, table = projected(document)
    assert said.startswith("`sweep.c`: 2.000 s with whole messages, 1.000 s with partitions")
    assert "| projected | 1.21 | 1.14 | 1.29 |" in table
    assert "| ran, 3 pairs of runs | 1.50 | 1.00 | 2.00 |" in table
