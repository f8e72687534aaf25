"""The tests of sennit.torch on GPUs: `python tests/gpu/torch_jobs.py [--ranks N] [--python PYTHON] [SCENARIO…]`. What
jobs measure is printed.

Needs a Python with PyTorch for CUDA, which may be another one than that which runs this, and two GPUs. Exit code 1: a
job failed. Without them it says so and ends with 0."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "interop"), str(HERE.parent.parent / "python")]

import rank_jobs  # noqa: E402
from preloaded import ask, stop_at_sigterm  # noqa: E402

# By file: the scenarios that it has for as many ranks as there are GPUs, and those for one.
FILES = {
    "../interop/torch_rank.py": (
        ["reductions", "moves", "works", "functional", "functions", "windows", "copies", "errors"],
        [],
    ),
    "../interop/torch_messages_rank.py": (["messages", "orders", "itself", "no_message", "left"], []),
    "../interop/torch_groups_rank.py": (
        ["groups", "outsiders", "forgotten", "ends", "restarts", "abandoned", "ends_at_once", "called_off",
         "unwanted", "together", "late", "lost", "aborted"],
        [],
    ),
    "../interop/torch_training.py": (["buckets", "views", "static", "gathered", "fsdp", "tensor_parallel"], []),
    "../gpu/torch_rank_gpu.py": (
        ["streams", "memory", "graphs", "several_groups", "large_messages", "crossing_messages",
         "message_graphs", "pinned_windows", "times"],
        ["all_copies"],
    ),
}  # fmt: skip
JOBS = {
    name: (file, ranks)
    for file, (together, alone) in FILES.items()
    for names, ranks in ((together, 0), (alone, 1))
    for name in names
}
MEASURES = ("times", "all_copies")
DYING = {"lost": 0, "no_message": -1}  # the rank that ends before it can say anything


def run(name: str, ranks: int, python: str) -> bool:
    """One job; says how it went."""
    file, fixed = JOBS[name]
    settings = {"SENNIT_EXECUTOR": "cuda", "SENNIT_TEST_GPUS": "1"}
    settings |= {each: os.environ[each] for each in ("SENNIT_CACHE", "SENNIT_PROGRAMS") if each in os.environ}
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sennit-torch-") as folder:
        ended = rank_jobs.run(file, name, fixed or ranks, Path(folder), more=settings, python=python)
    wanted = ["all right\n"] * len(ended)
    if name in DYING:
        wanted[DYING[name]] = ""
    good = all(rank.code == 0 for rank in ended) and [rank.output for rank in ended] == wanted
    took = time.monotonic() - since
    print(f"{'passed' if good else 'FAILED'} {name} ({len(ended)} ranks, {took:.1f} s)", flush=True)
    for number, rank in enumerate(ended):
        if not good:
            print(f"--- rank {number}, exit code {rank.code}\n{rank.output}{rank.errors[-4000:]}", flush=True)
        elif name in MEASURES:
            print("".join(f"    {line}\n" for line in rank.errors.splitlines() if " x" in line), end="", flush=True)
    return good


def main() -> int:
    """The program."""
    stop_at_sigterm()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, help="as many as there are GPUs, but at most 4, by default")
    parser.add_argument("--python", help="one with PyTorch; default: this one, else python3")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(JOBS)}; all by default")
    options = parser.parse_args()
    unknown = [name for name in options.scenarios if name not in JOBS]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}")
    found = {python: ask(python) for python in ([options.python] if options.python else [sys.executable, "python3"])}
    python = next((name for name, (why, _) in found.items() if not why), None)
    gpus = found[python][1] if python else 0
    ranks = options.ranks or min(gpus, 4)
    if python is None or ranks < 2 or gpus < ranks:
        reasons = [why for why, _ in found.values()] if python is None else [f"{python}'s PyTorch sees {gpus} GPUs"]
        print(f"sennit.torch: {'; '.join(reasons)}; nothing was tested")
        return 0
    failed = [name for name in options.scenarios or JOBS if not run(name, ranks, python)]
    print(f"sennit.torch on {ranks} GPUs: {len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
