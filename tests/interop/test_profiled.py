"""`sennit profile` before programs: what it writes down equals the calls that they make, over each MPI and NCCL,
alone and accelerated, and also of ranks that are killed."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import c_programs
import drop_in
import nccl_programs
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


def sides(document: Any) -> dict[str, Counter[str]]:
    """Bytes that ranks gave and took, by function; ncclBcast is also called ncclBroadcast."""
    found: dict[str, Counter[str]] = {"bytes_in": Counter(), "bytes_out": Counter()}
    for row in document["rows"]:
        for side, counts in found.items():
            counts[row["function"].replace("Bcast", "Broadcast")] += row[side]
    return {side: +counts for side, counts in found.items()}


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
    assert document["ranks"][0]["clock_error_us"] < document["ranks"][1]["clock_error_us"] < 1e5
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


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_killed_ranks_lose_nothing(name: str, tmp_path: Path) -> None:
    program, _ = have(name, "c_killed.c")
    folder = tmp_path / "run"
    done = start(program.found, tmp_path, *SENNIT, "profile", "-o", str(folder), "--", *program.start(RANKS))
    assert done.returncode != 0, "the exit code is the command's"
    document = report(folder)
    killed = [rank["ended"] for rank in document["ranks"]].count("killed")
    assert killed >= 1
    assert calls(document)["MPI_Allreduce"] >= 100 * killed
    assert "were killed, or have not ended" in done.stderr


def observing(folder: Path, *preloaded: Path, **settings: str) -> dict[str, str]:
    """The environment of NCCL programs whose calls are recorded, and done by NCCL."""
    folder.mkdir(exist_ok=True)
    before = ":".join(map(str, (nccl_programs.have()[1], *preloaded)))
    observer = {"SENNIT_OBSERVER": "libsennit-recorder.so", "SENNIT_DISABLE": "1", "SENNIT_PROFILE": str(folder)}
    return {**observer, "LD_PRELOAD": before, **settings}


@pytest.mark.parametrize("test", ["collectives", "groups"])
def test_a_profile_has_every_call_of_nccl(test: str, tmp_path: Path) -> None:
    """And its time on the GPU, as far as a driver tells it; of groups, as a whole."""
    program, library = nccl_programs.have()
    folder = tmp_path / "run"
    job = program.run(test, RANKS, library, observing(folder, nccl_programs.driver_with_events()))
    nccl_programs.expect_right(job)
    asked = Counter(f"nccl{line.split()[0]}" for each in job.calls for line in each)
    document = report(folder)
    made = calls(document)
    made["ncclBroadcast"] += made.pop("ncclBcast", 0)  # which NCCL notes so
    names = {name for name in asked if name in made}
    assert "ncclAllReduce" in names
    assert {name: made[name] for name in names} == {name: asked[name] for name in names}
    reductions = [row for row in document["rows"] if row["function"] == "ncclAllReduce"]
    assert {row["communicator_size"] for row in reductions} == {RANKS}
    assert document["gpu_times"] == "sampled"
    timed = Counter({row["function"]: 0 for row in document["rows"]})
    for row in document["rows"]:
        timed[row["function"]] += row["device_calls"]
        assert (row["device_seconds"] > 0) == (row["device_calls"] > 0)
    timed["ncclBroadcast"] += timed.pop("ncclBcast", 0)
    given, taken = sides(document).values()
    assert given["ncclAllReduce"] == taken["ncclAllReduce"] > 0
    if test == "collectives":
        assert given["ncclReduce"] == RANKS * taken["ncclReduce"] > 0, "the root alone gets it"
        assert taken["ncclBroadcast"] == (RANKS - 1) * given["ncclBroadcast"] > 0, "the root gives, all others get"
        assert {row["memory_out"] for row in document["rows"] if row["function"] == "ncclBcast"} == {"none", "host"}
        moving = {name for name in names if not name.startswith("ncclComm")}
        assert {name: timed[name] for name in moving} == {name: asked[name] for name in moving}
    else:
        assert timed["ncclGroupEnd"] == RANKS, "calls of several kinds on one stream"
        assert timed["ncclAllReduce"] == 2 * RANKS, "in a group of their own, and alone"


def test_parts_of_a_communicator_of_nccl_are_told_apart(tmp_path: Path) -> None:
    """Ranks name a part alike without a message: each call of all ranks of a part is found on all of them."""
    program, library = nccl_programs.have()
    nccl_programs.expect_right(program.run("divided", 4, library, observing(tmp_path)))
    document = report(tmp_path)
    ranks = {row["communicator_size"]: row["calls"] for row in document["rows"] if row["function"] == "ncclAllReduce"}
    whole = {skew["communicator_size"]: skew["calls"] for skew in document["skew"]}
    assert ranks == {2: 4, 3: 3}
    assert whole == {2: 2, 3: 1}


@pytest.mark.parametrize("test", ["collectives", "groups"])
def test_a_profile_says_who_did_calls_of_nccl(test: str, tmp_path: Path) -> None:
    program, library = nccl_programs.have()
    job = program.run(test, RANKS, library, observing(tmp_path, SENNIT_DISABLE="0"))
    nccl_programs.expect_right(job)
    told = reported(job.errors[0])
    assert "allreduce" in told
    document = report(tmp_path)
    expect_done_as(told, document)
    assert {row["how"] for row in document["rows"] if row["function"] == "ncclGroupEnd"} <= {None}
    assert document["accelerated"]


def test_kernels_are_told_to_calls_by_number_and_what_they_overlap(tmp_path: Path) -> None:
    """fake_cupti.c runs a kernel in each call, and one of the program's in the last half of it."""
    program, library = nccl_programs.have()
    fakes = (nccl_programs.driver_with_events(), nccl_programs.cupti())
    settings = observing(tmp_path, *fakes, SENNIT_PROFILE_GPU_TIMES="kernel")
    job = program.run("collectives", RANKS, library, settings)
    nccl_programs.expect_right(job)
    document = report(tmp_path)
    assert document["gpu_times"] == "kernel"
    timed = [row for row in document["rows"] if row["device_calls"]]
    moving = [row for row in document["rows"] if row["bytes_in"] + row["bytes_out"] > 0]
    assert timed == moving
    for row in timed:
        assert row["device_calls"] == row["calls"]
        assert 0 < row["device_seconds"] <= row["seconds"] * 1.5
    for rank in document["ranks"]:
        kernels = rank["kernels"]
        assert kernels["kernels"] == 2 * sum(row["calls"] for row in timed) / RANKS
        assert (kernels["of_graphs"], kernels["lost"], kernels["refused"]) == (0, 0, None)
        half = kernels["communication_seconds"] / 2
        assert kernels["overlapped_seconds"] == pytest.approx(half, rel=0.01)
        assert kernels["computation_seconds"] == pytest.approx(half, rel=0.01)
        assert 0 < kernels["communication_seconds"] <= kernels["seconds"]


