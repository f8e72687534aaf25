"""What src/shim/mpi knows of MPI, held against every header of it that can be had: which functions take memory or
requests, with which parameters (functions.txt), the values of predefined handles (handles.txt), constants (abi.h)."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpi_headers
import pytest
from mpi_headers import ROOT, Header
from mpi_table import SHIM, TABLE

HEADERS, MISSING = mpi_headers.found()
# Of these families no function meets the program's memory for MPI's messages, but for extensions, which are below.
ASIDE = re.compile(r"P?MPIX_|PMPI_|MPI_T_|.*_FN$|.*_FN_NULL$|.*_function$")

pytestmark = [
    pytest.mark.skipif(not HEADERS, reason=MISSING or "no header of MPI is here"),
    pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not on PATH"),
]
each_header = pytest.mark.parametrize(
    "header", HEADERS, ids=lambda header: f"{header.flavour}-{header.path.parent.name}"
)


# ---- functions ----------------------------------------------------------------------------------------------------


def names_of(table: Path, kinds: tuple[str, ...], unordered: bool = False) -> set[str]:
    """The functions of these kinds, where no wrapper is generated with their forms with large counts; and those that
    keep no order."""
    functions, others = TABLE.read_table(table)
    known = {name for each in functions if each.kind in kinds
             for name in (each.name, *([] if each.is_wrapped else [f"{each.name}_c"]))}  # fmt: skip
    return known | ({name for each in others for name in (each, f"{each}_c")} if unordered else set())


def without_order(header: Header, table: Path) -> list[str]:
    """The functions with a communicator of which the table does not say whether they wait for those before them."""
    known = names_of(table, (*TABLE.WRAPPED, *TABLE.HAND_WRITTEN), unordered=True)
    return sorted(
        name for name, prototype in mpi_headers.prototypes(header.path).items()
        if name.removeprefix("MPI_") not in known and not ASIDE.match(name) and "MPI_Comm" in prototype.types
    )  # fmt: skip


def unclassified(header: Header, table: Path) -> list[str]:
    """The functions that take memory (`void *`) or requests, and that the table says nothing of."""
    known = names_of(table, TABLE.KINDS)
    return sorted(
        name for name, prototype in mpi_headers.prototypes(header.path).items()
        if name.removeprefix("MPI_") not in known and not ASIDE.match(name)
        and any(re.match(r"(const )?(void\*|MPI_Request\b)", each) for each in prototype.types)
    )  # fmt: skip


def differing(header: Header, table: Path) -> list[str]:
    """The functions whose types are not the header's, with both."""
    functions, _ = TABLE.read_table(table)
    there = mpi_headers.prototypes(header.path)
    result = []
    for each in functions:
        types = tuple(parameter.type for parameter in each.parameters)
        prototype = there.get(f"MPI_{each.name}")
        if prototype is not None and not each.is_wrapped:  # headers differ in `const` there, which changes no call
            types = tuple(one.removeprefix("const ") for one in types)
            prototype = replace(prototype, types=tuple(one.removeprefix("const ") for one in prototype.types))
        if prototype is not None and prototype.types != types:
            result.append(f"MPI_{each.name}: {types} in the table, {prototype.types} in the header")
    return result


@each_header
def test_every_function_that_takes_memory_or_requests_is_in_the_table(header: Header) -> None:
    assert len(mpi_headers.prototypes(header.path)) > 300  # or they were not understood
    assert unclassified(header, SHIM / "functions.txt") == []


@each_header
def test_every_function_that_takes_a_communicator_has_its_place_in_the_order(header: Header) -> None:
    assert without_order(header, SHIM / "functions.txt") == []


@each_header
def test_functions_have_the_parameters_of_the_header(header: Header) -> None:
    assert differing(header, SHIM / "functions.txt") == []


def test_every_name_of_the_table_is_a_function_of_mpi() -> None:
    if not any(header.flavour == "standard" for header in HEADERS):
        pytest.skip("no header of the standard ABI is here, which has all functions")
    functions, unordered = TABLE.read_table()
    names = {f"MPI_{each}" for each in [*(function.name for function in functions), *unordered]}
    assert names - {name for header in HEADERS for name in mpi_headers.prototypes(header.path)} == set()


