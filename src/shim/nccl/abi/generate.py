#!/usr/bin/env python3
"""Writes what the drop-in for NCCL is made of, from functions.txt:

    generate.py FOLDER

nccl_entries.inc       assembly: the preloaded library's entry points
nccl_names.inc         C: their names
nccl_functions.inc     C++: their numbers, and the program's own NCCL as a struct of functions
nccl_calls.inc         C++: how a call reaches NCCL
nccl_wrappers.inc      C++: what the entry points lead to
nccl_descriptions.inc  C++: the type of each function with an entry point, and what its arguments are

A file that would be the same is left alone, so that nothing is compiled again for it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WRAPPED = ("collective", "message", "enqueues", "group", "makes", "ends", "state", "window", "destroys")
PASSED = ("left", "used")
OLDEST = (2, 19)

# What C++ calls the types of nccl.h, whose enumerations are as wide as int.
TYPES = {
    "ncclComm_t": "Comm",
    "ncclUniqueId": "UniqueId",
    "ncclDataType_t": "int",
    "ncclRedOp_t": "int",
    "ncclResult_t": "int",
    "ncclScalarResidence_t": "int",
    "cudaStream_t": "Stream",
    "ncclConfig_t": "void",
    "ncclCollConfig_t": "void",
    "ncclSimInfo_t": "void",
    "ncclWaitSignalDesc_t": "void",
    "ncclWindow_t": "WindowHandle",
    "ncclCommMemStat_t": "int",
}
# The class whose function of the same name stands for NCCL's, as a member of DropIn.
SERVICES = {
    "makes": "lifecycle",
    "ends": "lifecycle",
    "state": "lifecycle",
    "group": "calls",
    "window": "calls",
    "destroys": "calls",
}
# The members of Call for parameters of collectives and messages.
MEMBERS = {
    "sendbuff": "input",
    "recvbuff": "output",
    "buff": "output",
    "sendcount": "count",
    "recvcount": "count",
    "count": "count",
    "datatype": "type",
    "op": "op",
    "root": "root",
    "peer": "root",
    "comm": "comm",
    "stream": "stream",
}


# The members of Description for parameters of any function.
ROLES = {
    "sendbuff": "input",
    "localbuff": "input",
    "recvbuff": "output",
    "buff": "output",
    "sendcount": "count",
    "recvcount": "count",
    "count": "count",
    "size": "bytes",
    "datatype": "type",
    "op": "op",
    "root": "root",
    "peer": "peer",
    "comm": "comm",
    "stream": "stream",
    "newcomm": "made",
    "nranks": "ranks",
    "nRanks": "ranks",
    "rank": "rank",
    "myrank": "rank",
}
MOST_PARAMETERS = 12


@dataclass(frozen=True)
class Function:
    kind: str
    since: tuple[int, ...]  # (2, 19), or with a patch: (2, 28, 7)
    name: str  # without nccl
    parameters: tuple[str, ...]  # as in nccl.h

    @property
    def is_wrapped(self) -> bool:
        return self.kind in WRAPPED

    @property
    def has_entry(self) -> bool:
        """Whether the preloaded library stands before it: for an observer alone, where it is passed on."""
        return self.is_wrapped or self.kind == "left"

    @property
    def result(self) -> str:
        return "const char*" if self.name == "GetLastError" else "int"

    def names(self) -> list[str]:
        """The parameters'."""
        return [each.split()[-1] for each in self.parameters]

    def types(self) -> list[str]:
        """The parameters' types, as C++ here has them."""
        types = [re.sub(r"\s*\b\w+$", "", each) for each in self.parameters]
        return [re.sub(r"\b(nccl\w+|cudaStream_t)\b", lambda found: TYPES[found[1]], each) for each in types]


def read_table(path: Path = HERE / "functions.txt") -> list[Function]:
    """The functions: first those that are wrapped, then what else has an entry point; each in the table's order."""
    functions = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        found = re.fullmatch(r"(\w+) (\d+(?:\.\d+)+) (\w+)\((.*)\)", line)
        assert found, line
        assert found[1] in WRAPPED + PASSED, line
        since = tuple(int(number) for number in found[2].split("."))
        parameters = tuple(each.strip() for each in found[4].split(",") if each.strip())
        functions.append(Function(found[1], since, found[3], parameters))
    return sorted(functions, key=lambda each: (not each.is_wrapped, not each.has_entry))


def snake(name: str) -> str:
    """all_reduce of AllReduce, red_op_create_pre_mul_sum of RedOpCreatePreMulSum."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("Allto", "AllTo")).lower()


def entries(functions: list[Function]) -> str:
    return "".join(f"  sennit_nccl_entry nccl{each.name}, {number}\n" for number, each in enumerate(functions))


def names(functions: list[Function]) -> str:
    listed = "".join(f'  "nccl{each.name}",\n' for each in functions)
    return f"#define SENNIT_NCCL_ENTRIES {len(functions)}\nstatic const char* const nccl_names[] = {{\n{listed}}};\n"


def cpp(entered: list[Function], everything: list[Function]) -> str:
    numbers = "".join(f"  {snake(each.name)},\n" for each in entered)
    symbols = "".join(f'    "nccl{each.name}",\n' for each in entered)
    members, found, needed = "", "", []
    for each in everything:
        if each.kind == "left":
            continue
        member = snake(each.name)
        members += f"  {each.result} (*{member})({', '.join(each.types())}) = nullptr;\n"
        found += f'    set(all.{member}, "nccl{each.name}");\n'
        if each.since == OLDEST:
            needed.append(f"{member} != nullptr")
    all_there = " &&\n           ".join(needed)
    return f"""enum class Entry : std::size_t {{
{numbers}}};
inline constexpr std::size_t kEntries = {len(entered)};
inline constexpr const char* kSymbols[kEntries] = {{
{symbols}}};

