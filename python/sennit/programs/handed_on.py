"""What a command line says of the variables that its ranks get, put right so that sennit's library stays among what
is preloaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

PRELOAD = "LD_PRELOAD"


def preloaded(library: str, there: str) -> str:
    """LD_PRELOAD with the library in front of what is there, once."""
    return ":".join([library, *(each for each in re.split(r"[ :]+", there) if each and each != library)])


def with_library(word: str, variables: Mapping[str, str]) -> str:
    """LD_PRELOAD=VALUE with the library in front; other words as they are."""
    name, equals, value = word.partition("=")
    if name != PRELOAD or not equals or name not in variables:
        return word
    return f"{name}={preloaded(variables[name].split(':')[0], value)}"


def listed(names: str, variables: Mapping[str, str]) -> str:
    """A list of the variables that are handed on, with those of sennit that it lacks."""
    there = [each for each in names.split(",") if each]
    return ",".join([*there, *(name for name in variables if name not in {each.partition("=")[0] for each in there})])


def by_env(command: Sequence[str], variables: Mapping[str, str]) -> tuple[list[str], str]:
    """What `env` gives LD_PRELOAD, as in `mpirun -n 2 env LD_PRELOAD=/a.so ./program`; and what of it takes sennit's
    library away, if anything."""
    result: list[str] = []
    lost, inside = "", False
    for word in command:
        if inside:
            is_unset = word == f"--unset={PRELOAD}" or (result[-1] in ("-u", "--unset") and word == PRELOAD)
            if is_unset or word in ("-i", "-", "--ignore-environment"):
                lost = f"env {word}" if word[0] == "-" else f"env -u {word}"
            elif word.startswith(f"{PRELOAD}="):
                word, lost = with_library(word, variables), ""
            inside = word.startswith("-") or "=" in word or result[-1] in ("-u", "--unset")
        inside = inside or Path(word).name == "env"
        result.append(word)
    return result, lost


def is_option(word: str, *names: str) -> bool:
    """Hydra's options begin with one dash or two."""
    return word.startswith("-") and word.lstrip("-") in names


def by_hydra(command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The same of the options of Hydra (MPICH's and Intel's launcher): -genv and -env give a variable a value,
    -genvlist and -envlist name all that are handed on, -genvnone and -envnone hand on none to other hosts."""
    result: list[str] = []
    none, named = False, set()
    for word in command:
        second, first = ["", "", *result][-2:]
        if is_option(first, "genv", "env"):
            named.add(word.partition("=")[0])
            word = with_library(word, variables)
        elif is_option(first, "genvlist", "envlist"):
            word = listed(word, variables)
        elif is_option(second, "genv", "env") and first == PRELOAD:
            word = with_library(f"{PRELOAD}={word}", variables).partition("=")[2]
        none = none or is_option(word, "genvnone", "envnone")
        result.append(word)
    added = [
        each for name, value in variables.items() if none and name not in named for each in ("-genv", name, value)
    ]
    return [result[0], *added, *result[1:]]


def by_slurm(command: Sequence[str], variables: Mapping[str, str]) -> tuple[list[str], str]:
    """The same of srun's --export."""
    result: list[str] = []
    lost = ""
    for word in command:
        option, equals, value = word.partition("=")
        if result[-1:] == ["--export"]:
            option, value = "", word
        elif option != "--export" or not equals:
            result.append(word)
            continue
        if value == "NONE":
            lost = "srun --export=NONE"
        else:
            parts = [with_library(each, variables) for each in value.split(",")]
            value = ",".join(parts) if "ALL" in parts else listed(",".join(parts), variables)
        result.append(f"{option}{'=' if option else ''}{value}")
    return result, lost


def by_openmpi(command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Open MPI's launcher wants each variable named that it hands on to other hosts. What the command names already
    stays as it is; a value that it gives LD_PRELOAD gets the library in front."""
    result, named = list(command[:1]), set()
    for word in command[1:]:
        if result[-1] in ("-x", "--x"):
            named.add(word.partition("=")[0])
            word = with_library(word, variables)
        result.append(word)
    added = [part for name in variables if name not in named for part in ("-x", name)]
    return [result[0], *added, *result[1:]]


def command_line(command: Sequence[str], launcher: str, variables: Mapping[str, str]) -> tuple[list[str], str]:
    """The command that hands these variables to all ranks, and what of it keeps sennit from them, if anything.
    `launcher`: "openmpi", "mpiexec" (another one that is called as Open MPI's, such as Hydra), "srun", or something
    else."""
    changed, lost = by_env(command, variables)
    match launcher:
        case "openmpi":
            return by_openmpi(changed, variables), lost
        case "mpiexec":
            return by_hydra(changed, variables), lost
        case "srun":
            changed, by_it = by_slurm(changed, variables)
            return changed, by_it or lost
    return changed, lost
