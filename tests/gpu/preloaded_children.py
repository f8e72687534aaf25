"""What the preloaded library costs programs that use neither NCCL nor MPI, as shells, launchers and data loaders are:
they only load it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

STARTS = 50
LIMIT_MS = 5
# Without wait_id: what an installation's .pth files do may differ by more than the limit from one start to the next.
COMMANDS = {"true": ("true",), "python": (sys.executable, "-S", "-c", "pass")}


def start_ms(command: Sequence[str], preloaded: Path | None) -> float:
    """From before a program is started until it has ended."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "LD_PRELOAD"))}
    environment = kept | ({"LD_PRELOAD": str(preloaded)} if preloaded else {})
    begin = time.perf_counter()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1e3


def medians(command: Sequence[str], preloaded: Path) -> tuple[float, float]:
    """With the library and without, in turns."""
    pairs = [(start_ms(command, preloaded), start_ms(command, None)) for _ in range(STARTS)]
    return statistics.median(each[0] for each in pairs), statistics.median(each[1] for each in pairs)


def run(preloaded: Path) -> list[str]:
    """Measures and prints; what is wrong."""
    found = []
    for name, command in COMMANDS.items():
        with_it, without = medians(command, preloaded)
        print(f"preloaded: children: {name} takes {with_it:.2f} ms with the preloaded library, {without:.2f} without "
              f"(medians of {STARTS} starts)")  # fmt: skip
        if with_it - without > LIMIT_MS:
            found.append(f"{name} takes more than {LIMIT_MS} ms longer")
    return found
