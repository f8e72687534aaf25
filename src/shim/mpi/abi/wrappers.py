"""What the drop-in for MPI and observers have of each function: a description as data, its type, and a wrapper."""

from __future__ import annotations

import re
from collections.abc import Iterator

from table import BANNER, HAND_WRITTEN, Function, Memory, Parameter, read_lookups, read_table

ROLES = {
    "comm": "comm", "op": "op", "root": "root", "dest": "dest", "source": "source", "request": "request",
    "status": "status", "message": "message", "fh": "file", "win": "window", "group": "group",
    "peer_comm": "peer_comm", "local_leader": "local_leader", "remote_leader": "remote_leader",
    "partitions": "partitions", "target_rank": "target_rank", "target_disp": "target_place",
    "target_count": "target_count", "target_datatype": "target_type", "newcomm": "made", "requests": "requests",
    "statuses": "statuses", "flag": "flag", "outcount": "completed", "indices": "indices",
}  # fmt: skip
# Of these the first is the number of `requests`.
NUMBERS = ("count", "incount")
WHERE = {"": "everywhere", "at": "at_root", "but": "but_root"}
ACCESS = {"in": "in", "out": "out", "io": "both"}


def cpp_type(parameter: Parameter) -> str:
    named = {"MPI_Count": "Count", "MPI_Aint": "Aint", "MPI_Offset": "Offset"}
    for name, ours in named.items():
        if name in parameter.type:
            return parameter.type.replace(name, ours)
    if parameter.handle:
        return re.sub(r"MPI_(\w+)", r"typename Abi::\1", parameter.type)
    if parameter.type.endswith("_function*"):
        return re.sub(r"MPI_(\w+)", r"typename Callbacks<Abi>::\1", parameter.type)
    return parameter.type


def signature(function: Function) -> str:
    return ", ".join(f"{cpp_type(each)} {each.name}" for each in function.parameters)


def place(function: Function, name: str) -> int:
    """The number of an argument."""
    return next(i for i, each in enumerate(function.parameters) if each.name == name)


def elements(function: Function, memory: Memory) -> str:
    """An ElementsOf."""
    wide = "false"
    places, type_ = "kAbsent", memory.elements[-1]
    match memory.elements:
        case (count, "bytes"):
            layout, type_ = "bytes", ""
        case ("1", _):
            layout, count = "one", ""
        case (count, _) if count.endswith("[rank]"):
            layout, count = "own", count[:-6]
        case (count, _):
            counts = function.parameter(count)
            assert counts, function.name
            layout = "packed" if counts.type.endswith("*") else "equal"
        case (count, places, types):
            found, begins = function.parameter(types), function.parameter(places)
            assert found, function.name
            assert begins, function.name
            layout = "typed" if found.type.endswith("*") else "placed"
            wide = str("MPI_Aint" in begins.type).lower()
            places = str(place(function, places))
        case _:
            raise AssertionError(function.name)
    numbers = [str(place(function, name)) if name else "kAbsent" for name in (count, type_)]
    who = memory.who or "nobody"
    return f"{{Layout::{layout}, {numbers[0]}, {places}, {numbers[1]}, Blocks::{who}, {wide}}}"


def buffer(function: Function, memory: Memory) -> str:
    """A BufferOf."""
    instead = f", true, {elements(function, memory.in_place)}" if memory.in_place else ""
    return (f"{{{place(function, memory.name)}, Access::{ACCESS[memory.access]}, Where::{WHERE[memory.root]}, "
            f"{elements(function, memory)}{instead}}}")  # fmt: skip


def nonblocking(function: Function, by_name: dict[str, Function]) -> Function | None:
    """The non-blocking form of a blocking function that may wait for another rank, and can be matched by either."""
    if function.form != "blocking" or (function.kind != "send" and function.family != "Recv"):
        return None
    family = function.family[0].lower() + function.family[1:]
    return by_name.get(f"I{family}{'_c' if function.large else ''}")


