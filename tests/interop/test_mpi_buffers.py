"""Every send with every receive, and collectives, through the drop-in for MPI, with emulated GPU memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import drop_in
import pytest
import repeats
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent

# How GPUs reach each other: as they do here; not at all, so that messages go by way of shared host memory; without
# any memory that can be shared, or each rank on a node of its own, so that everything is staged.
REACH = {
    "direct": {},
    "no peer access": {"SENNIT_PEER": "0"},
    "nothing shared": {"SENNIT_IPC": "0"},
    "nodes": {"SENNIT_NODE": "$PMI_RANK$PMIX_RANK"},
}


# Open MPI 5.0.11 writes all of a long message that is truncated, also behind the buffer: with host memory alone, and
# so with what stands for GPU memory where messages are staged.
OVERRUNS = "a_message_that_is_too_long_is_an_error"


def run(name: str, ranks: int, settings: dict[str, str], left_out: str) -> subprocess.CompletedProcess[str]:
    found = drop_in.find(name)
    if isinstance(found, str):
        pytest.skip(found)
    # The shell knows the rank.
    ours = " ".join(f'{key}="{value}"' for key, value in settings.items())
    program = f'{ours} exec "{sys.executable}" -B "{HERE / "mpi_buffers.py"}" {left_out}'
    with tempfile.TemporaryDirectory(prefix="sennit-buffers-") as folder:
        return drop_in.start(found, mpi.launch(found, ranks, root=os.geteuid() == 0), program, Path(folder))


@pytest.mark.parametrize(("name", "reach"), repeats.in_turn(drop_in.LIBRARIES, list(REACH)))
def test_what_is_sent_and_reduced_arrives(name: str, reach: str) -> None:
    ranks = 3 if reach == "direct" else 2
    staged = reach in ("nothing shared", "nodes")
    left_out = OVERRUNS if staged and name == "openmpi" else ""
    done = run(name, ranks, REACH[reach], left_out)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.count("\n") == (16 if left_out else 17), done.stdout
    # What took which way is what is tested, so it must have taken it.
    direct = "direct copy" in done.stderr
    collective = "one_shot" in done.stderr
    assert (direct, collective) == {
        "direct": (True, True),
        "no peer access": (True, True),
        "nothing shared": (False, True),
        "nodes": (False, False),
    }[reach], done.stderr
    for call in ("scan", "exscan", "allgatherv", "gatherv", "scatterv"):
        taken = re.search(rf"^{call} .*  (gathered and reduced: )?[a-z_]+ \d+x\d+$", done.stderr, re.MULTILINE)
        assert (taken is not None) == collective, done.stderr
    # Nothing but the report is said; nobody is to read of handles that leak.
    assert "error" not in done.stderr.lower(), done.stderr
