"""`sennit bench torch`: what it calls, how jobs are put together, what it shows, and what it says when it cannot.
The file is long, as its tests share made-up jobs."""

from __future__ import annotations

import json
import os
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from conftest import Programs, check_snapshot, data, fill, shown
from sennit.baselines import torch_calls, torch_job
from sennit.baselines.run import Outcome
from sennit.baselines.torch_calls import PASSED_ON, Case, Job
from sennit.compare.groups import Group
from sennit.model.document import parse
from sennit.model.result import Result
from sennit.programs import launcher
from sennit.programs.problem import Exit, Problem
from sennit.verbs import torch as verb
from sennit.views.sections import body_markdown, markdown, print_result
from sennit.views.torch import added, both, cells, reached, sentences


def result(**changes: Any) -> Result:
    return Result.model_validate(data("torch") | changes)


# ---- tables -------------------------------------------------------------------------------------------------------


def test_the_tables() -> None:
    check_snapshot("torch.txt", shown(lambda console: print_result(result(), console), width=132))
    check_snapshot("torch.md", body_markdown(result()))


def test_what_is_missed_is_named_by_its_size() -> None:
    graph, eager, *_ = both(result())
    assert sentences(graph) == [
        "Up to 1 MiB it takes 44 % to 60 % of NCCL's time; aimed at: at most 55 %, missed at 1 MiB."
    ]
    assert sentences(eager) == ["Up to 1 MiB it takes 67 % of NCCL's time; aimed at: at most 75 %."]


def test_what_the_spread_leaves_open_is_not_called_missed() -> None:
    graph = both(result())[0]
    own, smallest = graph.row(1 << 20), graph.row(1 << 10)
    assert own is not None
    assert smallest is not None

    def told(us: float, spread_us: float) -> str:
        own.median_us, own.spread_us = us, spread_us
        (sentence,) = sentences(graph)
        return sentence.partition("at most 55 %")[2]

    # 55 % are of NCCL's 17.0 ± 0.2 µs.
    assert told(9.5, 0.1) == ", undecided at 1 MiB."
    assert told(9.2, 0.1) == ", undecided at 1 MiB.", "under it, but it may be above"
    assert told(9.0, 0.05) == "."
    assert told(9.8, 0.1) == ", missed at 1 MiB."
    smallest.spread_us = 1.0
    assert told(9.8, 0.1) == ", missed at 1 MiB, undecided at 1 KiB."


def test_nothing_is_aimed_at_for_other_operations_and_larger_calls() -> None:
    graph, _, gathered, broadcast = both(result())
    assert sentences(gathered) == [], "there is nothing to compare"
    assert sentences(broadcast) == ["Up to 1 MiB it takes 100 % of NCCL's time."]
    large = {size: rows for size, rows in graph.rows.items() if size > 1 << 20}
    assert sentences(Group(graph.title, large)) == []


def test_a_call_that_sennit_leaves_is_by_nccl() -> None:
    graph = both(result())[0]
    assert [cells(graph.row(size), graph.row(size, "nccl"))[-1] for size in graph.sizes] == [
        "one_shot_packets 8x256",
        "two_shot 64x256",
        "NCCL",
    ]
    assert graph.title == "Allreduce, float32, in a CUDA graph, 2 ranks"


def test_one_variant_alone_is_shown_too() -> None:
    gathered = both(result())[2]
    assert cells(gathered.row(2048), gathered.row(2048, "nccl")) == [
        "2 KiB",
        "7.50 ± 0.10",
        "–",
        "–",
        "–",
        "13.0 ± 0.2",
        "–",
        "–",
    ]


def test_what_the_host_takes_longer_is_that_of_jobs_that_followed_one_another() -> None:
    first, taken, said = added(result())
    assert first == (
        "A call of ncclAllReduce of 1 KiB that is handed on costs the host 0.17 ± 0.01 µs more than NCCL's own; "
        "aimed at: under 0.3 µs, shown."
    )
    assert taken == (
        "A call of ncclAllReduce of 2 KiB that sennit takes costs the host 0.90 ± 0.08 µs more than sennit_allreduce "
        "itself; aimed at: under 1 µs, undecided."
    )
    # Of 13.1 - 12.9, 13.2 - 13.0 and 13.3 - 13.2.
    assert "allreduce of 1 KiB, float32, takes the host 0.20 ± 0.02 µs more" in said
    document = data("torch")
    document["rows"] = [row for row in document["rows"] if row["variant"] != "nccl"]
    document["added"] = document["added_to_taken"] = None
    assert added(Result.model_validate(document)) == []


