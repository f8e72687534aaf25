"""Programs that open NCCL themselves, on two GPUs under the drop-in: by ctypes as vLLM does, CuPy and JAX. Their sums
have to be right, and sennit's report has to have their calls. On one GPU (--ranks 1) it has them as NCCL's, and JAX
makes none.

  python tests/gpu/opened_nccl.py [--ranks N] [ctypes|cupy|jax …]

Needs a Python with PyTorch, CuPy and JAX; what is not there is named and left out. Exit code 1: something is
wrong."""

from __future__ import annotations

import argparse
import ast
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module, util
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parent.parent / "build" / "release" / "lib" / "libsennit-preload.so"
COUNT, CALLS, LIMIT_S = 1 << 18, 3, 100
RANKS = int(os.environ.get("WORLD_SIZE", "2"))  # of a rank's own job
FLOAT, SUM = 7, 0  # ncclFloat32, ncclSum


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = [("internal", ctypes.c_byte * 128)]


def shared(folder: Path, name: str, made: bytes | None) -> bytes:
    """What rank 0 has made, on all ranks."""
    file = folder / name
    if made is not None:
        part = folder / f"{name}.part"
        part.write_bytes(made)
        part.rename(file)
    while not file.exists():
        time.sleep(0.01)
    return file.read_bytes()


def by_ctypes(rank: int, folder: Path) -> float:
    """The NCCL that came with PyTorch, by its path."""
    torch, nccl = import_module("torch"), import_module("nvidia.nccl")
    library = ctypes.CDLL(str(Path(nccl.__path__[0]) / "lib" / "libnccl.so.2"))
    torch.cuda.set_device(rank)
    unique = UniqueId()
    if rank == 0:
        assert library.ncclGetUniqueId(ctypes.byref(unique)) == 0
    unique = UniqueId.from_buffer_copy(shared(folder, "id", bytes(unique) if rank == 0 else None))
    comm = ctypes.c_void_p()
    assert library.ncclCommInitRank(ctypes.byref(comm), RANKS, unique, rank) == 0
    data = torch.full((COUNT,), rank + 1.0, device="cuda")
    at, stream = ctypes.c_void_p(data.data_ptr()), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    for _ in range(CALLS):
        assert library.ncclAllReduce(at, at, ctypes.c_size_t(COUNT), FLOAT, SUM, comm, stream) == 0
    torch.cuda.synchronize()
    assert library.ncclCommDestroy(comm) == 0
    return float(data.double().mean())


def by_cupy(rank: int, folder: Path) -> float:
    """cupy.cuda.nccl."""
    cupy, nccl = import_module("cupy"), import_module("cupy.cuda.nccl")
    cupy.cuda.Device(rank).use()
    made = repr(nccl.get_unique_id()).encode() if rank == 0 else None  # bytes, or in older versions numbers
    unique = ast.literal_eval(shared(folder, "id", made).decode())
    comm = nccl.NcclCommunicator(RANKS, unique, rank)
    data = cupy.full(COUNT, rank + 1, dtype=cupy.float32)
    stream = cupy.cuda.get_current_stream()
    for _ in range(CALLS):
        comm.allReduce(data.data.ptr, data.data.ptr, COUNT, FLOAT, SUM, stream.ptr)
    stream.synchronize()
    mean = float(data.astype(cupy.float64).mean())
    comm.destroy()
    return mean


def by_jax(rank: int, folder: Path) -> float:
    """psum of two processes."""
    jax = import_module("jax")
    jax.distributed.initialize(f"127.0.0.1:{os.environ['MASTER_PORT']}", RANKS, rank, local_device_ids=[rank])
    numpy = import_module("jax.numpy")
    data = numpy.full((1, COUNT), rank + 1.0, numpy.float32)
    add = jax.pmap(lambda each: jax.lax.psum(each, "ranks"), "ranks")
    for _ in range(CALLS):
        data = add(data)
    mean = float(numpy.asarray(data).mean())
    for other in range(RANKS):  # the first process leads, and must not end before the others
        shared(folder, f"done{other}", b"done" if other == rank else None)
    return mean


PROGRAMS: dict[str, tuple[str, Callable[[int, Path], float]]] = {
    "ctypes": ("torch", by_ctypes), "cupy": ("cupy", by_cupy), "jax": ("jax", by_jax),
}  # fmt: skip


def expected(ranks: int) -> float:
    """The first sum, which each further one multiplies by the ranks."""
    return ranks * (ranks + 1) / 2 * float(ranks) ** (CALLS - 1)


def job(name: str, ranks: int, preloaded: bool, port: int) -> list[str]:
    """What is wrong with a program's ranks, with sennit or without."""
    with tempfile.TemporaryDirectory() as folder:
        ours = {"LD_PRELOAD": str(LIBRARY), "SENNIT_TAKE": "all", "SENNIT_REPORT": "1"} if preloaded else {}
        common: dict[str, Any] = {
            **os.environ, **ours, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
            "TORCHELASTIC_RUN_ID": f"opened-{name}-{os.getpid()}", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip
        started = [
            subprocess.Popen(
                ["timeout", "-k", "5", str(LIMIT_S), sys.executable, __file__, "--rank", str(rank), folder, name],
                env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in range(ranks)
        ]  # fmt: skip
        said = [process.communicate() for process in started]
    found = [
        f"rank {rank} ended with {process.returncode} and said {out.strip()!r}: {errors[-1500:]}"
        for rank, (process, (out, errors)) in enumerate(zip(started, said, strict=True))
        if process.returncode != 0 or out.strip() != str(expected(ranks))
    ]
    calls = re.findall(r"^(?:allreduce) .*$", said[0][1], re.MULTILINE)
    if preloaded and not calls and (ranks > 1 or name != "jax"):  # of one rank XLA makes no sum
        found.append(f"sennit saw no allreduce: {said[0][1][-1500:]}")
    for line in calls:
        print(f"opened_nccl: {name}: {' '.join(line.split())}")
    return found


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    if given.rank is not None:
        folder, name = given.arguments
        print(PROGRAMS[name][1](given.rank, Path(folder)))
        return 0
    failed = False
    for number, name in enumerate(given.arguments or PROGRAMS):
        if util.find_spec(PROGRAMS[name][0]) is None:
            print(f"opened_nccl: {name}: left out, as {PROGRAMS[name][0]} is not installed")
            continue
        for preloaded in (False, True):
            wrong = job(name, given.ranks, preloaded, 29650 + 2 * number + preloaded)
            print(f"opened_nccl: {name}{', under sennit' if preloaded else ''}: {'; '.join(wrong) or 'ok'}")
            failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
