"""Jobs of Python ranks over libsennit.so on the host executor: each a process that runs one scenario of a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sennit.capi import SennitError
from sennit.capi.library import NAME, library
from sennit.programs.places import VARIABLE

HERE = Path(__file__).resolve().parent
FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")
SECONDS = 120  # how long a job may take


@dataclass(frozen=True)
class Rank:
    """How one rank ended: its exit code and what it said."""

    code: int
    output: str
    errors: str


def environment() -> dict[str, str]:
    """What ranks see: no setting and no measured machine of whoever runs the tests."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "LD_PRELOAD"))}
    ours = {
        "SENNIT_EXECUTOR": "host",
        "SENNIT_CACHE": "/nonexistent/sennit",
        "SENNIT_TIMEOUT": "20",
        "PYTHONPATH": os.pathsep.join((str(HERE.parent.parent / "python"), str(HERE))),
    }
    return kept | ours | ({VARIABLE: FOLDER} if FOLDER else {})


def need_library() -> None:
    """Skips the test where the library is not built."""
    import pytest  # GPU machines may lack it, whose jobs are not for pytest

    if FOLDER and not (Path(FOLDER).resolve().parent / "lib" / NAME).exists():
        pytest.skip(f"{NAME} is not built")
    try:
        library()
    except SennitError as error:
        pytest.skip(str(error))


def run(
    file: str, scenario: str, ranks: int, folder: Path, *, more: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> list[Rank]:  # fmt: skip
    """Runs `PYTHON FILE SCENARIO FOLDER` as this many ranks. None lives for longer than SECONDS."""
    common = environment() | {
        "TORCHELASTIC_RUN_ID": f"sennit-tests-{uuid.uuid4()}",
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
    }
    command = [python, "-B", str(HERE / file), scenario, str(folder)]
    started = [
        subprocess.Popen(
            command, env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)} | dict(more or {}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    until = time.monotonic() + SECONDS
    ended = []
    try:
        for process in started:
            try:
                said = process.communicate(timeout=max(until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                said = process.communicate()
            ended.append(Rank(process.returncode, *said))
    finally:
        for process in started:
            process.kill()  # nothing where it has ended
            process.wait()
    return ended


def expect_right(ended: list[Rank]) -> None:
    """Every rank went through its scenario to the end."""
    assert [rank.code for rank in ended] == [0] * len(ended), "\n".join(rank.errors[-3000:] for rank in ended)
    assert [rank.output for rank in ended] == ["all right\n"] * len(ended)
