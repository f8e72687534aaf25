"""Starting a program with sennit's library in front of its MPI or NCCL: what is preloaded, which launchers hand it on
to their ranks, and which programs it does not reach."""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from rich.text import Text

from sennit.programs import console, places
from sennit.programs.handed_on import command_line, preloaded
from sennit.programs.launcher import is_openmpi, version_of
from sennit.programs.problem import Exit, Problem

PRELOADED = "libsennit-preload.so"
DROP_INS = ("libsennit-mpi.so", "libsennit-nccl.so")  # what it loads from its own folder
LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")  # what Open MPI's is called; others share two of the names

# What launchers call a rank's number among those of its node: Open MPI's, Hydra, Slurm. PRRTE's own, prterun, tells
# that in the job alone: ranks of a node follow each other there, unless it is told otherwise.
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMIX_RANK")


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


def find_program(name: str) -> Path:
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


def with_library_before(program: Path, command: list[str], environment: MutableMapping[str, str],
                        others: tuple[str, ...] = ()) -> list[str]:  # fmt: skip
    """The command that starts `program` and its ranks with the library preloaded; `environment` gets what that needs,
    and its members that begin with SENNIT_, and those named by `others`, reach all ranks. Says what the library does
    not reach."""
    environment["LD_PRELOAD"] = preloaded(str(library_to_preload()), environment.get("LD_PRELOAD", ""))
    passed = [
        name for name in sorted(environment) if (name.startswith("SENNIT_") or name in others) and environment[name]
    ]
    variables = {name: environment[name] for name in ("LD_PRELOAD", *passed)}
    if why := beyond_reach(program):
        _warn(f"sennit does not reach {program}: {why}, so LD_PRELOAD is ignored. It runs without sennit.")
    command, lost = command_line(command, kind_of(program), variables)
    if lost:
        _warn(f"{lost} keeps sennit's library from the program, which runs without sennit")
    return command


def _warn(what: str) -> None:
    console.messages().print(Text(f"warning: {what}", style="yellow"), soft_wrap=True)