def wide(function: Function, by_name: dict[str, Function]) -> Iterator[str]:
    """Which integers a function with large counts has wider than the one without; arrays are left out."""
    if not function.large:
        return
    small = by_name[small_of(function)]
    pairs = zip(function.parameters, small.parameters, strict=True)
    wider = [i for i, (large, narrow) in enumerate(pairs)
             if large.type != narrow.type and narrow.type in ("int", "int*")]  # fmt: skip
    position = next((i for i in wider if function.parameters[i].type.endswith("*")), None)
    if position is not None:
        yield f".position = {position}"
    if bits := sum(1 << i for i in wider if i != position):
        yield f".wide = {bits}"


def description(function: Function, by_name: dict[str, Function]) -> str:
    """A Description, in the order of its members."""
    roles = {role: place(function, name) for name, role in ROLES.items() if function.parameter(name)}
    for name in ("flag", "outcount"):  # where MPI says so, and not what the program gives
        found = function.parameter(name)
        if found is not None and not found.type.endswith("*"):
            del roles[ROLES[name]]
    for name in ("comm", "win"):
        found = function.parameter(name)
        if found is not None and found.type.endswith("*"):
            freed = function.name.endswith(("_free", "_disconnect"))
            roles["freed" if freed else "made"] = roles[ROLES[name]]
            if not function.is_wrapped:
                del roles[ROLES[name]]  # makers of windows keep it: entering.h reads it there when the call has ended
    if function.kind == "exchange":
        roles |= {"send_tag": place(function, "sendtag"), "tag": place(function, "recvtag")}
    elif function.parameter("tag"):
        roles["tag"] = place(function, "tag")
    if function.parameter("requests"):
        roles["request_count"] = next(i for i, each in enumerate(function.parameters) if each.name in NUMBERS)
    entries: dict[str, str] = {}
    if other := nonblocking(function, by_name):
        entries["nonblocking"] = other.name
    if function.kind == "send" and function.form == "nonblocking":
        entries["synchronous"] = "Issend_c" if function.large else "Issend"
    if function.large:
        entries["small"] = small_of(function)
    order = ["comm", "op", "root", "dest", "source", "tag", "send_tag", "request", "status", "message", "file",
             "window", "group", "peer_comm", "local_leader", "remote_leader", "partitions", "target_rank",
             "target_place", "target_count", "target_type", "made", "freed", "requests", "request_count",
             "statuses", "flag", "completed", "indices"]  # fmt: skip
    requested = function.parameter("request")
    said = [
        f'.name = "MPI_{function.name}"',
        f".kind = Kind::{function.kind}",
        *([f".family = Family::{function.family}"] if function.has_entry else []),
        f".form = Form::{function.form}",
        *([".large = true"] if function.large else []),
        *([".all_of_file = true"] if function.of_all_of_a_file else []),
        *([".request_is_value = true"] if requested is not None and requested.type == "MPI_Request" else []),
        *(f".{name} = Entry::{entry}" for name, entry in entries.items()),
        *(f".{role} = {roles[role]}" for role in order if role in roles),
    ]
    said += wide(function, by_name)
    if function.memory:
        said.append(f".buffers = {len(function.memory)}")
        said.append(f".buffer = {{{{{', '.join(buffer(function, each) for each in function.memory)}}}}}")
    return f"  {{{', '.join(said)}}},"


def write_descriptions() -> str:
    functions, _ = read_table()
    by_name = {each.name: each for each in functions}
    assert max(len(each.parameters) for each in functions) <= 16
    lines = [BANNER, "// clang-format off"]
    lines.append(f"inline constexpr std::array<Description, {len(functions)}> kDescriptions{{{{")
    lines += [description(each, by_name) for each in functions]
    return "\n".join([*lines, "}};"]) + "\n"


def write_prototypes() -> str:
    """The types of all functions."""
    functions, _ = read_table()
    lines = [BANNER, "// clang-format off"]
    for each in functions:
        lines.append(f"template <class Abi> struct Prototype<Abi, Entry::{each.name}>")
        lines.append(f"{{ using Type = int({signature(each)}); }};")
    return "\n".join(lines) + "\n"


