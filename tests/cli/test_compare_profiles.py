"""`sennit compare` of two profiles: rows are function, memory, size of the communicator and bin of sizes."""

from __future__ import annotations

import json
from typing import Any

import made_up_profiles as made_up
import pytest
from conftest import Programs, check_snapshot, data, shown
from sennit.compare.changes import Verdict
from sennit.compare.profiles import as_result
from sennit.compare.runs import Comparison, broken, compare, limit
from sennit.model.document import parse
from sennit.model.profile import Profile
from sennit.model.result import Result
from sennit.views.changes_text import print_comparison


def result(document: Any) -> Result:
    return as_result(parse(Profile, document, "it"))


def steady(times: float = 1.0, **changes: Any) -> dict[str, Any]:
    """The halo exchange, whose calls take nearly the same; the waits `times` as long."""
    document = made_up.halo() | changes
    for row in document["rows"]:
        mean = row["seconds"] / row["calls"] * 1e6
        row |= {"least_us": 0.9 * mean, "most_us": 1.1 * mean}
    waits = document["rows"][2]
    for name in ("seconds", "least_us", "most_us"):
        waits[name] *= times
    waits["rank_seconds"] = {name: times * value for name, value in waits["rank_seconds"].items()}
    return document


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {pair.case.title: pair.judged.verdict for pair in found.pairs}


def test_two_profiles() -> None:
    runs = result(steady()), result(steady(1.2, mpi="Open MPI v5.0.12", accelerated=True))
    found = compare(*runs)
    files = ("run1", "run2")
    check_snapshot("compare-profiles.txt", shown(lambda console: print_comparison(found, runs, files, console)))
    assert verdicts(found) == {
        "MPI_Waitall: 16 ranks": Verdict.SLOWER,
        "MPI_Allreduce: host memory, 16 ranks": Verdict.SAME,
        "MPI_Isend: host memory, 16 ranks": Verdict.SAME,
        "MPI_Irecv: host memory, 16 ranks": Verdict.SAME,
    }
    assert broken(found, [limit("slower:3")]) == ["MPI_Waitall: 16 ranks, program: 0.83 ± 0.01 times as fast"]
    assert broken(found, [limit("slower:25")]) == []


def test_a_profile_is_the_same_as_itself() -> None:
    found = compare(result(steady()), result(steady()))
    assert set(verdicts(found).values()) == {Verdict.SAME}
    assert found.differences == []


def test_calls_that_differ_widely_are_unclear() -> None:
    document = steady()
    document["rows"][2] |= {"least_us": 1.0, "most_us": 9e5}
    found = compare(result(document), result(steady(1.1)))
    assert verdicts(found)["MPI_Waitall: 16 ranks"] == Verdict.UNCLEAR
    few = steady()
    few["rows"][2] |= {"calls": 32}
    assert verdicts(compare(result(few), result(few)))["MPI_Waitall: 16 ranks"] == Verdict.UNCLEAR


def test_what_takes_no_time_is_not_compared() -> None:
    titles = verdicts(compare(result(steady()), result(steady())))
    assert not any("MPI_Bcast" in title or "MPI_Init" in title for title in titles)


@pytest.mark.parametrize(
    "change", [{"function": "MPI_Waitany"}, {"communicator_size": 8}, {"to_bytes": 64}, {"memory_in": "gpu"}]
)
def test_other_calls_are_not_compared(change: dict[str, Any]) -> None:
    other = steady()
    other["rows"][3] |= change
    found = compare(result(steady()), result(other))
    assert (len(found.only_first), len(found.only_second)) == (1, 1)


def test_times_of_gpus_are_no_times_of_the_host() -> None:
    host = made_up.ddp(6400)
    for row in host["rows"]:
        row["rank_seconds"]["mean"] = 30.0
        row["device_calls"] = 0
    found = compare(result(made_up.ddp(6400)), result(host))
    assert [pair.case.title for pair in found.pairs] == ["ncclCommInitRank: 4 ranks"]
    assert found.pairs[0].judged.reason == "fewer than 3 calls a process"
    assert found.only_first[0].title == "ncclAllReduce: GPU memory, 4 ranks, on the GPU"


def test_profiles_are_compared_on_the_command_line(programs: Programs) -> None:
    for name, document in (("run1", steady()), ("run2", steady(1.2))):
        (programs.folder / name).mkdir()
        (programs.folder / name / "profile.json").write_text(json.dumps(document))
    done = programs.sennit("compare", "run1", "run2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 rows: 3 same, 0 faster, 1 slower, 0 unclear." in done.stdout
    done = programs.sennit("compare", "run1/profile.json", "run2", "--fail-if", "slower:3", "--json")
    assert done.returncode == 1
    assert "MPI_Waitall: 16 ranks, program: 0.83 ± 0.01 times as fast" in done.stderr
    assert json.loads(done.stdout)["kind"] == "profile comparison"
    (programs.folder / "result.json").write_text(json.dumps(data("result")))
    done = programs.sennit("compare", "run1", "result.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "A is of kind 'profile'" in done.stderr
