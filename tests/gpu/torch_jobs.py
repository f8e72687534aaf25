"""The tests of sennit.torch on GPUs, without pytest: `python tests/gpu/torch_jobs.py [--ranks N] [SCENARIO…]`, by a
Python that has PyTorch. What jobs measure is printed. Exit code 1 when one failed, 3 where there is no PyTorch or are
no GPUs for it."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from importlib import util
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "interop"), str(HERE.parent.parent / "python")]

import rank_jobs  # noqa: E402

# By file: the scenarios that it has for as many ranks as there are GPUs, and those for one.
FILES = {
    "../interop/torch_rank.py": (
        ["reductions", "moves", "works", "messages", "groups", "functional", "functions", "windows", "copies",
         "errors", "late", "aborted", "lost"],
        [],
    ),
    "../interop/torch_training.py": (["buckets", "views", "static", "gathered", "fsdp", "tensor_parallel"], []),
    "../gpu/torch_rank_gpu.py": (
        ["streams", "memory", "graphs", "several_groups", "large_messages", "times"],
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


def run(name: str, ranks: int) -> bool:
    """One job; says how it went."""
    file, fixed = JOBS[name]
    cache = os.environ.get("SENNIT_CACHE", "")
    settings = {"SENNIT_EXECUTOR": "cuda", "SENNIT_TEST_GPUS": "1", "SENNIT_CACHE": cache}
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sennit-torch-") as folder:
        ended = rank_jobs.run(file, name, fixed or ranks, Path(folder), more=settings)
    wanted = ["all right\n"] * len(ended)
    if name == "lost":
        wanted[0] = ""
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, help="as many as there are GPUs, but at most 4, by default")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(JOBS)}; all by default")
    options = parser.parse_args()
    unknown = [name for name in options.scenarios if name not in JOBS]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}")
    if util.find_spec("torch") is None:
        print(f"{sys.executable} has no PyTorch; pip install torch, or start this by a Python that has it")
        return 3
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    ranks = options.ranks or min(gpus, 4)
    if ranks < 2 or gpus < ranks:
        print(f"PyTorch {torch.__version__} sees {gpus} GPUs; two or more are needed")
        return 3
    failed = [name for name in options.scenarios or JOBS if not run(name, ranks)]
    print(f"sennit.torch on {ranks} GPUs: {len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
