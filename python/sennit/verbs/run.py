"""`sennit run`: starts a program with the drop-ins between it and its MPI or NCCL."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from sennit.operations import known_as
from sennit.programs import console, places
from sennit.programs.handed_on import command_line, preloaded
from sennit.programs.launcher import is_openmpi, version_of
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import examples

EXAMPLES = examples(
    "sennit run -- mpirun -n 4 ./program",
    "sennit run --report -- torchrun --nproc-per-node 4 train.py",
    "sennit run --ops allreduce,bcast --explain -- mpiexec -n 8 ./program --its-own-options",
    "srun -n 4 sennit run -- ./program",
)

PRELOADED = "libsennit-preload.so"
DROP_INS = ("libsennit-mpi.so", "libsennit-nccl.so")  # what it loads from its own folder
LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")  # what Open MPI's is called; others share two of the names

# Operations that the drop-ins take, by the names of MPI's functions, as src/shim/switches.cc has them.
COLLECTIVES = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "bcast", "allgather", "allgatherv",
               "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "alltoall", "alltoallv")  # fmt: skip
SENDS = ("send", "ssend", "rsend")
MESSAGES, NONE = "sendrecv", "none"
OPERATIONS = {form for name in (*COLLECTIVES, *SENDS) for form in (name, f"i{name}", f"{name}_init")} | {
    MESSAGES,
    NONE,
}

# What launchers call a rank's number among those of its node: Open MPI's, Hydra, Slurm. PRRTE's own, prterun, tells
# that in the job alone: ranks of a node follow each other there, unless it is told otherwise.
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMIX_RANK")
BY_PRRTE = ("PRTE_LAUNCHED", "PMIX_RANK")  # its ranks may have inherited SLURM_LOCALID of a batch job

# ---- what is started ----------------------------------------------------------------------------------------------


def not_preloaded(there: str) -> str:
    """LD_PRELOAD without sennit's library, whichever build's, as a program under `sennit run` may have inherited it;
    what else is there stays."""
    return ":".join(each for each in re.split(r"[ :]+", there) if each and Path(each).name != PRELOADED)


ON = ("1", "true", "yes", "on")  # as src/base/environment.cc reads it


def is_off(environment: Mapping[str, str]) -> bool:
    """Whether SENNIT_DISABLE says so, as the drop-ins read it."""
    return environment.get("SENNIT_DISABLE", "").lower() in ON


def kind_of(program: Path) -> str:
    """What handed_on.command_line() knows the launcher as."""
    name = program.name.split(".")[0]
    if name not in LAUNCHERS:
        return name
    return "openmpi" if is_openmpi(version_of(program)) else "mpiexec"


def gpu_of_rank(environment: Mapping[str, str], gpus: int) -> str | None:
    """CUDA_VISIBLE_DEVICES for a rank that is to have one GPU, in turn with the others of its node: of those that it
    may see, else of as many as there are; as it is where there are none. None: no launcher has numbered the rank."""
    inherited = {"SLURM_LOCALID"} if all(name in environment for name in BY_PRRTE) else set()
    names = [name for name in LOCAL_RANKS if name not in inherited]
    local = next((environment[name] for name in names if environment.get(name, "").isdecimal()), None)
    if local is None:
        return None
    told = environment.get("CUDA_VISIBLE_DEVICES")
    visible = (
        [str(i) for i in range(gpus)] if told is None else [one.strip() for one in told.split(",") if one.strip()]
    )
    return visible[int(local) % len(visible)] if visible else told or ""


# ---- what LD_PRELOAD does not reach -------------------------------------------------------------------------------


def is_static(head: bytes) -> bool:
    """Whether the beginning of a file is that of an ELF program without a dynamic loader (PT_INTERP), which alone
    looks at LD_PRELOAD. False for what is no ELF program, or cut off before its table says so."""
    kind = {1: ("I", 28, 42), 2: ("Q", 32, 54)}.get(head[4]) if len(head) > 5 else None
    order = {1: "<", 2: ">"}.get(head[5]) if kind else None
    if head[:4] != b"\x7fELF" or kind is None or order is None:
        return False
    word, table_at, sizes_at = kind
    try:
        (file_type,) = struct.unpack_from(f"{order}H", head, 16)
        (table,) = struct.unpack_from(f"{order}{word}", head, table_at)
        size, count = struct.unpack_from(f"{order}HH", head, sizes_at)
        segments = [struct.unpack_from(f"{order}I", head, table + i * size)[0] for i in range(count)]
    except struct.error:
        return False
    executable, shared, interpreter = 2, 3, 3  # ET_EXEC, ET_DYN (which position-independent programs are), PT_INTERP
    return file_type in (executable, shared) and bool(segments) and interpreter not in segments


def gains_rights(mode: int, owner: int, group: int, user: int, users_group: int) -> bool:
    """Whether a file of this mode and owner, started by this user, runs with the rights of another one: the loader
    then ignores LD_PRELOAD."""
    other_user = bool(mode & stat.S_ISUID) and owner != user
    return other_user or (bool(mode & stat.S_ISGID) and bool(mode & stat.S_IXGRP) and group != users_group)


def beyond_reach(program: Path) -> str:
    """Why LD_PRELOAD does not reach the program; empty where it does."""
    try:
        with program.open("rb") as file:
            head = file.read(1 << 16)
        known = program.stat()
    except OSError:  # may be started without being readable
        return ""
    if is_static(head):
        return "it is statically linked"
    if gains_rights(known.st_mode, known.st_uid, known.st_gid, os.getuid(), os.getgid()):
        return "it runs with another user's rights (setuid)"
    return ""


# ---- the verb -----------------------------------------------------------------------------------------------------


def run(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", show_default=False,
                       help="What to start, with its arguments: a program, or the launcher of its ranks.")] = None,
    ops: Annotated[str | None, typer.Option("--ops", metavar="NAME,…", show_default="all",
                   help="Take only these operations, such as allreduce,bcast.")] = None,
    report: Annotated[bool, typer.Option("--report", help="At the end say what became of the program's "
                      "calls.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how calls travel, once for each operation and "
                       "size.")] = False,
    gpu_per_rank: Annotated[bool, typer.Option("--gpu-per-rank", help="Show each rank one GPU, another one than the "
                            "next rank's. Behind the launcher: mpirun -n 4 sennit run --gpu-per-rank "
                            "./program.")] = False,
) -> None:  # fmt: skip
    """Run an MPI or NCCL program with sennit between it and its library. MPI: GPU buffers work in every MPI, and
    collectives of ranks on one node are sennit's. NCCL (PyTorch): collectives that `sennit tune collectives` measured
    faster are sennit's, all else stays NCCL's. The program stays as it is.

    The exit code is the program's own."""
    if not command:
        raise Problem("no command is given", "Such as: sennit run -- mpirun -n 4 ./program", Exit.USAGE)
    if ops is not None and not re.fullmatch(r"[\w-]+(,[\w-]+)*", ops, re.ASCII):
        raise Problem(f"--ops {ops!r} is no list of operations", "Such as --ops allreduce,bcast", Exit.USAGE)
    if ops is not None:
        ops = _operations(ops, "--ops")
    program = _find(command[0])
    environment = dict(os.environ)
    if is_off(environment):
        _start(program, command, environment)
    if ops is not None:
        environment["SENNIT_OPS"] = ops
    elif listed := environment.get("SENNIT_OPS"):
        environment["SENNIT_OPS"] = _operations(listed, "SENNIT_OPS")
    environment |= {"SENNIT_REPORT": "1"} if report else {}
    environment |= {"SENNIT_EXPLAIN": "1"} if explain else {}
    if gpu_per_rank:
        gpu = gpu_of_rank(environment, len(list(Path("/dev").glob("nvidia[0-9]*"))))
        if gpu is None:
            raise Problem("--gpu-per-rank has to know the rank, and no launcher has started this process",
                          "Put sennit behind the launcher: mpirun -n 4 sennit run --gpu-per-rank ./program",
                          Exit.USAGE)  # fmt: skip
        environment |= {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
    if environment.get("SENNIT_EMULATE", "").lower() in ON:
        text = "GPU memory is emulated here: results are right, and times say nothing of GPUs"
        console.messages().print(Text(text, style="yellow"), soft_wrap=True)
    environment["LD_PRELOAD"] = preloaded(str(library_to_preload()), environment.get("LD_PRELOAD", ""))
    passed = [name for name in sorted(environment) if name.startswith("SENNIT_") and environment[name]]
    variables = {name: environment[name] for name in ("LD_PRELOAD", *passed)}
    if why := beyond_reach(program):
        text = f"warning: sennit does not reach {program}: {why}, so LD_PRELOAD is ignored. It runs without sennit."
        console.messages().print(Text(text, style="yellow"), soft_wrap=True)
    command, lost = command_line(command, kind_of(program), variables)
    if lost:
        text = f"warning: {lost} keeps sennit's library from the program, which runs without sennit"
        console.messages().print(Text(text, style="yellow"), soft_wrap=True)
    _start(program, command, environment)


def _operations(names: str, source: str) -> str:
    """As the drop-ins spell them. Raises Problem for a name that none takes: the program would run without sennit.
    `source`: what lists them."""
    known = {name: known_as(name.lower(), OPERATIONS) for name in names.split(",")}
    wrong = next((name for name, found in known.items() if found is None), None)
    if wrong is not None:
        collectives, sends = ", ".join(COLLECTIVES), ", ".join(SENDS)
        raise Problem(f"{source}: {wrong!r} is no operation",
                      f"Use some of {collectives}, each also as iallreduce and allreduce_init; {sends}, each also as "
                      f"isend and send_init; {MESSAGES} for all messages; {NONE} for no operation",
                      Exit.USAGE)  # fmt: skip
    return ",".join(dict.fromkeys(found for found in known.values() if found is not None))


def _find(name: str) -> Path:
    """The program that a shell would start."""
    if found := shutil.which(name):
        return Path(found).absolute()  # as ./mpirun is meant, and not any mpirun of PATH
    if "/" not in name:
        raise Problem(f"the command {name} is not on PATH", "Check its name, or give its path", Exit.ENVIRONMENT)
    if not Path(name).exists():
        raise Problem(f"{name} does not exist", "Check its path", Exit.ENVIRONMENT)
    raise Problem(f"{name} is no program", f"If it is meant to be one: chmod +x {name}", Exit.ENVIRONMENT)


def library_to_preload() -> Path:
    """The library to preload, with what it needs beside it."""
    if os.uname().machine != "x86_64":
        raise Problem(f"sennit run does not work on {os.uname().machine} yet, only on x86-64",
                      "Start the program without it", Exit.ENVIRONMENT)  # fmt: skip
    library = places.find_library(PRELOADED).resolve()
    for name in DROP_INS:
        places.find_library(name)
    if re.search(r"[ :]", str(library)):
        raise Problem(f"{library} cannot be preloaded: LD_PRELOAD takes no path with a space or a colon",
                      "Put sennit into another folder", Exit.ENVIRONMENT)  # fmt: skip
    return library


def _start(program: Path, command: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Becomes the program: signals and the exit code are its own. Does not return."""
    # Python ignores these two, which the program would inherit.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, command, environment)
    except OSError as error:
        raise Problem(f"{program} does not start: {error.strerror}",
                      "A script needs a first line such as #!/bin/sh", Exit.ENVIRONMENT) from None  # fmt: skip
