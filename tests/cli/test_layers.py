"""The arrows between rooms, and between the folders of src/shim/mpi, as its README draws them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from house import tracked

SHIM = ROOT / "src" / "shim" / "mpi"
# Each may include those before it.
FOLDERS = ("abi", "call", "staging", "comm", "p2p", "coll", "rma", "entry")
INCLUDE = re.compile(r'^#include "shim/mpi/(?:([a-z0-9_]+)/)?([a-z0-9_]+)\.h"', re.MULTILINE)


def wrong_arrows(root: Path) -> list[str]:
    """Includes that point from a folder to one behind it."""
    wrong = []
    for folder in FOLDERS:
        allowed = FOLDERS[: FOLDERS.index(folder) + 1]
        for file in sorted((root / folder).glob("*")):
            for to, name in INCLUDE.findall(file.read_text(encoding="utf-8")):
                if to not in allowed and not (folder == "entry" and name == "drop_in"):
                    wrong.append(f"{folder}/{file.name} includes {to or '.'}/{name}.h")
                elif folder == "rma" and to == "coll":
                    wrong.append(f"rma/{file.name} includes {to}/{name}.h: the two stand side by side")
    return wrong


def test_each_folder_of_the_drop_in_for_mpi_includes_those_below_it_alone() -> None:
    assert {each.name for each in SHIM.iterdir() if each.is_dir()} == set(FOLDERS)
    assert not wrong_arrows(SHIM)


def test_who_uses_the_drop_ins_from_outside() -> None:
    """Nothing outside src/shim includes what is in it, but for the tables that benchmarks of MPI share."""
    users = {
        file.relative_to(ROOT / "src").parent.as_posix()
        for file in (ROOT / "src").rglob("*")
        if file.suffix in {".h", ".cc", ".cu", ".c"} and "shim" not in file.parts
        and re.search(r'^#include "shim/', file.read_text(encoding="utf-8"), re.MULTILINE)
    }  # fmt: skip
    assert users <= {"bench/mpi", "bench/partitioned"}


def test_a_file_of_more_than_400_lines_says_why() -> None:
    """In its head, where a reader meets it."""
    silent = []
    for file in tracked("*.cc", "*.h", "*.hpp", "*.cu", "*.cuh", "*.c", "*.py", "*.f90", "*.sh", "*.S"):
        lines = file.read_text(encoding="utf-8").splitlines()
        if len(lines) > 400 and not re.search(r"\blong\b|one class|its length", "\n".join(lines[:16]), re.IGNORECASE):
            silent.append(str(file.relative_to(ROOT)))
    assert not silent


def test_every_room_has_a_readme_of_one_screen() -> None:
    """It maps the files first."""
    for room in (each for each in (ROOT / "src").iterdir() if each.is_dir()):
        lines = (room / "README.md").read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 80, room
        assert "## Files" in lines, room


# What src/place may include beside itself: maps are computed from traffic and a machine's links alone.
OF_PLACE = ("base", "machine", "path", "place")
ANY_INCLUDE = re.compile(r'^#include "([a-z0-9_]+)/', re.MULTILINE)


def includes_of(folder: Path) -> set[str]:
    """The rooms that a room's files include."""
    return {room for file in folder.glob("*") if file.suffix in {".h", ".cc"}
            for room in ANY_INCLUDE.findall(file.read_text(encoding="utf-8"))}  # fmt: skip


def test_maps_are_computed_below_the_simulator() -> None:
    assert includes_of(ROOT / "src" / "place") <= set(OF_PLACE)
    for room in ("machine", "path"):
        assert "place" not in includes_of(ROOT / "src" / room)


def test_an_include_of_a_room_above_is_found(tmp_path: Path) -> None:
    (tmp_path / "file.cc").write_text('#include "sim/exchange.h"\n#include <vector>\n')
    assert includes_of(tmp_path) == {"sim"}


# These are below the drop-ins, whose libraries they do not know.
BELOW = ("stage", "msg", "comm", "node")
OF_A_LIBRARY = re.compile(r'#include "shim/|\b(?:P?MPI_[A-Z][a-z]|nccl[A-Z_])', re.MULTILINE)


def known_libraries(root: Path) -> list[str]:
    """Lines of the rooms below the drop-ins that name a function or type of MPI or NCCL, or include a drop-in's."""
    return [
        f"{file.relative_to(root)}: {line.strip()}"
        for room in BELOW
        for file in sorted((root / room).glob("*"))
        if file.suffix in {".h", ".cc", ".cu"}
        for line in file.read_text(encoding="utf-8").splitlines()
        if OF_A_LIBRARY.search(line)
    ]


def test_rooms_below_the_drop_ins_know_no_library() -> None:
    assert not known_libraries(ROOT / "src")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("int MPI_Send();", True),
        ("ncclComm_t comm;", True),
        ('#include "shim/switches.h"', True),
        ("OMPI_COMM_WORLD_RANK", False),
    ],
)
def test_a_library_that_is_named_is_found(tmp_path: Path, line: str, wrong: bool) -> None:
    for room in BELOW:
        (tmp_path / room).mkdir()
    (tmp_path / BELOW[0] / "file.h").write_text(line + "\n")
    assert bool(known_libraries(tmp_path)) == wrong


@pytest.mark.parametrize(
    ("folder", "line", "wrong"),
    [
        ("call", '#include "shim/mpi/p2p/receives.h"', True),
        ("p2p", '#include "shim/mpi/call/call.h"', False),
        ("coll", '#include "shim/mpi/drop_in.h"', True),
        ("rma", '#include "shim/mpi/coll/arrivals.h"', True),
    ],
)
def test_an_arrow_that_points_up_is_found(tmp_path: Path, folder: str, line: str, wrong: bool) -> None:
    for each in FOLDERS:
        (tmp_path / each).mkdir()
    (tmp_path / folder / "file.h").write_text(line + "\n")
    assert bool(wrong_arrows(tmp_path)) == wrong
