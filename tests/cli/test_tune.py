"""`sennit tune`, and the tuning that `sennit bench put` does first where it was never done."""

from __future__ import annotations

import json

import pytest
from conftest import Programs, check_snapshot, data, shown
from sennit.model.tuned import PutTable
from sennit.tuning import pair_classes
from sennit.views.tables import print_put_table, verdict

NEVER = (
    json.dumps({"error": {"code": "not_found", "what": "never", "where": "", "remedy": "Run: sennit tune"}}) + "\n"
)


def untuned(programs: Programs, *, measured: bool = True) -> None:
    """A machine where puts were never tuned, perhaps never even measured."""
    programs.add("sennit-tune", to="cached", stderr=NEVER, code=1)
    programs.add("sennit-tune", data("tuned"), to="put")
    programs.add("sennit-machine", data("machine"), to="measure")
    if measured:
        programs.add("sennit-machine", data("machine"), to="cached")
    else:
        programs.add("sennit-machine", to="cached", stderr=NEVER, code=1)


def table() -> PutTable:
    return PutTable.model_validate(data("tuned"))


def test_the_table_of_a_machine() -> None:
    check_snapshot("tuned.txt", shown(lambda console: print_put_table(table(), console)))


def test_pairs_with_one_measurement_share_a_class() -> None:
    classes = pair_classes(table())
    assert [(len(one.pairs), one.both_ways, len(one.entries)) for one in classes] == [
        (3, False, 2),
        (1, False, 1),
        (3, True, 1),
    ]
    changed = data("tuned")
    changed["entries"][0]["us"] += 0.5
    assert len(pair_classes(PutTable.model_validate(changed))) == 4


def test_a_split_gains_over_the_single_path_of_its_run() -> None:
    small, large = pair_classes(table())[0].entries
    assert small.gain is None
    assert large.gain is not None
    assert large.gain.value == pytest.approx(690 / 632)
    assert verdict(pair_classes(table())[0]) == "Most at 256 MiB: 1.092 ± 0.005 times the single path."


def test_where_nothing_is_split_the_single_path_carries_all() -> None:
    document = data("tuned")
    document["entries"] = document["entries"][:1]
    (only,) = pair_classes(PutTable.model_validate(document))
    assert "carries every message" in verdict(only)
    document["entries"] = []
    assert "Nothing was tuned" in shown(lambda console: print_put_table(PutTable.model_validate(document), console))


def test_tune_measures_the_machine_only_where_that_was_never_done(programs: Programs) -> None:
    untuned(programs)
    done = programs.sennit("tune", "--thorough", "--executor", "host")
    assert done.returncode == 0, done.stderr
    assert "1.092 ± 0.005 times the single path" in done.stdout
    assert done.stderr == ""
    assert programs.calls("sennit-machine") == [["cached", "--executor", "host"]]
    assert programs.calls("sennit-tune") == [["put", "--progress", "--thorough", "--executor", "host"]]

    untuned(programs, measured=False)
    done = programs.sennit("tune", "put")
    assert done.returncode == 0
    assert done.stderr == "This machine was never measured: measuring its links first.\n"
    assert programs.calls("sennit-machine")[1:] == [["cached"], ["measure", "--progress"]]
    assert programs.calls("sennit-tune")[1:] == [["put", "--progress"]]


def test_tune_writes_the_document(programs: Programs) -> None:
    untuned(programs)
    assert json.loads(programs.sennit("tune", "--json", "-").stdout) == data("tuned")
    done = programs.sennit("tune", "--json", "kept/put.json")
    assert json.loads((programs.folder / "kept" / "put.json").read_text()) == data("tuned")
    assert "wrote kept/put.json" in done.stderr
    assert "gpu0 → gpu1" in done.stdout


def test_show_measures_nothing(programs: Programs) -> None:
    assert "gpu0 → gpu1 and 2 pairs linked alike, one way" in programs.sennit("tune", "--show").stdout
    assert programs.calls("sennit-tune") == [["cached"]]
    untuned(programs)
    done = programs.sennit("tune", "--show")
    assert done.returncode == 1
    assert "Run: sennit tune" in done.stderr
    assert programs.calls("sennit-machine") == []


@pytest.mark.parametrize("arguments", [["--show", "--thorough"], ["reduce"], ["--executor", "none"]])
def test_tune_refuses_what_makes_no_sense(programs: Programs, arguments: list[str]) -> None:
    assert programs.sennit("tune", *arguments).returncode == 2
    assert programs.calls("sennit-tune") == []


@pytest.mark.parametrize("code", [1, 2, 3])
def test_a_tuning_that_fails_ends_with_its_code(programs: Programs, code: int) -> None:
    untuned(programs)
    programs.add("sennit-tune", to="put", stderr=NEVER, code=code)
    assert programs.sennit("tune").returncode == code


def test_a_document_of_another_version_is_refused(programs: Programs) -> None:
    programs.add("sennit-tune", data("tuned") | {"version": 2}, to="cached")
    assert programs.sennit("tune", "--show").returncode == 2


def test_bench_tunes_first_where_that_was_never_done(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    untuned(programs, measured=False)
    done = programs.sennit("bench", "put")
    assert done.returncode == 0
    first, second = done.stderr.splitlines()
    assert "--no-tune" in first
    assert "measuring its links first" in second
    assert programs.calls("sennit-tune") == [["cached"], ["put", "--progress"]]


def test_bench_does_not_tune_what_is_tuned_or_not_wanted(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    assert programs.sennit("bench", "put", "--executor", "host").stderr == ""
    assert programs.calls("sennit-tune") == [["cached", "--executor", "host"]]
    untuned(programs)
    for environment in ({"SENNIT_MACHINE": "mist"}, {"SENNIT_SPLIT": "direct=1"}):
        assert programs.sennit("bench", "put", **environment).returncode == 0
    assert programs.sennit("bench", "put", "--no-tune").returncode == 0
    assert len(programs.calls("sennit-tune")) == 1
    assert len(programs.calls("sennit-bench-put")) == 4


def test_bench_measures_nothing_first_where_that_is_not_wanted(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    untuned(programs, measured=False)
    done = programs.sennit("bench", "put", "--no-measure")
    assert (done.returncode, done.stderr) == (0, "")
    assert programs.calls("sennit-bench-put") == [["--progress", "--no-measure"]]
    assert programs.calls("sennit-tune") == []
    assert programs.calls("sennit-machine") == []


def test_bench_stops_where_tuning_lacks_something(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    programs.add("sennit-tune", to="cached", stderr=NEVER, code=3)
    assert programs.sennit("bench", "put").returncode == 3
    assert programs.calls("sennit-bench-put") == []
