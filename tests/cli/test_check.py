"""What `make check` takes for touched by a change."""

from __future__ import annotations

from pathlib import PurePosixPath

import check
import pytest
from house import ROOT, tracked

LISTS = {
    ".": "project(sennit)",
    "src/base": "sennit_room(base SOURCES log.cc)  # sennit_room(no SOURCES no.cc)",
    "src/path": "sennit_room(plan SOURCES split.cc USES sennit_base)\n"
    "set(programs absent.cc)\nif(CUDA)\n  set(programs kernels.cu)\nendif()\n"
    "sennit_room(path SOURCES node.cc\n  ${programs} USES sennit_plan)",
    "src/shim": "sennit_room(shim SOURCES a.cc mpi/call.cc USES sennit_path)\n"
    "add_library(preload SHARED front/front.c)",
    "tests": "add_subdirectory(base)",
    "tests/base": "sennit_tests(base SOURCES log_test.cc USES sennit_base)",
    "tests/path": "sennit_tests(plan SOURCES split_test.cc machines.cc USES sennit_plan)\n"
    "sennit_tests(path SOURCES node_test.cc machines.cc USES sennit_path)",
    "tests/shim": "add_executable(rank rank.cc)\ntarget_link_libraries(rank PRIVATE sennit_shim)\n"
    "sennit_tests(shim SOURCES mpi/call_test.cc ../path/machines.cc USES sennit_base STARTS one=rank)",
}
TESTS = {
    "tests/cli/conftest.py": "import forked\nfrom sennit.verbs import torch",
    "tests/cli/forked.py": "",
    "tests/cli/test_torch.py": "",
    "tests/cli/test_run.py": "from conftest import x\nfrom sennit.verbs import run, torch",
    "tests/cli/test_file.py": 'PROGRAM = "numbers.py"',
    "tests/interop/programs.py": 'HERE / "rank.py"',
    "tests/interop/rank.py": "",
    "tests/interop/test_it.py": "import programs",
    "tests/interop/test_c.py": 'compiled("c_one.c")',
}
EVERY = ["base", "path", "plan", "shim"]


@pytest.mark.parametrize(
    ("file", "rooms", "python"),
    [
        ("src/base/log.cc", EVERY, []),
        ("src/path/split.cc", ["path", "plan", "shim"], []),
        ("src/path/split.h", ["path", "plan", "shim"], []),
        ("src/path/node.h", ["path", "shim"], []),
        ("src/path/kernels.cu", ["path", "shim"], []),
        ("src/path/other.h", ["path", "plan", "shim"], []),
        ("src/path/CMakeLists.txt", ["path", "plan", "shim"], []),
        ("src/shim/mpi/table.txt", ["shim"], []),
        ("src/shim/front/front.c", [], []),
        ("tests/path/machines.h", ["path", "plan", "shim"], []),
        ("tests/path/node_test.cc", ["path"], []),
        ("tests/shim/rank.cc", ["shim"], []),
        ("tests/places.h", EVERY, []),
        ("CMakeLists.txt", EVERY, []),
        ("README.md", [], ["tests/cli/test_docs.py"]),
        ("python/sennit/verbs/torch.py", [], ["tests/cli/test_run.py", "tests/cli/test_torch.py"]),
        ("python/sennit/verbs/run.py", [], ["tests/cli/test_run.py"]),
        ("python/sennit/verbs/alone.py", [], ["tests/cli"]),
        ("scripts/numbers.py", [], ["tests/cli/test_file.py"]),
        ("tests/cli/forked.py", [], ["tests/cli/test_run.py"]),
        ("tests/cli/test_run.py", [], ["tests/cli/test_run.py"]),
        ("tests/cli/test_gone.py", [], []),
        ("tests/cli/data/a.json", [], ["tests/cli"]),
        ("tests/interop/rank.py", [], ["tests/interop/test_it.py"]),
        ("tests/interop/c_one.c", [], ["tests/interop/test_c.py"]),
        ("results/a.json", [], []),
    ],
)
def test_what_a_file_touches(file: str, rooms: list[str], python: list[str]) -> None:
    found = check.plan([file], LISTS, TESTS)
    assert (found.rooms, found.python) == (rooms, python)
    assert [*found.cpp_files, *found.python_files] == (
        [file] if file.endswith((".cc", ".h", ".cu", ".c", ".py")) else []
    )


def test_changes_are_taken_together() -> None:
    found = check.plan(["src/shim/front/front.c"], LISTS, TESTS)
    assert found.targets == ["preload"]
    found = check.plan(["src/shim/front/front.c", "src/shim/a.h", "tests/cli/data/a.json", "README.md"], LISTS, TESTS)
    assert found.targets == ["test_shim"]
    assert found.python == ["tests/cli"]


def test_the_trees_own_lists_are_understood() -> None:
    lists = {
        str(PurePosixPath(file.relative_to(ROOT)).parent): file.read_text(encoding="utf-8")
        for file in tracked("*CMakeLists.txt")
    }
    parts = check.parts_of(lists)
    compiled = {source for part in parts.values() for source in part.sources}
    missed = [
        file
        for file in (str(each.relative_to(ROOT)) for each in tracked("src/*.cc", "tests/*_test.cc"))
        if file not in compiled
    ]
    assert not missed
    assert {"test_shim", "sennit-mpi"} <= check.dependents(check.owners("src/shim/mpi/call.cc", parts), parts)
