"""Collectives of several nodes through the drop-in for MPI, with emulated GPU memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import drop_in
import pytest
from sennit.peers import mpi

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
    "staged": "staged: ranks on several nodes",
}


# What goes by rails then.
BY_RAILS = {
    "allreduce", "reduce", "bcast", "allgather", "reduce_scatter_block", "reduce_scatter", "alltoall", "alltoallv",
    "allgatherv", "gather", "scatter", "gatherv", "scatterv",
}  # fmt: skip


def start(found: mpi.Installed, launch: list[str], settings: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = f'RANK=$PMI_RANK$PMIX_RANK; {settings} exec "{sys.executable}" -B -m mpi4py "{HERE / "mpi_nodes.py"}"'
    return drop_in.start(found, launch, program, folder)


def check(done: subprocess.CompletedProcess[str], way: str, lines: int = 8) -> None:
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.count("\n") == lines, done.stdout
    assert way in done.stderr, done.stderr
    if way.endswith("by rails"):
        assert {line.split()[0] for line in done.stderr.splitlines() if way in line} == BY_RAILS, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr


CASES = {
    "openmpi": ["two nodes of two in turn", "nodes that differ", "nodes of one", "three nodes of one"],
    "mpich": ["two nodes of two", "four nodes of one", "leaders", "staged"],
}


@pytest.mark.parametrize(("name", "nodes"), [(name, nodes) for name in CASES for nodes in CASES[name]])
def test_several_nodes(name: str, nodes: str) -> None:
    found = mpi.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    ranks, node, way = DIVIDED[nodes]
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder:
        launch = mpi.launch(found, ranks, root=os.geteuid() == 0)
        done = start(found, launch, f"SENNIT_NODE={node} SENNIT_BETWEEN={way}", Path(folder))
    check(done, TAKEN[nodes])


def test_an_alltoallv_with_one_long_message_is_staged_by_all() -> None:
    found = mpi.find("mpich")
    if isinstance(found, str):
        pytest.skip(found)
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder:
        done = start(found, mpi.launch(found, 8, root=os.geteuid() == 0), "SENNIT_NODE=$((RANK / 2))", Path(folder))
    check(done, "staged: ranks on several nodes, and messages of very different lengths", 1)


# ---- nodes with a network of their own ----------------------------------------------------------------------------


@contextmanager
def two_networks() -> Iterator[dict[str, str]]:
    """Two network namespaces with a wire between them: by address, their names."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the program ip (Debian: iproute2)")
    names = {f"10.213.7.{i}": f"sennit-{os.getpid()}-{i}" for i in (1, 2)}

    def ip(*arguments: str) -> bool:
        return subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode == 0

    try:
        wire = [f"sn{os.getpid()}{i}" for i in (1, 2)]
        made = all(ip("netns", "add", name) for name in names.values())
        made = made and ip("link", "add", wire[0], "type", "veth", "peer", "name", wire[1])
        for end, (address, name) in zip(wire, names.items(), strict=True):
            made = made and ip("link", "set", end, "netns", name)
            made = made and ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            made = made and ip("-n", name, "link", "set", end, "up") and ip("-n", name, "link", "set", "lo", "up")
        if not made:
            pytest.skip("this system lets nobody make network namespaces")
        yield names
    finally:
        for name in names.values():
            ip("netns", "del", name)


def test_nodes_may_have_nothing_but_a_network_between_them() -> None:
    """Ranks in other network namespaces are on other nodes, without being told; MPICH's messages between them go over
    TCP, as those of the drop-in do."""
    found = mpi.find("mpich")
    if isinstance(found, str):
        pytest.skip(found)
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder, two_networks() as names:
        # What Hydra takes for ssh: its last arguments are the address and a command.
        shell = Path(folder) / "shell"
        cases = "\n".join(f"{address}) name={name};;" for address, name in names.items())
        shell.write_text(
            "#!/bin/sh\n"
            'while [ "${1#-}" != "$1" ]; do shift; done\n'
            f'case "$1" in\n{cases}\nesac\n'
            'shift\nexec ip netns exec "$name" sh -c "$*"\n'
        )
        shell.chmod(0o755)
        first = next(iter(names.values()))
        launch = ["ip", "netns", "exec", first, str(found.launcher), "-launcher", "ssh", "-launcher-exec", str(shell)]
        launch += ["-hosts", ",".join(names), "-n", "4", "-ppn", "2"]
        done = start(found, launch, "", Path(folder))
    check(done, "2 nodes by rails")


def test_ranks_that_want_other_ways_stage() -> None:
    found = mpi.find("mpich")
    if isinstance(found, str):
        pytest.skip(found)
    with tempfile.TemporaryDirectory(prefix="sennit-nodes-") as folder:
        launch = mpi.launch(found, 2, root=os.geteuid() == 0)
        ways = "SENNIT_NODE=$RANK SENNIT_BETWEEN=$(test $RANK = 0 && echo rails || echo leaders)"
        done = start(found, launch, ways, Path(folder))
    check(done, "staged: SENNIT_BETWEEN is not the same on all ranks")
