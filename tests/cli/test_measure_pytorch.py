"""scripts/measure-pytorch, with a made-up Python that notes what it is asked, and fails or
hangs where FAILS or HANGS says so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from sennit.baselines.training import cases

PYTHON = """#!{python}
import json, os, signal, sys, time
with open({file!r}, "a") as calls:
    calls.write(json.dumps([os.getcwd(), os.environ["PYTHONPATH"], *sys.argv[1:]]) + "\\n")
if os.environ.get("HANGS", " nothing ") in " ".join(sys.argv[1:]):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    time.sleep(60)
sys.exit(os.environ.get("FAILS", " nothing ") in " ".join(sys.argv[1:]))
"""

Measure = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Runs the script in a folder that has such a Python."""
    python = tmp_path / "python"
    python.write_text(PYTHON.format(python=sys.executable, file=str(tmp_path / "calls")), encoding="utf-8")
    python.chmod(0o755)

    def run(*arguments: str, script: Path | str = ROOT / "scripts" / "measure-pytorch", **settings: str) -> Any:
        environment = {**os.environ, "PYTHON": "./python", "PYTHONPATH": "/own", **settings}
        return subprocess.run(
            [str(script), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def calls(folder: Path) -> list[list[str]]:
    """What the Python was asked: its folder, PYTHONPATH, and arguments."""
    file = folder / "calls"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_folder_and_python_are_the_callers(tmp_path: Path, measure: Measure) -> None:
    done = measure("figures", "calls", RUNS="1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures").is_dir()
    file = str(tmp_path / "figures" / "torch.json")
    where = [str(ROOT), f"{ROOT / 'python'}:/own", "-m", "sennit", "bench"]
    assert calls(tmp_path)[1:] == [[*where, "torch", "--runs", "1", "--json", file]]


def test_recording_goes_by_no_table(tmp_path: Path, measure: Measure) -> None:
    assert measure("figures", "recording", RUNS="1", FAILS="table").returncode == 0
    asked = [call[5:] for call in calls(tmp_path)]
    files = [str(tmp_path / "figures" / f"profile-{name}.json") for name in ("gpu-times", "training")]
    assert asked == [
        ["profile", "--gpu-times", "--runs", "1", "--json", files[0]],
        ["profile", "--training", "--runs", "1", "--json", files[1]],
    ]


def test_tests_are_those_of_the_programs_that_are_asked_for(tmp_path: Path, measure: Measure) -> None:
    done = measure("figures", "tests", SENNIT_PROGRAMS="/there/bin")
    assert done.returncode == 0, done.stderr
    first, second = (call[2:] for call in calls(tmp_path))
    assert first[0] == "tests/gpu/torch_jobs.py"
    assert second[0] == "tests/gpu/preloaded.py"
    assert second[-2:] == ["--library", "/there/lib/libsennit-preload.so"]


def test_tests_are_all_scenarios_or_those_that_are_named(tmp_path: Path, measure: Measure) -> None:
    assert measure("figures", "tests").returncode == 0
    every = [call[3:] for call in calls(tmp_path)]
    done = measure("figures", "tests", TORCH_SCENARIOS="reductions fsdp", PRELOADED_SCENARIOS="collectives killed")
    assert done.returncode == 0, done.stderr
    first, second = (call[3:] for call in calls(tmp_path)[2:])
    assert first == [*every[0], "reductions", "fsdp"]
    assert second == [*every[1], "collectives", "killed"]


def test_a_python_on_path_is_found_there(tmp_path: Path, measure: Measure) -> None:
    done = measure(str(tmp_path / "figures"), "tune", PYTHON="python", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert len(calls(tmp_path)) == 1


def test_nothing_is_begun_where_a_part_or_a_python_is_not_there(tmp_path: Path, measure: Measure) -> None:
    done = measure("figures", "calls", "collars")
    assert (done.returncode, "there is no part collars" in done.stderr) == (2, True)
    done = measure("figures", "calls", PYTHON="./snake")
    assert (done.returncode, "snake; set PYTHON" in done.stderr) == (2, True)
    assert calls(tmp_path) == []
    assert not (tmp_path / "figures").exists()


def test_alone_it_lists_its_parts(measure: Measure, tmp_path: Path) -> None:
    done = measure(script=os.path.relpath(ROOT / "scripts" / "measure-pytorch", tmp_path))
    assert done.returncode == 2
    assert "sharded     FSDP2" in done.stderr
    assert done.stderr.rstrip().endswith("The exit code is then 1.")


def verbs(folder: Path) -> list[str]:
    """What was asked, in two words each: those of sennit's verbs, or a file with its first option."""
    asked = [call[2:] for call in calls(folder)]
    return [" ".join(call[2:4] if call[0] == "-m" else call[:2]) for call in asked]


def test_nothing_is_measured_without_a_table(tmp_path: Path, measure: Measure) -> None:
    done = measure("figures", "ddp", "calls", FAILS="table check")
    assert done.returncode == 1
    assert f"begin with scripts/measure-pytorch {tmp_path}/figures tune" in done.stderr
    assert verbs(tmp_path) == ["table check"]


def test_a_table_is_looked_for_once_and_where_it_is_needed(tmp_path: Path, measure: Measure) -> None:
    assert measure("figures", "tune", "tests", FAILS="table check").returncode == 0
    assert "table check" not in verbs(tmp_path)
    before = len(calls(tmp_path))
    assert measure("figures", "tune", "ddp", "sharded").returncode == 0
    asked = verbs(tmp_path)[before:]
    assert asked[:3] == ["tune collectives", "table check", "bench training"]
    assert asked.count("table check") == 1


def test_nothing_follows_tuning_that_fails(tmp_path: Path, measure: Measure) -> None:
    done = measure("figures", "tune", "tests", "ddp", FAILS="tune collectives")
    assert (done.returncode, verbs(tmp_path)) == (1, ["tune collectives"])
    assert "tune ended with 1" in done.stderr


def test_where_another_part_fails_the_others_still_run(measure: Measure) -> None:
    done = measure("figures", "graphs", "ddp", FAILS="training-graphs.json")
    assert done.returncode == 1
    assert "graphs ended with 1" in done.stderr
    assert "ddp ended with 0" in done.stderr


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, ["--budget", "300"]),
        ({"BUDGET": "100"}, ["--budget", "100"]),
        ({"BUDGET": "100", "TUNE_BUDGET": "60"}, ["--budget", "60"]),
        ({"TUNE_OPERATIONS": "allreduce,allgather"}, ["--budget", "300", "--operations", "allreduce,allgather"]),
    ],
)
def test_tuning_has_settings_of_its_own(
    tmp_path: Path, measure: Measure, settings: dict[str, str], asked: list[str]
) -> None:
    assert measure("figures", "tune", **settings).returncode == 0
    (call,) = calls(tmp_path)
    options = call[6:]
    at = options.index("--json")
    assert options[:at] + options[at + 2 :] == asked


