"""A profile has, function by function, the calls and the bytes of an independent counter before the same run
(counter.py); and programs as those of Temuçin 2021 the counts that they say themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import c_programs
import counter
import drop_in
import pytest
import repeats
from sennit.baselines import mpi
from test_c_programs import have
from test_profiled import calls, ours, report

HERE = Path(__file__).resolve().parent
RANKS = 2
# Programs that end well without arguments. Many need GPU memory, so that the drop-in is at work, behind the recorder.
# Those that call PMPI_ themselves are left out: the recorder sees that, and the counter does not.
FEW = ["c_observed.c", "c_reductions.c", "c_order.c", "c_rooted.c"]
PROGRAMS = [*FEW, "c_accumulates.c", "c_buffers.c", "c_columns.c", "c_crossing.c", "c_halves.c", "c_probes.c",
            "c_rendezvous.c", "c_windows.c"]  # fmt: skip
# These run over the wheels' MPIs alone: older ones lack some of what they ask for.
NEWER = ["c_across.c", "c_as_alone.c", "c_background.c", "c_errors.c", "c_exhausted.c", "c_guarded.c",
         "c_last_calls.c",
         "c_mismatches.c", "c_no_memory.c", "c_partitions.c", "c_progress.c", "c_short_messages.c", "c_spawned.c",
         "c_threads.c", "c_unnamed.c"]  # fmt: skip


def start(
    found: mpi.Installed, library: Path, folder: Path, counted: Path, command: list[str], taken: bool = False
) -> subprocess.CompletedProcess[str]:
    """A job of ranks with the counter first, and the recorder behind it; `taken`: then the drop-in."""
    preloaded = drop_in.library()
    assert isinstance(preloaded, Path)
    first = counter.built(found, library)
    if isinstance(first, str):
        pytest.skip(first)
    for made in (folder, counted):
        made.mkdir()
    settings = {
        "SENNIT_OBSERVER": "libsennit-recorder.so", "SENNIT_PROFILE": str(folder), counter.FILES: str(counted),
        **({"SENNIT_EMULATE": "1"} if taken else {"SENNIT_DISABLE": "1"}),
    }  # fmt: skip
    launch = mpi.launch(found, RANKS, root=os.geteuid() == 0)
    return subprocess.run(
        ["timeout", "-k", "5", "100", *launch, "env", f"LD_PRELOAD={first}:{preloaded}", *command],
        env=drop_in.environment(found, folder.parent, None) | ours() | settings,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def expect_equal(document: Any, counted: Path) -> None:
    """Function by function. Those without a part in communication are not recorded; and those that a header lacks, as
    Open MPI's does counts of 64 bits, are not counted."""
    expected = counter.told(counted)
    found = {what: Counter[str]() for what in expected}
    for row in document["rows"]:
        for what, counts in found.items():
            counts[row["function"]] += row[what]
    assert not [name for name in found["calls"] if name not in expected["calls"] and not name.endswith("_c")]
    names = found["calls"].keys() & expected["calls"].keys()
    assert {"MPI_Init", "MPI_Init_thread"} & names
    assert {name: found["calls"][name] for name in names} == {name: expected["calls"][name] for name in names}
    for what in ("bytes_in", "bytes_out"):
        sized = {name for name in names if name.removeprefix("MPI_").removesuffix("_c") in counter.SIZES}
        assert {name: found[what][name] for name in sized} == {name: expected[what][name] for name in sized}, what


def plain(document: Any) -> Counter[str]:
    """Calls by function, whichever size their counts have."""
    found = Counter[str]()
    for name, times in calls(document).items():
        found[name.removesuffix("_c")] += times
    return found


@pytest.mark.parametrize(
    ("name", "source"),
    repeats.but(
        [(name, source) for name in c_programs.LIBRARIES for source in PROGRAMS]
        + [(name, source) for name in ("mpich", "openmpi") for source in NEWER],
        lambda name, source: source in FEW and name == ("mpich", "openmpi")[FEW.index(source) % 2],
    ),
)
def test_a_profile_has_the_numbers_of_another_counter(name: str, source: str, tmp_path: Path) -> None:
    program, _ = have(name, source)
    folder, counted = tmp_path / "run", tmp_path / "counted"
    done = start(program.found, program.library, folder, counted, [str(program.path)], taken=True)
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    assert "counter:" not in done.stderr
    expect_equal(report(folder), counted)


