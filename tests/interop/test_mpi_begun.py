"""Collectives that end in a request through the drop-in for MPI, with emulated GPU memory."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import drop_in
import pytest
import repeats
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent
CHECKS = 15

# How ranks are spread: of one node; of several, or whose memory nobody shares, where all is staged.
SPREAD = {"one node": "", "nodes": "SENNIT_NODE=$PMI_RANK$PMIX_RANK", "others": "SENNIT_OPS=bcast,ibcast"}
# What of rank 0's report shows that it was so.
TAKEN = {
    "one node": r"iallreduce .* one_shot",
    "nodes": r"iallreduce .* staged: ends in a request, ranks on several nodes",
    "others": r"iallreduce .* staged: SENNIT_OPS",
}
# Nobody else's calls go on while a rank computes.
ALONE = "a_rank_that_computes_keeps_nobody_waiting"


@pytest.mark.parametrize(
    ("name", "ranks", "spread"),
    [
        *repeats.but(
            [(name, ranks, "one node") for name in drop_in.LIBRARIES for ranks in (2, 4)],
            lambda name, ranks, _: ranks == 2 or name == "openmpi",
        ),
        *((name, 2, spread) for name in mpi.LIBRARIES for spread in ("nodes", "others")),
    ],
)
def test_what_ranks_begin_comes_to_its_end(name: str, ranks: int, spread: str) -> None:
    found = drop_in.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    left_out = "" if spread == "one node" else ALONE
    program = f'{SPREAD[spread]} exec "{sys.executable}" -B -m mpi4py "{HERE / "mpi_begun.py"}" {left_out}'
    with tempfile.TemporaryDirectory(prefix="sennit-begun-") as folder:
        launch = mpi.launch(found, ranks, root=os.geteuid() == 0)
        done = drop_in.start(found, launch, program, Path(folder))
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.count("\n") == CHECKS - bool(left_out), done.stdout
    assert re.search(TAKEN[spread], done.stderr), done.stderr
    for family in ("reduce", "bcast", "allgather", "alltoall", "gather", "scatter", "reduce_scatter_block", "scan"):
        taken = re.search(rf"^i{family} .* [a-z_]+ \d+x\d+$", done.stderr, re.MULTILINE) is not None
        assert taken == (spread == "one node" or (spread == "others" and family == "bcast")), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr
