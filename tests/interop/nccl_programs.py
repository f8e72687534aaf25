"""Programs of NCCL for the tests, over a libnccl.so.2 of their own (fake_nccl*.c), with the drop-in and without."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import drop_in
import nccl_prototypes
import pytest

HERE = Path(__file__).resolve().parent
TOGETHER = tempfile.TemporaryDirectory(prefix="sennit-nccl-")
HANGS = 124
TOPICS = ("children", "communicators", "ends", "errors", "processes", "threads", "windows")  # of c_nccl.c


def headers() -> list[Path]:
    """Every nccl.h that is here, once."""
    roots = [Path("/usr/local/cuda/include"), Path("/usr/local/include"), Path("/usr/include")]
    home = os.environ.get("NCCL_HOME")
    if home:
        roots.insert(0, Path(home) / "include")
    found: dict[str, Path] = {}
    for root in roots:
        header = root / "nccl.h"
        if header.exists():
            found.setdefault(header.read_text(encoding="utf-8"), header)
    return list(found.values())


def version_of(header: Path) -> tuple[int, int, int]:
    """What a header says of itself: (2, 28, 9)."""
    return nccl_prototypes.version_of(header.read_text(encoding="utf-8"))


def symbols(library: Path | str) -> set[str] | str:
    """The functions that a library defines, or why that cannot be said."""
    if isinstance(library, str):
        return library
    if shutil.which("nm") is None:
        return "nm is not on PATH"
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


@dataclass(frozen=True)
class Job:
    """How a program ended: what each rank said, and what its NCCL was asked for."""

    codes: list[int]
    output: list[str]
    errors: list[str]
    calls: list[list[str]]

    @property
    def text(self) -> str:
        """All of it, for when a test fails."""
        return "\n".join(f"rank {rank} ended with {code}\n{output}{errors[-3000:]}" for rank, (code, output, errors)
                         in enumerate(zip(self.codes, self.output, self.errors, strict=True)))  # fmt: skip

    def asked(self, name: str) -> int:
        """How often NCCL was called so, on all ranks."""
        return sum(line.split()[0] == name for calls in self.calls for line in calls)


@dataclass(frozen=True)
class Program:
    """A program, and the folder of the NCCL that it is linked with."""

    path: Path
    library: Path

    def run(self, test: str, ranks: int, preloaded: Path | None, settings: dict[str, str] | None = None,
            without: tuple[int, ...] = (), own: dict[int, dict[str, str]] | None = None,
            before: tuple[str, ...] = ()) -> Job:  # fmt: skip
        """The ranks as processes; a minute long at most. `without`: ranks that have no drop-in. `own`: settings of
        single ranks. `before`: what starts the program of a rank, and sets its own LD_PRELOAD."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "LD_PRELOAD"))}
        with tempfile.TemporaryDirectory(prefix="sennit-nccl-job-") as folder:
            ours = {
                "LD_LIBRARY_PATH": str(self.library),
                "FAKE_NCCL_LOG": f"{folder}/log",
                "SENNIT_EMULATE": "1",
                "SENNIT_TAKE": "all",
                "SENNIT_REPORT": "1",
                "SENNIT_CACHE": folder,
                "TORCHELASTIC_RUN_ID": "tests",
                "WORLD_SIZE": str(ranks),
                "LOCAL_WORLD_SIZE": str(ranks),
            }
            common = kept | ours | (settings or {})
            started = []
            for rank in range(ranks):
                environment = common | {"RANK": str(rank), "LOCAL_RANK": str(rank)} | (own or {}).get(rank, {})
                if preloaded is not None and rank not in without:
                    environment.setdefault("LD_PRELOAD", str(preloaded))
                started.append(subprocess.Popen(
                    ["timeout", "-k", "5", "60", *before, str(self.path), str(rank), str(ranks), folder, test],
                    env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True, errors="replace"))  # fmt: skip
            said = [process.communicate() for process in started]
            logs = {path: path.read_text(encoding="utf-8").splitlines() for path in Path(folder).glob("log.*")}
        return Job([process.returncode for process in started], [each[0] for each in said],
                   [each[1] for each in said], list(logs.values()))  # fmt: skip


