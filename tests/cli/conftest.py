"""Made-up documents, made-up programs that print them, and snapshots of what is shown."""

from __future__ import annotations

import copy
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

import forked
import pytest
from rich.console import Console
from sennit.baselines.run import Outcome
from sennit.model.result import Result
from sennit.verbs import torch, training

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# A made-up program: notes its arguments, then says what it was told to say.
PROGRAM = """#!{python} -IS
import json, pathlib, signal, sys, time, os
plan = json.loads(pathlib.Path(__file__ + ".json").read_text())
with open(__file__ + ".calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
said = plan.get(sys.argv[1] if len(sys.argv) > 1 else "", plan.get("*"))
if said is None:
    sys.exit("made-up program: not told what to say to " + repr(sys.argv[1:]))
sys.stderr.write(said["stderr"]); sys.stderr.flush()
time.sleep(said["sleep"])
if said["signal"]: os.kill(os.getpid(), said["signal"])
sys.stdout.write(said["stdout"])
sys.exit(said["code"])
"""


def data(name: str) -> Any:
    """A document of data/, freshly read, to be changed at will."""
    return json.loads((HERE / "data" / f"{name}.json").read_text(encoding="utf-8"))


def fill(outcome: Outcome, told: Outcome) -> None:
    """What becomes of the outcome of a job that told this."""
    vars(outcome).update(vars(told))


def kept_plans(**changes: Any) -> Any:
    """What sennit-tune says of the tuned collectives."""
    file = "/home/user/.cache/sennit/0123456789abcdef.collectives.json"
    return {"file": file, "used": True, "why": "", "table": data("plans"), "warnings": [], "left": 0} | changes


@dataclass
class Programs:
    """A folder of made-up programs."""

    folder: Path

    def add(
        self, name: str, stdout: Any = "", *, to: str = "*", stderr: str = "", code: int = 0, sleep: float = 0,
        signal: int = 0,
    ) -> None:  # fmt: skip
        """Makes the program say this when its first argument is `to` (any, by default)."""
        file = self.folder / name
        plan_file = self.folder / f"{name}.json"
        plan = json.loads(plan_file.read_text()) if plan_file.exists() else {}
        text = stdout if isinstance(stdout, str) else json.dumps(stdout)
        plan[to] = {"stdout": text, "stderr": stderr, "code": code, "sleep": sleep, "signal": signal}
        plan_file.write_text(json.dumps(plan))
        file.write_text(PROGRAM.format(python=sys.executable))
        file.chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        """The arguments of every call so far."""
        file = self.folder / f"{name}.calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def environment(self) -> dict[str, str]:
        """An environment in which `sennit` finds these programs and no setting of the caller's changes the output."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SENNIT_")}
        kept.pop("COLUMNS", None)
        kept.pop("NO_COLOR", None)
        kept.pop("FORCE_COLOR", None)
        return kept | {"SENNIT_PROGRAMS": str(self.folder), "PYTHONPATH": str(ROOT / "python")}

    def sennit(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs the command line, in the folder, as a user's shell would: through pipes."""
        return forked.sennit(*arguments, environment=self.environment() | more, folder=self.folder)


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """A folder of programs; only what says that this machine is tuned is there, which most tests take for granted."""
    folder = Programs(tmp_path)
    folder.add("sennit-tune", data("tuned"), to="cached")
    folder.add("sennit-tune", kept_plans(), to="kept")
    return folder


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch and the library to preload are there, as far as verbs look."""
    monkeypatch.setattr(util, "find_spec", lambda name: name)
    for verb in (torch, training):
        monkeypatch.setattr(verb, "library_to_preload", lambda: Path("/sennit.so"))


@pytest.fixture
def result() -> Result:
    """The made-up result."""
    return Result.model_validate(data("result"))


@pytest.fixture
def changed() -> Callable[..., Result]:
    """The made-up result with some members of its rows replaced, for those that match."""

    def change(matching: dict[str, Any], values: dict[str, Any]) -> Result:
        document = copy.deepcopy(data("result"))
        rows = [row for row in document["rows"] if matching.items() <= row.items()]
        assert rows, f"no row matches {matching}"
        for row in rows:
            row.update(values)
        return Result.model_validate(document)

    return change


def shown(draw: Callable[[Console], None], width: int = 110) -> str:
    """What a view prints on a screen without colours."""
    stream = io.StringIO()
    draw(Console(file=stream, width=width, highlight=False, emoji=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def check_snapshot(name: str, text: str) -> None:
    """Compares with snapshots/NAME. After a change that is meant: SENNIT_UPDATE_SNAPSHOTS=1 make test, then review
    the difference before committing it."""
    file = HERE / "snapshots" / name
    if os.environ.get("SENNIT_UPDATE_SNAPSHOTS"):
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"{file} is missing; write it with SENNIT_UPDATE_SNAPSHOTS=1"
    assert text == file.read_text(encoding="utf-8")
