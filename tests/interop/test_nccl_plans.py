"""By what plans the drop-in's collectives go, where the user allows NCCL few CTAs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import drop_in
import nccl_programs
import pytest

LIMITED = ["own", "of_one_rank", "limited_part", "part", "part_of_part", "shrunk", "grown"]
UNLIMITED = ["unlimited", "unlimited_part"]
MANY, ALLOWED = 16, 4  # blocks; the latter as the program has it


@cache
def compiled() -> nccl_programs.Program | str:
    """The program, beside the tests' NCCL; or why it cannot be had."""
    beside = nccl_programs.compiled(None)
    if isinstance(beside, str):
        return beside
    program = beside.path.with_name("few_blocks")
    command = ["gcc", *nccl_programs.flags(), "-o", str(program), *nccl_programs.sources("c_nccl_few_blocks"),
               str(beside.library / "libnccl.so.2")]  # fmt: skip
    subprocess.run(command, check=True)
    return nccl_programs.Program(program, beside.library)


def measured(folder: Path, *blocks: int) -> dict[str, str]:
    """As if two ranks' allreduces of 256 KiB had measured faster than NCCL's by plans of so many blocks."""
    beside = ".".join(map(str, nccl_programs.version_of(nccl_programs.headers()[0])))
    tuned = nccl_programs.tuned({256: 1e6}, beside=beside)
    for each in tuned.iterdir():
        shutil.copy(each, folder)
    (file,) = folder.glob("*.collectives.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    (entry,) = table["entries"]
    entry["plans"] = [entry["plans"][0] | {"algorithm": "two_shot", "blocks": each} for each in blocks]
    file.write_text(json.dumps(table), encoding="utf-8")
    return {"SENNIT_TAKE": "measured", "SENNIT_CACHE": str(folder)}


def run(which: str, settings: dict[str, str]) -> nccl_programs.Job:
    """The program with the drop-in, which is right; an allreduce between two ranks."""
    program, library = compiled(), drop_in.library()
    for each in (program, library):
        if isinstance(each, str):
            pytest.skip(each)
    assert isinstance(program, nccl_programs.Program)
    assert isinstance(library, Path)
    ranks = 3 if which == "shrunk" else 2
    job = program.run(which, ranks, library, settings)
    assert job.output == ["all right\n"] * ranks, job.text
    return job


def plan(which: str, settings: dict[str, str]) -> str:
    """How that allreduce goes."""
    job = run(which, settings)
    said = re.search(r"allreduce +to 256 KiB +1 +\S+ \S+ +\S+  (.*)", job.errors[0])
    assert said, job.text
    return said[1]


def blocks(which: str, settings: dict[str, str]) -> int:
    """Of that plan."""
    how = plan(which, settings)
    found = re.fullmatch(r"\w+ (\d+)x\d+", how)
    assert found, how
    return int(found[1])


@pytest.mark.parametrize("which", UNLIMITED)
def test_without_a_limit_the_fastest_plan_is_taken(which: str, tmp_path: Path) -> None:
    assert blocks(which, measured(tmp_path, MANY, ALLOWED)) == MANY


@pytest.mark.parametrize("which", LIMITED)
def test_no_plan_has_more_blocks_than_the_configuration_allows(which: str, tmp_path: Path) -> None:
    assert blocks(which, measured(tmp_path, MANY, ALLOWED)) == ALLOWED


@pytest.mark.parametrize("which", ["own", "part", "limited_part"])
def test_what_needs_more_blocks_is_nccls(which: str, tmp_path: Path) -> None:
    said = plan(which, measured(tmp_path, MANY))
    assert said.startswith("NCCL: no plan that was measured at"), said


@pytest.mark.parametrize(
    ("allowed", "expected"), [("16", 16), ("2", 2), ("0x2", 2), ("0", 4), ("-1", 4), ("many", 4)]
)
def test_the_environment_counts_for_more(allowed: str, expected: int, tmp_path: Path) -> None:
    settings = measured(tmp_path, MANY, ALLOWED, 2) | {"NCCL_MAX_CTAS": allowed}
    assert blocks("own", settings) == expected


@pytest.mark.parametrize(
    ("channels", "ctas", "expected"), [("2", "", 2), ("16", "", 4), ("2", "16", 2), ("4", "16", 4)]
)
def test_channels_are_a_limit_too(channels: str, ctas: str, expected: int, tmp_path: Path) -> None:
    settings = measured(tmp_path, MANY, ALLOWED, 2) | {"NCCL_MAX_NCHANNELS": channels}
    assert blocks("own", settings | ({"NCCL_MAX_CTAS": ctas} if ctas else {})) == expected


@pytest.mark.parametrize(("which", "policy"), [("zero", ""), ("unlimited", "ZERO"), ("own", "2")])
def test_who_wants_no_ctas_has_nccl_alone(which: str, policy: str, tmp_path: Path) -> None:
    settings = measured(tmp_path, MANY, ALLOWED) | ({"NCCL_CTA_POLICY": policy} if policy else {})
    job = run(which, settings)
    assert "NCCL: a rank wants no CTAs (NCCL_CTA_POLICY)" in job.errors[0], job.errors[0]
    assert "left to NCCL" not in job.text, "it is as the user has it"


def test_a_named_table_that_cannot_be_read_leaves_calls_to_nccl(tmp_path: Path) -> None:
    job = run("unlimited", measured(tmp_path, MANY) | {"SENNIT_TABLE": str(tmp_path / "nowhere.json")})
    said = [len(re.findall("left to NCCL: .*SENNIT_TABLE", each)) for each in job.errors]
    assert said == [1, 0], job.text
