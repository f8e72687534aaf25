"""`sennit profile` before programs: what it writes down equals the calls that they make, over each MPI,
alone and accelerated, and also of ranks that are killed. The file is long, as its tests share what starts
programs and reads profiles."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import c_programs
import drop_in
import pytest
from mpi_headers import ROOT
from sennit.baselines import mpi
from test_c_programs import have
from test_observer import AFTER, CALLS, LENGTH, RANKS, WITH_MEMORY, each_library

SENNIT = [sys.executable, "-m", "sennit"]
# c_observed.c makes so many more while another observer stands aside (MPI_Pcontrol).
MADE = {**CALLS, "MPI_Barrier": CALLS["MPI_Barrier"] + 6}


def start(found: mpi.Installed, files: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A command of a job, or of this tree's command line, with the programs that are tested. `files`: the MPI's."""
    return subprocess.run(
        ["timeout", "-k", "5", "100", *command],
        env=drop_in.environment(found, files, None) | ours() | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def ours() -> dict[str, str]:
    library = drop_in.library()
    if isinstance(library, str):
        pytest.skip(library)
    return {"SENNIT_PROGRAMS": str(library.parent.parent / "bin"), "PYTHONPATH": str(ROOT / "python")}


def report(folder: Path) -> Any:
    done = subprocess.run([*SENNIT, "report", str(folder), "--json"], env=os.environ | ours(), capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def calls(document: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in document["rows"]:
        found[row["function"]] += row["calls"]
    return found


def reported(said: str) -> dict[str, set[str]]:
    """What the report of SENNIT_REPORT, which is rank 0's, names as who did calls; by operation."""
    found: dict[str, set[str]] = {}
    for line in said.partition(" a call  how\n")[2].splitlines():
        if not (row := re.fullmatch(r"(\w+) +(?:to|above) \S+ \S+ +\d+ +.+? +[\d.]+  (\S.+)", line)):
            break
        found.setdefault(row[1].replace("_", ""), set()).add(row[2])
    return found


def expect_done_as(told: dict[str, set[str]], document: Any) -> None:
    """The profile, which is of all ranks, names the same. What the drop-in makes two calls of, as of MPI_Sendrecv, is
    one call there, and what is persistent is done where it starts."""
    found: dict[str, set[str]] = {}
    for row in document["rows"]:
        name = row["function"].removeprefix("MPI_").removeprefix("nccl").lower().replace("broadcast", "bcast")
        found.setdefault(name.replace("_", ""), set()).update({row["how"]} - {None})
    for name, how in told.items():
        if not name.endswith("init"):
            assert name not in found or how <= found[name], (name, told, found)
    assert bool(told) == any(found.values()), (told, found)


def profiled(program: c_programs.Program, folder: Path, *options: str, arguments: tuple[str, ...] = ()) -> Any:
    """The document of a run that has to end well."""
    accelerates = "--accelerate" in options
    command = ["profile", "-o", str(folder), *options, "--", *program.start(RANKS, *arguments)]
    settings = {"SENNIT_EMULATE": str(int(accelerates)), "SENNIT_REPORT": "1"}
    done = start(program.found, folder.parent, *SENNIT, *command, **settings)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr
    assert f"the profile goes to {folder}" in done.stderr
    assert "of run time" in done.stderr
    assert "More: sennit report" in done.stderr
    document = report(folder)
    told = reported(done.stderr)
    assert bool(told) == accelerates, done.stderr
    expect_done_as(told, document)
    return document


@pytest.mark.parametrize("way", ["alone", "accelerated"])
@each_library
def test_a_profile_has_every_call(name: str, way: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_observed.c")
    options = ("--accelerate",) if way == "accelerated" else ()
    document = profiled(program, tmp_path / "run", *options, arguments=("gpu",) if options else ())
    made = calls(document)
    made.pop(AFTER, None)
    assert made == {name: RANKS * times for name, times in MADE.items()}
    memory = "gpu" if options else "host"
    for row in document["rows"]:
        if row["function"] not in WITH_MEMORY:
            continue
        sides = {row["memory_in"], row["memory_out"]} - {"none"}
        assert sides == {memory}, row
        assert max(row["bytes_in"], row["bytes_out"]) == row["calls"] * 4 * LENGTH, row
        assert (row["from_bytes"], row["to_bytes"]) == (2049, 4096)
        assert row["communicator_size"] == RANKS
        assert row["processes"] == RANKS or options, "with the drop-in, ranks may do a call in other ways"
    assert {row["reduction"] for row in document["rows"] if row["function"] == "MPI_Allreduce"} == {"sum"}
    sends = CALLS["MPI_Isend"] + CALLS["MPI_Sendrecv"]
    assert document["partners"] == [
        {"from": rank, "to": 1 - rank, "messages": sends, "bytes": sends * 4 * LENGTH} for rank in range(RANKS)
    ]
    assert [rank["ended"] for rank in document["ranks"]] == ["finalized"] * RANKS
    assert document["accelerated"] == bool(options)
    assert (document["missing"], document["unreadable"]) == ([], [])


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_what_ends_a_request_is_told_to_its_begin(name: str, tmp_path: Path) -> None:
    """And what asks in vain, in what phase (c_profiled.c)."""
    program, _ = have(name, "c_profiled.c")
    document = profiled(program, tmp_path / "run")
    told: dict[str, Counter[str]] = {
        part: Counter() for part in ("calls", "requests", "received_bytes", "misses", "unseen")
    }
    phases: dict[str, set[str | None]] = {}
    for row in document["rows"]:
        for part, counts in told.items():
            counts[row["function"]] += row[part]
        phases.setdefault(row["function"], set()).add(row["phase"])
        assert row["flight_seconds"] >= row["waited_seconds"] >= 0
        assert (row["flight_seconds"] > 0) == (row["requests"] > 0)
    sent = 800  # bytes of a message
    ended = {"MPI_Isend": 5, "MPI_Irecv": 9, "MPI_Send_init": 3, "MPI_Recv_init": 3, "MPI_Ibarrier": 1}
    assert +told["requests"] == {name: RANKS * times for name, times in ended.items()}
    assert told["calls"]["MPI_Irecv"] == 11 * RANKS, "one was cancelled, and one ended where nobody looked"
    assert +told["unseen"] == {"MPI_Irecv": RANKS}
    assert told["calls"]["MPI_Isend"] == 6 * RANKS, "one was freed"
    assert +told["received_bytes"] == {
        "MPI_Irecv": RANKS * 9 * sent, "MPI_Recv_init": RANKS * 3 * sent, "MPI_Recv": RANKS * sent
    }  # fmt: skip
    assert told["misses"]["MPI_Iprobe"] == 5 * RANKS
    polls = {each["function"]: each for each in document["polls"]}["MPI_Iprobe"]
    assert (polls["calls"], polls["misses"]) == (5 * RANKS, 5 * RANKS)
    assert 0 < polls["missed_seconds"] <= polls["seconds"]
    assert phases["MPI_Init"] == {"early"}
    assert phases["MPI_Irecv"] == {"exchange", None}
    assert phases["MPI_Waitany"] == {"exchange"}
    assert phases["MPI_Iprobe"] == {"level 2"}
    assert phases["MPI_Finalize"] == {None}
    assert document["partners"] == [
        {"from": rank, "to": 1 - rank, "messages": 14, "bytes": 14 * sent} for rank in range(RANKS)
    ]
    assert [(each["type"], each["bytes"] > 0) for each in document["types"]] == [("MPI_DOUBLE", True)]
    registered = {each.pop("function"): each for each in document["registered"]}
    assert registered == {
        name: {"processes": RANKS, "calls": RANKS * times, "bytes": RANKS * size, "most_bytes": most,
               "left_bytes": RANKS * left}
        for name, times, size, most, left in (
            ("MPI_Alloc_mem", 3, 1600, 1500, 100), ("MPI_Win_create", 1, 800, 800, 0),
            ("MPI_Win_attach", 2, 96, 96, 0),
        )
    }  # fmt: skip
    assert {rank["registered_most_bytes"] for rank in document["ranks"]} == {1500}


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_calls_in_a_pause_are_not_recorded_and_what_is_around_it_is_whole(name: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_paused.c")
    document = profiled(program, tmp_path / "run")
    told: dict[str, Counter[str]] = {part: Counter() for part in ("calls", "requests", "unseen", "bytes_in")}
    for row in document["rows"]:
        for part, counts in told.items():
            counts[row["function"]] += row[part]
    made = {"MPI_Irecv": 2, "MPI_Isend": 2, "MPI_Waitall": 1, "MPI_Wait": 1, "MPI_Comm_free": 1, "MPI_Barrier": 1,
            "MPI_Finalize": 1}  # fmt: skip
    assert told["calls"] == {name: RANKS * times for name, times in made.items()} | {"MPI_Allreduce": 2 * 3 + 2}
    assert +told["requests"] == {"MPI_Irecv": RANKS, "MPI_Isend": RANKS}
    assert +told["unseen"] == {"MPI_Irecv": RANKS, "MPI_Isend": RANKS}, "these ended in the pause"
    assert told["bytes_in"]["MPI_Isend"] == RANKS * 2 * 800
    assert {each["function"]: each["calls"] for each in document["skew"]}["MPI_Allreduce"] == 3, "numbers went on"
    for rank in document["ranks"]:
        assert rank["ended"] == "finalized"
        assert rank["paused_seconds"] > 0.05
        assert rank["seconds"] > 0


PAUSING = """
import sennit.profile
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
with sennit.profile.paused():
    world.Barrier()
    with sennit.profile.paused():
        world.Barrier()
    world.Barrier()
world.Barrier()
if world.Get_rank() == 0:
    print("all arrived")
"""


def test_python_pauses_too_and_pauses_within_pauses(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    program, _ = have("mpich", "c_paused.c")
    *launch, _ = program.start(RANKS)
    folder = tmp_path / "run"
    command = [*SENNIT, "profile", "-o", str(folder), "--", *launch, sys.executable, "-c", PAUSING]
    done = start(program.found, tmp_path, *command)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    assert "paused" in done.stderr
    document = report(folder)
    assert calls(document)["MPI_Barrier"] == 2 * RANKS
    assert all(rank["paused_seconds"] > 0 for rank in document["ranks"])
    without = start(program.found, tmp_path, *launch, sys.executable, "-c", PAUSING)
    assert (without.returncode, without.stdout) == (0, "all arrived\n"), without.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_who_did_a_collective_that_ends_in_a_request_is_known_at_its_end(name: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_buffers.c")
    document = profiled(program, tmp_path / "run", "--accelerate")
    rows = [row for row in document["rows"] if row["function"] == "MPI_Iallreduce"]
    assert rows
    for row in rows:
        assert row["how"]
        assert row["requests"] == row["calls"] > 0


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_variables_of_the_mpi_are_sampled_and_those_that_fail_are_named(name: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_profiled.c")
    queues = {each["name"]: each for each in profiled(program, tmp_path / "queues")["variables"]}
    every = profiled(program, tmp_path / "every", "--pvar", "*", "--pvar", "more")["variables"]
    for each in every:
        assert (each["samples"] > 0) != bool(each["failed"]), each
        assert len(each["points"]) == each["samples"]
    if name == "openmpi":
        wanted = {"pml_ob1_unexpected_msgq_length", "pml_ob1_posted_recvq_length"}
        assert set(queues) == wanted
        assert {each["failed"] for each in queues.values()} == {None}
        assert wanted < {each["name"] for each in every}
        assert any("MPI_T_pvar_get_info fails" in (each["failed"] or "") for each in every)
    else:
        assert not queues


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_clocks_of_hosts_are_put_side_by_side(name: str, tmp_path: Path) -> None:
    """Two nodes that are pretended, whose clocks are one."""
    program, _ = have(name, "c_observed.c")
    *launch, path = program.start(RANKS)
    script = tmp_path / "on_nodes"  # launchers put values in the place of variables in a command
    script.write_text('SENNIT_NODE=node${PMIX_RANK:-$PMI_RANK} exec "$1"\n', encoding="utf-8")
    on_nodes = ["sh", str(script), path]
    folder = tmp_path / "run"
    done = start(program.found, tmp_path, *SENNIT, "profile", "-o", str(folder), "--", *launch, *on_nodes)
    assert done.returncode == 0, done.stderr
    document = report(folder)
    assert [rank["host"] for rank in document["ranks"]] == ["node0", "node1"]
    first, second = document["ranks"]
    assert first["clock_error_us"] < second["clock_error_us"] < 1e6 * second["seconds"]
    calls = {each["function"]: each["calls"] for each in document["skew"]}
    assert calls["MPI_Allreduce"] == CALLS["MPI_Allreduce"], "waiting is known across hosts"


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_behind_a_launcher_ranks_share_a_folder(name: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_observed.c")
    *launch, path = program.start(RANKS)
    folder = tmp_path / "run"
    done = start(program.found, tmp_path, *launch, *SENNIT, "profile", "-o", str(folder), "--", path)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    assert calls(report(folder))["MPI_Allreduce"] == RANKS * CALLS["MPI_Allreduce"]
    nowhere = start(program.found, tmp_path, *launch, *SENNIT, "profile", "--", path)
    assert nowhere.returncode != 0
    assert "Name one: sennit profile -o run1" in nowhere.stderr


def test_a_program_of_sessions_alone_has_ranks_and_partners(tmp_path: Path) -> None:
    """Open MPI 5.0 has no sessions."""
    program, _ = have("mpich", "c_sessions.c")
    folder = tmp_path / "run"
    command = ["profile", "--accelerate", "-o", str(folder), "--", *program.start(RANKS)]
    done = start(program.found, tmp_path, *SENNIT, *command, SENNIT_EMULATE="1")
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stderr
    document = report(folder)
    assert [(rank["rank"], rank["ended"]) for rank in document["ranks"]] == [(0, "exited"), (1, "exited")]
    assert (document["ranks_of_job"], document["mpi"], document["missing"]) == (RANKS, "MPICH", [])
    sent = 100_000 * 4
    assert document["partners"] == [
        {"from": rank, "to": 1 - rank, "messages": 3, "bytes": 3 * sent} for rank in range(RANKS)
    ]
    rows = {row["function"]: row for row in document["rows"]}
    told = {name: (rows[name]["calls"], rows[name]["bytes_in"]) for name in ("MPI_Allreduce", "MPI_Put")}
    assert told == dict.fromkeys(told, (RANKS, RANKS * sent))
    assert rows["MPI_Allreduce"]["communicator_size"] == RANKS
    assert {row["requests"] for row in document["rows"] if row["function"] == "MPI_Irecv"} == {2 * RANKS}
    assert all(rank["inside_seconds"] > 0 and rank["seconds"] > 0 for rank in document["ranks"])
    assert {each["function"] for each in document["skew"]} >= {"MPI_Allreduce", "MPI_Barrier"}
