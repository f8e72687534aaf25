"""PyTorch's symmetric memory as a peer: its own allreduce kernels on buffers that all ranks have mapped."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from sennit.baselines.job import Case
from sennit.programs.packages import install

NAME = "torch"
ONE_SHOT, TWO_SHOT = "torch_one_shot", "torch_two_shot"  # as rows name them
TYPES = ("float32", "bfloat16", "float16")  # the last is refused, with a warning, where its kernels lack it
MOST_ONE_SHOT = 16 << 20  # bytes; every rank reads all of every other's, which pays for small messages only


@dataclass(frozen=True)
class Installed:
    """PyTorch, of which nothing more need be known before it runs."""

    version: str


def find() -> Installed | str:
    """PyTorch, or why it cannot be had and what to do. Whether it has CUDA is found out by its ranks: importing it
    takes seconds."""
    if util.find_spec("torch") is None:
        return f"torch is not installed; {install('torch')}"
    try:
        return Installed(metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return Installed("")


def can(case: Case) -> str:
    """Empty where it can do it, else why not."""
    if case.operation != "allreduce":
        return f"{NAME} is left out of {case.operation}: of symmetric memory its allreduce alone is measured."
    if case.type not in TYPES or case.operator != "sum":
        return (
            f"{NAME} is left out of {case.operation}: it has no {case.operator} of {case.type}; compare with "
            "--type float32 --op sum."
        )
    return ""


def variants(case: Case) -> list[str]:
    """The ways that are measured at this size."""
    return [*([ONE_SHOT] if case.bytes <= MOST_ONE_SHOT else []), TWO_SHOT]


def command(file: Path, rank: int) -> list[str]:
    """What starts one rank of a job that is in a file."""
    return [sys.executable, "-m", "sennit.baselines.symmetric_rank", str(file), str(rank)]


def environment(inherited: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What ranks see. No multicast object is made: NVLink multicast is left off for all peers."""
    package = Path(__file__).resolve().parent.parent.parent
    return dict(inherited) | {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(package), inherited.get("PYTHONPATH", "")))),
        "TMPDIR": str(folder),
        "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
        "NCCL_NVLS_ENABLE": "0",
        "TORCH_SYMMMEM": "CUDA",  # its own kernels, not those of NVSHMEM or NCCL
        "GLOO_SOCKET_IFNAME": inherited.get("GLOO_SOCKET_IFNAME", "lo"),  # ranks of one machine meet
    }
