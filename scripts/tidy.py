"""clang-tidy over the C++ sources of src/, in parallel, skipping what passed before.

It reads the sources as a unity build compiles them, a dozen at a time: headers are parsed once for all of them,
which takes a fifth of the time. What passed has a stamp: a hash of everything that decides the outcome, that is the
sources, every header of this project that they include directly or not, the compile command, the checks and
clang-tidy's version."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from house import ROOT

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
STAMPS = ROOT / "build" / "tidy"
GENERATED = ROOT / "build" / "lint" / "src" / "shim" / "generated"


def closure(source: Path, roots: list[Path]) -> list[Path]:
    """`source` and every header it reaches through #include "…", looked for beside the includer and in `roots`."""
    seen: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen[file] = None
        for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            places = [folder / name for folder in [file.parent, *roots]]
            waiting += [place for place in places if place.is_file()][:1]
    return list(seen)


def stamp(source: Path, command: str, settings: str) -> Path:
    """The file whose presence says that exactly this passed."""
    digest = hashlib.sha256(f"{settings}\n{command}\n".encode())
    for file in closure(source, [ROOT / "src", ROOT / "include", GENERATED]):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\n" + file.read_bytes())
    return STAMPS / digest.hexdigest()


def check(tidy: str, database: Path, source: Path, mark: Path) -> str:
    """The complaints about one file; empty when there are none, and then its stamp is set."""
    if mark.exists():
        return ""
    command = [tidy, "--quiet", "-p", str(database), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode == 0:
        mark.touch()
        return ""
    return done.stdout + done.stderr


def tidy() -> list[str]:
    """The complaints about all sources under src/ that are compiled here."""
    database = ROOT / "build" / "lint"
    program = shutil.which("clang-tidy")
    if program is None:
        return ["clang-tidy is not installed. Install it: sudo apt-get install clang-tidy"]
    configured = subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, capture_output=True, text=True, check=False)
    if configured.returncode != 0:
        return [configured.stdout + configured.stderr]
    # Headers that the build makes.
    making = ["cmake", "--build", str(database), "--target", "sennit_mpi_table", "sennit_nccl_table"]
    made = subprocess.run(making, cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return [made.stdout + made.stderr]
    commands = database / "compile_commands.json"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    STAMPS.mkdir(parents=True, exist_ok=True)
    jobs = []
    for entry in json.loads(commands.read_text(encoding="utf-8")):
        source = Path(entry["file"])
        ours = source.is_relative_to(ROOT / "src") or source.is_relative_to(database / "src")
        if ours and source.suffix in {".cc", ".cxx"} and source.exists():
            jobs.append((program, database, source, stamp(source, entry["command"], settings)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [complaint for complaint in pool.map(lambda job: check(*job), jobs) if complaint]