def test_one_job_of_each_says_nothing_of_what_the_host_takes_longer() -> None:
    document = data("torch")
    for row in document["rows"]:
        row["host_of_runs_us"] = row["host_of_runs_us"][:1]
    assert len(added(Result.model_validate(document))) == 2, "the calls in turns of one job"


@pytest.mark.parametrize(
    ("median", "spread", "said"),
    [(0.1, 0.09, "shown"), (0.1, 0.1, "undecided"), (0.5, 0.11, "undecided"), (0.5, 0.1, "missed")],
)
def test_an_aim_is_reached_as_far_as_the_spread_tells(median: float, spread: float, said: str) -> None:
    assert reached(median, spread, 0.3) == said


def test_what_a_communicator_takes_longer_is_of_all_rounds_of_all_jobs() -> None:
    jobs: list[list[dict[str, Any]]] = [
        [{"made_ms": [[230.0, 200.0], [240.0, 205.0]]}, {"case": "it"}], [{"made_ms": []}],
        [{"made_ms": [[231.0, 199.0]]}],
    ]  # fmt: skip
    found = torch_calls.made(jobs)
    assert found is not None
    assert (found["median_ms"], found["nccl_ms"], found["rounds"]) == (32, 200, 3)
    document = data("torch") | {"made": found | {"spread_ms": 2.0}}
    said = added(Result.model_validate(document))
    assert (
        "A communicator of all ranks takes 32 ± 2 ms more to make than NCCL's own, 200 ms; aimed at: under 100 ms, "
        "shown." in said
    )
    assert torch_calls.made([[], [{"case": "it"}]]) is None


def test_what_the_first_communicator_takes_longer_is_told_by_jobs_in_turns() -> None:
    said: dict[str, list[list[dict[str, Any]]]] = {
        "sennit": [[{"met_ms": 700.0}, {"case": "it"}], [{"met_ms": 660.0}]],
        "nccl": [[{"met_ms": 600.0}], [{"met_ms": 580.0}]],
    }
    found = torch_calls.met(said)
    assert found is not None
    assert (found["median_ms"], found["spread_ms"], found["nccl_ms"], found["rounds"]) == (90, 5, 590, 2)
    document = data("torch") | {"met": found}
    sentence = "The first communicator of a process takes 90 ± 5 ms more than in jobs without sennit, 590 ms"
    assert any(line.startswith(sentence) and line.endswith("under 100 ms, undecided.")
               for line in added(Result.model_validate(document)))  # fmt: skip
    once = data("torch") | {"met": found | {"rounds": 1, "spread_ms": 0.0}}
    assert any(line.endswith("under 100 ms.") for line in added(Result.model_validate(once)))
    assert torch_calls.met({"sennit": said["sennit"]}) is None
    assert torch_calls.met({"sennit": [[{"case": "it"}]], "nccl": said["nccl"]}) is None


def test_what_a_process_takes_until_its_first_allreduce_is_done() -> None:
    said: dict[str, list[list[dict[str, Any]]]] = {
        "sennit": [[{"met_ms": 460.0}, {"first_ms": 1.0}], [{"met_ms": 440.0}, {"first_ms": 3.0}]],
        "nccl": [[{"met_ms": 420.0}, {"first_ms": 150.0}], [{"met_ms": 420.0}, {"first_ms": 154.0}]],
    }
    found = torch_calls.begun(said)
    assert found is not None
    assert (found["median_ms"], found["spread_ms"], found["nccl_ms"], found["rounds"]) == (-120, 5.5, 572, 2)
    sentence = (
        "Until its first allreduce is done, of 1 KiB, it takes 120 ± 6 ms less than in jobs without sennit, 572 ms."
    )
    assert sentence in added(Result.model_validate(data("torch") | {"begun": found}))
    later = data("torch") | {"begun": found | {"median_ms": 7.0}}
    assert any("takes 7 ± 6 ms more than" in line for line in added(Result.model_validate(later)))
    assert torch_calls.begun({name: [[{"met_ms": 400.0}]] for name in said}) is None


