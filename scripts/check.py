"""Builds and runs what a change touches: `make check`, between two edits.

A change is what differs from where this branch left main, committed or not; on main itself, from its last commit. Of
C++: the test programs of the rooms that it is in and of all rooms that use those, optimised. Of Python: the tests
beside it. And the formatting, and for Python the lint and the types. Sanitizers, clang-tidy and programs over MPI and
NCCL are for `make test`; a change in tests/interop runs the tests there that it touches. Exit code 1 when anything
failed."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

import lint
from house import ROOT, tracked
from run_tests import REPORTS, Outcome, build, cpp, python, summary, timed, workers

COMMAND = re.compile(
    r"\b(sennit_room|sennit_tests|sennit_program|add_library|add_executable|target_link_libraries|set|list)\s*\(([^)]*)\)"
)
# What CMake's lists do not say: who reads these folders.
READERS = {"include": ["sennit"], "machines": ["sennit_machine"]}
# What every C++ test depends on.
ALL = ("cmake/", "CMakeLists.txt", "CMakePresets.json", "tests/CMakeLists.txt", "tests/places.h", "tests/thorough.h")


@dataclass
class Part:
    """A target of CMake's: its sources, the targets that it is made of or starts, and the folder it is written in."""

    name: str
    folder: str
    sources: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Plan:
    """What a change touches. `rooms` have the test programs that are built and run; `targets`: what is built where no
    test program is touched."""

    rooms: list[str]
    targets: list[str]
    python: list[str]
    cpp_files: list[str]
    python_files: list[str]


def parts_of(lists: Mapping[str, str]) -> dict[str, Part]:
    """The targets in the texts of CMakeLists.txt files, by their folders."""
    parts: dict[str, Part] = {}
    for folder, text in lists.items():
        variables: dict[str, list[str]] = {}
        for command, inside in COMMAND.findall(re.sub(r"#.*", "", text)):
            words = inside.split()
            if command == "list" and words[0] == "TRANSFORM":
                if words[2] == "PREPEND":
                    variables[words[1]] = [words[3] + each for each in variables.get(words[1], [])]
                continue
            if command in ("set", "list"):
                name, values = (words[1], words[2:]) if words[0] == "APPEND" else (words[0], words[1:])
                variables.setdefault(name, []).extend(values)
                continue
            words = [each for word in words for each in variables.get(word.strip("${}"), [word])]
            name = {"sennit_room": "sennit_", "sennit_tests": "test_"}.get(command, "") + words[0]
            part = parts.setdefault(name, Part(name, folder))
            for word in words[1:]:
                if re.search(r"\.(cc|cu|c|S)$", word):
                    path = os.path.normpath(PurePosixPath(folder, word.removeprefix("${CMAKE_SOURCE_DIR}/")))
                    part.sources.add(word.removeprefix("${CMAKE_SOURCE_DIR}/") if "$" in word else path)
                else:
                    part.uses.add(word.rpartition("=")[2])
    return parts


def owners(file: str, parts: Mapping[str, Part]) -> set[str]:
    """The targets that a file is a source of, or a header of: those that compile the source of its name, else those
    with a source in its folder, else all that are written in the nearest CMakeLists.txt."""
    named = {part.name for part in parts.values() if file in part.sources}
    if named:
        return named
    stem, folder = PurePosixPath(file).with_suffix(""), PurePosixPath(file).parent
    beside = {part.name for part in parts.values() for each in part.sources if PurePosixPath(each).parent == folder}
    same = {
        part.name for part in parts.values() for each in part.sources if PurePosixPath(each).with_suffix("") == stem
    }
    if same or (beside and PurePosixPath(file).name != "CMakeLists.txt"):
        return same or beside
    for above in (folder, *folder.parents):
        here = {part.name for part in parts.values() if part.folder == str(above)}
        if here:
            return here
    return set()


def dependents(names: Iterable[str], parts: Mapping[str, Part]) -> set[str]:
    """These targets, and all that use them, directly or not."""
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [part.name for part in parts.values() if name in part.uses]
    return found


def mentions(text: str, file: str) -> bool:
    """Whether a module in Python imports another one, by the end of its name, or starts it by its file's name."""
    path = PurePosixPath(file)
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    return re.search(rf"^\s*(from|import)\b.*\b{stem}\b|\b{re.escape(path.name)}\b", text, re.MULTILINE) is not None