/// The program's own NCCL. Functions that its version does not have are null.
struct Functions {{
{members}
  /// `find` gives the address of a symbol, or null.
  template <class Find>
  static Functions of(Find find) {{
    Functions all;
    const auto set = [&]<class Function>(Function*& function, const char* name) {{
      function = reinterpret_cast<Function*>(find(name));
    }};
{found}    return all;
  }}

  /// Returns true if it has all that the oldest version has.
  bool is_complete() const {{
    return {all_there};
  }}
}};
"""


def calls(functions: list[Function]) -> str:
    """The function that hands a collective or a message to NCCL."""
    cases = ""
    for each in functions:
        if each.kind in ("collective", "message"):
            passed = ", ".join(f"call.{MEMBERS[name]}" for name in each.names())
            cases += f"    case Entry::{snake(each.name)}: return nccl.{snake(each.name)}({passed});\n"
    return f"""int call_nccl(const Functions& nccl, const Call& call) {{
  switch (call.entry) {{
{cases}    default: return kInternalError;
  }}
}}
"""


def wrapper(function: Function) -> str:
    """What the entry point of one function leads to."""
    listed = ", ".join(f"{kind} {name}" for kind, name in zip(function.types(), function.names(), strict=True))
    passed = ", ".join(function.names())
    name = snake(function.name)
    theirs = f"[&](const Functions& nccl) {{ return nccl.{name}({passed}); }}"
    caller = "__builtin_return_address(0)"
    if function.kind in ("collective", "message"):
        members = "".join(f", .{MEMBERS[each]} = {each}" for each in function.names())
        body = f"answer_call({caller}, \n                     {{.entry = Entry::{name}{members}}})"
    elif function.kind == "enqueues":
        body = f'answer_enqueuing({caller}, "{name}", comm, stream, {theirs})'
    else:
        ours = f"[&](DropIn& to) {{ return to.{SERVICES[function.kind]}.{name}({passed}); }}"
        body = f"answer(\n      {caller}, {ours},\n      {theirs})"
    return f"{function.result} {name}({listed}) {{\n  return {body};\n}}\n"


def wrappers(functions: list[Function]) -> str:
    each = "".join(
        f"  table[std::size_t(Entry::{name})] = reinterpret_cast<void*>(&{name});\n"
        for name in (snake(each.name) for each in functions)
    )
    generated = "".join(map(wrapper, functions))
    return f"{generated}inline void fill(void* (&table)[kEntries]) {{\n{each}}}\n"


def description(function: Function) -> str:
    """A Description, in the order of its members."""
    names = function.names()
    assert len(names) <= MOST_PARAMETERS, function.name
    roles = {ROLES[name]: number for number, name in enumerate(names) if name in ROLES}
    if re.match(r"nccl(Comm|RedOp)_t\*", function.parameters[0] if names else ""):
        roles["made"] = 0
        del roles[ROLES[names[0]]]
    order = list(dict.fromkeys(ROLES.values()))
    listed = "".join(f", .{role} = {roles[role]}" for role in order if role in roles)
    return f'    {{.name = "nccl{function.name}", .kind = Kind::{function.kind}{listed}}},\n'


def descriptions(functions: list[Function]) -> str:
    kinds = ", ".join((*WRAPPED, "left"))
    prototypes = "".join(
        f"template <>\nstruct Prototype<Entry::{snake(each.name)}> {{\n"
        f"  using Type = {each.result}({', '.join(each.types())});\n}};\n"
        for each in functions
    )
    return f"""/// What functions.txt says of each.
enum class Kind : std::uint8_t {{ {kinds} }};

/// The numbers of a function's arguments; kAbsent: it has none of this meaning.
struct Description {{
  const char* name = "";
  Kind kind{{}};
  Argument {", ".join(f"{role} = kAbsent" for role in dict.fromkeys(ROLES.values()))};
}};

inline constexpr std::array<Description, kEntries> kDescriptions{{{{
{"".join(map(description, functions))}}}}};

template <Entry>
struct Prototype;
{prototypes}"""


def main() -> None:
    everything = read_table()
    wrapped = [each for each in everything if each.is_wrapped]
    entered = [each for each in everything if each.has_entry]
    texts = {
        "entries": entries(entered),
        "names": names(entered),
        "functions": cpp(entered, everything),
        "descriptions": descriptions(entered),
        "calls": calls(wrapped),
        "wrappers": wrappers(wrapped),
    }
    for name, text in texts.items():
        file = Path(sys.argv[1]) / f"nccl_{name}.inc"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
