"""What functions.txt and handles.txt say: MPI's functions in all their forms, and its predefined handles."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
WRAPPED = (
    "collective",
    "neighbor",
    "send",
    "receive",
    "exchange",
    "local",
    "file",
    "split",
    "partitioned",
    "rma",
    "maker",
    "grouped",
    "filed",
)
WITHOUT_MEMORY = ("maker", "grouped", "filed")
HAND_WRITTEN = ("own", "requests", "counted")
WITH_ENTRIES = (*WRAPPED, *HAND_WRITTEN, "watched")
KINDS = (*WITH_ENTRIES, "host", "left", "used")  # in the order of Entry

# What each generated file begins with.
BANNER = "// Generated from functions.txt and handles.txt by generate.py. Do not edit.\n"


@dataclass(frozen=True)
class Parameter:
    type: str  # "const int []" as "const int*"
    name: str
    array: bool = False

    @property
    def handle(self) -> str | None:
        """The kind of handle it is: "Comm"; None for numbers and memory."""
        kinds = "Comm|Datatype|Group|Op|Request|Message|Info|File|Win|Status|Errhandler|Session"
        found = re.fullmatch(rf"(?:const )?MPI_({kinds})\*?", self.type)
        return found[1] if found else None


@dataclass(frozen=True)
class Memory:
    access: str  # in, out, io
    name: str
    elements: tuple[str, ...]
    who: str  # "", members, ranks, sources, destinations
    root: str  # "", at, but
    in_place: Memory | None = None  # what it is instead where the other buffer is MPI_IN_PLACE


@dataclass(frozen=True)
class Function:
    kind: str
    name: str  # without MPI_
    family: str  # the blocking form's name
    form: str  # blocking, nonblocking, persistent
    parameters: tuple[Parameter, ...]
    memory: tuple[Memory, ...]
    large: bool = False

    @property
    def is_wrapped(self) -> bool:
        """Whether a wrapper is generated for it."""
        return self.kind in WRAPPED

    @property
    def has_entry(self) -> bool:
        """Whether the preloaded library stands before it."""
        return self.kind in WITH_ENTRIES

    @property
    def of_all_of_a_file(self) -> bool:
        """Whether it waits, or may wait, for all ranks of a file."""
        named = re.search(r"_(all|ordered)(_begin)?(_c)?$", self.name) is not None
        return self.kind == "filed" or (self.kind in ("file", "split") and self.form == "blocking" and named)

    def parameter(self, name: str) -> Parameter | None:
        return next((each for each in self.parameters if each.name == name), None)


def parse_parameter(text: str) -> Parameter:
    found = re.fullmatch(r"(.*?)(\w+)(\[\])?", text.strip())
    assert found, text
    spelled = re.sub(r"\s*\*\s*", "*", found[1].strip()) + ("*" if found[3] else "")
    return Parameter(spelled, found[2], bool(found[3]))


def parse_memory(line: str) -> Memory:
    line, _, instead = line.partition("; in place ")
    found = re.fullmatch(r"(in|out|io)\s+(\w+): ([\w\[\] ]+?)(?: \* (\w+))?(?: (at|but) root)?", line.strip())
    assert found, f"functions.txt: {line!r}"
    in_place = parse_memory(f"{found[1]} {found[2]}: {instead}") if instead else None
    return Memory(found[1], found[2], tuple(found[3].split()), found[4] or "", found[5] or "", in_place)


def in_form(base: Function, form: str) -> Function:
    """The non-blocking or persistent form of a blocking function."""
    request = Parameter("MPI_Request*", "request")
    lower = base.name[0].lower() + base.name[1:]
    match form:
        case "n":
            return replace(base, name="I" + lower, form="nonblocking", parameters=(*base.parameters, request))
        case "p":
            info = Parameter("MPI_Info", "info")
            return replace(
                base, name=base.name + "_init", form="persistent", parameters=(*base.parameters, info, request)
            )
        case "q":
            return replace(base, name=base.name + "_init", form="persistent", parameters=(*base.parameters, request))
    return base


def with_large_counts(function: Function) -> Function:
    """The form whose counts are MPI_Count (MPI 4.0, 2.3: places of collectives become MPI_Aint)."""

    def widen(each: Parameter) -> Parameter:
        if each.name in ("outsize", "insize", "position"):
            return replace(each, type="MPI_Count*" if each.type.endswith("*") else "MPI_Count")
        if each.name == "disp_unit":
            return replace(each, type="MPI_Aint")
        if re.search(r"count", each.name):
            return replace(each, type=re.sub(r"\bint\b", "MPI_Count", each.type))
        return replace(each, type=re.sub(r"\bint\b", "MPI_Aint", each.type)) if "displs" in each.name else each

    return replace(
        function, name=function.name + "_c", parameters=tuple(widen(each) for each in function.parameters), large=True
    )


def read_table(path: Path = HERE / "functions.txt") -> tuple[list[Function], list[str]]:
    """All functions in all their forms, in the order of Entry, and the names of the unordered ones."""
    functions: list[Function] = []
    unordered: list[str] = []
    waiting: tuple[Function, str] | None = None

    def finish() -> None:
        if waiting is None:
            return
        base, forms = waiting
        assert base.memory or base.kind in WITHOUT_MEMORY or not base.is_wrapped, base.name
        for form in forms.replace("c", ""):
            made = in_form(base, form)
            in_request = made.kind not in ("rma", "requests", "watched") and any(
                each.name == "request" and each.type == "MPI_Request*" for each in made.parameters
            )
            if made.form == "blocking" and in_request:
                made = replace(made, form="persistent" if made.name.endswith("_init") else "nonblocking")
            functions.append(made)
            if "c" in forms:
                functions.append(with_large_counts(made))

    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("  "):
            assert waiting, line
            base, forms = waiting
            waiting = (replace(base, memory=(*base.memory, parse_memory(line))), forms)
            continue
        finish()
        waiting = None
        kind, rest = line.split(maxsplit=1)
        if kind == "table":
            continue
        if kind == "unordered":
            unordered += rest.split()
            continue
        assert kind in KINDS, line
        found = re.fullmatch(r"(\w+) (\w+)\((.*)\)", rest)
        assert found, line
        parameters = tuple(parse_parameter(each) for each in found[3].split(",") if each)
        waiting = (Function(kind, found[2], found[2], "blocking", parameters, ()), found[1])
    finish()
    order = {kind: 0 if kind in WRAPPED else 1 + KINDS.index(kind) for kind in KINDS}
    return sorted(functions, key=lambda each: order[each.kind]), unordered


def read_lookups(path: Path = HERE / "functions.txt") -> dict[str, list[tuple[str, str]]]:
    """The tables of functions that are looked up by name: of each, how and what."""
    tables: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        if not line.startswith("table "):
            continue
        _, which, *names = line.split()
        table, _, how = which.partition(":")
        tables.setdefault(table, []).extend((how, name) for name in names)
    return tables


def read_handles(path: Path = HERE / "handles.txt") -> list[list[str]]:
    """Rows of handles.txt: kind, name, and the handle in the three ABIs, then its meaning."""
    return [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
