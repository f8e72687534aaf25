"""What other tools recorded, as profiles: PyTorch's Flight Recorder, NCCL Inspector."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import Programs
from mutant import mutant
from sennit.formats.calls import bin_end, function_named
from sennit.formats.flight_recorder import unpickled
from sennit.model.document import parse
from sennit.model.profile import Profile
from sennit.programs.problem import Exit, Problem
from sennit.programs.recordings import recorded

MIB = 1 << 20
MS = 1_000_000


def dump(of: int, **changes: Any) -> dict[str, Any]:
    """As torch.distributed writes it: tuples, and a group's ranks as text."""
    group = {"process_group": ("0", "default_pg"), "state": "completed", "is_p2p": False}
    entries = [
        {"profiling_name": "nccl:all_reduce", "input_sizes": ((5, MIB),), "input_dtypes": ["BFloat16"],
         "output_sizes": ((5, MIB),), "output_dtypes": ["BFloat16"], "time_created_ns": number * 10 * MS,
         "duration_ms": 0.5, **group} for number in range(1, 101)
    ]  # fmt: skip
    entries.append(
        {"profiling_name": "nccl:_all_gather_base", "input_sizes": ((256,),), "input_dtypes": ["Float"],
         "output_sizes": ((512,),), "output_dtypes": ["Float"], "time_created_ns": 1010 * MS,
         "time_discovered_completed_ns": 1110 * MS, "duration_ms": None, **group}
    )  # fmt: skip
    way = f"send {of}->{1 - of}" if of == 0 else f"recv {of}<-{1 - of}"
    entries.append(
        {"profiling_name": f"nccl:{way}", "input_sizes": ((1024,),), "input_dtypes": ["Byte"],
         "output_sizes": ((1024,),), "output_dtypes": ["Byte"], "time_created_ns": 1020 * MS, **group}
    )  # fmt: skip
    return {
        "version": "2.10", "nccl_version": "2.28.9", "entries": entries,
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
    } | changes  # fmt: skip


def line(rank: int, at_us: int, coll: str = "AllReduce", size: int = 32 * MIB, us: int = 400) -> str:
    """As NCCL Inspector writes it."""
    meta = {"inspector_output_format_version": "v4.0", "dump_timestamp_us": at_us, "hostname": "node1", "pid": 77}
    said = {
        "header": {"id": "0x7f", "rank": rank, "n_ranks": 4, "nnodes": 1},
        "metadata": meta,
        "coll_perf": {"coll": coll, "coll_sn": 3, "coll_msg_size_bytes": size, "coll_exec_time_us": us,
                      "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 83.9, "coll_busbw_gbs": 125.8},
    }  # fmt: skip
    return json.dumps(said) + "\n"


def save(folder: Path) -> Path:
    folder.mkdir()
    for rank in range(2):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump(rank)))
    return folder


def rows(document: Any) -> dict[str, Any]:
    return {row.function: row for row in parse(Profile, document, "it").rows}


@pytest.mark.parametrize(("told", "partner"), [("[4, 6, 7]", 7), ([4, 6, 7], 7), ("[4, 6]", None), (None, None)])
def test_partners_of_a_group_are_ranks_of_the_job(tmp_path: Path, told: Any, partner: int | None) -> None:
    """A dump numbers them within the group."""
    found = dump(0)
    group = {"process_group": ("3", "rows"), "state": "completed", "is_p2p": True}
    sent = {"profiling_name": "nccl:send 0->2", "input_sizes": ((64,),), "input_dtypes": ["Byte"], **group}
    groups = {} if told is None else {"3": {"name": "3", "desc": "rows", "ranks": told}}
    (tmp_path / "nccl_trace_rank_4").write_text(json.dumps(found | {"entries": [sent], "pg_config": groups}))
    document = recorded(tmp_path)
    expected = [{"from": 4, "to": partner, "messages": 1, "bytes": 64}]
    assert document["partners"] == ([] if partner is None else expected)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_dumps_of_pytorch_are_a_profile(tmp_path: Path, protocol: int) -> None:
    for rank in range(2):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump(rank), protocol))
    document = recorded(tmp_path)
    found = rows(document)
    sums = found["ncclAllReduce"]
    assert (sums.calls, sums.processes, sums.communicator_size) == (200, 2, 2)
    assert (sums.from_bytes, sums.to_bytes) == (8 * MIB + 1, 16 * MIB)
    assert sums.bytes_in == 200 * 10 * MIB
    assert sums.device_seconds == pytest.approx(0.1)
    gathered = found["ncclAllGather"]
    assert (gathered.to_bytes, gathered.device_calls, gathered.bytes_in) == (1024, 0, 2 * 1024)
    assert document["partners"] == [{"from": 0, "to": 1, "messages": 1, "bytes": 1024}]
    assert [(one["rank"], one["seconds"]) for one in document["ranks"]] == [(0, 1.1), (1, 1.1)]
    assert document["nccl"] == "NCCL 2.28.9"


