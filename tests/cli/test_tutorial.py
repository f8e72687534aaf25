"""docs/tune/machine-by-hand.md: its commands run as they stand there, and print what stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "tune" / "machine-by-hand.md"
FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")
PROGRESS = re.compile(r"simulating \(\d+ s\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, kind: str) -> list[str]:
    """What stands between fences of a kind."""
    return [found.group(2) for found in FENCE.finditer(page) if found.group(1) == kind]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of the page in a shell: in `folder`, with `sennit` on the path, stderr behind stdout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SENNIT_")}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    environment = kept | {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "SENNIT_PROGRAMS": FOLDER,
        "SENNIT_EXECUTOR": "host",
        "SENNIT_CACHE": str(folder / "cache"),
    }
    return subprocess.run(
        ["bash", "-c", command],
        env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def performed(block: str, folder: Path) -> str:
    """The block with what its commands print now."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        done = run(command, folder)
        assert done.returncode == (2 if done.stdout.startswith("sennit: ") else 0), f"{command}\n{done.stdout}"
        said = [line.rstrip() for line in done.stdout.splitlines()]
        # How long it takes so far, which a busy machine prints.
        lines += [f"$ {command}", *(line for line in said if not PROGRESS.fullmatch(line))]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(not FOLDER, reason="SENNIT_TEST_PROGRAMS names no folder; make test sets it")
def test_the_page_prints_what_its_commands_print(tmp_path: Path) -> None:
    """After a change that is meant: SENNIT_UPDATE_SNAPSHOTS=1, as for snapshots, rewrites the page."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "sennit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sennit "$@"\n')
    command.chmod(0o755)
    page = PAGE.read_text(encoding="utf-8")
    now = page
    for block in blocks(page, "console"):
        now = now.replace(f"```console\n{block}```", f"```console\n{performed(block, tmp_path)}```", 1)
    if os.environ.get("SENNIT_UPDATE_SNAPSHOTS"):
        PAGE.write_text(now, encoding="utf-8")
    assert now == PAGE.read_text(encoding="utf-8"), "rewrite the page with SENNIT_UPDATE_SNAPSHOTS=1"
    assert now.count("\nsennit: wrong.json: ") >= 3, "mistakes and their errors"


def test_parts_of_the_template_are_shown_as_they_are() -> None:
    template = json.loads((ROOT / "examples" / "machine-template.json").read_text(encoding="utf-8"))
    parts = [json.loads(block) for block in blocks(PAGE.read_text(encoding="utf-8"), "json")]
    assert parts
    for part in parts:
        assert part in template["links"] + template["devices"]


def test_everything_in_fences_is_run_or_compared() -> None:
    kinds = {found.group(1) for found in FENCE.finditer(PAGE.read_text(encoding="utf-8"))}
    assert kinds == {"console", "json"}
