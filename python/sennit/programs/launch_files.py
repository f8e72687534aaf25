"""A map of ranks to nodes and GPUs as the files and variables that launchers read. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from sennit.model.map import RankMap
from sennit.programs.problem import Exit, Problem


def hosts_of(file: Path) -> list[str]:
    """The names in a file of hosts, a line each; what follows a name on its line (slots=8, :8) is left out. Raises
    Problem."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(
            f"{file} cannot be read: {error}", "Give a file with a host's name a line", Exit.USAGE
        ) from None
    return [words[0].partition(":")[0] for line in lines if (words := line.partition("#")[0].split())]


def _rankfile(_found: RankMap, names: Sequence[str]) -> str:
    """For Open MPI: mpirun --rankfile FILE, in version 5 --map-by rankfile:file=FILE. A slot is a core: the first of
    a host for its first rank, and so on."""
    used: dict[str, int] = {}
    lines = []
    for rank, name in enumerate(names):
        lines.append(f"rank {rank}={name} slot={used.setdefault(name, 0)}")
        used[name] += 1
    return "\n".join(lines) + "\n"


def _hostfile(_found: RankMap, names: Sequence[str]) -> str:
    """For Hydra (MPICH, Intel MPI): mpiexec -f FILE. Ranks fill the lines in their order."""
    return "".join(f"{name}:{len(list(ranks))}\n" for name, ranks in groupby(names))


def _slurm(_found: RankMap, names: Sequence[str]) -> str:
    """For Slurm: SLURM_HOSTFILE=FILE srun --distribution=arbitrary."""
    return "".join(f"{name}\n" for name in names)


def _env(found: RankMap, _names: Sequence[str]) -> str:
    """For a shell: the GPUs in the order of local ranks. UUIDs are of one node's GPUs alone."""
    uuids = [each.uuid for each in sorted(found.ranks, key=lambda each: each.rank)]
    if found.nodes > 1 or not all(uuids) or len(set(uuids)) < len(uuids):
        raise Problem(
            "only a map of one node, whose GPUs have UUIDs and a rank each, can be said by a variable",
            "Make the map on the node; for ranks over nodes take rankfile, hostfile or slurm",
            Exit.USAGE,
        )
    return f"export CUDA_VISIBLE_DEVICES={','.join(uuids)}\n"


FORMS: dict[str, Callable[[RankMap, Sequence[str]], str]] = {
    "rankfile": _rankfile, "hostfile": _hostfile, "slurm": _slurm, "env": _env,
}  # fmt: skip


def launch_file(found: RankMap, form: str, hosts: Sequence[str]) -> str:
    """The text of a form of FORMS; `hosts` are the nodes in their order. Raises Problem."""
    if form not in FORMS:
        raise Problem(f"there is no form '{form}'", f"Name one of {', '.join(FORMS)}", Exit.USAGE)
    known = list(dict.fromkeys(hosts)) or (["localhost"] if found.nodes == 1 else [])
    if len(known) < found.nodes:
        raise Problem(
            f"the map has {found.nodes} nodes, and {len(known)} hosts are named",
            "Give a file with as many hosts: --hosts FILE",
            Exit.USAGE,
        )
    return FORMS[form](found, [known[each.node] for each in sorted(found.ranks, key=lambda each: each.rank)])