def python(name: str, script: str, tmp_path: Path) -> tuple[Any, Any]:
    """A program of mpi4py under both: its profile, and what it says itself. `script`: a file, or Python."""
    pytest.importorskip("mpi4py")
    found = drop_in.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    if isinstance(missing := drop_in.library(), str):
        pytest.skip(missing)
    folder, counted = tmp_path / "run", tmp_path / "counted"
    done = start(
        found,
        found.library,
        folder,
        counted,
        [sys.executable, "-B", *(["-c", script] if "\n" in script else [str(HERE / script)])],
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    document = report(folder)
    expect_equal(document, counted)
    return document, json.loads(done.stdout)


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_parameter_server_is_seen_to_poll(name: str, tmp_path: Path) -> None:
    """Figures 3.1d, 3.11d and 3.12 of Temuçin 2021: all talk with one, which asks for messages that are not there."""
    document, said = python(name, "server_program.py", tmp_path)
    found = plain(document)
    steps = said["steps"]
    assert {name: found[name] for name in ("MPI_Isend", "MPI_Recv", "MPI_Wait")} == {
        "MPI_Isend": 2 * steps, "MPI_Recv": 2 * steps, "MPI_Wait": 2 * steps
    }  # fmt: skip
    (polls,) = (each for each in document["polls"] if each["function"] == "MPI_Iprobe")
    assert (polls["calls"], polls["misses"]) == (said["polls"], said["polls"] - steps)
    assert polls["rank_missed_seconds"]["least"] == 0, "of who does not poll"
    assert document["partners"] == [
        {"from": one, "to": 1 - one, "messages": steps, "bytes": steps * said["bytes"]} for one in range(RANKS)
    ]
    assert document["queues"]["shown"] == "reconstructed"
    queues = {each["rank"]: each for each in document["queues"]["ranks"]}
    matched = {rank: each["messages"] for rank, each in queues.items()}
    if any(rank["calls_lost"] for rank in document["ranks"]):
        # On cores with other work the server asks so often that its first single calls are no longer there: queues
        # are then known from a later time on, which the document says.
        assert document["queues"]["since_seconds"] > 0
        assert all(0 < messages <= steps for messages in matched.values())
        return
    assert document["queues"]["since_seconds"] == 0
    assert matched == {0: steps, 1: steps}
    assert queues[0]["posted"]["most"] <= queues[1]["posted"]["most"] == 1, "the server never waits in a receive"
    assert queues[0]["unexpected"]["most"] == 1


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_the_traffic_of_horovod_is_seen(name: str, tmp_path: Path) -> None:
    """Figures 3.2, 3.8 and 3.9 of Temuçin 2021: 8 B of bits in a thread of their own, beside fused sums."""
    document, said = python(name, "horovod_program.py", tmp_path)
    rows = [row for row in document["rows"] if row["function"].removesuffix("_c") == "MPI_Allreduce"]
    found = {
        (row["reduction"], row["from_bytes"], row["to_bytes"]): (row["calls"], row["bytes_in"]) for row in rows
    }  # fmt: skip
    assert found == {
        ("bit_and", 5, 8): (RANKS * said["cycles"], RANKS * said["cycles"] * 8),
        ("sum", 524289, 1048576): (RANKS * said["sums"], RANKS * said["sums"] * said["bytes"]),
    }
    assert {row["memory_in"] for row in rows} == {"host"}
    assert plain(document)["MPI_Allgather"] == RANKS, "once a process"
    assert all(rank["threads"] >= 2 for rank in document["ranks"])
    assert trace(tmp_path / "run", tmp_path / "trace") == calls(document)


def trace(folder: Path, file: Path) -> Counter[str]:
    """The calls of a trace that `sennit report` wrote, as JSON."""
    done = report_to(folder, file)
    assert f"wrote {file}" in done.stderr
    events = [event for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in events)
    return Counter(event["name"] for event in events)


def report_to(folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sennit", "report", str(folder), "--text", "--perfetto", str(file)]
    done = subprocess.run(command, env=os.environ | ours(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


MANY = 110_000  # of each process: more than a viewer reads as JSON
POLLING = f"""
from mpi4py import MPI
for _ in range({MANY}):
    MPI.COMM_WORLD.Iprobe()
print(1 if MPI.COMM_WORLD.Get_rank() == 0 else "", end="")
"""


def test_many_calls_are_a_trace_in_the_format_of_perfetto(tmp_path: Path) -> None:
    """Read by Perfetto's own messages."""
    perfetto_trace_pb2: Any = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

    document, _ = python("mpich", POLLING, tmp_path)
    file = tmp_path / "trace"
    report_to(tmp_path / "run", file)
    read = perfetto_trace_pb2.Trace.FromString(file.read_bytes())
    names: dict[int, str] = {}
    tracks: dict[int, Any] = {}
    open_slices = Counter[int]()
    made: Counter[str] = Counter()
    event = perfetto_trace_pb2.TrackEvent
    for packet in read.packet:
        names |= {one.iid: one.name for one in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        elif packet.track_event.type == event.TYPE_SLICE_BEGIN:
            made[names[packet.track_event.name_iid]] += 1
            open_slices[packet.track_event.track_uuid] += 1
        else:
            assert packet.track_event.type == event.TYPE_SLICE_END
            open_slices[packet.track_event.track_uuid] -= 1
            assert open_slices[packet.track_event.track_uuid] == 0
    assert made == calls(document)
    assert made["MPI_Iprobe"] == RANKS * MANY
    assert {tracks[tracks[uuid].parent_uuid].name.split(" on ")[0] for uuid in open_slices} == {"rank 0", "rank 1"}
