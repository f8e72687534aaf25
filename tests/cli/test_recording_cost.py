"""`sennit bench profile --gpu-times` and `--training`: which jobs are run, and what they come to."""

from __future__ import annotations

import json
from importlib import util
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Programs, check_snapshot, data, shown
from sennit.baselines import recording, torch_job
from sennit.baselines.recording import (
    ALL,
    CALL_JOBS,
    CALLS_RANK,
    FLIGHT,
    KERNEL,
    NOTHING,
    PAUSED,
    SAMPLED,
    TIMED,
    TORCH,
    TRAINING_JOBS,
    TRAINING_RANK,
    Job,
)
from sennit.baselines.run import Outcome
from sennit.baselines.timing import interval
from sennit.baselines.training import Case
from sennit.model.document import parse
from sennit.model.recording_cost import Added, RecordingCost
from sennit.programs import places
from sennit.programs.problem import Exit, Problem
from sennit.verbs import recording_gpus
from sennit.verbs.results import Files
from sennit.views.recording_cost import cost_csv, cost_html, cost_markdown, print_cost, verdict

KIB, MIB = 1 << 10, 1 << 20
SIZES = [KIB, 64 * MIB]
MODEL = Case("resnet50", "ddp", 32)


def pairs(host: float, stream: float, count: int = 8) -> list[Any]:
    """Calls of 20 and 50 µs, and more by so much, whatever drifts."""
    return [[[20 + each, 50 + each], [20 + each + host, 50 + each + stream]] for each in range(count)]


def call_rows(job: str, run: int = 0) -> list[dict[str, Any]]:
    """What the ranks of a job tell, and, of one with sennit's recorder, what its profile does."""
    rows: list[dict[str, Any]] = [{"machine": {"name": "node1", "devices": ["NVIDIA H200"] * 2}}, {"met_ms": 900.0}]
    alone = {NOTHING: 20.0, SAMPLED: 20.1 + run / 10, FLIGHT: 20.5, ALL: 20.1}
    adds = {SAMPLED: (0.25, 0.0625), ALL: (2.0, 0.5)}
    for size in SIZES:
        if job in alone:
            rows.append({"bytes": size, "alone": [alone[job], 50.0]})
        if job == TORCH:
            rows.append({"recorder": TORCH, "bytes": size, "pairs": pairs(6.0, 1.0)})
            rows.append({"torch_profiler": True, "bytes": size, "us": 100.0 * size / KIB, "calls": 100})
        if job in adds:
            rows.append({"recorder": job, "bytes": size, "pairs": pairs(*adds[job])})
        if job == ALL:
            rows.append({"timed": True, "bytes": size, "us": 101.0 * size / KIB, "calls": 100})
        if job == KERNEL:
            rows.append({"timed": True, "bytes": size, "us": 49.0 * size / KIB, "calls": 50})
    return rows


def training_rows(job: str) -> list[dict[str, Any]]:
    if job == TORCH:
        return [{"recorder": TORCH, "case": MODEL.name, "pairs": [[50.0, 60.0]] * 8}]
    rows: list[dict[str, Any]] = [
        {"case": MODEL.name, "alone_ms": {NOTHING: 50.0, SAMPLED: 50.1, FLIGHT: 50.05}[job]}
    ]
    if job == SAMPLED:
        rows.append({"recorder": SAMPLED, "case": MODEL.name, "pairs": [[50.0, 50.125]] * 8})
    return rows


def told(of: Any, jobs: tuple[str, ...], runs: int = 2) -> Any:
    return {job: [of(job) for _ in range(runs)] for job in jobs}


# ---- pure ---------------------------------------------------------------------------------------------------------


def test_pairs_take_turns_in_who_is_first() -> None:
    blocks = recording.order(4)
    assert blocks == [False, True, True, False, False, True, True, False]
    assert recording.paired(blocks, [1, 10, 11, 2, 3, 12, 13, 4]) == [(1, 10), (2, 11), (3, 12), (4, 13)]


def test_intervals_are_between_values() -> None:
    assert interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)
    assert interval([float(each) for each in range(20)]) == (9.5, 5.0, 14.0)


def test_what_is_added_is_of_neighbours() -> None:
    rows = recording.call_costs(told(call_rows, CALL_JOBS), SIZES)
    found = {row["recorder"]: row for row in rows if row["bytes"] == KIB}
    assert list(found) == [PAUSED, SAMPLED, ALL, TORCH, FLIGHT]
    assert found[SAMPLED]["host_us"] == {"median": 0.25, "low": 0.25, "high": 0.25, "pairs": 16, "of_jobs": False}
    assert found[ALL]["stream_us"]["median"] == 0.5
    assert found[TORCH]["host_us"]["median"] == 6
    assert found[FLIGHT]["host_us"] == {"median": 0.5, "low": 0.5, "high": 0.5, "pairs": 2, "of_jobs": True}
    assert found[PAUSED]["host_us"]["median"] == pytest.approx(0.1)
    assert found[SAMPLED]["alone_host_us"] == 23.5
    assert recording.call_costs({}, SIZES) == []


