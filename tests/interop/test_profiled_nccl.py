"""`sennit profile` before programs of NCCL: what it writes down equals the calls that they make, and their times on
GPUs, alone and accelerated, seen by the preloaded library and past it."""

from __future__ import annotations

import re
import resource
from collections import Counter
from pathlib import Path
from typing import Any

import nccl_programs
import pytest
from test_observer import RANKS
from test_profiled import calls, expect_done_as, report, reported


def sides(document: Any) -> dict[str, Counter[str]]:
    """Bytes that ranks gave and took, by function; ncclBcast is also called ncclBroadcast."""
    found: dict[str, Counter[str]] = {"bytes_in": Counter(), "bytes_out": Counter()}
    for row in document["rows"]:
        for side, counts in found.items():
            counts[row["function"].replace("Bcast", "Broadcast")] += row[side]
    return {side: +counts for side, counts in found.items()}


def observing(folder: Path, *preloaded: Path, **settings: str) -> dict[str, str]:
    """The environment of NCCL programs whose calls are recorded, and done by NCCL."""
    folder.mkdir(exist_ok=True)
    before = ":".join(map(str, (nccl_programs.have()[1], *preloaded)))
    observer = {"SENNIT_OBSERVER": "libsennit-recorder.so", "SENNIT_DISABLE": "1", "SENNIT_PROFILE": str(folder)}
    return {**observer, "LD_PRELOAD": before, **settings}


@pytest.mark.parametrize("test", ["collectives", "groups"])
def test_a_profile_has_every_call_of_nccl(test: str, tmp_path: Path) -> None:
    """And its time on the GPU, as far as a driver tells it; of groups, as a whole. NCCL says what it chose, for calls
    of a group at the group's end."""
    program, library = nccl_programs.have()
    folder = tmp_path / "run"
    plugged = {"NCCL_PROFILER_PLUGIN": str(library.with_name("libsennit-recorder.so"))}
    job = program.run(test, RANKS, library, observing(folder, nccl_programs.driver_with_events(), **plugged))
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
        chosen, timed_as = Counter[Any](), Counter[Any]()
        for row in document["rows"]:
            if row["function"] in ("ncclAllReduce", "ncclReduce"):
                chosen[row["function"], row["how"]] += row["calls"]
                timed_as[row["how"]] += row["device_calls"]
        alone, together = "NCCL: RING, LL128, 8 channels", "NCCL: RING, SIMPLE, 4 channels"
        assert +chosen == {
            ("ncclAllReduce", together): 2 * RANKS + 2,
            ("ncclAllReduce", alone): 2 * (RANKS - 1),
            ("ncclReduce", together): RANKS,
        }
        assert +timed_as == {together: 2, alone: 2 * (RANKS - 1)}


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


def test_windows_of_nccl_are_memory_that_is_registered(tmp_path: Path) -> None:
    """Nine on each rank, alone and in groups: two at once, and one that is never given up."""
    program, library = nccl_programs.have()
    job = program.run("windows", RANKS, library, observing(tmp_path))
    nccl_programs.expect_right(job)
    document = report(tmp_path)
    (found,) = document["registered"]
    size = found["most_bytes"] // 2
    assert found == {
        "function": "ncclCommWindowRegister", "processes": RANKS, "calls": 9 * RANKS, "bytes": 9 * RANKS * size,
        "most_bytes": 2 * size, "left_bytes": RANKS * size,
    }  # fmt: skip
    assert {rank["registered_most_bytes"] for rank in document["ranks"]} == {2 * size}


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
    said = "".join(job.errors)
    assert said.count("kept in memory until processes end") == 1, said
    assert "ulimit -f" in said
    assert said.count("the profile is lost, but for this of rank") == 1, said
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
    unseen = nccl_programs.linked_in()
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
