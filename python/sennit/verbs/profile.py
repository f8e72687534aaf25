"""`sennit profile`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.text import Text

from sennit.advice.rules import advise
from sennit.model.document import parse
from sennit.model.profile import Profile
from sennit.programs import console, places
from sennit.programs.preloading import LOCAL_RANKS, find_program, with_library_before
from sennit.programs.problem import Exit, Problem
from sennit.programs.profile_links import MACHINE, beside_links, machine_of
from sennit.programs.profiles import DOCUMENT, merged
from sennit.verbs.options import examples
from sennit.views.profile_text import print_summary

EXAMPLES = examples(
    "sennit profile -- mpirun -n 4 ./program",
    "sennit profile --accelerate -- torchrun --nproc-per-node 4 train.py",
    "srun -n 4 sennit profile -o run1 -- ./program",
)


class GpuTimes(str, Enum):
    """Calls whose time on the GPU is taken."""

    SAMPLED = "sampled"
    ALL = "all"
    NONE = "none"
    KERNEL = "kernel"


OBSERVER = "libsennit-recorder.so"
PLUGIN = "NCCL_PROFILER_PLUGIN"


def profile(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", show_default=False,
                       help="What to start, with its arguments: a program, or the launcher of its ranks.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FOLDER", show_default="a new one here",
                      help="Where the profile goes.")] = None,
    accelerate: Annotated[bool, typer.Option("--accelerate", help="As sennit run does, too. Else nothing is changed: "
                          "the program's own MPI and NCCL do all calls.")] = False,
    gpu_times: Annotated[GpuTimes, typer.Option("--gpu-times", help="Which of NCCL's calls are timed on the GPU, by "
                         "events on their streams; kernel: the calls' kernels are, by CUPTI.")] = GpuTimes.SAMPLED,
    kernels: Annotated[str | None, typer.Option("--kernels", metavar="SECONDS", show_default="to the end",
                       help="Collect kernels for so long, as in 5s, from the first call of GPU memory on; what they "
                       "overlap is in the profile, too.")] = None,
    variables: Annotated[list[str] | None, typer.Option("--pvar", metavar="NAME", show_default="those of queues",
                         help="A performance variable of the MPI (MPI_T) to take samples of, as in 'pml_*'; none: "
                         "take no samples.")] = None,
) -> None:  # fmt: skip
    """Run a program, and write down what it communicates: each call of MPI and NCCL, its size, its memory and its
    time. At the end a few lines say where the time went; `sennit report` says more.

    The exit code is the program's own."""
    if not command:
        raise Problem("no command is given", "Such as: sennit profile -- mpirun -n 4 ./program", Exit.USAGE)
    program = find_program(command[0])
    recorder = places.find_library(OBSERVER)
    environment = dict(os.environ)
    is_rank = is_of_launcher(environment)
    folder = make_folder(output, is_rank)
    times = GpuTimes.KERNEL if kernels else gpu_times
    environment = recording_environment(environment, folder, recorder, times.value, accelerate)
    if kernels:
        environment["SENNIT_PROFILE_KERNELS"] = str(seconds_of(kernels))
    if variables:
        environment["SENNIT_PROFILE_PVAR"] = ",".join(variables)
    command = with_library_before(program, command, environment, (PLUGIN,))
    if is_rank:
        become(program, command, environment)
    console.messages().print(Text(f"sennit: the profile goes to {folder}"), soft_wrap=True)
    code = run_through(program, command, environment)
    summarize(folder)
    raise typer.Exit(code)


def recording_environment(
    inherited: Mapping[str, str], folder: Path, recorder: Path, gpu_times: str, accelerate: bool = False
) -> dict[str, str]:
    """What a program sees that is recorded, but for what is preloaded."""
    own = {"SENNIT_PROFILE": str(folder), "SENNIT_OBSERVER": OBSERVER, "SENNIT_PROFILE_GPU_TIMES": gpu_times}
    # NCCL loads the recorder as a plug-in, too: for calls that pass by the preloaded library. The user's own plug-in
    # is loaded from there.
    if PLUGIN in inherited:
        own["SENNIT_PROFILE_NEXT_PLUGIN"] = inherited[PLUGIN]
    own[PLUGIN] = str(recorder)
    if not accelerate:
        own["SENNIT_DISABLE"] = "1"
    return dict(inherited) | own