def test_times_on_gpus_are_each_of_a_job() -> None:
    first, second = recording.gpu_times(told(call_rows, CALL_JOBS), SIZES)
    assert first == {"bytes": KIB, "torch_us": 1.0, "events_us": 1.01, "kernels_us": 0.98, "calls": 200}
    assert second["torch_us"] == 64 * KIB
    assert recording.gpu_times({NOTHING: [call_rows(NOTHING)]}, SIZES) == []


def test_a_profile_is_read_by_phase_and_size() -> None:
    def row(phase: str | None, upper: int, calls: int, seconds: float, **more: Any) -> dict[str, Any]:
        return {"function": "ncclAllReduce", "phase": phase, "to_bytes": upper, "device_calls": calls,
                "device_seconds": seconds, **more}  # fmt: skip

    rows = [row(TIMED, KIB, 10, 1e-4), row(TIMED, KIB, 10, 2e-4, reduction="max"), row(None, KIB, 9, 1.0),
            row(TIMED, 2 * KIB, 4, 1e-3), row("other", 2 * KIB, 9, 1.0), row(TIMED, 16, 3, 1.0),
            row(TIMED, KIB, 0, 0.0), row(TIMED, KIB, 9, 1.0, function="ncclBroadcast")]  # fmt: skip
    assert recording.timed_rows({"rows": rows}, [KIB, 1500]) == [
        {"timed": True, "bytes": KIB, "calls": 20, "us": pytest.approx(300)},
        {"timed": True, "bytes": 1500, "calls": 4, "us": pytest.approx(1000)},
    ]
    assert [recording.bin_of(size) for size in (1, 2, 3, 1024, 1025)] == [1, 2, 4, 1024, 2048]


def test_training_is_slower_by_a_part_of_its_time() -> None:
    rows = {row["recorder"]: row for row in recording.training_costs(told(training_rows, TRAINING_JOBS), [MODEL])}
    assert rows[SAMPLED]["slower"]["median"] == pytest.approx(0.0025)
    assert rows[TORCH]["slower"]["median"] == pytest.approx(0.2)
    assert rows[FLIGHT]["slower"]["median"] == pytest.approx(0.001)
    assert rows[PAUSED]["slower"] == {
        "median": pytest.approx(0.002), "low": pytest.approx(0.002), "high": pytest.approx(0.002), "pairs": 2,
        "of_jobs": True,
    }  # fmt: skip
    assert rows[SAMPLED]["alone_us"] == 50_000


def test_a_job_is_read_as_it_was_written() -> None:
    job = Job(2, SAMPLED, sizes=SIZES, cases=[MODEL], pairs=8)
    assert Job.read(job.text()) == job


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.1, 0.3, "shown"), (0.31, 0.5, "missed"), (0.2, 0.4, "undecided")]
)
def test_an_aim_is_reached_beyond_the_interval(low: float, high: float, expected: str) -> None:
    assert verdict(Added(median=(low + high) / 2, low=low, high=high, pairs=8), 0.3) == expected


# ---- views --------------------------------------------------------------------------------------------------------


def cost() -> RecordingCost:
    return parse(RecordingCost, data("recording_cost"), "it")


def test_the_cost_is_shown() -> None:
    check_snapshot("recording-cost.txt", shown(lambda console: print_cost(cost(), console), 130))
    check_snapshot("recording-cost.md", cost_markdown(cost()))
    lines = cost_csv(cost()).splitlines()
    assert lines[0] == "what,bytes,model,recorder,median,low,high,pairs,of_jobs,alone"
    assert lines[1].startswith("host_us,1024,,")
    page = cost_html(cost())
    assert "default-src 'none'" in page
    assert page.count("<table") == 4


def test_the_document_follows_its_schema() -> None:
    schema = json.loads((ROOT / "schemas" / "recording-cost.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    document = data("recording_cost")
    jsonschema.Draft202012Validator(schema).validate(document)
    del document["calls"][0]["recorder"]
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


def test_nothing_is_shown_of_nothing() -> None:
    document = data("recording_cost") | {"calls": [], "times": [], "training": []}
    assert "Nothing was measured." in shown(lambda console: print_cost(parse(RecordingCost, document, "it"), console))


def test_a_kept_document_is_shown_again(programs: Programs) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data("recording_cost")))
    for verb in (["bench", "show"], ["report"]):
        done = programs.sennit(*verb, "kept.json", "--csv", "a.csv", "--html", "a.html")
        assert done.returncode == 0, done.stderr
        assert "What recording adds to a call of all_reduce" in done.stdout
        assert (programs.folder / "a.csv").read_text() == cost_csv(cost())


