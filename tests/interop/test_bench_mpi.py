"""The benchmark of MPI over the MPIs of wheels, with emulated GPU memory: what it measures and checks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drop_in
import nccl_programs
import pytest
from sennit.baselines import mpi

OF_TWO = (
    "latency", "persistent", "multi_latency", "partitioned", "bandwidth", "bandwidth_init", "bidirectional",
    "bidirectional_init", "multi_pair", "put", "get", "accumulate", "get_accumulate", "put_bandwidth",
    "put_bidirectional", "get_bandwidth",
)  # fmt: skip
ATOMIC = ("fetch_and_op", "compare_and_swap")  # of one integer
IN_PLACE = (
    "allreduce", "reduce", "allgather", "allgatherv", "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
)  # fmt: skip
COLLECTIVES = (
    *IN_PLACE, "bcast", "alltoall", "alltoallv", "alltoallw", "gather", "gatherv", "scatter", "scatterv",
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
)  # fmt: skip
BARRIERS = ("barrier", "ibarrier", "barrier_init")


@pytest.fixture(params=list(mpi.LIBRARIES))
def found(request: pytest.FixtureRequest) -> mpi.Installed:
    installed = mpi.find(request.param)
    library = drop_in.library()
    for one in (installed, library):
        if isinstance(one, str):
            pytest.skip(one)
    assert isinstance(installed, mpi.Installed)
    return installed


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's own: MPIs put sockets there, whose paths are to be short.
    with tempfile.TemporaryDirectory(prefix="sennit-bench-") as name:
        yield Path(name)


def bench(found: mpi.Installed, folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """`sennit bench mpi` of that MPI, with two ranks."""
    return start(found, folder, "mpi", "-n", "2", *arguments, **more)


def start(found: mpi.Installed, folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """`sennit bench` of that MPI."""
    environment = drop_in.environment(found, folder, None) | {"SENNIT_PROGRAMS": drop_in.FOLDER} | more
    command = ["timeout", "-k", "5", "150", sys.executable, "-m", "sennit", "bench", *arguments]
    command += ["--launcher", str(found.launcher), "--seconds", "0.001", "--json", "-"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def document(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def measured(result: Any) -> Counter[tuple[str, str, str]]:
    """How many rows there are of each operation, buffers and variant; all that have a size are verified."""
    rows = result["rows"]
    assert all(row["verified"] for row in rows if row["operation"] not in BARRIERS)
    assert all(("sennit" in row) == (row["variant"] != "sennit") for row in rows)
    return Counter((row["operation"], row["buffers"], row["variant"]) for row in rows)


def test_every_operation_is_verified_and_measured(found: mpi.Installed, folder: Path) -> None:
    options = ["--operations", "all", "--sizes", "40K", "--window", "5", "--buffers", "gpu"]
    result = document(bench(found, folder, *options, SENNIT_EMULATE="1"))
    assert result["settings"]["emulated"]
    assert result["settings"]["library"] == found.library.name
    sized = [*OF_TWO, *ATOMIC, *(form for name in COLLECTIVES for form in (name, f"i{name}", f"{name}_init"))]
    expected = {(name, "gpu", variant): 1 for name in sized for variant in ("sennit", "by_hand")}
    expected |= {(name, "", variant): 1 for name in BARRIERS for variant in ("sennit", "mpi")}
    assert measured(result) == expected


def test_every_kind_of_buffer_is_measured_and_in_place_too(found: mpi.Installed, folder: Path) -> None:
    of_two = ("latency", "partitioned", "bandwidth", "bidirectional", "put", "get", "accumulate")
    # Messages that are staged, and that the receiver copies.
    options = ["--operations", ",".join((*of_two, *COLLECTIVES)), "--sizes", "8,40K", "--window", "5", "--in-place"]
    options += ["--buffers", "gpu,host,gpu_host,host_gpu"]
    others = {"gpu": "by_hand", "host": "mpi", "gpu_host": "by_hand", "host_gpu": "by_hand"}
    expected = {
        (name, buffers, variant): 4 if name in IN_PLACE else 2
        for name in (*of_two, *COLLECTIVES)
        for buffers, other in others.items()
        if name in of_two or "_" not in buffers
        for variant in ("sennit", other)
    }
    assert measured(document(bench(found, folder, *options, SENNIT_EMULATE="1"))) == expected


def test_ranks_are_taken_for_those_of_several_nodes(found: mpi.Installed, folder: Path) -> None:
    in_nodes = ["allgatherv", "alltoall", "alltoallv", "gather", "scatter"]
    options = ["--ranks-per-node", "1", "--operations", ",".join(["latency", *in_nodes]), "--sizes", "40K,2M"]
    done = bench(found, folder, *options, SENNIT_EMULATE="1", SENNIT_REPORT="1")
    assert {row["nodes"] for row in document(done)["rows"]} == {2}
    assert "staged: to another node, and short" in done.stderr, done.stderr
    assert "direct copy" not in done.stderr, done.stderr
    by_rails = {line.split()[0] for line in done.stderr.splitlines() if line.endswith("2 nodes by rails")}
    assert by_rails == set(in_nodes), done.stderr


def test_numbers_of_other_types_are_reduced(found: mpi.Installed, folder: Path) -> None:
    options = ["--operations", "allreduce,reduce,reduce_scatter_block", "--sizes", "8,64K", "--buffers", "gpu,host"]
    for numbers in (["--type", "int32", "--op", "bit_xor"], ["--type", "float64", "--op", "max"]):
        result = document(bench(found, folder, *options, *numbers, SENNIT_EMULATE="1"))
        assert {(row["type"], row["operator"]) for row in result["rows"]} == {(numbers[1], numbers[3])}


def test_what_osu_has_is_measured_by_its_names_and_of_characters(found: mpi.Installed, folder: Path) -> None:
    names = {
        "osu_multi_lat": "multi_latency", "osu_partitioned_latency": "partitioned",
        "osu_put_bibw": "put_bidirectional", "osu_acc_latency": "accumulate",
        "osu_fop_latency": "fetch_and_op", "osu_iallreduce": "iallreduce", "osu_reduce_persistent": "reduce_init",
        "osu_neighbor_alltoallv": "neighbor_alltoallv",
    }  # fmt: skip
    options = ["--operations", ",".join(names), "--type", "char", "--sizes", "40K", "--window", "2", "-n", "3"]
    rows = document(bench(found, folder, *options, SENNIT_EMULATE="1"))["rows"]
    assert {row["osu"]: row["operation"] for row in rows} == names
    assert {row["type"] for row in rows} == {"char", "int64"}
    done = bench(found, folder, "--operations", "bw", "--buffers", "managed", "--sizes", "8", SENNIT_EMULATE="1")
    assert done.returncode == 3
    assert "--buffers managed: there is no managed memory without a GPU" in " ".join(done.stderr.split())


def test_the_standard_abi_is_measured_too(found: mpi.Installed, folder: Path) -> None:
    library = found.library.with_name("libmpi_abi.so.1")
    if found.of.name != "mpich" or not library.exists():
        pytest.skip("this MPI has no libmpi_abi.so.1")
    options = ["--library", str(library), "--operations", "latency,iallreduce,alltoallv", "--sizes", "8,40K"]
    result = document(bench(found, folder, *options, SENNIT_EMULATE="1"))
    assert result["settings"]["library"] == library.name
    assert len(result["rows"]) == 3 * 2 * 2


PATTERNS = ("2d-torus:2x2,w=3", "2d-hypercube", "parallel:tp=2,dp=2")


def test_patterns_are_exchanged_by_all_their_maps(found: mpi.Installed, folder: Path) -> None:
    options = [part for each in PATTERNS for part in ("--pattern", each)]
    options += ["--sizes", "64,40K", "--buffers", "gpu,host", "--ranks-per-node", "2", "--machine", "hgx-h200-4"]
    result = document(start(found, folder, "patterns", *options, SENNIT_EMULATE="1"))
    assert result["kind"] == "bench patterns"
    rows = result["rows"]
    assert all(row["verified"] and row["nodes"] == 2 and sorted(row["map"]) == [0, 1, 2, 3] for row in rows)
    cases = {(row["pattern"], row["bytes"], row["buffers"]) for row in rows}
    assert cases == {(name, size, where) for name in PATTERNS for size in (64, 40960) for where in ("gpu", "host")}
    named = [
        (row["pattern"], row["bytes"], row["buffers"], name) for row in rows for name in row["variant"].split(", ")
    ]
    names = ("as it is", "contention", "latency", "bandwidth", "distance", "random", "worst")
    assert sorted(named) == sorted((*case, name) for case in cases for name in names), "each map once, by any name"
    assert all(("saved" in row) == (not row["variant"].startswith("as it is")) for row in rows)
    torus = {row["variant"].split(",")[0]: row for row in rows if row["pattern"] == PATTERNS[0]}
    # Rank 0 talks most with rank 2, which as it is sits on the other node.
    best = torus["contention"]["map"]
    assert best[0] // 2 == best[2] // 2, best
    assert torus["contention"]["predicted_us"] < torus["as it is"]["predicted_us"] <= torus["worst"]["predicted_us"]


def test_patterns_are_exchanged_over_nccl_beside_mpi(found: mpi.Installed, folder: Path) -> None:
    built = nccl_programs.compiled(None)
    if isinstance(built, str):
        pytest.skip(built)
    options = ["--pattern", PATTERNS[0], "--sizes", "64,40K", "--machine", "hgx-h200-4", "--over", "mpi,nccl"]
    nccl = {"LD_LIBRARY_PATH": str(built.library), "FAKE_NCCL_LOG": str(folder / "log"), "SENNIT_EMULATE": "1"}
    result = document(start(found, folder, "patterns", *options, "--buffers", "gpu,host", **nccl))
    assert result["versions"]["nccl"]
    assert not any("left out" in said for said in result["warnings"]), result["warnings"]
    rows = result["rows"]
    assert all(row["verified"] for row in rows)
    cases = {(row["over"], row["buffers"], row["bytes"], row["variant"]) for row in rows}
    maps = {variant for over, _, _, variant in cases if over == "nccl"}
    assert len(maps) > 1
    kinds = (("mpi", "gpu"), ("mpi", "host"), ("nccl", "gpu"))
    assert cases == {(*kind, size, variant) for kind in kinds for size in (64, 40960) for variant in maps}
    calls = [line.split() for each in folder.glob("log*") for line in each.read_text().splitlines()]
    carried = [call for call in calls if call[0] in ("Send", "Recv")]
    assert carried
    assert all(call[-2:] == ["depth", "1"] for call in carried), "grouped"
    # The program calls ncclCommInitRank, which sennit's drop-in turns into this.
    assert sum(call[0] == "CommInitRankConfig" for call in calls) == 4

    refused = start(found, folder, "patterns", *options, "--over", "nccl", "--buffers", "host", **nccl)
    assert refused.returncode == 3
    assert "NCCL exchanges GPU buffers alone" in " ".join(refused.stderr.split())


# An MPI whose allreduce is wrong on rank 1, wherever its handles are ints or pointers.
WRONG = """#define _GNU_SOURCE
#include <dlfcn.h>
int MPI_Allreduce(const void *in, void *out, int count, void *type, void *op, void *comm) {
  int (*real)(const void *, void *, int, void *, void *, void *) = dlsym(RTLD_DEFAULT, "PMPI_Allreduce");
  int (*rank_of)(void *, int *) = dlsym(RTLD_DEFAULT, "PMPI_Comm_rank");
  int rank, code = real(in, out, count, type, op, comm);
  rank_of(comm, &rank);
  if (rank == 1) ((char *)out)[9] ^= 1;
  return code;
}
"""


def test_a_wrong_byte_is_told_with_operation_size_variant_and_rank(found: mpi.Installed, folder: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not on PATH")
    (folder / "wrong.c").write_text(WRONG)
    wrong = folder / "wrong.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(folder / "wrong.c"), "-o", str(wrong)], check=True, timeout=60)
    # sennit comes before it, and passes host buffers on.
    options = ["--operations", "bcast,allreduce", "--sizes", "64", "--buffers", "host"]
    done = bench(found, folder, *options, SENNIT_EMULATE="1", LD_PRELOAD=str(wrong))
    assert done.returncode == 1
    assert done.stdout == ""
    told = "allreduce of 64 B, host buffers by sennit: rank 1: byte 9 of message 0 is wrong"
    assert told in " ".join(done.stderr.split())


def test_the_program_needs_neither_python_nor_the_drop_in(found: mpi.Installed, folder: Path) -> None:
    program = Path(drop_in.FOLDER).resolve() / "sennit-bench-mpi"
    start = mpi.launch(found, 2, root=os.geteuid() == 0)
    options = ["--operations", "latency,allreduce", "--sizes", "8", "--buffers", "gpu,host", "--seconds", "0.001"]
    done = subprocess.run(
        ["timeout", "-k", "5", "60", *start, str(program), *options],
        env=drop_in.environment(found, folder, None) | {"SENNIT_EMULATE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    result = document(done)
    assert result["settings"]["library"] == found.library.name, "found beside the launcher"
    assert not result["settings"]["preloaded"]
    variants = {(row["buffers"], row["variant"]) for row in result["rows"]}
    assert variants == {("gpu", "by_hand"), ("host", "mpi")}


def test_an_error_of_all_ranks_is_told_once(found: mpi.Installed, folder: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there may be GPUs")
    done = bench(found, folder, "--buffers", "gpu")
    assert done.returncode == 3
    assert done.stderr.count("SENNIT_EMULATE=1") == 1
    assert "--buffers gpu: no GPU answers" in done.stderr
