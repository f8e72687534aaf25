"""`sennit profile` before programs and on disks that profilers stumble over: ranks that are killed, abort, spawn or
have no recorder, and files that lie elsewhere or cannot be made."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import c_programs
import pytest
import repeats
from test_c_programs import have
from test_observer import CALLS, RANKS
from test_profiled import SENNIT, calls, ours, report, start


@pytest.mark.parametrize(
    ("name", "how"),
    repeats.in_turn(["mpich", "openmpi"], ["SIGKILL", "abort", "MPI_Abort"]),
)
def test_ranks_that_end_early_lose_nothing(name: str, how: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_killed.c")
    folder = tmp_path / "run"
    done = start(program.found, tmp_path, *SENNIT, "profile", "-o", str(folder), "--", *program.start(RANKS, how))
    assert done.returncode != 0, "the exit code is the command's"
    if how == "MPI_Abort":
        assert done.returncode == 7
    document = report(folder)
    ended = Counter(rank["ended"] for rank in document["ranks"])
    assert ended["killed"] >= 1 or how == "MPI_Abort"
    assert calls(document)["MPI_Allreduce"] >= 100 * (RANKS - 1)
    assert ("were killed, or have not ended" in done.stderr) == bool(ended["killed"])


@pytest.mark.parametrize(("name", "how"), [("mpich", "SIGKILL"), ("openmpi", "finalized")])
def test_files_on_the_node_are_brought_at_the_end(name: str, how: str, tmp_path: Path) -> None:
    """By the ranks themselves, or by `sennit profile` where they were killed."""
    program, _ = have(name, "c_killed.c" if how == "SIGKILL" else "c_observed.c")
    folder, node = tmp_path / "run", tmp_path / "node"
    node.mkdir()
    command = ["profile", "-o", str(folder), "--", *program.start(RANKS, *([how] if how == "SIGKILL" else []))]
    done = start(program.found, tmp_path, *SENNIT, *command, SENNIT_PROFILE_NODE_FOLDER=str(node))
    assert (done.returncode == 0) == (how != "SIGKILL"), done.stderr
    document = report(folder)
    assert calls(document)["MPI_Allreduce"] >= (100 if how == "SIGKILL" else RANKS * CALLS["MPI_Allreduce"])
    assert document["unreadable"] == []
    files = [*folder.glob("*.sennit-profile")]
    assert files
    assert not any(file.is_symlink() for file in files)
    assert not [*node.iterdir()], "nothing is left there"


@pytest.mark.parametrize(("name", "kept"), [("mpich", "in the file"), ("openmpi", "in memory")])
def test_an_unruly_program_is_as_it_is_alone_and_its_calls_are_there(name: str, kept: str, tmp_path: Path) -> None:
    """c_unruly.c; once where no file can be made at the start: the profile is in memory until the end."""
    program, _ = have(name, "c_unruly.c")
    part = c_programs.compiled(name, "c_unruly.c", shared=True, options=("-DPART",))
    assert isinstance(part, c_programs.Program)
    command = program.start(RANKS, str(part.path))
    alone = start(program.found, tmp_path, *command)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    no_folder = 'rmdir "$SENNIT_PROFILE" && touch "$SENNIT_PROFILE" && exec "$@"'
    before = ("sh", "-c", no_folder, "sh") if kept == "in memory" else ()
    folder = tmp_path / "run"
    done = start(program.found, tmp_path, *SENNIT, "profile", "-o", str(folder), "--", *before, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    made, said = done.stdout.splitlines()
    assert said == "all arrived"
    document = report(folder)
    assert calls(document)["MPI_Allreduce"] == RANKS * int(made.split()[0])
    assert "MPI_Send" not in calls(document), "a child's"
    assert [(rank["rank"], rank["ended"]) for rank in document["ranks"]] == [(0, "finalized"), (1, "finalized")]
    assert document["unreadable"] == document["missing"] == []
    assert len([*folder.glob("*.sennit-profile")]) == RANKS, "none of what it started"
    assert done.stderr.count("kept in memory until processes end") == bool(before), done.stderr
    assert "MPI_Allreduce" in done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_where_nothing_can_be_written_a_line_tells_of_one_rank(name: str, tmp_path: Path) -> None:
    """A folder in which nobody may make a file, not even root."""
    program, _ = have(name, "c_observed.c")
    *launch, path = program.start(RANKS)
    done = start(program.found, tmp_path, *launch, *SENNIT, "profile", "-o", "/sys", "--", path)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    assert done.stderr.count("kept in memory until processes end") == 1, done.stderr
    lost = re.findall(r"the profile is lost, but for this of rank [01]: .* s in (\d+) calls: MPI_", done.stderr)
    assert [int(calls) > CALLS["MPI_Allreduce"] for calls in lost] == [True]


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_ranks_without_the_recorder_are_named(name: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_observed.c")
    *launch, path = program.start(RANKS)
    script = tmp_path / "without"
    script.write_text('test "${PMIX_RANK:-$PMI_RANK}" = 1 && unset LD_PRELOAD\nexec "$1"\n', encoding="utf-8")
    folder = tmp_path / "run"
    command = ["profile", "-o", str(folder), "--", *launch, "sh", str(script), path]
    done = start(program.found, tmp_path, *SENNIT, *command)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    assert "Ranks 1 wrote no file: their calls are missing here." in done.stderr
    document = report(folder)
    assert document["missing"] == [1]
    assert calls(document)["MPI_Allreduce"] == CALLS["MPI_Allreduce"]


def test_spawned_ranks_are_named(tmp_path: Path) -> None:
    program, _ = have("mpich", "c_spawned.c")
    folder = tmp_path / "run"
    command = ["profile", "--accelerate", "-o", str(folder), "--", *program.start(RANKS)]
    done = start(program.found, tmp_path, *SENNIT, *command, SENNIT_EMULATE="1")
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    assert len(report(folder)["unreadable"]) == 2
    told = " ".join(done.stderr.split())  # lines break where the numbers of processes let them
    assert told.count("is there already, of a process that began before") == 2, done.stderr


def test_a_program_that_calls_nothing_is_told_so(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [*SENNIT, "profile", "-o", str(folder), "--", "sh", "-c", "exit 3"]
    done = subprocess.run(command, env=os.environ | ours(), capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "no process wrote anything here: the program called neither MPI nor NCCL" in done.stderr
