"""sennit.capi: its declarations against the header, its errors, and ranks on the host executor that use all of it."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import pytest
import rank_jobs
from sennit.capi import Code, Operator, SennitError, Type
from sennit.capi import library as declared
from sennit.capi.error import error_of
from sennit.programs.places import find_library

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = (ROOT / "include" / "sennit" / "sennit.h").read_text(encoding="utf-8")

# Functions of the header that Python has no need of: programs print documents, and groups make their own parts.
LEFT_OUT = {"sennit_result_name", "sennit_text_free", "sennit_machine_load", "sennit_machine_discover",
            "sennit_machine_json", "sennit_machine_free", "sennit_explain_put", "sennit_comm_split"}  # fmt: skip


def kind_of(parameter: str) -> Any:
    """What ctypes calls a parameter of the header's."""
    text = re.sub(r"\bconst\b|\b\w+$|\s", "", parameter)
    simple = {"int": ctypes.c_int, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
              "sennit_type": ctypes.c_int, "sennit_operator": ctypes.c_int, "char*": ctypes.c_char_p}  # fmt: skip
    pointers = {"int*": ctypes.POINTER(ctypes.c_int), "uint32_t*": ctypes.POINTER(ctypes.c_uint32),
                "uint64_t*": ctypes.POINTER(ctypes.c_uint64),
                "sennit_options*": ctypes.POINTER(declared.Options)}  # fmt: skip
    if text in simple or text in pointers:
        return (simple | pointers)[text]
    assert text.endswith("*"), parameter
    return ctypes.POINTER(ctypes.c_void_p) if text.endswith("**") else ctypes.c_void_p


def functions() -> dict[str, tuple[str, list[str]]]:
    """The header's functions: what each returns, and its parameters."""
    found = re.findall(r"^SENNIT_API (.+?)(\w+)\(([^;]*?)\) SENNIT_NOEXCEPT;", HEADER, re.MULTILINE | re.DOTALL)
    return {name: (result.strip(), [] if takes == "void" else takes.split(",")) for result, name, takes in found}


def test_functions_are_declared_as_in_the_header() -> None:
    header = functions()
    ours = declared.RESULTS | declared.NUMBERS | declared.TEXTS
    assert set(header) - set(ours) == LEFT_OUT
    for name, takes in ours.items():
        assert [kind_of(each) for each in header[name][1]] == takes, name
    assert {name for name, (result, _) in header.items() if result == "int"} == set(declared.NUMBERS)
    assert {header[name][0] for name in declared.RESULTS} == {"sennit_result"}


@pytest.mark.parametrize(("names", "prefix"), [(Code, "sennit_result"), (Type, "sennit_type"),
                                               (Operator, "sennit_operator")])  # fmt: skip
def test_enumerations_are_the_headers(names: Any, prefix: str) -> None:
    body = re.search(rf"typedef enum {prefix} {{(.*?)}} {prefix};", HEADER, re.DOTALL)
    assert body
    listed = re.findall(r"SENNIT_(\w+) = (\d+)", body.group(1))
    assert {name: int(number) for name, number in listed} == {each.name: each.value for each in names}


def test_structures_have_the_headers_fields() -> None:
    for structure, name in ((declared.Options, "sennit_options"), (declared.Exchange, "sennit_exchange"),
                            (declared.CMessage, "sennit_message")):  # fmt: skip
        body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", HEADER, re.DOTALL)
        assert body
        text = re.sub(r"/\*.*?\*/", "", body.group(1), flags=re.DOTALL)
        listed = [re.findall(r"\(\*(\w+)\)|(\w+)$", field.strip())[0] for field in text.split(";") if field.strip()]
        assert ["".join(each) for each in listed] == [field[0] for field in structure._fields_]


@pytest.mark.parametrize(
    ("line", "what", "where", "remedy"),
    [
        ("timed_out: put did not go on (operation put, peer 1). Check rank 1; SENNIT_TIMEOUT allows more time",
         "put did not go on", "operation put, peer 1", "Check rank 1; SENNIT_TIMEOUT allows more time"),
        ("timed_out: no (but (in) two)", "no", "but (in) two", ""),
        ("timed_out: rank 1 (process 8) is gone. Start (all) again", "rank 1 (process 8) is gone", "",
         "Start (all) again"),
        ("timed_out: rank 1 (process 8) is gone (destroy). Go on (all)", "rank 1 (process 8) is gone", "destroy",
         "Go on (all)"),
        ("timed_out: 0.5 s passed", "0.5 s passed", "", ""),
        ("timed_out: an ( open one (meet", "an ( open one (meet", "", ""),
    ],
)  # fmt: skip
def test_an_error_is_taken_apart(line: str, what: str, where: str, remedy: str) -> None:
    error = error_of(Code.TIMED_OUT, line)
    assert (error.code, error.what, error.where, error.remedy) == (Code.TIMED_OUT, what, where, remedy)
    assert str(error) == line
    assert isinstance(error, RuntimeError)


def test_a_library_that_is_not_there_or_lacks_something_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENNIT_PROGRAMS", str(tmp_path / "bin"))
    declared.library.cache_clear()
    with pytest.raises(SennitError, match=r"libsennit\.so\.0 is not in .*SENNIT_PROGRAMS") as absent:
        declared.library()
    assert absent.value.code == Code.NOT_FOUND
    with pytest.raises(SennitError, match=r"undefined symbol: sennit_comm_create\. Build it again"):
        declared.Library("libc.so.6")
    with pytest.raises(SennitError, match="cannot open shared object file"):
        declared.Library(str(tmp_path / "none.so"))


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    "scenario", ["collectives", "windows", "messages", "partitions", "late_message", "errors", "failed_meeting"]
)
def test_ranks(scenario: str, ranks: int, tmp_path: Path) -> None:
    rank_jobs.need_library()
    rank_jobs.expect_right(rank_jobs.run("capi_rank.py", scenario, ranks, tmp_path))


def test_ranks_of_two_builds_do_not_meet(tmp_path: Path) -> None:
    rank_jobs.need_library()
    ours = declared.library()
    built = find_library(declared.NAME).read_bytes()
    version = b"\0" + ours.version().encode() + b"\0"
    other = built.replace(version, version.replace(b".", b"_"))
    if built.count(version) != 1:
        pytest.skip("this build keeps its version elsewhere")
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lib" / declared.NAME).write_bytes(other)
    rank_jobs.expect_right(rank_jobs.run("capi_rank.py", "another_build", 2, tmp_path))


def test_a_rank_that_dies_is_named(tmp_path: Path) -> None:
    rank_jobs.need_library()
    first, *others = rank_jobs.run("capi_rank.py", "lost", 3, tmp_path)
    assert (first.code, first.output) == (0, "")
    rank_jobs.expect_right(others)
