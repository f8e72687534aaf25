"""A CUDA-built UCX under the program's own MPI, which is then given GPU buffers itself: a job of its own for each
operation, since an MPI that was not built for GPUs may end where it touches them itself, as in reductions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from sennit.model.document import decode
from sennit.model.result import MPI, UCX
from sennit.programs import process
from sennit.programs.launcher import HYDRA, OPENMPI, Launcher
from sennit.programs.packages import install
from sennit.programs.problem import Exit, Problem

PACKAGES = ("libucx-cu13", "libucx-cu12")
GIVEN = "give --ucx FOLDER, or leave ucx out of --vs"

# What makes an MPI use UCX also between ranks of one host. Open MPI takes it by itself only over certain networks;
# MPICH has shared memory of its own, and that is the host's.
SETTINGS = {
    OPENMPI: {
        "OMPI_MCA_pml": "ucx",
        "OMPI_MCA_opal_common_ucx_tls": "any",
        "OMPI_MCA_opal_common_ucx_devices": "any",
    },
    HYDRA: {"MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_NOLOCAL": "1"},
}


@dataclass(frozen=True)
class Ucx:
    """Where its libraries are."""

    folder: Path
    version: str

    def named(self) -> str:
        """What a result says of the folder: the end of it, since the rest is this machine's own."""
        return "/".join(self.folder.parts[-2:])

    def environment(self, kind: str, inherited: Mapping[str, str]) -> dict[str, str]:
        """What ranks see. Wheels' libraries look for theirs beside themselves only after LD_LIBRARY_PATH."""
        path = ":".join(filter(None, (str(self.folder), inherited.get("LD_LIBRARY_PATH", ""))))
        kept = {name: value for name, value in inherited.items() if name != "LD_PRELOAD"}
        return kept | SETTINGS[kind] | {"LD_LIBRARY_PATH": path}


def find(asked: Path | None) -> Ucx | str:
    """The one in that folder, or of the package; or why it cannot be had and what to do. Raises Problem (usage) for a
    folder that holds none."""
    if asked is not None:
        if not (asked / "libucp.so.0").exists():
            raise Problem(f"--ucx: {asked} holds no libucp.so.0", "Name the folder lib of a UCX", Exit.USAGE)
        return Ucx(asked.resolve(), "")
    found = util.find_spec("libucx")
    if found is None or found.origin is None:
        return f"the package libucx-cu13 is not installed; {install('libucx-cu13')}, {GIVEN}"
    folder = Path(found.origin).resolve().parent / "lib"
    if not (folder / "ucx" / "libuct_cuda.so.0").exists():
        return f"{folder} holds a UCX without CUDA; {install('libucx-cu13')}, {GIVEN}"
    return Ucx(folder, next(filter(None, map(_version, PACKAGES)), ""))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def cannot(launcher: Launcher, library: Path | None, executor: str) -> str:
    """Why this MPI cannot be had with it; empty where it can be tried."""
    if executor != "cuda":
        return "there are no GPUs here; compare where there are some"
    if launcher.kind not in SETTINGS:
        return f"it is not known how {launcher.program.name} makes its MPI use UCX; use Open MPI or MPICH"
    if library is not None and b"libucp.so.0" not in library.read_bytes():
        return f"{library} was built without UCX; use an MPI that was built with it"
    return ""


def measure(
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    limit_s: float,
    progress: Callable[[str], None],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of the variant ucx, and a warning for each operation that has none. `commands`: by operation."""
    rows: list[dict[str, Any]] = []
    warnings = []
    for operation, command in commands.items():
        progress(operation)
        found = _one(command, environment, limit_s)
        if isinstance(found, str):
            warnings.append(f"ucx is left out of {operation}: {found}; leave it out of --vs.")
        else:
            rows += found
    return rows, warnings


def _one(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> list[dict[str, Any]] | str:
    try:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=dict(environment), start_new_session=True)  # fmt: skip
    except OSError as error:
        return f"{command[0]} does not start ({error.strerror})"
    try:
        text, errors = started.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return f"it did not end within {limit_s:g} s"
    finally:
        process.end(started)
    if started.returncode != 0:
        return _why(started.returncode, errors.decode("utf-8", "replace"))
    try:
        document = decode(text.decode("utf-8", "replace"))
        return [{**row, "variant": UCX} for row in document["rows"] if row["variant"] == MPI]
    except (ValueError, KeyError, TypeError):
        return "it printed no document"


def _why(code: int, errors: str) -> str:
    """What a job that failed said: our own programs' error, or what a crash looks like."""
    for line in errors.splitlines():
        if line.startswith('{"error"'):
            try:
                return str(decode(line)["error"]["what"])
            except (ValueError, KeyError, TypeError):
                continue
    crashed = any(sign in errors for sign in ("egmentation fault", "signal 11", "SIGSEGV", "signal: 11"))
    if crashed or code in (-11, 139, 11):
        return "this MPI crashes on GPU buffers there, which it touches itself (it was not built for GPUs)"
    return f"its ranks ended with exit code {code}"