# ---- jobs ---------------------------------------------------------------------------------------------------------


def test_every_operation_of_every_type_with_every_size() -> None:
    found = torch_calls.cases(["allreduce", "allgather"], ["1K", "100"], ["float32", "bfloat16"], 3)
    assert [str(case) for case in found[:3]] == [
        "allreduce of 1008 B, float32",
        "allreduce of 96 B, float32",
        "allreduce of 1008 B, bfloat16",
    ], "whole elements for every rank"
    assert len(found) == 8
    assert Job.read(Job(3, found, 0.1).text()) == Job(3, found, 0.1)
    assert [case.bytes for case in torch_calls.cases(["allreduce"], ["1", "2"], ["float32"], 2)] == [16]


@pytest.mark.parametrize(
    ("operations", "sizes", "types", "said"),
    [
        (["gather"], ["1K"], ["float32"], "--operations: there is no gather"),
        (["allreduce"], ["1K"], ["int7"], "--types: there is no int7"),
        (["allreduce"], ["many"], ["float32"], "--sizes: 'many' is not a size"),
    ],
)
def test_what_there_is_not_is_named(operations: list[str], sizes: list[str], types: list[str], said: str) -> None:
    with pytest.raises(Problem, match=said) as caught:
        torch_calls.cases(operations, sizes, types, 2)
    assert caught.value.exit_code == Exit.USAGE


def test_the_smallest_of_each_is_passed_on() -> None:
    found = torch_calls.cases(["allreduce", "allgather"], ["64K", "1K", "1M"], ["float32"], 2)
    assert torch_calls.passed_on(found) == [Case("allreduce", 1024, "float32"), Case("allgather", 1024, "float32")]


def test_what_the_drop_in_explains_is_found_by_the_bytes_of_a_message() -> None:
    said = [
        "sennit: allreduce of 4 B: one_shot 1x256",
        "Some warning of PyTorch's",
        "sennit: allreduce of 1 KiB: one_shot_packets 8x256",
        "sennit: allgather of 512 B: packets 4x256",
        "sennit: bcast of 1.33 MiB: NCCL: this size was not measured here (sennit tune collectives)",
        "sennit: NCCL's calls on rank 0, and the host's time for them",
    ]
    assert torch_calls.explained(Case("allreduce", 1024, "float32"), 2, said) == "one_shot_packets 8x256"
    assert torch_calls.explained(Case("allgather", 1024, "float32"), 2, said) == "packets 4x256"
    assert torch_calls.explained(Case("broadcast", 1398096, "float32"), 3, said).startswith("NCCL: this size")
    assert torch_calls.explained(Case("allreduce", 2048, "float32"), 2, said) == ""


def told(case: Case, way: str, us: list[float], host_us: list[float]) -> Outcome:
    rows: list[dict[str, Any]] = [{"machine": {"name": "here", "devices": ["H200"] * 2}}]
    return Outcome(rows=[*rows, {"case": str(case), "way": way, "calls": 50, "us": us, "host_us": host_us}])


CASE = Case("allreduce", 1024, "float32")


def test_jobs_of_all_variants_make_one_result() -> None:
    job = Job(2, [CASE, Case("allreduce", 2048, "float32")], 0.1)
    outcomes = {
        "sennit": [told(CASE, "eager", [3.0, 3.0, 4.0], [8, 8, 8]), told(CASE, "eager", [5.0, 5.0, 5.0], [9, 9, 9])],
        "nccl": [told(CASE, "eager", [8.0], [13])],
        PASSED_ON: [told(CASE, "eager", [8.0], [13.5])],
    }
    found = parse(Result, verb.document_of(job, outcomes, {CASE: "one_shot 1x256"}, 2, "all"), "it")
    own, other, passed = found.rows
    assert (own.variant, own.median_us, own.host_us, own.runs, own.repetitions) == ("sennit", 4.5, 8.5, 2, 6)
    assert own.spread_us == pytest.approx(0.875), "that of all batches is more than that of the jobs"
    assert (own.host_of_runs_us, own.plan, own.verified) == ([8, 9], "one_shot 1x256", True)
    assert (other.plan, passed.variant) == ("", PASSED_ON)
    assert found.machine.name == "here"
    assert found.warnings == []


