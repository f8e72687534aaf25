"""`sennit run`: starts a program with the drop-ins between it and its MPI or NCCL."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from sennit.operations import known_as
from sennit.programs import console
from sennit.programs.preloading import LOCAL_RANKS, ON, find_program, is_off, with_library_before
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import examples

EXAMPLES = examples(
    "sennit run -- mpirun -n 4 ./program",
    "sennit run --report -- torchrun --nproc-per-node 4 train.py",
    "sennit run --ops allreduce,bcast --explain -- mpiexec -n 8 ./program --its-own-options",
    "srun -n 4 sennit run -- ./program",
)

# Operations that the drop-ins take, by the names of MPI's functions, as src/shim/switches.cc has them.
COLLECTIVES = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "bcast", "allgather", "allgatherv",
               "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "alltoall", "alltoallv")  # fmt: skip
SENDS = ("send", "ssend", "rsend")
MESSAGES, NONE = "sendrecv", "none"
OPERATIONS = {form for name in (*COLLECTIVES, *SENDS) for form in (name, f"i{name}", f"{name}_init")} | {
    MESSAGES,
    NONE,
}

WHOLE_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
VISIBLE = "CUDA_VISIBLE_DEVICES"
BY_PRRTE = ("PRTE_LAUNCHED", "PMIX_RANK")  # its ranks may have inherited SLURM_LOCALID of a batch job


def local_rank(environment: Mapping[str, str]) -> int | None:
    """As the launcher has numbered this rank of its node. None: no launcher has."""
    inherited = {"SLURM_LOCALID"} if all(name in environment for name in BY_PRRTE) else set()
    names = [name for name in LOCAL_RANKS if name not in inherited]
    local = next((environment[name] for name in names if environment.get(name, "").isdecimal()), None)
    return None if local is None else int(local)


def gpu_of_rank(environment: Mapping[str, str], gpus: int) -> str | None:
    """CUDA_VISIBLE_DEVICES for a rank that is to have one GPU, in turn with the others of its node: of those that it
    may see, else of as many as there are; as it is where there are none. None: no launcher has numbered the rank."""
    local = local_rank(environment)
    if local is None:
        return None
    told = environment.get(VISIBLE)
    visible = (
        [str(i) for i in range(gpus)] if told is None else [one.strip() for one in told.split(",") if one.strip()]
    )
    return visible[local % len(visible)] if visible else told or ""


def whole_rank(environment: Mapping[str, str]) -> int | None:
    """This rank of all, as the launcher has numbered it. None: no launcher has."""
    return next((int(environment[name]) for name in WHOLE_RANKS if environment.get(name, "").isdecimal()), None)


def mapped(file: Path, environment: Mapping[str, str], *, one: bool, bind: bool = False) -> dict[str, str]:
    """CUDA_VISIBLE_DEVICES by a map, of this rank's GPU alone where `one`; and SENNIT_MAP. `bind`: this process is
    also bound to the cores near that GPU, if nobody has bound it. Raises Problem."""
    # Here, so that a run without a map waits for none of them.
    from sennit.programs import near_cores
    from sennit.programs.machines import this_machine
    from sennit.programs.rank_map import ASKED, Rank, asked_gpus, gpus_of, numa_of, read_map, visible_devices

    rank = Rank(local_rank(environment), whole_rank(environment))
    if (one or bind) and rank.local is None:
        raise unknown_rank("--gpu-per-rank" if one else "--bind")
    found = read_map(file)
    here = gpus_of(this_machine())
    visible = visible_devices(found, here, environment, rank, one=one)
    if bind:
        cores, warning = near_cores.chosen(os.sched_getaffinity(0), near_cores.near(numa_of(found, rank)))
        if cores:
            os.sched_setaffinity(0, cores)
        if warning:
            text = f"warning: rank {rank.local if rank.whole is None else rank.whole}: {warning}"
            console.messages().print(Text(text, style="yellow"), soft_wrap=True)
    return {VISIBLE: visible, ASKED: asked_gpus(found, here, rank)}


def unknown_rank(option: str) -> Problem:
    """Of an option that is of no use before the launcher."""
    return Problem(f"{option} has to know the rank, and no launcher has started this process",
                   f"Put sennit behind the launcher: mpirun -n 4 sennit run {option} ./program",
                   Exit.USAGE)  # fmt: skip


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
    map_file: Annotated[Path | None, typer.Option("--map", metavar="FILE", help="Give each rank the GPU that sennit "
                        "map -o said.")] = None,
    bind: Annotated[bool, typer.Option("--bind", help="With --map behind the launcher: bind each rank to the cores "
                    "near its GPU, if nobody has bound it.")] = False,
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
    program = find_program(command[0])
    environment = dict(os.environ)
    if is_off(environment):
        _start(program, command, environment)
    if ops is not None:
        environment["SENNIT_OPS"] = ops
    elif listed := environment.get("SENNIT_OPS"):
        environment["SENNIT_OPS"] = _operations(listed, "SENNIT_OPS")
    environment |= {"SENNIT_REPORT": "1"} if report else {}
    environment |= {"SENNIT_EXPLAIN": "1"} if explain else {}
    if bind and map_file is None:
        raise Problem("--bind has to know each rank's GPU", "Say it by a map: --map FILE", Exit.USAGE)
    if map_file is not None:
        environment |= mapped(map_file, environment, one=gpu_per_rank, bind=bind)
    elif gpu_per_rank:
        gpu = gpu_of_rank(environment, len(list(Path("/dev").glob("nvidia[0-9]*"))))
        if gpu is None:
            raise unknown_rank("--gpu-per-rank")
        environment |= {VISIBLE: gpu} if gpu else {}
    if environment.get("SENNIT_EMULATE", "").lower() in ON:
        text = "GPU memory is emulated here: results are right, and times say nothing of GPUs"
        console.messages().print(Text(text, style="yellow"), soft_wrap=True)
    # A launcher that hands on what it is told alone has to be told of the map's order.
    command = with_library_before(program, command, environment, (VISIBLE,) if map_file is not None else ())
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