def test_a_command_is_asked_to_end_at_the_limit(measure: Measure) -> None:
    began = time.monotonic()
    done = measure("figures", "graphs", "ddp", HANGS="training-graphs.json", LIMIT="2")
    assert (done.returncode, time.monotonic() - began < 30) == (1, True)
    assert done.stderr.count("asked to end") == 1
    assert "graphs ended with 124" in done.stderr
    assert "ddp ended with 0" in done.stderr


@pytest.mark.parametrize("limit", ["0", "ten", "-1", "1.5"])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, measure: Measure, limit: str) -> None:
    done = measure("figures", "ddp", LIMIT=limit)
    assert (done.returncode, f"LIMIT={limit} is no number of seconds" in done.stderr) == (2, True)
    assert calls(tmp_path) == []


def test_models_are_those_that_there_are_the_most_important_first(tmp_path: Path, measure: Measure) -> None:
    parts = ["graphs", "accumulate", "compile", "ddp", "buckets", "sharded"]
    assert measure("figures", *parts).returncode == 0
    asked = {}
    for call in calls(tmp_path)[1:]:
        options = dict(zip(call[6::2], call[7::2], strict=True))
        batches = [int(each) for each in options["--batches"].split(",")]
        asked[Path(options["--json"]).name] = cases(options["--models"].split(","), batches, [25])
    assert list(asked) == [f"training-{part}.json" for part in parts]
    assert {case.step for case in asked["training-compile.json"]} == {"compile"}
    assert {case.step for case in asked["training-accumulate.json"]} == {"accumulate"}
    assert [case.batch for case in asked["training-compile.json"]] == [32, 8] * 2
    sharded = asked["training-sharded.json"]
    assert {case.parallel for case in sharded} == {"fsdp", "tensor"}
    assert [case.model for case in sharded if case.parallel == "fsdp" and case.batch == 32] == [
        "transformer", "vgg16", "alexnet", "resnet50", "resnet152", "densenet201",
    ]  # fmt: skip


def test_every_part_that_is_listed_measures_something(measure: Measure, tmp_path: Path) -> None:
    parts = re.findall(r"^  ([a-z]+) ", measure().stderr, re.MULTILINE)
    assert {"tune", "tests", "sharded"} < set(parts)
    for part in parts:
        before = len(calls(tmp_path))
        done = measure("figures", part)
        assert done.returncode == 0, done.stderr
        assert len(calls(tmp_path)) > before, part
