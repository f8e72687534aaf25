"""Follows examples/sweep.c on this machine: profiles it with whole messages, measures what partitioned ones gain,
projects, and runs both ways in turns:

    python scripts/measure_sweep.py FILE.json LAUNCHER SWEEP [RUNS]

SWEEP is examples/sweep.c, compiled for LAUNCHER's MPI. FILE.json is what `sennit bench project --json` says, with the
seconds of all runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sennit.programs import launcher

WAYS = ("whole", "partitioned")
# The sweep's own defaults: faces of 1 MiB in 16 partitions, which one thread computes in some 2 ms.
MEASURED = ("--vs", "partitioned", "--sizes", "256K,1M,4M", "--partitions", "16", "--threads", "1", "--compute",
            "2ms", "--seconds", "5")  # fmt: skip


def main(file: Path, starts: str, program: Path, runs: int) -> None:
    """Writes the file."""
    found = launcher.find(starts)
    environment = found.environment(os.environ)

    def command(way: str) -> list[str]:
        return found.command(2, [str(program.absolute()), way], {}, os.geteuid() == 0, len(os.sched_getaffinity(0)))

    def told(words: list[str]) -> str:
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              check=True)  # fmt: skip
        return done.stdout

    sennit = [sys.executable, "-m", "sennit"]
    with tempfile.TemporaryDirectory() as folder:
        profile, measured = f"{folder}/run1", f"{folder}/p.json"
        told([*sennit, "profile", "-o", profile, "--", *command(WAYS[0])])
        told([*sennit, "bench", "partitioned", *MEASURED, "--launcher", starts, "--json", measured])
        projection: dict[str, Any] = json.loads(
            told([*sennit, "bench", "project", profile, "--measured", measured, "--json"])
        )
        about = json.loads(Path(measured).read_text(encoding="utf-8"))
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    sums = set()
    for number in range(runs):
        for way in WAYS if number % 2 == 0 else WAYS[::-1]:
            if not (line := re.search(rf"^{way}: (\S+) s, sum (\S+)$", told(command(way)), re.MULTILINE)):
                raise SystemExit(f"{program} did not say how long it took")
            seconds[way].append(float(line[1]))
            sums.add(line[2])
    if len(sums) != 1:
        raise SystemExit(f"the two ways computed different sums: {', '.join(sorted(sums))}")
    kept = {name: about[name] for name in ("date", "machine", "versions")}
    projection |= {"profile": "examples/sweep.c", "measured": "sennit bench partitioned " + " ".join(MEASURED)}
    file.write_text(json.dumps(projection | kept | {"ran": seconds}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) == 5 else 11)
