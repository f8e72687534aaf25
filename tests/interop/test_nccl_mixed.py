"""The drop-in for NCCL where it is not the same on all ranks, or is there twice."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import nccl_programs
import pytest
import sennit
from nccl_programs import expect_right, have


def copied(library: Path, folder: Path) -> Path:
    """Another copy of the preloaded library and of the drop-in behind it."""
    for name in (library.name, "libsennit-nccl.so"):
        shutil.copy(library.with_name(name), folder / name)
    return folder / library.name


def another_version(library: Path, folder: Path) -> Path:
    """As if another version of sennit had been built. Skips where the version is not found in the drop-in."""
    copy = copied(library, folder)
    behind = copy.with_name("libsennit-nccl.so")
    built = behind.read_bytes()
    ours = sennit.__version__.encode()
    changed, count = re.subn(rb"(?<![\w.])" + re.escape(ours) + rb"(?=\0)", b"x" * len(ours), built)
    if count != 1:
        pytest.skip("this build keeps its version elsewhere")
    behind.write_bytes(changed)
    return copy


@pytest.mark.parametrize("without", [(0,), (2,)])
def test_a_rank_without_the_drop_in_leaves_all_to_nccl(without: tuple[int, ...]) -> None:
    program, library = have()
    job = program.run("collectives", 3, library, without=without)
    expect_right(job)
    assert job.asked("AllReduce") == 3 * 4 * 4
    said = [line for each in job.errors for line in each.splitlines() if "left to NCCL" in line]
    assert len(said) == 1, job.text
    assert "not all 3 ranks of a communicator run with this build of sennit" in said[0]


@pytest.mark.parametrize("without", [(0, 1, 2), (0,), (2,)])
def test_ranks_that_get_no_unix_sockets_leave_all_to_nccl(without: tuple[int, ...]) -> None:
    """They cannot say that they are there, and say so."""
    program, library = have()
    preloaded = {"LD_PRELOAD": f"{library}:{nccl_programs.without_unix_sockets()}"}
    job = program.run("collectives", 3, library, own=dict.fromkeys(without, preloaded))
    expect_right(job)
    assert job.asked("AllReduce") == 3 * 4 * 4
    for rank in without:
        assert job.errors[rank].count(f"rank {rank} cannot announce itself") == 1, job.text
        assert "Too many open files" in job.errors[rank], job.text
    said = [line for each in job.errors for line in each.splitlines() if "left to NCCL" in line]
    assert len(said) == len(without) + (len(without) < 3), job.text


def test_ranks_of_two_versions_of_sennit_are_left_to_nccl(tmp_path: Path) -> None:
    program, library = have()
    other = another_version(library, tmp_path)
    job = program.run("collectives", 3, other, own={0: {"LD_PRELOAD": str(library)}})
    expect_right(job)
    assert job.asked("AllReduce") == 3 * 4 * 4
    assert "not all 3 ranks of a communicator run with this build of sennit" in job.errors[0], job.errors[0]


def test_ranks_with_other_tables_are_left_to_nccl(tmp_path: Path) -> None:
    """All go by the same, or by none."""
    program, library = have()
    cache = nccl_programs.tuned({1: 1e6, 4: 1e6, 256: 0.5})
    other = shutil.copytree(cache, tmp_path / "other")
    (file,) = other.glob("*.collectives.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    table["entries"][0]["nccl_us"] = 2e6
    file.write_text(json.dumps(table), encoding="utf-8")
    settings = {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)}
    job = program.run("collectives", 2, library, settings, own={1: {"SENNIT_CACHE": str(other)}})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert "not all ranks have the same table" in job.errors[0], job.errors[0]


@pytest.mark.parametrize("own", [{1: {"SENNIT_SCRATCH": "16M"}}, {}])
def test_rank_0s_scratch_counts_for_its_table_too(own: dict[int, dict[str, str]]) -> None:
    program, library = have()
    cache = nccl_programs.tuned({1: 1e6, 4: 1e6, 256: 0.5})
    settings = {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(cache)}
    job = program.run("collectives", 2, library, settings, own=own)
    expect_right(job)
    assert "left to NCCL" not in job.text
    assert job.asked("AllReduce") < 2 * 4 * 4


@pytest.mark.parametrize("unread", [0, 1])
def test_a_table_that_is_of_no_use_is_told_with_its_rank(unread: int, tmp_path: Path) -> None:
    program, library = have()
    nowhere = str(tmp_path / "nowhere.json")
    job = program.run("collectives", 2, library, {"SENNIT_TAKE": "measured"}, own={unread: {"SENNIT_TABLE": nowhere}})
    expect_right(job)
    said = [line for line in job.errors[0].splitlines() if "left to NCCL" in line]
    assert len(said) == 1, job.text
    assert nowhere in said[0], said
    assert f"rank {unread}" in said[0] or unread == 0, said


@pytest.mark.parametrize("test", ["collectives", "groups", "divided"])
def test_a_second_copy_of_the_preloaded_library_does_nothing(test: str, tmp_path: Path) -> None:
    program, library = have()
    job = program.run(test, 4, Path(f"{library}:{copied(library, tmp_path)}:{nccl_programs.driver()}"))
    expect_right(job)
    assert job.asked("AllReduce") == 0
    assert job.errors[0].count("sennit") == 1, job.errors[0]


@pytest.mark.parametrize("other", [{"SENNIT_OPS": "allreduce"}, {"SENNIT_TAKE": "measured"}])
def test_ranks_that_were_told_other_things_are_left_to_nccl(other: dict[str, str]) -> None:
    program, library = have()
    job = program.run("collectives", 2, library, own={1: other})
    expect_right(job)
    assert job.asked("AllReduce") == 2 * 4 * 4
    assert "rank 1 has another SENNIT_TAKE or SENNIT_OPS than rank 0" in job.errors[0], job.errors[0]
