"""What src/shim/nccl/functions.txt knows of NCCL, held against every nccl.h that can be had."""

from __future__ import annotations

import re
from pathlib import Path

import nccl_programs
import pytest
import source_modules

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "src" / "shim" / "nccl"
HEADERS = nccl_programs.headers()
each_header = pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.parent.parent.name)

GENERATE = source_modules.load("nccl_generate", SHIM / "generate.py")  # which is no module of a package


def plain(text: str) -> str:
    """A parameter with one way of writing it, without its name."""
    return re.sub(r"\s+", " ", re.sub(r"\s*\*\s*", "* ", re.sub(r"\b\w+$", "", text.strip()))).strip()


def prototypes(header: str) -> dict[str, list[str]]:
    """The functions that a header declares, without nccl, and their parameters' types."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)
    found = re.findall(r"\b(?:ncclResult_t|const char\s*\*|void)\s+nccl([A-Z]\w*)\s*\(([^)]*)\)\s*;", text)
    return {
        name: [plain(each) for each in inside.split(",") if each.strip() not in ("", "void")]
        for name, inside in found
    }


def unclassified(header: str, known: set[str]) -> list[str]:
    """The functions with a communicator among their parameters that the table says nothing of."""
    return [
        name
        for name, types in prototypes(header).items()
        if name not in known and any("ncclComm_t" in each for each in types)
    ]


@pytest.mark.skipif(not HEADERS, reason="no nccl.h is here")
@each_header
def test_every_function_that_takes_a_communicator_is_in_the_table(header: Path) -> None:
    functions = prototypes(header.read_text(encoding="utf-8"))
    assert len(functions) > 25, "the header was not read"
    assert not unclassified(header.read_text(encoding="utf-8"), {each.name for each in GENERATE.read_table()})


@pytest.mark.skipif(not HEADERS, reason="no nccl.h is here")
@each_header
def test_parameters_are_those_of_the_header(header: Path) -> None:
    functions = prototypes(header.read_text(encoding="utf-8"))
    version = nccl_programs.version_of(header)
    for each in GENERATE.read_table():
        if each.name in functions:
            assert [plain(one) for one in each.parameters] == functions[each.name], each.name
        else:
            assert each.since > version[:2], f"{each.name} is not in NCCL {version}"


def test_a_function_that_is_new_is_found() -> None:
    header = (
        "ncclResult_t  ncclAllReduce(const void* in, ncclComm_t comm); ncclResult_t ncclCommNew(ncclComm_t comm);"
    )
    assert unclassified(header, {"AllReduce"}) == ["CommNew"]
    assert unclassified(header, {"AllReduce", "CommNew"}) == []


def test_the_preloaded_library_defines_what_is_wrapped_and_no_more() -> None:
    library = nccl_programs.symbols()
    if isinstance(library, str):
        pytest.skip(library)
    wrapped = {f"nccl{each.name}" for each in GENERATE.read_table() if each.is_wrapped}
    assert {name for name in library if name.startswith(("nccl", "pnccl"))} == wrapped
