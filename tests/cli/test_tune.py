"""`sennit tune`, and the tuning that `sennit bench put` does first where it was never done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Programs, check_snapshot, data, kept_plans, shown
from sennit.compare.kinds import changed_by_windows, kinds
from sennit.compare.pair_classes import pair_classes
from sennit.model.plans import CollectiveTable, KeptTable
from sennit.model.tuned import PutTable
from sennit.verbs.tune import torchs_nccl
from sennit.views import plan_tables
from sennit.views.tables import print_put_table, verdict

NEVER = (
    json.dumps({"error": {"code": "not_found", "what": "never", "where": "", "remedy": "Run: sennit tune"}}) + "\n"
)


def untuned(programs: Programs, *, measured: bool = True) -> None:
    """A machine where nothing was ever tuned, perhaps never even measured."""
    programs.add("sennit-tune", to="cached", stderr=NEVER, code=1)
    programs.add("sennit-tune", to="kept", stderr=NEVER, code=1)
    programs.add("sennit-tune", data("tuned"), to="put")
    programs.add("sennit-tune", kept_plans(), to="collectives")
    programs.add("sennit-machine", data("machine"), to="measure")
    if measured:
        programs.add("sennit-machine", data("machine"), to="cached")
    else:
        programs.add("sennit-machine", to="cached", stderr=NEVER, code=1)


def table() -> PutTable:
    return PutTable.model_validate(data("tuned"))


def plans() -> CollectiveTable:
    return CollectiveTable.model_validate(data("plans"))


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


def test_the_table_of_collectives() -> None:
    kept = KeptTable.model_validate(kept_plans(left=12, warnings=["nccl is left out: it is not here; give --nccl."]))
    check_snapshot("plans.txt", shown(lambda console: plan_tables.print_kept(kept, console)))
    assert "Nothing was tuned yet" in shown(
        lambda console: plan_tables.print_plan_table(plans().model_copy(update={"entries": []}), console)
    )


def test_cases_of_a_kind_share_a_table() -> None:
    found = kinds(plans())
    assert [(one.kind.operation, one.kind.arithmetic, len(one.cases)) for one in found] == [
        ("allreduce", "fast", 4),
        ("allreduce", "general", 2),
        ("allgather", "none", 2),
    ]
    document = data("plans")
    document["entries"].append(document["entries"][0] | {"candidates": 7})
    document["entries"].append(document["entries"][1] | {"layout": ["gpu2", "gpu3"]})
    found = kinds(CollectiveTable.model_validate(document))
    assert [len(one.cases) for one in found] == [4, 2, 2, 1]
    assert found[0].cases[0].candidates == 7
    assert found[-1].kind.title == "Allreduce, sums of float32, float16 and bfloat16: 2 ranks on gpu2, gpu3"


def with_windows() -> CollectiveTable:
    """The made-up table with the sums of float32 between windows, too: NCCL is faster there at 1 KiB, and slower at
    1 MiB, where it is the faster one in ordinary buffers."""
    document = data("plans")
    fast = [entry for entry in document["entries"] if entry["arithmetic"] == "fast"]
    straight = {"algorithm": "two_shot_windows", "blocks": 32, "threads": 512, "us": 9.5, "spread_us": 0.1}
    document["entries"] += [
        entry | {"windows": True, "plans": [straight]} for entry in fast if entry["bytes"] <= 1 << 20
    ]
    return CollectiveTable.model_validate(document)


def test_calls_between_windows_have_a_table_of_their_own() -> None:
    table = with_windows()
    ordinary, _, _, straight = kinds(table)
    assert straight.kind.title == (
        "Allreduce between windows, sums of float32, float16 and bfloat16: 2 ranks on gpu0, gpu1"
    )
    assert [case.is_sennits for case in ordinary.cases] == [True, False, False, True]
    assert [case.is_sennits for case in straight.cases] == [False, False, True]
    assert [case.bytes for case in changed_by_windows(table, straight)] == [1 << 10, 1 << 20]
    assert changed_by_windows(table, ordinary) == []
    text = " ".join(shown(lambda console: plan_tables.print_plan_table(table, console)).split())
    assert (
        "In NCCL's programs those of 1 MiB are sennit's, and in ordinary buffers NCCL's. In NCCL's programs those of "
        "1 KiB are NCCL's, and in ordinary buffers sennit's."
    ) in text


def test_a_plan_gains_over_the_model_only_where_it_is_another() -> None:
    small, medium, *_ = kinds(plans())[0].cases
    assert small.over_model is not None
    assert small.over_model.value == pytest.approx(small.model_us / small.plans[0].us)
    assert medium.over_model is None
    assert medium.over_nccl is not None
    both, general, moved = (plan_tables.verdict(one) for one in kinds(plans()))
    assert both == (
        "At 2 of 4 sizes another plan than the cost model's is faster, most at 1 MiB: 1.910 ± 0.004 times, "
        "by two_shot_packets 256x256."
    )
    assert general == (
        "At no size another plan than the cost model's is faster. At 4 MiB the model's choice was left out, as its "
        "results were wrong."
    )
    assert moved.startswith("At 1 of 2 sizes")


def test_the_size_that_gains_most_is_named_whatever_the_order() -> None:
    document = data("plans")
    document["entries"].reverse()
    (fast,) = (one for one in kinds(CollectiveTable.model_validate(document)) if one.kind.arithmetic == "fast")
    assert "most at 1 MiB" in plan_tables.verdict(fast)


def test_what_the_budget_left_is_told_with_how_to_go_on() -> None:
    assert plan_tables.left_text(1) == (
        "1 case did not fit into the budget and is left untuned. Run sennit tune collectives again: it continues "
        "where it stopped."
    )
    assert "12 cases did not fit into the budget and are left" in plan_tables.left_text(12)


def test_a_table_that_is_not_followed_says_why() -> None:
    kept = KeptTable.model_validate(kept_plans(used=False, why="it was measured with driver 1.2.2 instead of 1.2.3"))
    text = " ".join(shown(lambda console: plan_tables.print_kept(kept, console)).split())
    assert (
        "Communicators on this machine do not follow it: it was measured with driver 1.2.2 instead of 1.2.3. Run "
        "sennit tune collectives to measure it anew. It lies in /home/user/" in text
    )


def test_tune_measures_the_machine_only_where_that_was_never_done(programs: Programs) -> None:
    untuned(programs)
    done = programs.sennit("tune", "put", "--thorough", "--executor", "host")
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
    assert json.loads(programs.sennit("tune", "put", "--json", "-").stdout) == data("tuned")
    done = programs.sennit("tune", "put", "--json", "kept/put.json")
    assert json.loads((programs.folder / "kept" / "put.json").read_text()) == data("tuned")
    assert "wrote kept/put.json" in done.stderr
    assert "gpu0 → gpu1" in done.stdout
    assert json.loads(programs.sennit("tune", "collectives", "--json", "-").stdout) == kept_plans()
    done = programs.sennit("tune", "collectives", "--json", "kept/plans.json")
    assert json.loads((programs.folder / "kept" / "plans.json").read_text()) == kept_plans()
    assert "Allreduce, sums of" in done.stdout


def test_show_measures_nothing(programs: Programs) -> None:
    assert "gpu0 → gpu1 and 2 pairs linked alike, one way" in programs.sennit("tune", "put", "--show").stdout
    assert "Allgather: 2 ranks on gpu0, gpu1" in programs.sennit("tune", "collectives", "--show").stdout
    assert programs.calls("sennit-tune") == [["cached"], ["kept"]]
    untuned(programs)
    for operation in ("put", "collectives", "all"):
        done = programs.sennit("tune", operation, "--show")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Run: sennit tune" in done.stderr
    assert programs.calls("sennit-machine") == []


def test_show_shows_what_is_there_and_names_what_is_not(programs: Programs) -> None:
    done = programs.sennit("tune", "--show", "--executor", "host")
    assert done.returncode == 0
    puts, collectives = done.stdout.split("\n\nThe fastest plans of collectives")
    assert "linked alike" in puts
    assert "Allreduce" in collectives
    assert programs.calls("sennit-tune") == [["cached", "--executor", "host"], ["kept", "--executor", "host"]]
    programs.add("sennit-tune", to="kept", stderr=NEVER, code=1)
    done = programs.sennit("tune", "--show")
    assert done.returncode == 1
    assert "linked alike" in done.stdout
    assert "sennit: never" in done.stderr
    programs.add("sennit-tune", to="kept", stderr=NEVER, code=3)
    assert programs.sennit("tune", "--show").returncode == 3


def test_tune_tunes_puts_and_then_collectives(programs: Programs) -> None:
    untuned(programs, measured=False)
    done = programs.sennit("tune", "--thorough", "--budget", "600", "--executor", "host")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("linked alike") < done.stdout.index("\n\nThe fastest plans of collectives")
    assert programs.calls("sennit-machine") == [
        ["cached", "--executor", "host"],
        ["measure", "--progress", "--executor", "host"],
    ]
    collectives = ["collectives", "--progress", "--budget", "600.0", "--thorough", "--executor", "host"]
    assert programs.calls("sennit-tune") == [
        [*collectives, "--check"],
        ["put", "--progress", "--thorough", "--executor", "host"],
        collectives,
    ]
    programs.add("sennit-tune", to="put", stderr=NEVER, code=3)
    assert programs.sennit("tune").returncode == 3
    assert len(programs.calls("sennit-tune")) == 4


@pytest.mark.parametrize("arguments", [["tune"], ["tune", "collectives"], ["bench", "put"]])
def test_what_is_refused_is_refused_before_anything_is_measured(programs: Programs, arguments: list[str]) -> None:
    untuned(programs, measured=False)
    refused = json.dumps({"error": {"code": "invalid_argument", "what": "no such size", "remedy": "Use 1K"}}) + "\n"
    for name, to in (("sennit-tune", "collectives"), ("sennit-bench-put", "*")):
        programs.add(name, to=to, stderr=refused, code=2)
    done = programs.sennit(*arguments, "--sizes", "many")
    assert (done.returncode, done.stderr) == (2, "sennit: no such size\n  Use 1K\n")
    assert ["measure", "--progress"] not in programs.calls("sennit-machine")
    assert ["put", "--progress"] not in programs.calls("sennit-tune")


def test_tune_passes_on_how_to_measure_collectives(programs: Programs) -> None:
    untuned(programs)
    (programs.folder / "libnccl.so.2").touch()
    options = ["--operations", "allreduce,allgather", "--sizes", "4K,64M", "--ranks", "2", "--budget", "30.5"]
    options += ["--vs", "nccl", "--nccl", "./libnccl.so.2", "--again"]
    done = programs.sennit("tune", "collectives", *options, "--thorough", "--executor", "cuda")
    assert done.returncode == 0, done.stderr
    assert programs.calls("sennit-machine") == [["cached", "--executor", "cuda"]]
    assert programs.calls("sennit-tune") == [
        ["collectives", "--progress", *options, "--thorough", "--executor", "cuda"]
    ]


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        (["tune", "collectives"], "./libnccl.so.2"),
        (["tune", "collectives"], "empty"),
        (["tune", "collectives"], "empty/"),
        (["bench", "put"], "empty"),
        (["bench", "allreduce"], "./libnccl.so.2"),
    ],
)
def test_an_nccl_that_is_not_there_is_refused_before_anything_is_measured(
    programs: Programs, verb: list[str], given: str
) -> None:
    untuned(programs)
    programs.add("sennit-bench-put", data("result"))
    programs.add("sennit-bench-collective", data("collective"))
    (programs.folder / "empty").mkdir()
    done = programs.sennit(*verb, "--nccl", given)
    assert (done.returncode, done.stdout) == (3, "")
    file = given if given.startswith(".") else "empty/libnccl.so.2"
    assert f"--nccl: {file} does not exist\n  Give libnccl.so.2 or its folder" in done.stderr
    assert programs.calls("sennit-machine") == programs.calls("sennit-tune") == []
    assert programs.calls("sennit-bench-put") == programs.calls("sennit-bench-collective") == []


def test_a_name_of_nccl_is_for_the_loader(programs: Programs) -> None:
    untuned(programs)
    assert programs.sennit("tune", "collectives", "--nccl", "libnccl.so.2").returncode == 0


def test_the_nccl_of_pytorchs_wheels_is_found(tmp_path: Path) -> None:
    assert torchs_nccl(["", str(tmp_path)]) is None
    folder = tmp_path / "nvidia" / "nccl" / "lib"
    folder.mkdir(parents=True)
    (folder / "libnccl.so.2").touch()
    assert torchs_nccl([str(tmp_path / "other"), str(tmp_path)]) == str(folder)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--show", "--thorough"],
        ["--show", "--budget", "9"],
        ["collectives", "--show", "--again"],
        ["reduce"],
        ["--executor", "none"],
        ["--json", "-"],
        ["all", "--json", "all.json"],
        ["put", "--budget", "9"],
        ["put", "--again"],
        ["put", "--operations", "allreduce"],
        ["collectives", "--ranks", "1"],
        ["collectives", "--budget", "0"],
        ["collectives", "--vs", "ucx"],
    ],
)
def test_tune_refuses_what_makes_no_sense(programs: Programs, arguments: list[str]) -> None:
    assert programs.sennit("tune", *arguments).returncode == 2
    assert programs.calls("sennit-tune") == []


def test_what_means_nothing_is_named_with_what_to_do(programs: Programs) -> None:
    done = programs.sennit("tune", "--json", "-")
    assert "sennit tune put --json FILE, or sennit tune collectives --json FILE" in done.stderr
    done = programs.sennit("tune", "put", "--sizes", "4K", "--again")
    assert "--sizes is of collectives" in done.stderr
    done = programs.sennit("tune", "--show", "--vs", "none")
    assert "--vs says how to measure" in done.stderr


@pytest.mark.parametrize("code", [1, 2, 3])
def test_a_tuning_that_fails_ends_with_its_code(programs: Programs, code: int) -> None:
    untuned(programs)
    programs.add("sennit-tune", to="put", stderr=NEVER, code=code)
    programs.add("sennit-tune", to="collectives", stderr=NEVER, code=code)
    for operation in ("put", "collectives", "all"):
        assert programs.sennit("tune", operation).returncode == code


def test_a_document_of_another_version_is_refused(programs: Programs) -> None:
    programs.add("sennit-tune", data("tuned") | {"version": 2}, to="cached")
    programs.add("sennit-tune", kept_plans(table=data("plans") | {"version": 2}), to="kept")
    for operation in ("put", "collectives", "all"):
        assert programs.sennit("tune", operation, "--show").returncode == 2


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
