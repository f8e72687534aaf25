"""What the scripts of the house share: where the tree is, and which of its files each tool looks at."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"


def gpus() -> int:
    """How many GPUs answer."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def unrandomised() -> list[str]:
    """What GCC's ThreadSanitizer is started with: it cannot start under the address randomisation of recent kernels.
    Where the personality may not be changed (some containers), tests go on and hope."""
    command = ["setarch", os.uname().machine, "-R"]
    try:
        return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []
    except OSError:
        return []


def tracked(*patterns: str) -> list[Path]:
    """Files of the tree that match, tracked or new but not ignored, so that a file is linted before its commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return sorted({ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()})
    # A source archive has no git: every file below the folders of the house.
    found: set[Path] = set()
    for pattern in patterns:
        for folder in ("src", "include", "tests", "python", "scripts"):
            found |= set((ROOT / folder).rglob(pattern))
    return sorted(found)
