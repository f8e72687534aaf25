"""`sennit table`: tables of tuned collectives, shown, compared and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Programs, check_snapshot, data, kept_plans, shown
from sennit.compare.changes import Verdict
from sennit.compare.table_diff import TableDiff, diff_document, table_diff
from sennit.model.plans import CollectiveTable, KeptTable
from sennit.views.changes_text import diff_sentences, print_table_diff
from sennit.views.plan_tables import check_text

NEVER = {"code": "not_found", "what": "collectives were never tuned on this machine", "where": "/a/b.json"}
NEVER_LINE = json.dumps({"error": NEVER | {"remedy": "Run: sennit tune collectives"}}) + "\n"
FILES = ("before.json", "after.json")


def later() -> Any:
    """The made-up table, tuned again: one case is slower, one faster by another plan, one is gone and one is new."""
    document = data("plans")
    first, _, third, *_ = document["entries"]
    first["plans"][0]["us"] *= 1.1
    third["plans"][0] |= {"algorithm": "two_shot", "us": 8.0}
    gone = document["entries"].pop()
    document["entries"].append(gone | {"bytes": 2 << 20})
    document["versions"]["driver"] = "1.2.4"
    document["scratch_bytes"] = 32 << 20
    return document


def diff(first: Any, second: Any) -> TableDiff:
    return table_diff(CollectiveTable.model_validate(first), CollectiveTable.model_validate(second))


def save(folder: Path, **documents: Any) -> None:
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))


def test_two_tables() -> None:
    tables = CollectiveTable.model_validate(data("plans")), CollectiveTable.model_validate(later())
    found = table_diff(*tables)
    text = shown(lambda console: print_table_diff(found, tables, FILES, console))
    check_snapshot("table-diff.txt", text)
    first, *_ = text.splitlines()
    assert first.startswith("A and B differ in driver (1.2.3 and 1.2.4), scratch memory (64 MiB and 32 MiB)")


def test_cases_between_windows_are_compared_with_their_like_alone() -> None:
    ordinary, both = data("plans"), data("plans")
    entry = both["entries"][0]
    both["entries"].append(entry | {"windows": True})
    found = diff(ordinary, both)
    assert len(found.cases) == len(ordinary["entries"])
    assert [(kind.windows, size) for kind, size in found.only_second] == [(True, entry["bytes"])]
    assert diff_document(found, FILES)["only_b"][0]["windows"] is True


def test_a_table_is_the_same_as_itself() -> None:
    found = diff(data("plans"), data("plans"))
    assert {case.judged.verdict for case in found.cases} == {Verdict.SAME}
    assert (found.differences, found.only_first, found.only_second) == ([], [], [])
    assert diff_sentences(found) == [
        "8 cases: 8 same, 0 faster, 0 slower, 0 unclear. The plan changed in 0.",
        "Geometric mean of how many times as fast B is: 1.000.",
    ]


def test_cases_are_compared_by_the_plan_that_is_taken() -> None:
    slower, same, faster, *others = diff(data("plans"), later()).cases
    assert (slower.judged.verdict, slower.plan_changed) == (Verdict.SLOWER, False)
    assert (same.judged.verdict, same.plan_changed) == (Verdict.SAME, False)
    assert (faster.judged.verdict, faster.plan_changed) == (Verdict.FASTER, True)
    assert {case.judged.verdict for case in others} == {Verdict.SAME}
    changed = data("plans")
    changed["entries"][0]["plans"][1]["us"] = 99.0  # of the second plan
    assert {case.judged.verdict for case in diff(data("plans"), changed).cases} == {Verdict.SAME}


def test_layouts_and_arithmetics_are_cases_of_their_own() -> None:
    for change in ({"layout": ["gpu1", "gpu0"]}, {"arithmetic": "general"}, {"bytes": 7}, {"operation": "reduce"}):
        document = data("plans")
        document["entries"][0] |= change
        found = diff(data("plans"), document)
        assert (len(found.cases), len(found.only_first), len(found.only_second)) == (7, 1, 1)


def test_a_time_that_is_none_is_unclear() -> None:
    document = data("plans")
    document["entries"][0]["plans"][0]["us"] = 0
    (case, *_) = diff(data("plans"), document).cases
    assert (case.judged.verdict, case.judged.reason) == (Verdict.UNCLEAR, "a time is none")


def test_tables_of_nothing_have_nothing_to_compare() -> None:
    empty = data("plans") | {"entries": []}
    assert diff_sentences(diff(empty, empty)) == [
        "0 cases: 0 same, 0 faster, 0 slower, 0 unclear. The plan changed in 0."
    ]
    said = diff_sentences(diff(data("plans"), empty))
    assert "(1 KiB, 64 KiB, 1 MiB, 256 MiB); Allreduce, any other type" in said[1]


def test_table_diff_prints_its_document(programs: Programs) -> None:
    save(programs.folder, before=data("plans"), after=later())
    done = programs.sennit("table", "diff", *FILES, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document == json.loads(json.dumps(diff_document(diff(data("plans"), later()), FILES)))
    assert document["counts"] == {"same": 5, "faster": 1, "slower": 1, "unclear": 0}
    assert document["cases"][2]["plan_changed"]
    assert document["cases"][2]["b"]["algorithm"] == "two_shot"
    assert [case["bytes"] for case in document["only_b"]] == [2 << 20]


def test_table_diff_compares_what_it_is_given(programs: Programs) -> None:
    save(programs.folder, before=data("plans"), after=later(), kept=kept_plans(), puts=data("tuned"))
    done = programs.sennit("table", "diff", *FILES)
    assert done.returncode == 0
    assert done.stdout.startswith("A and B differ in driver")
    assert programs.sennit("table", "diff", "before.json", "kept.json").stdout.startswith("A: before.json, measured")
    assert programs.calls("sennit-tune") == []
    for other, said in (("puts.json", "is a table of puts"), ("none.json", "cannot be read")):
        done = programs.sennit("table", "diff", "before.json", other)
        assert done.returncode == 2
        assert said in done.stderr


def test_show_shows_this_machine(programs: Programs) -> None:
    done = programs.sennit("table", "show", "--executor", "host")
    assert done.returncode == 0
    assert "Communicators on this machine follow it." in done.stdout
    assert programs.calls("sennit-tune") == [["kept", "--executor", "host"]]
    programs.add("sennit-tune", to="kept", stderr=NEVER_LINE, code=1)
    done = programs.sennit("table", "show")
    assert done.returncode == 1
    assert "Run: sennit tune collectives" in done.stderr


def test_show_shows_a_file_of_either_kind(programs: Programs) -> None:
    save(programs.folder, plans=data("plans"), kept=kept_plans(), puts=data("tuned"), other=data("result"))
    for name in ("plans", "kept"):
        done = programs.sennit("table", "show", f"{name}.json")
        assert done.returncode == 0
        assert done.stdout.startswith("The fastest plans of collectives, measured 2026-11-22")
        assert "Communicators" not in done.stdout
    assert "2 pairs linked alike" in programs.sennit("table", "show", "puts.json").stdout
    done = programs.sennit("table", "show", "other.json")
    assert done.returncode == 2
    assert "other.json: kind" in done.stderr
    assert programs.sennit("table", "show", "plans.json", "--executor", "host").returncode == 2
    assert programs.calls("sennit-tune") == []


def test_check_says_whether_the_table_is_followed(programs: Programs) -> None:
    done = programs.sennit("table", "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Communicators on this machine follow /home/user/.cache/sennit/0123456789abcdef.collectives.json: 8 cases of "
        "ranks on gpu0, gpu1, measured 2026-11-22.\n"
    )
    programs.add("sennit-tune", kept_plans(used=False, why="it was measured on machine a, this is b"), to="kept")
    done = programs.sennit("table", "check", "--executor", "cuda")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Communicators on this machine do not follow /home/user")
    assert "on machine a, this is b; run sennit tune collectives to measure it anew." in done.stdout
    assert programs.calls("sennit-tune") == [["kept"], ["kept", "--executor", "cuda"]]


def test_check_of_a_machine_that_was_never_tuned(programs: Programs) -> None:
    programs.add("sennit-tune", to="kept", stderr=NEVER_LINE, code=1)
    done = programs.sennit("table", "check")
    assert (done.returncode, done.stdout) == (1, "")
    assert "never tuned" in done.stderr


def test_check_follows_the_environment_as_communicators_do(programs: Programs) -> None:
    done = programs.sennit("table", "check", SENNIT_TABLE="none")
    assert (done.returncode, programs.calls("sennit-tune")) == (1, [])
    assert "SENNIT_TABLE is none" in done.stdout
    assert programs.sennit("table", "check", SENNIT_TABLE="mine.json").returncode == 0
    assert "where SENNIT_TABLE names it" in programs.sennit("table", "check", "mine.json").stdout
    named = programs.sennit("table", "check", "mine.json", SENNIT_TABLE="mine.json").stdout
    assert "where SENNIT_TABLE names it" not in named
    # The program reads the variable itself, and so can name it where the file is not there.
    assert programs.calls("sennit-tune") == [["kept"], *[["kept", "--table", "mine.json"]] * 2]


def test_a_table_without_cases_is_of_no_use(programs: Programs) -> None:
    programs.add("sennit-tune", kept_plans(table=data("plans") | {"entries": []}), to="kept")
    done = programs.sennit("table", "check")
    assert done.returncode == 1
    assert "holds no case, so the cost model decides on all; run sennit tune collectives." in done.stdout


def test_many_layouts_are_counted() -> None:
    document = kept_plans()
    entry = document["table"]["entries"][0]
    document["table"]["entries"] = [entry | {"layout": ["gpu0", f"gpu{other}"]} for other in range(1, 6)]
    said = check_text(KeptTable.model_validate(document), named=False)
    assert "5 cases of ranks on gpu0, gpu1 and on gpu0, gpu2 and on gpu0, gpu3 and 2 others, measured" in said


@pytest.mark.parametrize("arguments", [["diff", "one.json"], ["check", "a", "b"], ["show", "--json"], ["merge"]])
def test_table_refuses_what_makes_no_sense(programs: Programs, arguments: list[str]) -> None:
    assert programs.sennit("table", *arguments).returncode == 2
    assert programs.calls("sennit-tune") == []