def test_beside_another_profiler_kernels_are_refused_and_events_tell_the_time(tmp_path: Path) -> None:
    program, library = nccl_programs.have()
    fakes = (nccl_programs.driver_with_events(), nccl_programs.cupti())
    settings = observing(tmp_path, *fakes, SENNIT_PROFILE_GPU_TIMES="kernel", FAKE_CUPTI_BUSY="1")
    job = program.run("collectives", 1, library, settings)
    nccl_programs.expect_right(job)
    assert job.errors[0].count("sennit: kernels are not collected: unsupported: another profiler") == 1, job.errors[0]
    document = report(tmp_path)
    assert document["gpu_times"] == "sampled"
    assert "another profiler" in document["ranks"][0]["kernels"]["refused"]
    assert sum(row["device_calls"] for row in document["rows"]) > 0


def test_collectives_with_a_configuration_have_sizes_too(tmp_path: Path) -> None:
    program, library = nccl_programs.have()
    job = program.run("configured", RANKS, library, observing(tmp_path))
    nccl_programs.expect_right(job)
    rows = [row for row in report(tmp_path)["rows"] if row["function"] == "ncclAllReduceConfig"]
    made = sum(row["calls"] for row in rows)
    assert {(row["reduction"], row["communicator_size"]) for row in rows} == {("sum", RANKS)}
    assert sum(row["bytes_in"] for row in rows) == sum(row["bytes_out"] for row in rows) == 40 * made > 0