# ---- extensions ---------------------------------------------------------------------------------------------------

# MPICH's, of its own streams: passed on as they are (docs/use/mpi.md, "What it does not do yet").
OF_STREAMS = {
    f"MPIX_{name}{suffix}"
    for name in ("Send_enqueue", "Recv_enqueue", "Isend_enqueue", "Irecv_enqueue", "Allreduce_enqueue",
                 "Stream_send", "Stream_recv", "Stream_isend", "Stream_irecv")
    for suffix in ("", "_c")
}  # fmt: skip
# Their memory is the program's own state, or a few bytes of the host's.
OF_STATE = {
    *("MPIX_Async_spawn", "MPIX_Async_start", "MPIX_Grequest_class_allocate", "MPIX_Grequest_start"),
    *("MPIX_Info_set_hex", "MPIX_Op_create_x"),
    *(f"MPIX_{of}_create_errhandler_x" for of in ("Comm", "File", "Session", "Win")),
}


def extensions_of_memory(header: Path) -> set[str]:
    """The extensions that take memory."""
    return {
        name for name, prototype in mpi_headers.prototypes(header).items()
        if name.startswith("MPIX_") and any(re.match(r"(const )?void\*", each) for each in prototype.types)
    }  # fmt: skip


@each_header
def test_every_extension_that_takes_memory_is_known(header: Header) -> None:
    assert extensions_of_memory(header.path) - OF_STREAMS - OF_STATE == set()


def test_every_extension_that_is_known_is_in_a_header() -> None:
    found = set().union(*(extensions_of_memory(header.path) for header in HEADERS))
    if "MPIX_Send_enqueue" not in found:
        pytest.skip("no header of MPICH 5 is here")
    assert (OF_STREAMS | OF_STATE) - found == set()


def test_an_extension_that_is_not_known_is_found(tmp_path: Path) -> None:
    header = tmp_path / "mpi.h"
    header.write_text("int MPIX_Teleport(const void *buf, int count);\nint MPIX_Stream_free(MPIX_Stream *stream);\n")
    assert extensions_of_memory(header) == {"MPIX_Teleport"}


# ---- handles ------------------------------------------------------------------------------------------------------


def value_of(flavour: str, macro: str) -> int | str | None:
    """A handle's number, or the symbol it is the address of; None for what is neither."""
    if flavour == "openmpi":
        symbol = re.search(r"OMPI_PREDEFINED_GLOBAL\s*\(\s*\w+\s*,\s*(\w+)\s*\)", macro)
        return symbol[1] if symbol else None
    number = re.search(r"\)\s*\(?\s*(0x[0-9a-fA-F]+|\d+)\b", macro)
    return int(number[1], 0) if number else None


def wrong_handles(header: Header, table: Path) -> list[str]:
    """The handles of the table that have another value in the header; those that it does not have are left out."""
    macros = mpi_headers.macros(header.path)
    result = []
    for _, name, standard, mpich, openmpi, _ in TABLE.read_handles(table):
        if name not in macros:
            continue
        ours = {"standard": standard, "mpich": mpich, "openmpi": openmpi}[header.flavour]
        there = value_of(header.flavour, macros[name])
        if there != (ours if header.flavour == "openmpi" else int(ours, 0)):
            result.append(f"{name}: {ours} in the table, {macros[name]} in the header")
    return result


@each_header
def test_predefined_handles_have_the_values_of_the_header(header: Header) -> None:
    assert wrong_handles(header, SHIM / "handles.txt") == []


def test_every_handle_of_the_table_is_one_of_mpi() -> None:
    if MISSING:
        pytest.skip(MISSING)
    newest = {name for header in HEADERS for name in mpi_headers.macros(header.path)}
    assert {row[1] for row in TABLE.read_handles()} - newest == set()


# ---- constants ----------------------------------------------------------------------------------------------------

