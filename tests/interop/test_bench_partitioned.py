"""The benchmark of messages in partitions over the MPIs of wheels: what it asks, measures and checks."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import drop_in
import pytest
from sennit.baselines import mpi

BACK_ENDS = ("single", "threads", "persistent", "persistent_partitions", "mpi", "rma_flush", "rma_pscw")


@pytest.fixture(params=list(mpi.LIBRARIES))
def found(request: pytest.FixtureRequest) -> mpi.Installed:
    installed = mpi.find(request.param)
    if isinstance(installed, str):
        pytest.skip(installed)
    if not drop_in.FOLDER or not (Path(drop_in.FOLDER) / "sennit-bench-partitioned").exists():
        pytest.skip("sennit-bench-partitioned is not built")
    return installed


def bench(found: mpi.Installed, *arguments: str) -> Any:
    """What `sennit bench partitioned` of that MPI prints."""
    with tempfile.TemporaryDirectory(prefix="sennit-bench-") as folder:
        environment = drop_in.environment(found, Path(folder), None) | {"SENNIT_PROGRAMS": drop_in.FOLDER}
        command = ["timeout", "-k", "5", "150", sys.executable, "-m", "sennit", "bench", "partitioned", *arguments]
        command += ["--launcher", str(found.launcher), "--json", "-"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)


def test_every_back_end_is_verified_and_measured(found: mpi.Installed) -> None:
    result = bench(
        found, "--vs", "all", "--sizes", "96K", "--partitions", "3,5", "--threads", "2", "--compute", "200us",
        "--noise", "uniform:50", "--order", "random", "--seconds", "0.01",
    )  # fmt: skip
    rows = result["rows"]
    assert [row["back_end"] for row in rows] == [each for each in BACK_ENDS for _ in range(2)]
    for row in rows:
        if row["partitions"] == 5:
            assert (row["state"], "no whole number of 5 partitions" in row["why"]) == ("left_out", True)
            continue
        # A hang of an MPI is a row, and no failure of the benchmark.
        assert row["state"] in ("measured", "hung"), row
        if row["state"] == "measured":
            assert row["verified"]
            assert row["rounds"] >= 7
            assert row["transfer_us"]["median"] > 0
            assert len(row["timeline"]["partitions"]) == (1 if row["back_end"] in ("single", "persistent") else 3)
    assert sum(row["state"] == "measured" for row in rows) >= 6


def test_patterns_compute_the_same_by_every_way_of_sending(found: mpi.Installed) -> None:
    for pattern, ways, faces in (("sweep3d", "persistent_partitions,partitioned", 8), ("halo3d", "threads", 2)):
        result = bench(
            found, "--pattern", pattern, "-n", "2", "--send", ways, "--sizes", "4K", "--partitions", "4",
            "--threads", "2", "--compute", "0", "--planes", "1" if pattern == "sweep3d" else "2",
            "--seconds", "0.01", "--hangs-after", "10",
        )  # fmt: skip
        assert result["rows"] == []
        assert len(result["patterns"]) == ways.count(",") + 1
        for row in result["patterns"]:
            # Open MPI's own partitioned messages hang in some runs: a line, as that is what users get.
            assert row["state"] == "measured" or row["back_end"] == "mpi", row
            if row["state"] == "measured":
                assert (row["verified"], row["faces"], row["bytes_sent"]) == (True, faces, 4096 * faces)


def test_a_run_that_was_interrupted_goes_on(found: mpi.Installed, tmp_path: Path) -> None:
    if found.of.name != "mpich":
        pytest.skip("it is the same with every MPI, and takes three jobs")
    file = tmp_path / "p.json"
    options = (
        "--vs",
        "threads,mpi",
        "--sizes",
        "1K,2K",
        "--partitions",
        "1,2",
        "--compute",
        "0",
        "--seconds",
        "0.01",
    )
    whole = bench(found, *options)
    rows = whole["rows"]
    file.write_text(json.dumps(whole | {"rows": [row for row in rows if row["line"] != 1]}))
    result = bench(found, "--resume", str(file))
    assert [(row["back_end"], row["line"]) for row in result["rows"]] == [
        (row["back_end"], row["line"]) for row in rows
    ]
    assert [row == before for row, before in zip(result["rows"], rows, strict=True)] == [
        row["line"] != 1 for row in rows
    ], "lines that were there are not measured again"
    assert result["settings"]["asked"] == whole["settings"]["asked"]


def test_a_message_that_does_not_end_in_time_is_a_line(found: mpi.Installed) -> None:
    result = bench(
        found, "--vs", "mpi", "--sizes", "4K", "--partitions", "2", "--compute", "2s", "--hangs-after", "0.5",
    )  # fmt: skip
    (row,) = result["rows"]
    assert (row["state"], row["why"]) == ("hung", "hung after 0 messages.")
    assert "--back-end mpi --sizes 4096 --partitions 2" in row["command"]


def test_a_probe_answers_every_question(found: mpi.Installed) -> None:
    result = bench(found, "--probe", "--sizes", "64,64K")
    probe = result["probe"]
    assert [one["bytes"] for one in probe["early"]] == [64, 65536]
    # Known of these two versions; what a partition does within 20 ms depends on nothing else here.
    if "MPICH" in result["versions"]["mpi"]:
        assert not any(one["early"] for one in probe["early"])
        assert probe["start_all"]["works"]
    elif "v5.0.11" in result["versions"]["mpi"]:
        assert probe["start_all"]["works"] is False
    for question in ("before_start", "while_waiting"):
        assert probe[question]["works"]