def test_a_dump_may_be_json_and_name_its_rank(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(json.dumps(dump(0, rank=3)))
    document = recorded(tmp_path / "dump.json")
    assert [rank["rank"] for rank in document["ranks"]] == [3]
    assert document["missing"] == [0, 1, 2]


class Harm:
    """A pickle of it would make a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("harm"),))


def test_a_pickle_calls_nothing(programs: Programs) -> None:
    (programs.folder / "bad").write_bytes(pickle.dumps({"entries": [Harm()]}))
    done = programs.sennit("report", "bad")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad is no pickle of plain values" in done.stderr
    assert not (programs.folder / "harm").exists()
    for value in (3, {"entries": 3}, [dump(0)]):
        (programs.folder / "bad").write_bytes(pickle.dumps(value))
        assert "is a pickle of something else" in programs.sennit("report", "bad").stderr


@pytest.mark.parametrize(
    "content", [b"\x80", b"\x80\x04.", pickle.dumps(dump(0))[:-900], pickle.dumps({1: {"a": b"x"}})]
)
def test_a_damaged_pickle_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="is no pickle of plain values"):
        unpickled(content)


def test_logs_of_nccl_inspector_are_a_profile(tmp_path: Path) -> None:
    for rank in range(4):
        text = "".join(line(rank, 1_000_000 * at) for at in range(11)) + line(rank, 10_000_000, "AllGather", 4096, 20)
        (tmp_path / f"inspector-{rank}.log").write_text(text + '{"header": {"rank"')
    document = recorded(tmp_path)
    found = rows(document)
    assert (found["ncclAllReduce"].calls, found["ncclAllReduce"].device_seconds) == (44, pytest.approx(44 * 400e-6))
    assert found["ncclAllGather"].communicator_size == 4
    assert {rank["host"] for rank in document["ranks"]} == {"node1"}
    assert document["ranks"][0]["seconds"] == 10
    (tmp_path / "inspector-4.log").write_text(line(4, 0) + "{}\n" + line(4, 1))
    assert "line 2" in recorded(tmp_path)["unreadable"][0]["why"]
    with pytest.raises(Problem, match="line 2") as caught:
        recorded(tmp_path / "inspector-4.log")
    assert caught.value.exit_code == Exit.USAGE


def test_recordings_are_reported(programs: Programs) -> None:
    save(programs.folder / "trace")
    (programs.folder / "trace" / "notes.txt").write_text("a note")
    done = programs.sennit("report", "trace")
    assert done.returncode == 0, done.stderr
    assert "ncclAllReduce" in done.stdout
    assert "wrote trace/page.html" in done.stderr
    page = (programs.folder / "trace" / "page.html").read_text()
    assert '<td class="left">ncclAllReduce, GPU memory</td><td>5 %</td>' in page
    again = programs.sennit("report", "trace")
    assert again.stdout == done.stdout, "its own page is none of the recordings"
    assert json.loads(programs.sennit("report", "trace", "--json").stdout)["kind"] == "profile"


def test_folders_of_something_else_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text('{"kind": "profile", "entries": []}')
    (tmp_path / "c").write_text("{ no JSON")
    assert recorded(tmp_path) is None


@pytest.mark.parametrize("kind", ["dump", "log"])
def test_damaged_recordings_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    good = dump(0) if kind == "dump" else json.loads(line(0, 5))
    outcomes: set[str | bool] = set()
    for number in range(120):
        file = tmp_path / f"{number}.json"
        damaged = mutant(json.loads(json.dumps(good)), Random(f"{kind} {number}"))
        file.write_bytes(damaged if kind == "dump" else damaged.replace(b"\n", b" ") + b"\n" + line(0, 9).encode())
        try:
            document = recorded(file)
        except Problem as problem:
            outcomes.add(problem.what.startswith(str(file)))
            continue
        if document is not None:
            assert parse(Profile, json.loads(json.dumps(document)), "it").ranks
            outcomes.add("read")
    assert outcomes == {"read", True}


@pytest.mark.parametrize(
    ("name", "function"),
    [("all_reduce", "ncclAllReduce"), ("AllReduce", "ncclAllReduce"), ("_reduce_scatter_base", "ncclReduceScatter"),
     ("all_to_all", "ncclAlltoAll"), ("coalesced", "coalesced")],
)  # fmt: skip
def test_functions_have_nccls_names(name: str, function: str) -> None:
    assert function_named(name) == function


def test_bins_are_those_of_profiles() -> None:
    assert [bin_end(size) for size in (0, 1, 2, 3, 4, 5, 8 * MIB + 1)] == [0, 1, 2, 4, 4, 8, 16 * MIB]


def test_a_number_that_is_no_rank_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "dump_1764345600").write_bytes(pickle.dumps(dump(0)))
    assert [rank["rank"] for rank in recorded(tmp_path)["ranks"]] == [0]
    (tmp_path / "dump_1764345600").write_bytes(pickle.dumps(dump(0, rank=2**40)))
    with pytest.raises(Problem, match="rank"):
        recorded(tmp_path / "dump_1764345600")


def gloo_dump() -> dict[str, Any]:
    """As PyTorch 2.9 writes it: a group without a name, and no times."""
    group = {"process_group": ("0", "default_pg"), "state": "scheduled", "time_discovered_completed_ns": None}
    entries = [
        {"profiling_name": "gloo:all_reduce", "input_sizes": [[MIB]], "input_dtypes": ["Float"],
         "output_sizes": [[MIB]], "output_dtypes": ["Float"], "time_created_ns": 5 * MS, **group},
        {"profiling_name": "gloo:all_gather", "input_sizes": [[64]], "input_dtypes": ["Float"],
         "output_sizes": [[64], [64]], "output_dtypes": ["Float", "Float"], "time_created_ns": 9 * MS, **group},
    ]  # fmt: skip
    return {"version": "2.10", "comm_lib_version": "", "entries": entries,
            "pg_config": {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}}  # fmt: skip


def test_calls_of_gloo_are_on_the_cpu_and_keep_its_name(tmp_path: Path) -> None:
    (tmp_path / "trace_0").write_bytes(pickle.dumps(gloo_dump()))
    document = recorded(tmp_path)
    found = rows(document)
    assert document["nccl"] is None
    sums = found["gloo:all_reduce"]
    assert (sums.communicator_size, sums.memory_in, sums.to_bytes) == (2, "host", 4 * MIB)
    assert found["gloo:all_gather"].bytes_in == 256, "what one rank has for another"


def test_newer_dumps_name_nccl_otherwise(tmp_path: Path) -> None:
    found = dump(0)
    found["comm_lib_version"] = found.pop("nccl_version")
    (tmp_path / "trace_0").write_bytes(pickle.dumps(found))
    assert recorded(tmp_path)["nccl"] == "NCCL 2.28.9"


def test_a_dump_without_times_says_so(programs: Programs) -> None:
    """Rather than that communication took no time."""
    found = dump(0)
    for entry in found["entries"]:
        entry["duration_ms"] = None
    (programs.folder / "trace_0").write_bytes(pickle.dumps(found))
    done = programs.sennit("report", "trace_0", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No call was timed, so where the time went is not known; 100 % of the bytes are in "
                                  "ncclAllReduce of 8 MiB to 16 MiB in GPU memory.")  # fmt: skip
    assert "TORCH_NCCL_ENABLE_TIMING=1" in done.stdout
    assert "0 %" not in done.stdout.replace("100 %", "")
