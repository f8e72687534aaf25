"""Libraries that stand before an MPI or behind the drop-in, compiled from C that a test writes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import mpi_headers
from sennit.baselines import mpi


def built(
    found: mpi.Installed,
    library: Path,
    kind: str,
    together: str,
    source: Callable[[Path, list[str]], str],
    options: Sequence[str] = (),
) -> Path | str:
    """A library linked with an MPI's, or why it cannot be had. `kind`: how its file's name ends; `together`: the
    folder for it. `source`: makes its text of the MPI's header and what the compiler is told of that. `options`: more
    for the compiler, before the MPI's library."""
    compiler, include = shutil.which("gcc"), mpi_headers.folder_of(found)
    if compiler is None:
        return "gcc is not on PATH"
    if isinstance(include, str):
        return include
    standard = library.name.startswith("libmpi_abi")
    of_header = [f"-I{include}", *(["-DMPI_ABI"] if standard else [])]
    folder = Path(tempfile.mkdtemp(dir=together))
    written, made = folder / f"{kind}.c", folder / f"{library.name}.{kind}"
    written.write_text(source(include / ("mpi_abi.h" if standard else "mpi.h"), of_header), encoding="utf-8")
    command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *of_header, "-o", str(made)]
    command += [str(written), *options, str(library), "-ldl", f"-Wl,-rpath,{library.parent}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return made