# ---- the verb -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["--gpu-times", "--sizes", "1K,1000"], "--sizes has two that a profile counts as one", Exit.USAGE),
        (["--gpu-times", "--sizes", "many"], "--sizes: 'many' is not a size", Exit.USAGE),
        (["--training", "--models", "gpt5"], "there is no gpt5", Exit.USAGE),
        (["--ranks", "1"], "messages need two ranks", Exit.USAGE),
    ],
)
def test_what_cannot_be_measured_is_refused(programs: Programs, arguments: list[str], said: str, code: Exit) -> None:
    done = programs.sennit("bench", "profile", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_without_pytorch_or_a_gpu_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    with pytest.raises(Problem, match="torch is not installed") as caught:
        recording_gpus.ranks_here(None, "torch torchvision")
    assert "torchvision" in caught.value.remedy
    monkeypatch.setattr(util, "find_spec", lambda name: name)
    with pytest.raises(Problem, match="calls of NCCL need a GPU for each rank, and 0 are here") as caught:
        recording_gpus.ranks_here(None, "torch")
    assert caught.value.exit_code == Exit.ENVIRONMENT
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert (recording_gpus.ranks_here(None, "torch"), recording_gpus.ranks_here(1, "torch")) == (2, 1)
    with pytest.raises(Problem, match="and 2 are here"):
        recording_gpus.ranks_here(3, "torch")


class Ranks:
    """What would run jobs of PyTorch: notes what each sees, and tells made-up rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: str = "") -> None:
        self.seen: list[tuple[str, str, dict[str, str], str]] = []
        self.failing = failing
        monkeypatch.setattr(torch_job, "run", self.run)
        monkeypatch.setattr(places, "find_library", lambda name: Path("/lib") / name)
        monkeypatch.setattr(recording_gpus, "library_to_preload", lambda: Path("/lib/libsennit-preload.so"))
        monkeypatch.setattr(recording_gpus, "merged", lambda _: {"rows": []})
        for name in ("NCCL_PROFILER_PLUGIN", "LD_PRELOAD"):
            monkeypatch.delenv(name, raising=False)

    def run(self, module: str, text: str, _ranks: int, environment: Any, preload: str, *rest: Any) -> None:
        job, outcome = Job.read(text), rest[-1]
        self.seen.append((module, job.name, environment, preload))
        outcome.rows += call_rows(job.name) if module == CALLS_RANK else training_rows(job.name)
        outcome.reason = "CUPTI is not permitted" if job.name == self.failing else ""


def measured(tmp_path: Path, *jobs: Any, runs: int = 2) -> RecordingCost:
    file = tmp_path / "cost.json"
    recording_gpus.measure(jobs, runs, Files(json=str(file)))
    return parse(RecordingCost, json.loads(file.read_text()), "it")


CALLS = (CALLS_RANK, Job(2, NOTHING, sizes=SIZES), CALL_JOBS)
TRAINING = (TRAINING_RANK, Job(2, NOTHING, cases=[MODEL]), TRAINING_JOBS)


def test_jobs_of_each_recorder_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ranks = Ranks(monkeypatch)
    found = measured(tmp_path, CALLS, TRAINING)
    assert [name for _, name, _, _ in ranks.seen] == 2 * [*CALL_JOBS, *TRAINING_JOBS]
    assert (found.ranks, found.settings["runs"], found.machine.name) == (2, 2, "node1")
    assert len(found.calls) == 10
    assert len(found.times) == 2
    assert [row.recorder for row in found.training] == [PAUSED, SAMPLED, TORCH, FLIGHT]
    for _, name, seen, preload in ranks.seen:
        is_own = name in recording.OWN_JOBS
        assert preload == ("/lib/libsennit-preload.so" if is_own else "")
        assert ("SENNIT_PROFILE" in seen) == is_own
        assert (
            seen["TORCH_NCCL_TRACE_BUFFER_SIZE"]
            == seen["TORCH_FR_BUFFER_SIZE"]
            == ("2000" if name == FLIGHT else "0")
        )
        if is_own:
            assert seen["SENNIT_PROFILE_GPU_TIMES"] == name
            assert (seen["SENNIT_DISABLE"], seen["SENNIT_OBSERVER"]) == ("1", "libsennit-recorder.so")
            assert seen["NCCL_PROFILER_PLUGIN"] == "/lib/libsennit-recorder.so"


def test_what_a_recorder_cannot_do_leaves_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Ranks(monkeypatch, failing=KERNEL)
    found = measured(tmp_path, CALLS)
    assert "kernel is left out: CUPTI is not permitted" in found.warnings
    assert {row.kernels_us for row in found.times} == {None}
    assert len(found.calls) == 10
    Ranks(monkeypatch, failing=NOTHING)
    with pytest.raises(Problem, match="CUPTI is not permitted"):
        measured(tmp_path, CALLS)


def test_one_rank_says_what_it_cannot_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Ranks(monkeypatch)
    found = measured(tmp_path, (CALLS_RANK, Job(1, NOTHING, sizes=SIZES), CALL_JOBS))
    assert any(warning.startswith("One rank alone") for warning in found.warnings)


def test_a_profile_that_cannot_be_read_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    Ranks(monkeypatch)

    def broken(_: Path) -> Any:
        raise Problem("the file is cut off", "")

    monkeypatch.setattr(recording_gpus, "merged", broken)
    outcome = Outcome()
    recording_gpus.run_one(CALLS_RANK, Job(2, ALL, sizes=SIZES), lambda *_: None, outcome)
    assert outcome.warnings == ["The profile of job all cannot be read: the file is cut off"]
