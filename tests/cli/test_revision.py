"""Which sennit a result was measured with."""

from __future__ import annotations

from pathlib import Path

import pytest
from sennit import __version__
from sennit.baselines.torch_job import Told
from sennit.programs.places import VARIABLE
from sennit.programs.revision import revision
from sennit.verbs import torch_jobs


def program(folder: Path, name: str, text: bytes) -> None:
    (folder / name).write_bytes(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def test_it_is_that_of_the_programs(folder: Path) -> None:
    version = __version__.encode()
    program(folder, "sennit-bench-put", b"")
    program(folder, "sennit-bench-collective", b"\x7fELF\0" + version + b"\0" + version + b"+3cf2cc5524-dirty\0more")
    assert revision() == f"{__version__}+3cf2cc5524-dirty"
    assert torch_jobs.document("bench torch", Told(), {}, [], [])["versions"] == {"sennit": revision()}


def test_without_a_commit_it_is_the_version(folder: Path) -> None:
    assert revision() == __version__, "there are no programs"
    program(folder, "sennit-bench-put", b"\0" + __version__.encode() + b"\0")
    assert revision() == __version__