@cache
def measured() -> Path:
    """A folder for SENNIT_CACHE that knows this host, but no plans yet."""
    folder = Path(tempfile.mkdtemp(prefix="cache-", dir=TOGETHER.name))
    measure_to(folder, "sennit-machine", "measure")
    return folder


def measure_to(folder: Path, program: str, *arguments: str) -> None:
    """Runs what keeps its measurement in a folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SENNIT_")}
    environment = kept | {"SENNIT_CACHE": str(folder), "SENNIT_EXECUTOR": "host"}
    command = [str(Path(drop_in.FOLDER) / program), *arguments]
    subprocess.run(command, env=environment, capture_output=True, check=True, timeout=100)


@cache
def tuned_once(operation: str, kib: int) -> dict[str, Any]:
    """The table of plans that sennit-tune writes of two ranks' calls of a size in ordinary buffers, on this host."""
    folder = Path(tempfile.mkdtemp(prefix="cache-", dir=TOGETHER.name))
    shutil.copytree(measured(), folder, dirs_exist_ok=True)
    options = ["--ranks", "2", "--operations", operation, "--sizes", f"{kib}K", "--budget", "2"]
    measure_to(folder, "sennit-tune", "collectives", *options)
    (file,) = folder.glob("*.collectives.json")
    table: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    table["entries"] = [entry for entry in table["entries"] if "windows" not in entry]
    return table


def tuned(nccl_us: Mapping[int, float], operation: str = "allreduce", beside: str = "") -> Path:
    """A folder for SENNIT_CACHE: two ranks' calls with the plans that sennit-tune found for the largest size, for
    which every smaller one has scratch memory, too: all of a budget of seconds would go into each size. What NCCL is
    said to have taken for each size, by KiB, and which one (default: the tests' own). Skips the test where
    sennit-tune is not built."""
    if not drop_in.FOLDER or not (Path(drop_in.FOLDER) / "sennit-tune").exists():
        pytest.skip("sennit-tune is not built")
    table = tuned_once(operation, max(nccl_us))
    (entry,) = table["entries"]
    nccl = beside or ".".join(map(str, version_of(headers()[0])))
    entries = [entry | {"bytes": kib << 10, "nccl_us": took, "nccl": nccl} for kib, took in nccl_us.items()]
    folder = Path(tempfile.mkdtemp(prefix="cache-", dir=TOGETHER.name))
    shutil.copytree(measured(), folder, dirs_exist_ok=True)
    file = folder / f"{table['fingerprint']}.collectives.json"
    file.write_text(json.dumps(table | {"entries": entries}), encoding="utf-8")
    return folder


def sources(name: str, *topics: str) -> list[str]:
    """What a program or library is made of: a file by its name, and one of each topic."""
    return [str(HERE / f"{name}.c"), *(str(HERE / f"{name}_{topic}.c") for topic in topics)]


def flags() -> list[str]:
    """Of the compiler, where there is an nccl.h."""
    return ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{headers()[0].parent}", "-I/usr/local/cuda/include"]


@cache
def compiled(version: int | None = None, options: tuple[str, ...] = (), compiler: str = "gcc") -> Program | str:
    """The tests' program and NCCL, as of this version where it is given (21903), compiled with these options; or why
    it cannot be had."""
    if shutil.which(compiler) is None:
        return f"{compiler} is not on PATH"
    if not headers():
        return "no nccl.h is here"
    if not Path("/usr/local/cuda/include/cuda_runtime.h").exists():
        return "no cuda_runtime.h is here, which nccl.h includes"
    folder = Path(TOGETHER.name) / "".join((str(version or "newest"), *options)).replace("=", "-")
    folder.mkdir(exist_ok=True)
    common = [compiler, *flags(), *(["-DOLD", f"-DFAKE_VERSION={version}"] if version else []), *options]
    library, program = folder / "libnccl.so.2", folder / "program"
    subprocess.run([*common, "-fPIC", "-shared", "-Wl,-soname,libnccl.so.2", "-o", str(library),
                    *sources("fake_nccl", "communicators", "profiler")], check=True)  # fmt: skip
    subprocess.run([*common, "-o", str(program), *sources("c_nccl", *TOPICS), str(library), "-lpthread"], check=True)
    return Program(program, folder)


