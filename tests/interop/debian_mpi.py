"""The MPIs of Debian (Open MPI 4.1, MPICH 4.0), which are older than those of the wheels and have Fortran: fetched
into build/debian-mpi once, and used from there. Nothing is installed, so that what else is on the machine stays as it
is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from folder_lock import locked
from sennit.baselines import mpi

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "debian-mpi"
USR = FOLDER / "usr"
LIB = USR / "lib" / "x86_64-linux-gnu"
OTHER_LIB = FOLDER / "lib" / "x86_64-linux-gnu"
PACKAGES = ("openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev")

LIBRARIES = {
    "debian-openmpi": mpi.Library("openmpi", "orterun", "libmpi.so.40", ("--oversubscribe",)),
    "debian-mpich": mpi.Library("mpich", "mpiexec.hydra", "libmpich.so.12", ()),
}
INCLUDE = {"debian-openmpi": LIB / "openmpi" / "include", "debian-mpich": LIB / "mpich" / "include"}
HEADERS = tuple(folder / "mpi.h" for folder in INCLUDE.values())


def unpack(folder: Path) -> None:
    """Fetches the packages that are not installed, with what they need, and unpacks them."""
    plan = ["apt-get", "-s", "install", "--no-install-recommends", *PACKAGES]
    told = subprocess.run(plan, capture_output=True, text=True, timeout=60, check=True).stdout
    # Those that are installed themselves are fetched too: what is used is to lie in one folder.
    names = sorted({*re.findall(r"^Inst (\S+)", told, re.MULTILINE), *needed(), *PACKAGES})
    downloads = folder / "packages"
    downloads.mkdir(parents=True)
    subprocess.run(["apt-get", "download", "-q", *names], cwd=downloads, capture_output=True, timeout=300, check=True)
    for package in sorted(downloads.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(folder)], capture_output=True, timeout=60, check=True)
    shutil.rmtree(downloads)
    # What is linked with MPICH elsewhere, such as the wheel of mpi4py, knows it by its other name.
    other = folder / LIB.relative_to(FOLDER) / "libmpi.so.12"
    if not other.exists():
        other.symlink_to("libmpich.so.12")


def needed() -> list[str]:
    """The packages of the libraries themselves, whose names tell their version."""
    told = subprocess.run(
        ["apt-cache", "depends", *PACKAGES], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    return re.findall(r"Depends: (lib(?:open)?mpi(?:ch)?[\w.-]*|openmpi-common)$", told, re.MULTILINE)


@cache
def fetch() -> str:
    """Empty where they are there, else why not."""
    with locked(FOLDER):
        return "" if FOLDER.is_dir() else download()


def download() -> str:
    """Puts them into FOLDER. Returns why that cannot be done, or nothing."""
    if not all(shutil.which(each) for each in ("apt-get", "apt-cache", "dpkg")):
        return "this is no Debian, whose MPIs are wanted"
    if os.uname().machine != "x86_64":
        return "the MPIs of Debian are wanted for x86-64"
    fresh = FOLDER.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        unpack(fresh)
    except (OSError, subprocess.SubprocessError) as error:
        return f"the packages {', '.join(PACKAGES)} cannot be had: {error}"
    fresh.rename(FOLDER)
    return ""


def find(name: str) -> mpi.Installed | str:
    """One of LIBRARIES, or why it cannot be had."""
    if missing := fetch():
        return missing
    library = LIBRARIES[name]
    found = mpi.Installed(library, "", USR / "bin" / library.launcher, LIB / library.library)
    for file in (found.launcher, found.library):
        if not file.exists():
            return f"Debian's {library.name} has no {file.relative_to(FOLDER)}"
    return found


def environment() -> dict[str, str]:
    """What they need, to work from a folder that they were not made for."""
    return {
        "LD_LIBRARY_PATH": os.pathsep.join(str(each) for each in (LIB, OTHER_LIB)),
        "OPAL_PREFIX": str(USR),
        "PMIX_INSTALL_PREFIX": str(LIB / "pmix2"),
        "PMIX_MCA_pcompress_base_silence_warning": "1",  # Debian's PMIx says at each start that it does not compress
        # Others look for devices that are not there, and libraries behind Debian's links.
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "vader,self",
    }
