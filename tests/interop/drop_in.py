"""The drop-in for MPI as the tests here start it: preloaded over an MPI that can be had, GPU memory emulated."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import debian_mpi
import guard
import pytest
from sennit.baselines import mpi

FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")

# The wheels', and older ones.
LIBRARIES = (*mpi.LIBRARIES, *debian_mpi.LIBRARIES)


def find(name: str) -> mpi.Installed | str:
    """One of LIBRARIES, or why it cannot be had."""
    return debian_mpi.find(name) if name in debian_mpi.LIBRARIES else mpi.find(name)


def library(preset: str = "") -> Path | str:
    """The library to preload, or why it is not there. `preset`: of scripts/build, where not that of the programs."""
    if not FOLDER:
        return "SENNIT_TEST_PROGRAMS names no folder; make test sets it"
    built = Path(FOLDER).resolve().parent
    found = (built.parent / preset if preset else built) / "lib" / "libsennit-preload.so"
    return found if found.exists() else f"{found} is not built"


def environment(found: mpi.Installed, folder: Path, preloaded: Path | None) -> dict[str, str]:
    """What a job sees that has this folder for its files; without the drop-in where there is no library."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "LD_PRELOAD"))}
    ours = {"LD_PRELOAD": str(preloaded), "SENNIT_EMULATE": "1"} if preloaded else {}
    debian = debian_mpi.environment() if debian_mpi.FOLDER in found.library.parents else {}
    return mpi.environment(found, kept, folder) | debian | ours


def start(found: mpi.Installed, launch: list[str], shell: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A job of ranks that a shell starts, which knows their numbers, with the drop-in, its report, and the guard
    behind it. Skips the test where the drop-in is not built."""
    preloaded = library()
    if isinstance(preloaded, str):
        pytest.skip(preloaded)
    return subprocess.run(
        ["timeout", "-k", "5", "100", *launch, *guard.before(found, preloaded), "sh", "-c", shell],
        env=environment(found, folder, preloaded) | {"SENNIT_REPORT": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