STRUCTS = {"standard": "Standard", "mpich": "Mpich", "openmpi": "OpenMpi"}
HANDLES = ("Comm", "Datatype", "Op", "Request", "Group", "Message", "Info", "File", "Status")

# Pointers are no constants to the compiler, but their macros end in their number.
PROGRAM = """#include "shim/mpi/abi/abi.h"

#include <cstddef>
#include <string_view>

#include "{header}"

#define SPELLED_(...) #__VA_ARGS__
#define SPELLED(...) SPELLED_(__VA_ARGS__)

constexpr long number(std::string_view text) {{
  long value = 0, factor = 1;
  bool seen = false;
  for (std::size_t i = text.size(); i-- > 0;) {{
    if (text[i] >= '0' && text[i] <= '9') {{
      value += factor * (text[i] - '0');
      factor *= 10;
      seen = true;
    }} else if (seen) {{
      return text[i] == '-' ? -value : value;
    }}
  }}
  return value;
}}

using Abi = sennit::shim::mpi::{abi};
{checks}
"""


# Several constants in one, of which not every MPI has the last.
UNNAMED = "kCombinersUnnamed"


def constants(text: str, abi: str) -> list[str]:
    """The names of an ABI's constants in abi.h, but for its own: kInPlace."""
    body = re.search(rf"^struct {abi} {{$(.*?)^}};$", text, re.MULTILINE | re.DOTALL)
    assert body, f"abi.h has no struct {abi}"
    return [name for name in re.findall(r"\b(k[A-Z]\w*) =", body[1]) if name not in ("kFlavour", UNNAMED)]


def name_in_mpi(constant: str) -> str:
    """kErrInStatus as MPI_ERR_IN_STATUS."""
    return "MPI" + re.sub(r"([A-Z])", r"_\1", constant[1:]).upper()


def checks(text: str, abi: str) -> list[str]:
    """Assertions that abi.h is as the header says."""
    lines = []
    for constant in constants(text, abi):
        name = name_in_mpi(constant)
        there = f"number(SPELLED({name}))" if constant in ("kInPlace", "kStatusIgnore") else f"long({name})"
        lines.append(f'static_assert({there} == long(Abi::{constant}), "{constant}");')
    for i, each in enumerate(("F90_REAL", "F90_COMPLEX", "F90_INTEGER")):
        lines.append(f'static_assert(long(MPI_COMBINER_{each}) == long(Abi::{UNNAMED}[{i}]), "{UNNAMED}");')
    lines += [f'static_assert(sizeof(MPI_{each}) == sizeof(Abi::{each}), "{each}");' for each in HANDLES]
    for ours, there in (("source", "MPI_SOURCE"), ("tag", "MPI_TAG"), ("error", "MPI_ERROR")):
        offsets = f"offsetof(MPI_Status, {there}) == offsetof(Abi::Status, {ours})"
        lines.append(f'static_assert({offsets}, "Status::{ours}");')
    for ours, there in {"Standard": [("internal", "MPI_internal")], "Mpich": [], "OpenMpi": [("count", "_ucount")]}[
        abi
    ]:
        offsets = f"offsetof(MPI_Status, {there}) == offsetof(Abi::Status, {ours})"
        lines.append(f'static_assert({offsets}, "Status::{ours}");')
    return lines


