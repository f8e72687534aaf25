"""`sennit compare` of two documents of `sennit bench partitioned`."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from conftest import Programs, data, shown
from sennit.compare.changes import Verdict
from sennit.compare.partitioned import as_result
from sennit.compare.runs import Comparison, broken, compare, comparison_document, limit
from sennit.model.document import parse
from sennit.model.partitioned import Partitioned
from sennit.views.changes_text import print_comparison


def document(**changes: Any) -> Any:
    return data("partitioned") | changes


def later() -> Any:
    """The made-up messages, measured again: one is slower, one hung, and a probe answers otherwise."""
    found = document(probe={"early": [{"bytes": 64, "early": False, "lead_us": -1}], "start_all": {"works": False}})
    rows = found["rows"]
    slower = rows[0]["transfer_us"]
    rows[0]["transfer_us"] = {name: 1.5 * value for name, value in slower.items()}
    rows[1] |= {"state": "hung", "why": "hung after 3 messages."}
    del rows[2]
    return found


def compared(first: Any, second: Any) -> Comparison:
    return compare(*(as_result(parse(Partitioned, one, "it")) for one in (first, second)))


def by_case(found: Comparison) -> dict[tuple[int, str, str], tuple[Verdict, str]]:
    return {
        (pair.case.bytes, pair.case.title.split(",")[0], pair.case.variant): (pair.judged.verdict, pair.remark)
        for pair in found.pairs
    }


def test_lines_are_matched_and_judged_by_their_intervals() -> None:
    first = document(probe={"early": [{"bytes": 64, "early": True, "lead_us": 9}], "start_all": {"works": False}})
    found = compared(first, later())
    verdicts = by_case(found)
    assert verdicts[(65536, "1 partition", "mpi")] == (Verdict.SLOWER, "")
    assert verdicts[(65536, "1 partition", "whole, beside mpi")][0] == Verdict.SAME
    assert verdicts[(65536, "4 partitions", "mpi")] == (Verdict.UNCLEAR, "hung in B")
    assert "early at (64 B and none)" in found.differences
    assert not any(each.startswith("start all") for each in found.differences)
    assert {(case.bytes, case.variant) for case in found.only_first} == {(65536, name) for name in (
        "mpi", "whole, beside mpi")}  # fmt: skip
    assert broken(found, [limit("slower:3")])[0].startswith("1 partition, 1 thread, hot cache, noise uniform:4")
    assert any("hung in B" in each for each in broken(found, [limit("unclear")]))


def test_a_message_that_hung_has_no_time_in_any_view() -> None:
    first = document()
    runs = tuple(as_result(parse(Partitioned, one, "it")) for one in (first, later()))
    found = compare(*runs)
    text = shown(lambda out: print_comparison(found, (runs[0], runs[1]), ("a.json", "b.json"), out), 160)
    (line,) = (line for line in text.splitlines() if "hung in B" in line)
    assert line.split()[3:5] != ["1.000", "1.000"]
    assert "–" in line
    rows = comparison_document(found, first["kind"], ("a", "b"))["rows"]
    (hung,) = (row for row in rows if row["reason"] == "hung in B")
    assert (hung["b"]["median_us"], hung["ratio"]) == (None, None)
    assert hung["a"]["median_us"] > 0


def test_threads_that_slept_are_not_compared_with_those_that_computed() -> None:
    slept = copy.deepcopy(document())
    for row in slept["rows"]:
        row["computed"] = "slept"
    pairs = compared(document(), slept).pairs
    assert all(pair.case.title.endswith("threads that sleep") for pair in pairs)
    assert len(pairs) < len(compared(document(), document()).pairs)


@pytest.mark.parametrize("with_rows", [True, False])
def test_the_verb_reads_documents(programs: Programs, with_rows: bool) -> None:
    for name, found in (("a", document()), ("b", later())):
        (programs.folder / f"{name}.json").write_text(json.dumps(found if with_rows else found | {"rows": []}))
    done = programs.sennit("compare", "a.json", "b.json", "--fail-if", "slower:3")
    assert done.returncode == 1, done.stderr
    if with_rows:
        assert "SLOWER" in done.stdout
        assert programs.sennit("compare", "a.json", "a.json", "--fail-if", "slower").returncode == 0
    else:
        assert "no row could be compared" in done.stderr
    (programs.folder / "put.json").write_text(json.dumps(data("result")))
    other = programs.sennit("compare", "a.json", "put.json")
    assert (other.returncode, "Give two of the same benchmark" in other.stderr) == (2, True)