def forms_of(name: str) -> dict[str, str]:
    """The functions of a collective's forms, by what they are called here."""
    return {"blocking": name, "nonblocking": f"I{name[0].lower()}{name[1:]}", "persistent": f"{name}_init"}


def write_lookups() -> str:
    """The tables of functions that are looked up by name."""
    known = {each.name for each in read_table()[0]}
    lines = [BANNER, "// clang-format off"]
    for table, members in read_lookups().items():
        lines += ["template <class Abi>", f"struct {table} {{"]
        visits = []
        for how, name in members:
            member = name.lower()
            forms = forms_of(name) if how == "forms" else {"": name}
            assert known >= set(forms.values()), name
            pointers = [f"FunctionOf<Abi, Entry::{each}>* {form or member};" for form, each in forms.items()]
            lines.append(f"  struct {{ {' '.join(pointers)} }} {member};" if how == "forms" else f"  {pointers[0]}")
            for form, each in forms.items():
                newer = str(how == "newer" or form == "persistent").lower()
                visits.append(f'    visit({f"{member}.{form}" if form else member}, "{each}", {newer});')
        lines += [
            "  /// Calls visit(function, its name without MPI_, whether an MPI of version 3 may lack it) of each."
        ]
        lines += ["  template <class Visit>", "  void each(const Visit& visit) {", *visits, "  }", "};"]
    return "\n".join(lines) + "\n"


def declaration(function: Function) -> Iterator[str]:
    """The wrapper: the one piece of code that stands before all functions, for this one."""
    names = ", ".join(each.name for each in function.parameters)
    yield "template <class Abi>"
    yield f"int {function.name}({signature(function)}) {{ return enter<Abi, Entry::{function.name}>({names}); }}"


def small_of(function: Function) -> str:
    """The form without large counts."""
    return function.name.removesuffix("_c")


def is_counted(function: Function) -> bool:
    """Whether MPI counts such calls on each rank, to match them (agreement.h)."""
    return function.kind == "collective" and function.form != "blocking"


def entry_of(function: str) -> str:
    return f"table[std::size_t(Entry::{function})]"


def write_wrappers() -> str:
    functions = [each for each in read_table()[0] if each.is_wrapped]
    lines = [BANNER, "// clang-format off"]
    for each in functions:
        lines += declaration(each)
    fills = {
        "wrappers": ("The wrappers, by entry.", [(each.name, f"&{each.name}<Abi>") for each in functions]),
        "substitutes": (
            "What stands for functions that the library lacks, by entry; null where nothing can.",
            [(each.name, f"substitute<Abi, Entry::{each.name}>(&{each.name}<Abi>, &{small_of(each)}<Abi>)")
             for each in functions if each.large],
        ),
        "unmatched": (
            "What stands for functions that other ranks cannot match, by entry.",
            [(each.name, f"unmatched<Abi, Entry::{each.name}>(&{each.name}<Abi>)")
             for each in functions if is_counted(each)],
        ),
    }  # fmt: skip
    for name, (comment, entries) in fills.items():
        lines += [f"/// {comment}", "template <class Abi>", f"void fill_{name}(void** table) {{"]
        lines += [f"  {entry_of(entry)} = reinterpret_cast<void*>({wrapper});" for entry, wrapper in entries]
        lines.append("}")
    return "\n".join(lines) + "\n"


def write_by_hand() -> str:
    functions, _ = read_table()
    lines = [BANNER, "// clang-format off"]
    for kind in HAND_WRITTEN:
        lines += [f"/// The hand-written wrappers listed as `{kind}`, by entry.", "template <class Abi>"]
        lines.append(f"void fill_{kind}(void** table) {{")
        for name in (each.name for each in functions if each.kind == kind):
            lines.append(f"  {entry_of(name)} = guarded<Abi, &{name}<Abi>, decltype(&{name}<Standard>)>();")
        lines.append("}")
    return "\n".join(lines) + "\n"