def beside(file: str, tests: Mapping[str, str]) -> set[str]:
    """The files of Python's tests that a change of Python touches, among all with their texts. Of a test, itself; of
    what tests share, those that import it; of the package and of scripts, those of the command line that import it or
    have its name, or else all of them."""
    path = PurePosixPath(file)
    if path.name.startswith("test_"):
        return {file} & set(tests)
    is_shared = file.startswith("tests/")
    folder = str(path.parent) if is_shared else "tests/cli"
    found, waiting = {file}, [file]
    while waiting:
        each = PurePosixPath(waiting.pop())
        for other, text in tests.items():
            name = PurePosixPath(other).name
            if other in found or str(PurePosixPath(other).parent) != folder:
                continue
            if name == f"test_{each.stem}.py" or (
                mentions(text, str(each)) and (is_shared or name.startswith("test_"))
            ):
                found.add(other)
                waiting += [other] if is_shared else []
    found = {each for each in found if PurePosixPath(each).name.startswith("test_")}
    return found or (set() if is_shared or file.startswith("examples/") else {"tests/cli"})


def plan(changed: Iterable[str], lists: Mapping[str, str], tests: Mapping[str, str]) -> Plan:
    """What to build and to run for these files. `lists`: CMakeLists.txt by folder; `tests`: Python below tests/."""
    parts = parts_of(lists)
    touched: set[str] = set()
    python_tests: set[str] = set()
    files = sorted(set(changed))
    for file in files:
        path, top = PurePosixPath(file), file.split("/")[0]
        if path.suffix == ".py" and top in ("python", "scripts", "tests", "examples"):
            python_tests |= beside(file, tests)
        elif path.suffix == ".md":
            python_tests.add("tests/cli/test_docs.py")
        elif file.startswith("tests/cli/"):  # data and snapshots
            python_tests.add("tests/cli")
        elif file.startswith("tests/interop/"):  # programs, by the tests that name them
            python_tests |= {
                each for each, text in tests.items() if path.name in text and re.match(r"tests/interop/test_", each)
            }
        if file.startswith(ALL):
            touched |= set(parts)
        elif top in READERS:
            touched |= dependents(READERS[top], parts)
        elif top == "src" or (top == "tests" and not file.startswith(("tests/cli/", "tests/interop/"))):
            touched |= dependents(owners(file, parts), parts)
    if "tests/cli" in python_tests:
        python_tests = {each for each in python_tests if not each.startswith("tests/cli/")}
    rooms = sorted(name.removeprefix("test_") for name in touched if name.startswith("test_") and name != "test_gpu")
    return Plan(
        rooms,
        [f"test_{room}" for room in rooms] or sorted(touched),
        sorted(python_tests),
        [file for file in files if f"*{PurePosixPath(file).suffix}" in lint.CPP],
        [file for file in files if file.endswith(".py")],
    )


def changed() -> list[str]:
    """What differs from where this branch left main, and what git does not know yet."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.splitlines() if done.returncode == 0 else []

    base = [*git("merge-base", "HEAD", "main"), *git("merge-base", "HEAD", "origin/main"), "HEAD"][0]
    return [*git("diff", "--name-only", base, "--"), *git("ls-files", "--others", "--exclude-standard")]


def linted(cpp_files: list[str], python_files: list[str]) -> Outcome:
    """The formatting of these files, and of Python its lint and the types of all of it."""
    outcome = Outcome("lint")
    cpp_files, python_files = (
        [file for file in files if (ROOT / file).exists()] for files in (cpp_files, python_files)
    )
    for tool, complaints in {
        "clang-format": lint.clang_format(False, cpp_files) if cpp_files else [],
        "ruff": lint.ruff(False, python_files) if python_files else [],
        "mypy": lint.mypy() if python_files else [],
    }.items():
        for complaint in complaints:
            print(f"--- {tool}\n{complaint}\n")
        outcome.passed += not complaints
        outcome.failures += [tool] if complaints else []
    return outcome


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="take these for what has changed")
    given = parser.parse_args().files

    def texts(*patterns: str) -> dict[str, str]:
        return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in tracked(*patterns)}

    lists = {str(PurePosixPath(file).parent): text for file, text in texts("*CMakeLists.txt").items()}
    wanted = plan(given or changed(), lists, texts("tests/*.py"))
    REPORTS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    outcomes = [timed(partial(linted, wanted.cpp_files, wanted.python_files), "lint of what changed")]
    if wanted.targets:
        os.environ.setdefault("CUDA", "auto")
        outcomes.append(timed(partial(build, "release", " ".join(wanted.targets)), "C++: build"))
        if wanted.rooms and not outcomes[-1].failures:
            title = f"C++ tests: {' '.join(wanted.rooms)}"
            outcomes.append(timed(partial(cpp, "release", rooms=wanted.rooms), title))
    for folder in ("cli", "interop"):
        files = [each for each in wanted.python if Path(each).parts[1] == folder]
        if files:
            many = files == [f"tests/{folder}"] or len(files) > 2  # to start workers takes longer than a file or two
            options = workers(folder) if many else []
            outcomes.append(
                timed(partial(python, folder, False, *options, files=files), f"Python: {' '.join(files)}")
            )
    print("\n".join(summary(outcomes, time.monotonic() - start, "check")))
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