def seconds_of(text: str) -> int:
    """Of a time such as 5s. Raises Problem."""
    number = text.removesuffix("s")
    if not number.isdecimal() or int(number) == 0:
        raise Problem(f"--kernels {text} is no time", "Give whole seconds, such as: --kernels 5s", Exit.USAGE)
    return int(number)


def is_of_launcher(environment: Mapping[str, str]) -> bool:
    """Whether a launcher has started this process as one of its ranks. Slurm numbers the script of a batch job too,
    which is no rank: it has no step."""
    others = [name for name in LOCAL_RANKS if not name.startswith("SLURM")]
    return any(name in environment for name in others) or "SLURM_STEP_ID" in environment


# ---- a profile's folder -------------------------------------------------------------------------------------------


def make_folder(asked: Path | None, is_rank: bool) -> Path:
    """A new folder, for its owner alone. Behind a launcher all ranks share one, which the user has to name. Raises
    Problem."""
    if asked is None and is_rank:
        raise Problem("the ranks of a launcher need one folder for all",
                      "Name one: sennit profile -o run1 -- ./program", Exit.USAGE)  # fmt: skip
    folder = (asked or Path(f"sennit-profile-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")).absolute()
    try:
        folder.mkdir(mode=0o700, exist_ok=is_rank)
    except FileExistsError:
        raise Problem(f"{folder} is there already", "Name another folder, or remove it", Exit.USAGE) from None
    except OSError as error:
        remedy = "Name a folder that can be written to: sennit profile -o FOLDER"
        raise Problem(f"{folder} cannot be made: {error.strerror}", remedy, Exit.USAGE) from None
    return folder


def summarize(folder: Path) -> None:
    """Merges what the processes wrote, and says in a few lines where the time went. The program has run, whatever
    comes of that: nothing is raised."""
    screen = console.messages()
    try:
        document = merged(folder)
        found = parse(Profile, document, str(folder))
        machine = machine_of(found, folder)
        document = beside_links(document, found, machine)
        found = parse(Profile, document, str(folder))
        print_summary(found, advise(found), screen)
        keep(folder / DOCUMENT, json.dumps(document) + "\n")
        if machine is not None:
            keep(folder / MACHINE, json.dumps(machine, indent=1) + "\n")
        screen.print(Text(f"More: sennit report {os.path.relpath(folder)}"), soft_wrap=True)
    except Problem as problem:
        screen.print(Text(f"sennit: no summary: {problem.what}"), soft_wrap=True)
    except OSError as error:
        screen.print(Text(f"sennit: no report: {error.filename or folder}: {error.strerror}"), soft_wrap=True)


def keep(file: Path, text: str) -> None:
    """Writes a file that is whole or not there: the disk may be full. Raises OSError, which names it."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        error.filename = str(file)
        file.unlink(missing_ok=True)
        raise


# ---- the program --------------------------------------------------------------------------------------------------


def become(program: Path, command: list[str], environment: dict[str, str]) -> None:
    """A rank becomes the program: a launcher that waits for it, or signals it, meets the program itself."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these two, which the program would inherit
        signal.signal(number, signal.SIG_DFL)
    os.execve(program, command, environment)


def run_through(program: Path, command: list[str], environment: dict[str, str]) -> int:
    """Runs the program as if it were this process: on the same terminal, told of the same signals; the exit code that
    a shell would see."""
    child = subprocess.Popen(command, executable=program, env=environment)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        child.send_signal(number)

    # Ctrl-C and Ctrl-\ reach the program by the terminal.
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1,
                                                                    signal.SIGUSR2)}  # fmt: skip
    before |= {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