def wrong_constants(header: Header, abi: str, folder: Path) -> list[str]:
    """The constants of an ABI that the compiler finds to be others in the header."""
    text = (SHIM / "abi.h").read_text(encoding="utf-8")
    source = folder / "constants.cc"
    source.write_text(PROGRAM.format(header=header.path, abi=abi, checks="\n".join(checks(text, abi))))
    includes = ["-I", str(ROOT / "src"), "-I", str(header.path.parent)]
    command = [
        "g++",
        "-std=c++20",
        "-fsyntax-only",
        "-DOMPI_SKIP_MPICXX",
        "-DMPICH_SKIP_MPICXX",
        *includes,
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    failed = re.findall(r"static assertion failed: (\S+)", done.stderr)
    assert failed or done.returncode == 0, done.stderr
    return failed


@each_header
def test_constants_and_layouts_are_those_of_the_header(header: Header, tmp_path: Path) -> None:
    assert len(constants((SHIM / "abi.h").read_text(encoding="utf-8"), STRUCTS[header.flavour])) > 10
    assert wrong_constants(header, STRUCTS[header.flavour], tmp_path) == []


# ---- these tests can fail -----------------------------------------------------------------------------------------


@pytest.fixture
def altered(tmp_path: Path) -> Any:
    """A table of src/shim/mpi with something replaced in it."""

    def alter(name: str, pattern: str, by: str) -> Path:
        text = (SHIM / name).read_text(encoding="utf-8")
        changed, count = re.subn(pattern, by, text, count=1, flags=re.MULTILINE)
        assert count == 1, pattern
        (tmp_path / name).write_text(changed, encoding="utf-8")
        return tmp_path / name

    return alter


@each_header
def test_a_function_that_the_table_lacks_is_named(header: Header, altered: Any) -> None:
    table = altered("functions.txt", r"^collective \w+ Reduce_scatter_block\(.*\n(  .*\n)+", "")
    assert "MPI_Reduce_scatter_block" in unclassified(header, table)
    assert "MPI_Ireduce_scatter_block" in unclassified(header, table)
    assert unclassified(
        header, altered("functions.txt", r"^own b Buffer_attach\(.*\nown b Buffer_attach_c.*\n", "")
    ) == [
        name for name in ("MPI_Buffer_attach", "MPI_Buffer_attach_c") if name in mpi_headers.prototypes(header.path)
    ]
    without = altered("functions.txt", r"^requests b Request_get_status\(.*\n", "")
    assert unclassified(header, without) == ["MPI_Request_get_status"]


@each_header
def test_a_function_without_a_place_in_the_order_is_named(header: Header, altered: Any) -> None:
    assert without_order(header, altered("functions.txt", r"^maker b Comm_spawn\(.*\n", "")) == ["MPI_Comm_spawn"]
    assert without_order(header, altered("functions.txt", r"\bComm_compare ", "")) == ["MPI_Comm_compare"]


@each_header
def test_a_parameter_of_another_type_is_named(header: Header, altered: Any) -> None:
    found = differing(
        header, altered("functions.txt", r"Bcast\(void \*buffer, int count", "Bcast(void *buffer, long count")
    )
    assert {"MPI_Bcast", "MPI_Ibcast"} <= {line.split(":")[0] for line in found}
    assert all("bcast" in line.lower() for line in found)
    fewer = altered(
        "functions.txt", r", MPI_Comm comm, MPI_Status \*status\)\n  out buf", ", MPI_Comm comm)\n  out buf"
    )
    assert any(line.startswith("MPI_Recv:") for line in differing(header, fewer))


@each_header
def test_a_handle_of_another_value_is_named(header: Header, altered: Any) -> None:
    table = altered("handles.txt", r"^(op +MPI_SUM +)\S+ +\S+ +\S+", r"\g<1>0x20 0x58000002 ompi_mpi_op_add")
    assert [line.split(":")[0] for line in wrong_handles(header, table)] == ["MPI_SUM"]


@each_header
def test_constants_of_another_abi_are_named(header: Header, tmp_path: Path) -> None:
    other = {"standard": "Mpich", "mpich": "OpenMpi", "openmpi": "Standard"}[header.flavour]
    assert {"kRoot", "kErrOther", "kCombinerNamed"} & set(wrong_constants_but_layout(header, other, tmp_path))


def wrong_constants_but_layout(header: Header, abi: str, folder: Path) -> list[str]:
    """As wrong_constants(), where members of Status may have other names too."""
    text = (SHIM / "abi.h").read_text(encoding="utf-8")
    kept = [line for line in checks(text, abi) if "Status::" not in line]
    source = folder / "other.cc"
    source.write_text(PROGRAM.format(header=header.path, abi=abi, checks="\n".join(kept)))
    command = [
        "g++",
        "-std=c++20",
        "-fsyntax-only",
        "-I",
        str(ROOT / "src"),
        "-I",
        str(header.path.parent),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return re.findall(r"static assertion failed: (\S+)", done.stderr)