@pytest.mark.parametrize(
    ("how", "said"), [("NCCL: not in SENNIT_OPS", "not in SENNIT_OPS"), ("", "the drop-in was not reached")]
)
def test_that_all_is_nccls_is_a_warning(how: str, said: str) -> None:
    document = verb.document_of(Job(2, [CASE], 0.1), {"nccl": []}, {CASE: how}, 1, "measured")
    assert document["warnings"] == [f"All calls are NCCL's ({said}); try sennit tune collectives, or --take all."]


def test_what_is_added_is_that_of_all_rounds_of_all_jobs() -> None:
    rounds = [0.1 + 0.002 * i for i in range(100)]
    jobs: list[list[dict[str, Any]]] = [
        [{"added_us": rounds}, {"case": "it"}],
        [{"added_us": [each + 0.004 for each in rounds]}],
        [{"added_us": []}],
    ]
    found = torch_calls.added(jobs, "added_us", 1024)
    assert found is not None
    assert (found["rounds"], found["bytes"]) == (200, 1024)
    assert found["median_us"] == pytest.approx(0.201)
    assert found["spread_us"] < 0.01, "that of the median, not of the rounds"
    apart = torch_calls.added([*jobs, [{"added_us": [0.8] * 3}]], "added_us", 1024)
    assert apart is not None
    assert apart["spread_us"] == pytest.approx((0.8 - 0.199) / 4), "that of the jobs, where they differ by more"
    assert torch_calls.added(jobs, "added_to_taken_us", 1024) is None
    assert torch_calls.added([[], []], "added_us", 1024) is None


def test_the_smallest_allreduce_that_sennit_takes_is_called_directly() -> None:
    hows = {
        Case("allgather", 64, "float32"): "packets 1x256",
        Case("allreduce", 128, "bfloat16"): "one_shot 1x256",
        Case("allreduce", 256, "float32"): "NCCL: measured faster",
        Case("allreduce", 2048, "float32"): "one_shot 1x256",
        Case("allreduce", 1024, "float32"): "one_shot 1x256",
    }
    assert torch_calls.taken_bytes(hows) == 1024
    assert torch_calls.taken_bytes({Case("allreduce", 1024, "float32"): ""}) == 0


def test_variants_differ_by_their_environment() -> None:
    assert torch_calls.settings_of("nccl", "all") == {}
    assert torch_calls.settings_of("sennit", "all") == {"SENNIT_TAKE": "all"}
    assert torch_calls.settings_of(PASSED_ON, "all") == {"SENNIT_OPS": "none"}
    assert "none" not in torch_calls.NAMES.values()


# ---- the verb -----------------------------------------------------------------------------------------------------


