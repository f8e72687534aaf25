"""Buffers that a program registers with NCCL, under the drop-in."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from nccl_programs import Job, expect_right, have, tuned


@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_between_windows_go_straight(ranks: int) -> None:
    """Those of ncclCommWindowRegister, as long as they are registered, where the program promises equal offsets."""
    program, library = have()
    job = program.run("windows", ranks, library)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("AllGather") == 0
    said = job.errors[0]
    # Three rounds with four calls between windows each. Behind two of them are two without, a fourth registers none
    # that is symmetric, and at last one buffer alone is registered.
    assert re.search(r"allreduce +to \d+ KiB +12 .*two_shot_windows", said), said
    assert re.search(r"allreduce +to \d+ KiB +10 .*two_shot_whole", said), said


def test_windows_where_a_rank_does_not_block_are_nccls() -> None:
    """Nobody waits for a rank that does not come."""
    program, library = have()
    settings = {"SENNIT_TIMEOUT": "1", "SENNIT_LOG": "info"}
    job = program.run("windows", 2, library, settings, own={1: {"NCCL_COMM_BLOCKING": "0"}})
    expect_right(job)
    assert "_windows" not in job.errors[0], job.errors[0]
    assert all("used by NCCL alone" not in each for each in job.errors), "a rank waited for the other in vain"


def test_windows_where_a_rank_has_no_drop_in() -> None:
    program, library = have()
    job = program.run("windows", 3, library, without=(1,))
    expect_right(job)
    assert "windows" not in job.errors[0], job.errors[0]


def as_tuned(nccl_us: float, between_windows: float | None, folder: Path) -> Job:
    """The program, where NCCL took so long for allreduces in ordinary buffers and between windows; none: these were
    not tuned."""
    program, library = have()
    cache = tuned({32: 1e6})
    shutil.copytree(cache, folder, dirs_exist_ok=True)
    (file,) = folder.glob("*.collectives.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    (ordinary,) = table["entries"]
    ordinary["nccl_us"] = nccl_us
    if between_windows is not None:
        straight = ordinary["plans"][0] | {"algorithm": "two_shot_windows"}
        table["entries"].append(ordinary | {"windows": True, "plans": [straight], "nccl_us": between_windows})
    file.write_text(json.dumps(table), encoding="utf-8")
    job = program.run("windows", 2, library, {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(folder)})
    expect_right(job)
    return job


# Of each rank's 22 allreduces, 12 are between windows.
@pytest.mark.parametrize(("nccl_us", "between_windows", "nccls"), [(0.5, 1e6, 10), (1e6, 0.5, 12), (0.5, 0.5, 22)])
def test_what_measured_faster_between_windows_decides_there(
    nccl_us: float, between_windows: float, nccls: int, tmp_path: Path
) -> None:
    job = as_tuned(nccl_us, between_windows, tmp_path)
    assert job.asked("AllReduce") == 2 * nccls, job.errors[0]
    straight = re.search(r"allreduce +to \d+ KiB +12 .*two_shot_windows", job.errors[0])
    assert (straight is not None) == (between_windows > 1), job.errors[0]
    left = re.search(r"allreduce .*NCCL: measured faster at \d+ KiB between windows \(0.5 µs", job.errors[0])
    assert (left is not None) == (between_windows < 1), job.errors[0]


@pytest.mark.parametrize(("nccl_us", "nccls"), [(0.5, 22), (1e6, 0)])
def test_where_windows_were_not_tuned_ordinary_buffers_decide(nccl_us: float, nccls: int, tmp_path: Path) -> None:
    job = as_tuned(nccl_us, None, tmp_path)
    assert job.asked("AllReduce") == 2 * nccls, job.errors[0]
    assert ("two_shot_windows" in job.errors[0]) == (nccls == 0), job.errors[0]
