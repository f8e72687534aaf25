"""clang-tidy over the C++ sources of src/, in parallel, skipping what passed before.

It reads whole rooms as one translation unit each, written here: most of the time goes into headers, which are then
parsed once for all files of a unit. So names in anonymous namespaces differ within a room. What passed has a stamp: a
hash of everything that decides the outcome, that is the sources, every header of this project that they include
directly or not, the compile flags, the checks and clang-tidy's version. Stamps outlive the clone, as a compiler
cache does."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from house import ROOT

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
MAIN = re.compile(r"^int main\(", re.MULTILINE)
STAMPS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sennit" / "tidy"
KEPT_DAYS = 30  # of a stamp that no run has met
DATABASE = ROOT / "build" / "lint"
GENERATED = DATABASE / "src" / "shim" / "generated"
UNIT_BYTES = 200_000  # of sources in a unit, beyond which the next room begins another one


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


# Shared libraries that export functions of the same names.
LIBRARIES = ("src/shim/mpi/", "src/shim/nccl/")


def units(sources: Iterable[Path]) -> list[list[Path]]:
    """The sources, by rooms: each unit has one room or several short ones, of one of LIBRARIES alone."""
    found: list[list[Path]] = []
    room, library, size = None, "", UNIT_BYTES
    for source in sorted(sources):
        entered, room = room != source.parent, source.parent
        before = library
        library = next((each for each in LIBRARIES if each in source.as_posix()), "")
        if (entered and size >= UNIT_BYTES) or before != library:
            found.append([])
            size = 0
        found[-1].append(source)
        size += source.stat().st_size
    return found


def text_of(unit: list[Path]) -> str:
    """C++ that includes a unit's sources. Each program among them gets a main() of its own name."""
    lines = []
    for number, source in enumerate(unit):
        include = f'#include "{source}"'
        is_program = MAIN.search(source.read_text(encoding="utf-8"))
        lines += [f"#define main main_{number}", include, "#undef main"] if is_program else [include]
    return "\n".join(lines) + "\n"


def flags_of(commands: list[dict[str, str]]) -> list[str]:
    """What all sources need together to be parsed: language, definitions and folders of headers."""
    found: dict[str, None] = {}
    for each in commands:
        words = shlex.split(each["command"])
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word == "-isystem":
                found[f"-isystem{following}"] = None
            elif word.startswith(("-I", "-D", "-std=")) and not word.endswith("_EXPORTS"):
                found[word] = None
    return [*found, "-fPIC", "-Wall", "-Wextra"]


def stamp(unit: list[Path], flags: list[str], settings: str) -> Path:
    """The file whose presence says that exactly this passed."""
    digest = hashlib.sha256("\n".join([settings, *flags]).replace(str(ROOT), "").encode())
    files = dict.fromkeys(
        file for source in unit for file in closure(source, [ROOT / "src", ROOT / "include", GENERATED])
    )
    for file in files:
        digest.update(str(file.relative_to(ROOT)).encode() + b"\n" + file.read_bytes())
    return STAMPS / digest.hexdigest()


def check(tidy: str, unit: Path, flags: list[str], mark: Path) -> str:
    """The complaints about one unit; empty when there are none, and then its stamp is set."""
    if not mark.exists():
        done = subprocess.run(
            [tidy, "--quiet", str(unit), "--", *flags], capture_output=True, text=True, check=False, cwd=ROOT
        )
        if done.returncode != 0:
            return done.stdout + done.stderr
    mark.touch()
    return ""


def forget_old_stamps() -> None:
    """A stamp is touched by each run that meets it."""
    for each in STAMPS.iterdir():
        if each.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
            each.unlink(missing_ok=True)


def tidy() -> list[str]:
    """The complaints about all sources under src/ that are compiled here."""
    program = shutil.which("clang-tidy")
    if program is None:
        return ["clang-tidy is not installed. Install it: sudo apt-get install clang-tidy"]
    configured = subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, capture_output=True, text=True, check=False)
    if configured.returncode != 0:
        return [configured.stdout + configured.stderr]
    # Headers that the build makes.
    making = ["cmake", "--build", str(DATABASE), "--target", "sennit_mpi_table", "sennit_nccl_table"]
    made = subprocess.run(making, cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return [made.stdout + made.stderr]
    commands = [
        each
        for each in json.loads((DATABASE / "compile_commands.json").read_text(encoding="utf-8"))
        if Path(each["file"]).is_relative_to(ROOT / "src") and each["file"].endswith(".cc")
    ]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    flags = flags_of(commands)
    STAMPS.mkdir(parents=True, exist_ok=True)
    forget_old_stamps()
    folder = DATABASE / "units"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    jobs = []
    for number, unit in enumerate(units({Path(each["file"]) for each in commands})):
        file = folder / f"unit_{number}.cc"
        file.write_text(text_of(unit), encoding="utf-8")
        jobs.append((program, file, flags, stamp(unit, flags, settings)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [complaint for complaint in pool.map(lambda job: check(*job), jobs) if complaint]