def test_calls_of_nccl_in_a_pause_are_neither_recorded_nor_timed(tmp_path: Path) -> None:
    program, library = nccl_programs.have()
    settings = observing(tmp_path, nccl_programs.driver_with_events(), SENNIT_PROFILE_GPU_TIMES="all")
    nccl_programs.expect_right(program.run("paused", RANKS, library, settings))
    document = report(tmp_path)
    made = calls(document)
    assert (made["ncclAllReduce"], made["ncclAllGather"], made["ncclGroupEnd"], made["ncclCommSplit"]) == (
        RANKS, RANKS, 0, 0
    )  # fmt: skip
    assert sum(row["device_calls"] for row in document["rows"]) == 2 * RANKS
    assert {row["communicator_size"] for row in document["rows"] if row["function"] == "ncclAllGather"} == {RANKS}
    assert {each["function"]: each["calls"] for each in document["skew"]} == {"ncclAllReduce": 1, "ncclAllGather": 1}
    assert all(rank["paused_seconds"] > 0 for rank in document["ranks"])


def test_a_limit_of_files_does_not_end_the_program(tmp_path: Path) -> None:
    """ulimit -f: who writes more is ended by a signal."""
    program, library = nccl_programs.have()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (7 << 20, hard))
    try:
        job = program.run("divided", RANKS, library, observing(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    nccl_programs.expect_right(job)
    for said in job.errors:
        assert said.count("sennit: this process is not profiled: ") == 1, said
        assert "ulimit -f" in said
    assert not [*tmp_path.glob("*.sennit-profile")]


def test_replays_of_a_graph_are_counted(tmp_path: Path) -> None:
    program, library = nccl_programs.have()
    job = program.run("replayed", RANKS, library, observing(tmp_path, nccl_programs.driver_with_events()))
    nccl_programs.expect_right(job)
    rows = {row["function"]: row for row in report(tmp_path)["rows"]}
    told = {name: [rows[name][part] for part in ("calls", "captured", "replayed", "replayed_bytes")]
            for name in ("ncclAllReduce", "ncclAllGather")}  # fmt: skip
    assert told == {
        "ncclAllReduce": [3 * RANKS, 2 * RANKS, 10 * RANKS, 10 * RANKS * 4000],
        "ncclAllGather": [RANKS, RANKS, 5 * RANKS, 5 * RANKS * 40],
    }


@pytest.mark.parametrize("version", [4, 5, 6])
def test_calls_past_the_preloaded_library_are_recorded_by_a_plug_in(version: int, tmp_path: Path) -> None:
    """Each once, whatever NCCL's version; and another plug-in has its events as ever."""
    seen, library = nccl_programs.have()
    unseen = nccl_programs.past_sennit("linked in")
    assert isinstance(unseen, nccl_programs.Program)
    plugged = {
        "NCCL_PROFILER_PLUGIN": str(library.with_name("libsennit-recorder.so")),
        "FAKE_NCCL_PROFILER": str(version),
    }
    documents = []
    for program in (seen, unseen):
        folder = tmp_path / program.path.name
        before = str(nccl_programs.plugin(4 if version == 6 else version))
        job = program.run(
            "collectives", RANKS, library, observing(folder, SENNIT_PROFILE_NEXT_PLUGIN=before, **plugged)
        )
        nccl_programs.expect_right(job)
        events = re.search(r"groups (\d+) collectives (\d+) others 0 wrong 0", job.errors[0])
        assert events, job.errors[0]
        assert events[1] == events[2] != "0"
        documents.append(report(folder))
    made = [calls(document) for document in documents]
    moving = {name: count for name, count in made[0].items() if "Comm" not in name and not name.startswith("ncclGet")}
    moving["ncclBroadcast"] += moving.pop("ncclBcast", 0)  # which NCCL's events name so
    assert made[1] == moving
    assert sides(documents[1]) == sides(documents[0])
    for document in documents:  # that of calls which the preloaded library sees, too, and of each of them once
        told = {row["function"]: row["how"] for row in document["rows"] if row["bytes_in"] + row["bytes_out"]}
        assert set(told.values()) <= {"NCCL: RING, LL128, 8 channels", None}
        assert told["ncclAllReduce"], document
        assert {row["how"] for row in document["rows"] if row["function"] == "ncclAllReduce"} == {
            told["ncclAllReduce"]
        }
    assert {row["reduction"] for row in documents[1]["rows"] if row["function"] == "ncclAllReduce"} == {"unknown"}
    assert {row["communicator_size"] for row in documents[1]["rows"]} == {RANKS}
    assert {row["reduction"] for row in documents[0]["rows"] if row["function"] == "ncclAllReduce"} == {
        "sum",
        "max",
        "average",
    }
