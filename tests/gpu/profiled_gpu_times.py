"""The times on the GPU that `sennit profile` takes of NCCL's calls, beside those of torch.profiler's kernels for the
same calls, and what they cost on the host. On a machine with two GPUs and PyTorch, from a checkout that is built:

    SENNIT_PROGRAMS=build/release/bin PYTHONPATH=python python tests/gpu/profiled_gpu_times.py [--ranks 2]

It prints two tables, and ends with 1 where a mean from 16 MiB on differs by more than 3 %."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = (1, 16, 64)
CALLS, SMALL_CALLS = 40, 2000
LIMIT = 0.03  # from 16 MiB on
MODES = ("unprofiled", "none", "sampled", "all")
RESULT = "SENNIT_TEST_RESULT"  # a file of rank 0's


def kernels_of(run: Callable[[], None]) -> list[float]:
    """µs of each kernel of NCCL that runs meanwhile."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        run()
        torch.cuda.synchronize()
    return [
        event.time_range.elapsed_us()
        for event in profiler.events() or []
        if event.name.startswith(("ncclDevKernel", "ncclKernel"))
    ]


def rank() -> None:
    """A loop as of data-parallel training: gradients are summed while the next layer computes."""
    import torch
    import torch.distributed as dist
    from sennit.profile import phase

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    factor = torch.randn(1024, 1024, device="cuda")

    def loop(gradients: torch.Tensor, calls: int) -> None:
        for _ in range(calls):
            work = dist.all_reduce(gradients, async_op=True)
            assert work is not None
            torch.mm(factor, factor)
            work.wait()

    found: dict[str, Any] = {"kernels": {}}
    for mib in MIB:
        gradients = torch.zeros(mib << 18, device="cuda")
        loop(gradients, 5)
        torch.cuda.synchronize()
        dist.barrier()
        with phase(f"{mib} MiB"):
            own = kernels_of(lambda gradients=gradients: loop(gradients, CALLS))  # type: ignore[misc]
        # A rank that comes first waits in its kernel, so ranks' means differ.
        every: list[list[float]] = [[] for _ in range(dist.get_world_size())]
        dist.all_gather_object(every, own)
        found["kernels"][mib] = [us for one in every for us in one]
    small = torch.zeros(256, device="cuda")
    loop(small, 100)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(SMALL_CALLS):
        dist.all_reduce(small)
    found["host_us"] = (time.perf_counter() - begin) / SMALL_CALLS * 1e6
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        Path(os.environ[RESULT]).write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


def job(mode: str, ranks: int, folder: Path) -> tuple[dict[str, Any], Any]:
    """What rank 0 found, and the profile's document, if there is one."""
    result = folder / f"{mode}.json"
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", __file__]
    sennit = [sys.executable, "-m", "sennit"]
    if mode != "unprofiled":
        start = [*sennit, "profile", "-o", str(folder / mode), "--gpu-times", mode, "--", *start]
    subprocess.run(start, env=os.environ | {RESULT: str(result)}, check=True, timeout=500)
    document = None
    if mode != "unprofiled":
        command = [*sennit, "report", str(folder / mode), "--json"]
        document = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return json.loads(result.read_text(encoding="utf-8")), document


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def main() -> int:
    """The driver."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    ranks = parser.parse_args().ranks
    far = False
    with tempfile.TemporaryDirectory() as folder:
        found = {mode: job(mode, ranks, Path(folder)) for mode in MODES}
    told, document = found["all"]
    print("allreduce   torch.profiler's kernels   sennit profile's events   difference")
    for mib in MIB:
        rows = [row for row in document["rows"] if row["phase"] == f"{mib} MiB" and row["device_calls"]
                and row["function"] == "ncclAllReduce"]  # fmt: skip
        kernels = mean(told["kernels"][str(mib)])
        events = sum(row["device_seconds"] for row in rows) / sum(row["device_calls"] for row in rows) * 1e6
        timed = sum(row["device_calls"] for row in rows)
        far = far or (mib >= 16 and abs(events / kernels - 1) > LIMIT)
        print(
            f"{mib:3} MiB     {kernels:10.1f} µs of {len(told['kernels'][str(mib)])} calls"
            f"            {events:10.1f} µs of {timed} calls            {100 * (events / kernels - 1):+.1f} %"
        )
    print("\nhost time of a call of 1 KiB, rank 0")
    for mode in MODES:
        print(f"  {mode:10}   {found[mode][0]['host_us']:.2f} µs")
    return 1 if far else 0


if __name__ == "__main__":
    if "RANK" in os.environ:
        rank()
    else:
        sys.exit(main())
