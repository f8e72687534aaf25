"""Jobs of PyTorch ranks: what a rank sees, and what comes of what ranks say."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import ROOT
from sennit.baselines import torch_job
from sennit.baselines.run import MARK, Outcome


def test_ranks_see_the_drop_in_or_do_not() -> None:
    inherited = {"LD_PRELOAD": "/other.so", "PATH": "/bin", "PYTHONPATH": "/own"}
    under = torch_job.environment(inherited, 2, 4, 29500, "/sennit.so:/other.so")
    assert (under["LD_PRELOAD"], under["RANK"], under["WORLD_SIZE"]) == ("/sennit.so:/other.so", "2", "4")
    assert "NCCL_NVLS_ENABLE" not in under, "what users have is what is measured"
    assert under["PYTHONPATH"].endswith(":/own")
    assert "LD_PRELOAD" not in torch_job.environment({}, 0, 4, 29500, "")
    assert torch_job.environment({"NCCL_NVLS_ENABLE": "1"}, 0, 4, 1, "")["NCCL_NVLS_ENABLE"] == "1"


def test_why_the_drop_in_did_nothing_is_a_warning() -> None:
    assert torch_job.said_by_sennit([
        "sennit warning (process 12): a communicator of 2 ranks is left to NCCL: no memory",
        "sennit: the program runs without sennit: SENNIT_TAKE=some is no choice of calls",
        "sennit info (process 12): a communicator of 2 ranks is also sennit's",
        "Some warning of PyTorch's",
    ]) == [
        "a communicator of 2 ranks is left to NCCL: no memory",
        "the program runs without sennit: SENNIT_TAKE=some is no choice of calls",
    ]  # fmt: skip


def test_how_calls_go_is_no_reason_of_a_failure() -> None:
    outcome = Outcome()
    for line in ("out of memory", "sennit: allreduce of 1 KiB: NCCL: measured faster at 1 KiB", "sennit: rank 1: no"):
        outcome.complain(line)
    assert outcome.errors == ["out of memory", "sennit: rank 1: no"]
    assert outcome.explained == ["sennit: allreduce of 1 KiB: NCCL: measured faster at 1 KiB"]
    outcome.errors.pop()
    outcome.complain("sennit: bcast of 8 B: NCCL: it is too small")
    assert outcome.why([-9], 60) == "it ended with signal 9 (out of memory)"


def test_what_marks_a_run_is_no_switch() -> None:
    """It was once: the drop-in in a rank read the folder as SENNIT_PEER, and left all to NCCL."""
    switches = (ROOT / "docs" / "use" / "environment.md").read_text(encoding="utf-8")
    assert f"`{MARK}`" not in switches
    assert "`SENNIT_PEER`" in switches


def test_what_ranks_said_is_told_once() -> None:
    first = Outcome(rows=[{"machine": {"name": "here"}}], versions={"torch": "2.11"}, warnings=["slow"])
    second = Outcome(versions={"nccl": "2.28"}, warnings=["slow"], errors=["sennit error (process 7): no memory"])
    told = torch_job.told([first, second])
    assert told.machine == {"name": "here"}
    assert told.versions == {"torch": "2.11", "nccl": "2.28"}
    assert told.warnings == ["slow", "no memory"]
    assert torch_job.told([]).machine == {"name": "unknown"}


RANK = """
import json, os, sys
print("sennit-peer: " + json.dumps({"row": {"rank": os.environ["RANK"], "asked": open(sys.argv[1]).read()}}))
"""


def test_every_rank_is_started_with_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "made_up_rank.py").write_text(RANK)
    inherited = {"PATH": "/bin", "PYTHONPATH": str(tmp_path)}
    outcome = torch_job.run("made_up_rank", "so much", 2, inherited, "", 20, lambda *_: None)
    assert outcome.reason == "", outcome.errors
    assert sorted(row["rank"] for row in outcome.rows) == ["0", "1"]
    assert {row["asked"] for row in outcome.rows} == {"so much"}
    assert torch_job.command("it", Path("/job"), 3) == [sys.executable, "-m", "it", "/job", "3"]
