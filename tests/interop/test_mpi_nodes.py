"""Collectives of several nodes through the drop-in for MPI, with emulated GPU memory."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import drop_in
import pytest
import repeats
from sennit import virtual_nodes
from sennit.baselines import mpi
from sennit.programs import launcher
from sennit.programs.problem import Problem

HERE = Path(__file__).resolve().parent

# How many ranks there are, what names the node of each, and SENNIT_BETWEEN.
DIVIDED = {
    "two nodes of two": (4, "$((RANK / 2))", "rails"),
    "two nodes of two in turn": (4, "$((RANK % 2))", "rails"),
    "nodes that differ": (3, "$((RANK / 2))", "rails"),
    "nodes of one": (2, "$RANK", "rails"),
    "three nodes of one": (3, "$RANK", "rails"),
    "four nodes of one": (4, "$RANK", "rails"),
    "leaders": (4, "$((RANK / 2))", "leaders"),
    "adapters of two nodes": (4, "$((RANK / 2))", "adapters"),
    "three ranks and one": (4, "$((RANK / 3))", "adapters"),
    "adapters of four nodes": (4, "$RANK", "adapters"),
    "staged": (2, "$RANK", "staged"),
}
# What rank 0's report names then.
TAKEN = {
    "two nodes of two": "by rails",
    "two nodes of two in turn": "by rails",
    "nodes that differ": "by leaders",
    "nodes of one": "by rails",
    "three nodes of one": "3 nodes by rails",
    "four nodes of one": "4 nodes by rails",
    "leaders": "by leaders",
    "adapters of two nodes": "2 nodes by adapters, of each 2",
    "three ranks and one": "2 nodes by adapters, of each 1",
    "adapters of four nodes": "4 nodes by adapters, of each 1",
    "staged": "staged: ranks on several nodes",
}


# What goes by rails then.
BY_RAILS = {
    "allreduce", "reduce", "bcast", "allgather", "reduce_scatter_block", "reduce_scatter", "alltoall", "alltoallv",
    "allgatherv", "gather", "scatter", "gatherv", "scatterv",
}  # fmt: skip


def start(
    found: mpi.Installed, launch: list[str], settings: str, folder: Path, checks: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """`checks`: of those of mpi_nodes.py; none: all."""
    program = shlex.join([sys.executable, "-B", "-m", "mpi4py", str(HERE / "mpi_nodes.py"), *checks])
    return drop_in.start(found, launch, f"RANK=$PMI_RANK$PMIX_RANK; {settings} exec {program}", folder)


def check(done: subprocess.CompletedProcess[str], way: str, checks: tuple[str, ...] = ()) -> None:
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.count("\n") == (len(checks) or 8), done.stdout
    assert way in done.stderr, done.stderr
    if way.endswith("by rails"):
        taken = {line.split()[0] for line in done.stderr.splitlines() if way in line}
        assert taken == ({"allreduce", "bcast"} if checks else BY_RAILS), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


# Where a case beside it does all: of nodes of one, three of them; of those that meet at leaders, those that differ.
IN_SHORT = ("allreduces_of_every_length", "broadcasts_from_every_root")
# Of ranks on two nodes, also those of one of each, and of two and one.
BY_ADAPTERS = ("broadcasts_among_some_ranks", "allreduces_of_every_length")
ALL: tuple[str, ...] = ()
CASES = [
    ("openmpi", "two nodes of two in turn", ALL),
    ("openmpi", "nodes that differ", ALL),
    ("openmpi", "nodes of one", IN_SHORT),
    ("openmpi", "three nodes of one", ALL),
    ("openmpi", "four nodes of one", IN_SHORT),
    ("mpich", "two nodes of two", ALL),
    ("mpich", "four nodes of one", IN_SHORT),
    ("mpich", "leaders", IN_SHORT),
    ("mpich", "staged", ALL),
    ("openmpi", "adapters of two nodes", BY_ADAPTERS),
    ("mpich", "three ranks and one", BY_ADAPTERS),
]
REPEATS = [
    ("openmpi", "nodes of one", ALL),
    ("mpich", "four nodes of one", ALL),
    ("mpich", "leaders", ALL),
    ("mpich", "adapters of two nodes", ALL),
    ("openmpi", "three ranks and one", BY_ADAPTERS),
    ("openmpi", "adapters of four nodes", BY_ADAPTERS),
    ("mpich", "adapters of four nodes", BY_ADAPTERS),
]


def every_run(
    cases: list[tuple[str, Any, tuple[str, ...]]], repeated: list[tuple[str, Any, tuple[str, ...]]]
) -> list[Any]:
    return repeats.but([*cases, *repeated], lambda *case: case in cases)


@pytest.mark.parametrize(("name", "nodes", "checks"), every_run(CASES, REPEATS))
def test_several_nodes(name: str, nodes: str, checks: tuple[str, ...]) -> None:
    found = mpi.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    ranks, node, way = DIVIDED[nodes]
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder:
        launch = mpi.launch(found, ranks, root=os.geteuid() == 0)
        settings = f"SENNIT_NODE={node} SENNIT_BETWEEN={way}"
        # A machine whose first two GPUs have a NIC each; the one that is found here has none.
        settings += " SENNIT_MACHINE=dgx-h100" if way == "adapters" else ""
        done = start(found, launch, settings, Path(folder), checks)
    check(done, TAKEN[nodes], checks)


def test_an_alltoallv_with_one_long_message_is_staged_by_all() -> None:
    found = mpi.find("mpich")
    if isinstance(found, str):
        pytest.skip(found)
    checks = ("one_message_is_much_longer_than_all_others",)
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder:
        launch = mpi.launch(found, 8, root=os.geteuid() == 0)
        done = start(found, launch, "SENNIT_NODE=$((RANK / 2))", Path(folder), checks)
    check(done, "staged: ranks on several nodes, and messages of very different lengths", checks)


# ---- nodes with a network of their own ----------------------------------------------------------------------------


@contextmanager
def networks(count: int) -> Iterator[list[virtual_nodes.Node]]:
    try:
        with virtual_nodes.networks(count) as made:
            yield made
    except Problem as problem:
        pytest.skip(problem.what)


@pytest.mark.parametrize(
    ("name", "nodes", "checks"),
    every_run([("mpich", 4, IN_SHORT), ("openmpi", 2, IN_SHORT)], [("mpich", 2, ALL), ("openmpi", 4, IN_SHORT)]),
)
def test_nodes_may_have_nothing_but_a_network_between_them(name: str, nodes: int, checks: tuple[str, ...]) -> None:
    """Ranks in other network namespaces are on other nodes, without being told; what the drop-in sends between them
    goes through the MPI, whose messages go over TCP."""
    found = mpi.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder, networks(nodes) as made:
        start_of = launcher.Launcher(found.launcher, launcher.OPENMPI if name == "openmpi" else launcher.HYDRA)
        launch = virtual_nodes.between(start_of, made, 4, Path(folder)).command([], {})
        done = start(found, launch, "", Path(folder), checks)
        sent = [node.bytes_sent() for node in made]
    check(done, f"{nodes} nodes by rails", checks)
    # As many of the longest allreduce alone; by shared memory none.
    assert min(sent) > 17_000_000, sent


def test_ranks_that_want_other_ways_stage() -> None:
    found = mpi.find("mpich")
    if isinstance(found, str):
        pytest.skip(found)
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder:
        launch = mpi.launch(found, 2, root=os.geteuid() == 0)
        ways = "SENNIT_NODE=$RANK SENNIT_BETWEEN=$(test $RANK = 0 && echo rails || echo leaders)"
        done = start(found, launch, ways, Path(folder), IN_SHORT)
    check(done, "staged: SENNIT_BETWEEN is not the same on all ranks", IN_SHORT)
