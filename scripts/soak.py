"""Random collectives against references, until the time is over: seed after seed on four ranks of the host executor
and, where there are two GPUs or more and a build that knows them, on the GPUs. Exit code 1 at the first wrong number,
with the seed that shows it again."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from house import ROOT, gpus

BUILD = ROOT / "build" / "release"
LAUNCH = BUILD / "bin" / "sennit-launch"
# Rounds of one job: some seconds.
ROUNDS = 200


def jobs() -> list[tuple[str, int, Path, str]]:
    """What there is to run: the name, the ranks, the program of a rank and SENNIT_EXECUTOR."""
    found = [("host", 4, BUILD / "tests" / "capi" / "capi_rank", "host")]
    on_gpus = BUILD / "tests" / "gpu" / "gpu_rank"
    ranks = min(gpus(), 8)
    if ranks >= 2 and on_gpus.exists():
        found.append(("gpus", ranks, on_gpus, "cuda"))
    return found


def run(ranks: int, program: Path, executor: str, seed: int) -> str:
    """One job: what its ranks said, empty when all was right."""
    command = [str(LAUNCH), "-n", str(ranks), "--", str(program), "soak", str(ROUNDS), str(seed)]
    done = subprocess.run(
        ["env", f"SENNIT_EXECUTOR={executor}", *command], capture_output=True, text=True, check=False
    )
    right = done.returncode == 0 and done.stdout.count("all right") == ranks
    return (
        "" if right else f"{done.stdout}{done.stderr}\nshow it again: SENNIT_EXECUTOR={executor} {' '.join(command)}"
    )


def main() -> int:
    """Runs until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="when the last job is begun; default 600")
    parser.add_argument("--seed", type=int, default=1, help="of the first job; default 1")
    options = parser.parse_args()
    if not LAUNCH.exists():
        print("soak: there are no programs to run. Use make soak, which builds them.", file=sys.stderr)
        return 3
    end = time.monotonic() + options.seconds
    seed = options.seed
    while time.monotonic() < end:
        for name, ranks, program, executor in jobs():
            begin = time.monotonic()
            if wrong := run(ranks, program, executor, seed):
                print(f"soak: {name}, seed {seed} is wrong\n{wrong}", file=sys.stderr)
                return 1
            print(f"soak: {name}, seed {seed}: {ROUNDS} rounds right in {time.monotonic() - begin:.1f} s", flush=True)
        seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