@cache
def unloaded() -> tuple[Program, Path] | str:
    """The same program as a library, and the program that loads it, and lets it go when it has run."""
    built = compiled(None, ("-fPIC", "-shared"))
    if isinstance(built, str):
        return built
    start = built.path.with_name("start")
    subprocess.run(["gcc", "-o", str(start), str(HERE / "c_nccl_unloaded.c"), "-ldl"], check=True)
    return built, start


@cache
def driver() -> Path:
    """What passes for CUDA's, where it is only looked for."""
    library = Path(TOGETHER.name) / "libcuda.so.1"
    command = ["gcc", "-shared", "-Wl,-soname,libcuda.so.1", "-o", str(library), "-x", "c", "/dev/null"]
    subprocess.run(command, check=True)
    return library


@cache
def driver_with_events() -> Path:
    """What passes for CUDA's, to preload, where calls are timed by events."""
    library = Path(TOGETHER.name) / "events" / "libcuda.so.1"
    library.parent.mkdir()
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), *sources("fake_driver")]
    subprocess.run(command, check=True)
    return library


@cache
def cupti() -> Path:
    """What passes for CUPTI, to preload."""
    library = Path(TOGETHER.name) / "cupti" / "libcupti.so.13"
    library.parent.mkdir()
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcupti.so.13", "-o", str(library), *sources("fake_cupti")]
    subprocess.run(command, check=True)
    return library


@cache
def plugin(version: int) -> Path:
    """A profiler plug-in for NCCL that is not sennit's."""
    library = Path(TOGETHER.name) / f"libnccl-profiler-v{version}.so"
    command = ["gcc", "-shared", "-fPIC", f"-DVERSION={version}", "-o", str(library), *sources("nccl_plugin")]
    subprocess.run(command, check=True)
    return library


@cache
def without_unix_sockets() -> Path:
    """A library to preload behind the drop-in. Where compiled() is there, so is the compiler."""
    library = Path(TOGETHER.name) / "without_unix_sockets.so"
    command = [
        "gcc",
        "-D_GNU_SOURCE",
        "-fPIC",
        "-shared",
        "-o",
        str(library),
        *sources("without_unix_sockets"),
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return library


def variant(name: str, *parts: str) -> Program | str:
    """The tests' program with its NCCL from these parts; it has loaded driver()."""
    built = compiled(None)
    if isinstance(built, str):
        return built
    program = built.path.with_name(name)
    common = ["gcc", *flags(), f"-I{TOGETHER.name}", f"-Wl,--no-as-needed,-rpath,{driver().parent}"]
    made = [*common, "-o", str(program), *sources("c_nccl", *TOPICS), *parts, str(driver()), "-lpthread", "-ldl"]
    subprocess.run(made, check=True)
    return Program(program, built.library)


@cache
def linked_in() -> Program | str:
    """A program whose calls of NCCL reach no preloaded library, as it has NCCL linked in."""
    return variant("linked-in", *sources("fake_nccl", "communicators", "profiler"))


@cache
def looked_up() -> Program | str:
    """A program that opens NCCL by name, or as NCCL_FILE names it, and looks its functions up there."""
    built = compiled(None)
    names = symbols(built if isinstance(built, str) else built.library / "libnccl.so.2")
    if isinstance(names, str):
        return names
    listed = "".join(f"NAME({name})\n" for name in sorted(names) if name.startswith("nccl"))
    (Path(TOGETHER.name) / "looked_up_names.inc").write_text(listed, encoding="utf-8")
    return variant("looked-up", *sources("c_nccl_looked_up"))


def have(version: int | None = None) -> tuple[Program, Path]:
    """The program and the drop-in's library; skips the test where there is none."""
    program, library = compiled(version), drop_in.library()
    if isinstance(program, str):
        pytest.skip(program)
    if isinstance(library, str):
        pytest.skip(library)
    return program, library


def expect_right(job: Job) -> None:
    """Every rank got what NCCL promises."""
    assert job.codes == [0] * len(job.codes), job.text
    assert job.output == ["all right\n"] * len(job.codes), job.text
