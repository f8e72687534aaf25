"""What src/shim/nccl/abi/functions.txt knows of NCCL, held against every nccl.h that can be had, and against what
those of other versions declare."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import drop_in
import nccl_programs
import nccl_prototypes
import pytest
import source_modules

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "src" / "shim" / "nccl"
GENERATE = source_modules.load("nccl_generate", SHIM / "abi" / "generate.py")  # which is no module of a package


@dataclass(frozen=True)
class Version:
    """One of NCCL: what it calls itself, and its functions with their parameters."""

    name: str
    numbers: tuple[int, ...]
    functions: dict[str, list[str]]


def of_header(header: Path) -> Version:
    """That of an nccl.h."""
    functions = nccl_prototypes.prototypes(header.read_text(encoding="utf-8"))
    return Version(str(header), nccl_programs.version_of(header), functions)


def of_kept(file: Path) -> Version:
    """That of a file of nccl_headers."""
    numbers = tuple(int(each) for each in file.stem.split("."))
    return Version(file.stem, numbers, nccl_prototypes.kept(file))


KEPT = sorted((of_kept(file) for file in nccl_prototypes.KEPT.glob("*.txt")), key=lambda each: each.numbers)
VERSIONS = [*map(of_header, nccl_programs.headers()), *KEPT]
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)


def unclassified(functions: dict[str, list[str]], known: set[str]) -> list[str]:
    """Those with a communicator among their parameters that the table says nothing of."""
    return [
        name
        for name, parameters in functions.items()
        if name not in known and any("ncclComm_t" in each for each in parameters)
    ]


def types(parameters: list[str] | tuple[str, ...]) -> list[str]:
    return [nccl_prototypes.type_of(each) for each in parameters]


def test_the_oldest_version_that_is_taken_is_among_those_that_are_kept() -> None:
    assert KEPT[0].numbers[:2] == GENERATE.OLDEST


def test_the_newest_version_that_is_known_is_the_newest_that_is_kept() -> None:
    known = re.search(r"kNewestKnown = (\d+);", (SHIM / "entry.cc").read_text(encoding="utf-8"))
    major, minor = KEPT[-1].numbers[:2]
    assert known is not None
    assert int(known[1]) == 10_000 * major + 100 * minor + 99
    assert f"than this sennit knows ({major}.{minor})" in (SHIM / "entry.cc").read_text(encoding="utf-8")


@each_version
def test_every_function_that_takes_a_communicator_is_in_the_table(version: Version) -> None:
    assert len(version.functions) > 25, "the header was not read"
    table = {each.name for each in GENERATE.read_table() if each.since <= version.numbers}
    assert not unclassified(version.functions, table)


@each_version
def test_parameters_are_those_of_the_header(version: Version) -> None:
    for each in GENERATE.read_table():
        if each.name in version.functions:
            assert types(each.parameters) == types(version.functions[each.name]), each.name
        else:
            assert each.since > version.numbers, f"{each.name} is not in NCCL {version.name}"


def test_every_function_of_the_table_is_in_a_version() -> None:
    declared = {name for version in KEPT for name in version.functions}
    assert {each.name for each in GENERATE.read_table()} <= declared


def test_what_is_kept_of_a_header_is_what_it_declares(tmp_path: Path) -> None:
    """However it is written."""
    header = """/* ncclResult_t ncclNone(void); */
        ncclResult_t  ncclGroupStart(void);  // ncclResult_t ncclNeither(int a);
        ncclResult_t pncclGroupStart();
        const char*  ncclGetLastError(const ncclComm_t comm);
        ncclResult_t  ncclCommRegister(const ncclComm_t comm, void *buff,
            size_t size, void** handle);"""
    functions = nccl_prototypes.prototypes(header)
    assert functions == {
        "GroupStart": [],
        "GetLastError": ["const ncclComm_t comm"],
        "CommRegister": ["const ncclComm_t comm", "void* buff", "size_t size", "void** handle"],
    }
    file = tmp_path / "2.19.3.txt"
    file.write_text(nccl_prototypes.lines(functions), encoding="utf-8")
    assert nccl_prototypes.kept(file) == functions


def test_a_function_that_is_new_is_found() -> None:
    header = (
        "ncclResult_t  ncclAllReduce(const void* in, ncclComm_t comm); ncclResult_t ncclCommNew(ncclComm_t comm);"
    )
    functions = nccl_prototypes.prototypes(header)
    assert unclassified(functions, {"AllReduce"}) == ["CommNew"]
    assert unclassified(functions, {"AllReduce", "CommNew"}) == []


def test_the_preloaded_library_defines_what_is_wrapped_or_observed_and_no_more() -> None:
    library = nccl_programs.symbols(drop_in.library())
    if isinstance(library, str):
        pytest.skip(library)
    entered = {f"nccl{each.name}" for each in GENERATE.read_table() if each.has_entry}
    assert {name for name in library if name.startswith(("nccl", "pnccl"))} == entered