def call(**options: Any) -> None:
    defaults: dict[str, Any] = {
        "operations": "allreduce",
        "sizes": "1K,64K",
        "types": "float32,bfloat16",
        "take": verb.Take.ALL,
        "ranks": 2,
        "seconds": 0.1,
        "runs": 2,
        "limit": 60,
        "json_file": None,
        "markdown_file": None,
    }
    verb.bench_torch(**(defaults | options))


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("inherited", ["", "/old/libsennit-preload.so"], ids=["alone", "under sennit run"])
def test_all_variants_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inherited: str) -> None:
    ran: list[tuple[str, int, str, dict[str, str]]] = []

    def run(module: str, text: str, ranks: int, environment: dict[str, str], preload: str, *more: Any) -> None:
        assert (module, ranks) == (torch_calls.RANK, 2)
        job = Job.read(text)
        ours = {name: value for name, value in environment.items() if name.startswith("SENNIT_")}
        ran.append((preload, len(job.cases), ",".join(job.ways), ours))
        assert job.passing == ("SENNIT_OPS" in ours)
        assert job.taken_bytes == (1024 if ours == {"SENNIT_TAKE": "all"} else 0)
        if job.seconds == 0:
            fill(more[-1], Outcome(explained=["sennit: allreduce of 1 KiB: one_shot 1x256"]))
            return
        rows = [{"case": str(case), "way": way, "calls": 50, "us": [5.0], "host_us": [9.0]}
                for case in job.cases for way in job.ways]  # fmt: skip
        fill(more[-1], Outcome(rows=rows))

    for name in list(os.environ):
        if name.startswith(("SENNIT_", "LD_PRELOAD")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LD_PRELOAD", inherited)
    monkeypatch.setattr(torch_job, "run", run)
    file = tmp_path / "torch.json"
    call(json_file=str(file))
    ways = "graph,queued,eager"
    explaining = ("/sennit.so", 2, ways, {"SENNIT_TAKE": "all", "SENNIT_EXPLAIN": "1"})
    turn = [
        ("", 4, ways, {}),
        ("/sennit.so", 4, ways, {"SENNIT_TAKE": "all"}),
        ("/sennit.so", 2, "eager", {"SENNIT_OPS": "none"}),
    ]
    assert ran == [explaining, explaining, *turn, *turn]
    kept = parse(Result, json.loads(file.read_text(encoding="utf-8")), "it")
    assert len(kept.rows) == 4 * 3 * 2 + 2
    assert {row.plan for row in kept.rows if row.variant == "sennit" and row.bytes == 1024} == {"one_shot 1x256"}


@pytest.mark.usefixtures("installed")
def test_wrong_numbers_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "allreduce of 1 KiB, float32, in a graph: it gave wrong numbers"
    monkeypatch.setattr(torch_job, "run", lambda *given: fill(given[-1], Outcome(reason=wrong)))
    with pytest.raises(Problem, match=f"verifying under sennit failed: {wrong}") as caught:
        call()
    assert caught.value.exit_code == Exit.ENVIRONMENT


@pytest.mark.usefixtures("installed")
def test_jobs_that_ended_are_kept_where_a_later_one_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs: list[int] = []

    def run(_: str, text: str, *more: Any) -> None:
        job = Job.read(text)
        rows = [{"case": str(case), "way": "eager", "calls": 50, "us": [5.0], "host_us": [9.0]} for case in job.cases]
        jobs.append(0 if job.seconds == 0 else 1)
        fill(more[-1], Outcome(rows=rows, reason="no room" if sum(jobs) == 5 else ""))

    monkeypatch.setattr(torch_job, "run", run)
    file = tmp_path / "torch.json"
    with pytest.raises(Problem, match="measuring under sennit failed: no room"):
        call(json_file=str(file))
    kept = parse(Result, json.loads(file.read_text(encoding="utf-8")), "it")
    assert {row.variant: row.runs for row in kept.rows} == {"nccl": 2, "sennit": 1, PASSED_ON: 1}
    assert "Measuring under sennit failed: no room, after 4 of 6 jobs." in kept.warnings


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    with pytest.raises(Problem, match="torch is not installed") as caught:
        call()
    assert caught.value.remedy == f"{sys.executable} -m pip install torch"
    monkeypatch.setattr(util, "find_spec", lambda name: name)
    monkeypatch.setattr(launcher, "gpus", lambda _: 1)
    with pytest.raises(Problem, match="two GPUs or more") as caught:
        call(ranks=None)
    assert caught.value.exit_code == Exit.ENVIRONMENT


def test_disabled_there_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENNIT_DISABLE", "on")
    with pytest.raises(Problem, match="SENNIT_DISABLE is set") as caught:
        call()
    assert caught.value.exit_code == Exit.USAGE


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sizes": "abc"}, "--sizes: "),
        ({"types": "int3"}, "--types: there is no int3"),
        ({"operations": "foo"}, "--operations: there is no foo"),
        ({"sizes": ","}, "nothing to measure"),
    ],
)
def test_options_are_read_before_pytorch_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], said: str
) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    with pytest.raises(Problem, match=said) as caught:
        call(**wrong)
    assert caught.value.exit_code == Exit.USAGE


def test_a_result_that_was_kept_is_shown(programs: Programs) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data("torch")), encoding="utf-8")
    done = programs.sennit("bench", "show", "kept.json", "--markdown", "kept.md")
    assert "Allreduce, float32, in a CUDA graph, 2 ranks" in done.stdout
    assert (programs.folder / "kept.md").read_text(encoding="utf-8") == markdown(result())
    assert programs.sennit("bench", "torch", "--help").returncode == 0
