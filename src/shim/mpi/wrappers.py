"""The C++ of the wrappers: what the drop-in for MPI does of each function that takes memory, before it decides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from table import BANNER, HAND_WRITTEN, WITHOUT_MEMORY, Function, Memory, Parameter, read_table

#How many blocks a buffer has, by who they are for.
BLOCKS = {"": "1", "members": "call.place().size", "ranks": "call.blocks()", "sources": "call.sources()",
          "destinations": "call.destinations()", "partitions": "partitions"}


def cpp_type(parameter: Parameter) -> str:
    named = {"MPI_Count": "Count", "MPI_Aint": "Aint", "MPI_Offset": "Offset"}
    for name, ours in named.items():
        if name in parameter.type:
            return parameter.type.replace(name, ours)
    if parameter.handle:
        return re.sub(r"MPI_(\w+)", r"typename Abi::\1", parameter.type)
    return parameter.type


def signature(function: Function) -> str:
    return ", ".join(f"{cpp_type(each)} {each.name}" for each in function.parameters)


def arguments(function: Function, replaced: dict[str, str]) -> str:
    return ", ".join(replaced.get(each.name, each.name) for each in function.parameters)


def describe_elements(function: Function, memory: Memory) -> str:
    """C++ that makes the Elements of a buffer."""
    blocks = BLOCKS[memory.who]
    match memory.elements:
        case (count, "bytes"):
            return f"raw_bytes({count})"
        case (count, type_) if count.endswith("[rank]"):
            return f"elements_at({count[:-6]}, call, {type_})"
        case ("1", type_):
            return f"elements(1, {type_}, 1)"
        case (counts, type_):
            found = function.parameter(counts)
            assert found, function.name
            if found.type.endswith("*"):
                return f"elements_of_all({counts}, call, {type_})"
            return f"elements({counts}, {type_}, {blocks})"
        case (counts, places, types):
            return f"placed({counts}, {places}, {types}, {blocks})"
    raise AssertionError(function.name)


def describe_memory(function: Function, memory: Memory) -> str:
    """C++ that makes a Part of the call of one line of the table."""
    access = {"in": "Access::in", "out": "Access::out", "io": "Access::both"}[memory.access]
    significant = {"": "true", "at": "call.at_root(root)", "but": "!call.at_root(root)"}[memory.root]
    elements = describe_elements(function, memory)
    if memory.in_place:
        other = next(each.name for each in function.memory if each.name != memory.name)
        instead = describe_elements(function, memory.in_place)
        elements = f"call.mpi.is_in_place({other}) ? {instead} : {elements}"
    return f"part({memory.name}, {access}, {significant}, {elements})"


def touches(function: Function, memory: Memory) -> str:
    """C++ that is true where data of the buffer is in memory of a GPU, before anything else is known of the call."""
    name, at_address = memory.name, f"is_device<Abi>({memory.name})"
    match memory.elements:
        case (count, type_) if type_ != "bytes" and not count.endswith("]"):
            counts = function.parameter(count)
            if counts and counts.type.endswith("*"):
                return at_address
            if memory.root == "at":
                return f"touches_at<Abi>(root, {name}, {count}, {type_}, comm)"
            there = f"touches<Abi>({name}, {count}, {type_})"
            # Between two groups who has a negative root may give anything.
            return f"(root >= 0 ? {there} : {at_address})" if function.parameter("root") else there
        case (counts, places, types):
            found = function.parameter(types)
            assert found, function.name
            if memory.root == "at":
                return f"touches_at<Abi>(root, {name}, 1, {types}, comm)"
            if not found.type.endswith("*"):
                # Who has no neighbours may have no first place.
                given = places if function.kind == "collective" else f"static_cast<decltype({places})>(nullptr)"
                return f"touches_placed<Abi>({name}, {counts}, {given}, {types})"
            blocks = BLOCKS[memory.who].replace("call.", "")
            call = f"Call(mpi<Abi>(), Family::{function.family}, Form::{function.form}, to_handle(comm)).{blocks}"
            return f"touches_typed<Abi>({name}, {counts}, {places}, {types}, [&] {{ return {call}; }})"
    return at_address


def other_types(function: Function) -> dict[str, str]:
    """What stands for the type of a buffer in the real call: of those that are one buffer's alone."""
    types = [each.elements[-1] for each in function.memory]
    found = {each: function.parameter(each) for each in types}
    return {each: f"type_in(memory, {i}, {each})" for i, each in enumerate(types)
            if types.count(each) == 1 and (parameter := found[each]) and not parameter.type.endswith("*")}


def sibling(function: Function, by_name: dict[str, Function]) -> Function | None:
    """The non-blocking form of a blocking function that may wait for another rank, and can be matched by either."""
    if function.form != "blocking" or (function.kind != "send" and function.family != "Recv"):
        return None
    suffix = "_c" if function.large else ""
    family = function.family[0].lower() + function.family[1:]
    return by_name.get(f"I{family}{suffix}")


def moving(function: Function, other: Function) -> Iterator[str]:
    """The program's own function, so that requests that the drop-in has to look after move on while it waits."""
    status = "status" if function.parameter("status") else "ignored<Abi>()"
    yield "template <class Abi>"
    yield f"int {function.name}_moving({signature(function)}) {{"
    yield "  if (!busy<Abi>())"
    yield f"    return Real<Abi>::of(&{function.name}<Abi>, Entry::{function.name})({arguments(function, {})});"
    yield "  auto request = no_request<Abi>();"
    yield (f"  const int code = Real<Abi>::of(&{other.name}<Abi>, Entry::{other.name})"
           f"({arguments(other, {'request': '&request'})});")
    yield f"  return code != 0 || is_none<Abi>(request) ? code : wait_moving<Abi>(&request, {status});"
    yield "}"
    yield ""


def by_two_requests(function: Function) -> str:
    return "send_and_receive" if function.family == "Sendrecv" else "send_and_receive_in_place"


def moving_exchange(function: Function) -> Iterator[str]:
    """The program's own function; where requests are open that move, by two others, so that those go on."""
    yield "template <class Abi>"
    yield f"int {function.name}_moving({signature(function)}) {{"
    yield "  if (!busy<Abi>())"
    yield f"    return Real<Abi>::of(&{function.name}<Abi>, Entry::{function.name})({arguments(function, {})});"
    yield f"  return {by_two_requests(function)}<Abi>({arguments(function, {})});"
    yield "}"
    yield ""


def unless_in_vain(done: str, indent: int = 2) -> Iterator[str]:
    """The end of the wrapper, where what is to be done before the call was in vain."""
    yield f"{' ' * indent}if (const auto code = {done}) return *code;"


def moving_collective(function: Function) -> Iterator[str]:
    """The program's own function; where requests of GPU memory are open, after all ranks have come that may wait for
    one: some have to move meanwhile, and MPI would wait for ever for a rank that was lost."""
    yield "template <class Abi>"
    yield f"int {function.name}_moving({signature(function)}) {{"
    yield "  const auto silence = drop_in<Abi>().silence();"
    yield from unless_in_vain(f'drop_in<Abi>().let_all_come("MPI_{function.name}", to_handle(comm))')
    yield f"  return Real<Abi>::of(&{function.name}<Abi>, Entry::{function.name})({arguments(function, {})});"
    yield "}"
    yield ""


def one_sided(function: Function) -> Iterator[str]:
    """The end of a one-sided call's wrapper: what it is at both sides."""
    yield f"  Call call(mpi<Abi>(), Family::{function.family}, Form::blocking, kNoHandle);"
    for each in function.memory:
        yield f"  call.add({describe_memory(function, each)});"
    there = ("target_count, to_handle(target_datatype)" if function.parameter("target_count")
             else "1, to_handle(datatype)")
    op = "to_handle(op)" if function.parameter("op") else "kNoHandle"
    yield f"  const Remote remote{{to_handle(win), target_rank, target_disp, {there}, {op}}};"
    if function.parameter("op"):
        yield "  call.op = to_handle(op);"
    replaced = {each.name: f"static_cast<{cpp_type(function.parameter(each.name))}>(memory[{i}])"
                for i, each in enumerate(function.memory)} | other_types(function)
    used, request = "void*", "nullptr"
    if function.parameter("request"):
        used, request = "void* tail", "request"
        replaced["request"] = "static_cast<typename Abi::Request*>(tail)"
        yield "  make_none<Abi>(request);"
    yield (f"  const auto call_real = [&](const StandIns& memory, {used}) "
           f"{{ return real({arguments(function, replaced)}); }};")
    yield f"  return one_sided<Abi>(call, remote, call_real, {request});"
    yield "}"
    yield ""


def arrays_of(function: Function) -> Iterator[tuple[Parameter, str, str]]:
    """The arrays that describe buffers: whether the program has given each, and how many elements it has, in C++."""
    buffers = {each.name for each in function.memory}
    for parameter in function.parameters:
        if not parameter.type.endswith("*") or parameter.name in buffers or parameter.handle == "Request":
            continue
        memory = next(each for each in function.memory if parameter.name in words(each))
        known = {"": "true", "at": "call.at_root(root)", "but": "!call.at_root(root)"}[memory.root]
#Where the buffer is MPI_IN_PLACE, what describes it alone is not looked at.
        if sum(parameter.name in words(each) for each in function.memory) == 1:
            known += f" && !call.mpi.is_in_place({memory.name})"
        yield parameter, known, BLOCKS[memory.who or "members"]


def come(function: Function) -> Iterator[str]:
    """What comes before a call of all ranks that is the MPI's alone: those that wait for their turn begin, as the MPI
    may match both in one order, and requests of GPU memory move until nobody waits for one instead of coming."""
    who = "to_handle(comm)"
    if function.of_all_of_a_file:
        who = f"Shared::file, to_handle({'*fh' if function.name == 'File_close' else 'fh'})"
    elif function.kind == "grouped":
        who += ", to_handle(group), tag"
    elif function.parameter("peer_comm"):
        who += ", {local_leader, to_handle(peer_comm), remote_leader, tag}"
    yield "  const auto silence = drop_in<Abi>().silence();"
    yield from unless_in_vain(f'drop_in<Abi>().come("MPI_{function.name}", {who})')


def maker(function: Function) -> Iterator[str]:
    """What makes communicators, and other calls of all ranks without memory."""
    yield "template <class Abi>"
    yield f"int {function.name}({signature(function)}) {{"
    yield from come(function)
    if function.name == "File_close":
        yield "  drop_in<Abi>().forget(Shared::file, to_handle(*fh));"
    real = f"Real<Abi>::of(&{function.name}<Abi>, Entry::{function.name})({arguments(function, {})})"
    made = next((name for name in ("fh", "win") if function.kind == "maker" and function.parameter(name)), None)
    if made:
        kind = "file" if made == "fh" else "window"
        real = f"name_made<Abi>({real}, Shared::{kind}, {made}, comm)"
    yield f"  return {real};"
    yield "}"
    yield ""


def wrapper(function: Function, by_name: dict[str, Function]) -> Iterator[str]:
    """One wrapper: what has no GPU memory goes on as it is; the rest is described, and handed to the drop-in."""
    memory = [each.name for each in function.memory]
    tail = next((name for name in ("request", "status") if function.parameter(name)), None)
    other = sibling(function, by_name)
    if other:
        yield from moving(function, other)
    exchanges = function.kind == "exchange" and function.form == "blocking"
    if exchanges:
        yield from moving_exchange(function)
    waits = function.kind == "collective" and function.form == "blocking"
    of_all = function.kind in ("collective", "neighbor")
    in_turn = of_all and function.form == "nonblocking"
    if waits:
        yield from moving_collective(function)
    yield "template <class Abi>"
    yield f"int {function.name}({signature(function)}) {{"
    if other or waits or exchanges:
        yield f"  const auto real = &{function.name}_moving<Abi>;"
    else:
        yield f"  const auto real = Real<Abi>::of(&{function.name}<Abi>, Entry::{function.name});"
    if function.kind in ("send", "exchange"):
        sent, tag = ", ".join(function.memory[0].elements), "sendtag" if function.kind == "exchange" else "tag"
        yield f"  const auto sending = note<Abi>({sent}, dest, {tag}, comm, Form::{function.form});"
    if (of_all and not in_turn and not waits) or function.of_all_of_a_file:
        yield from come(function)
    touched = " || ".join(touches(function, each) for each in function.memory)
    if function.kind == "rma":
        touched += " || drop_in<Abi>().windows() != nullptr"
    if function.kind in ("receive", "exchange"):
        short = ", ".join(function.memory[-1].elements)
        request = str(tail == "request").lower()
        yield f"  if (!({touched}) && (overlooks_receives<Abi>({request}) || too_short<Abi>({short}) ||"
        yield f"                       !looks_at_receives<Abi>({request}))) {{"
    elif in_turn:
        at_once = "pass_at_once" if function.kind == "collective" else "needs_no_turn"
        yield f"  if (!({touched}) && drop_in<Abi>().{at_once}(to_handle(comm))) {{"
    else:
        yield f"  if (!({touched})) {{"
    if waits:
        yield from unless_in_vain(f'drop_in<Abi>().pass("MPI_{function.name}", to_handle(comm))', 4)
    if function.kind == "collective" and function.form == "persistent":
        yield "    drop_in<Abi>().repeat_none(to_handle(comm));"
    yield f"    return real({arguments(function, {})});"
    yield "  }"
    if function.kind == "rma":
        yield from one_sided(function)
        return
    if exchanges:
        yield f"  return {by_two_requests(function)}<Abi>({arguments(function, {})});"
        yield "}"
        yield ""
        return
    comm = "comm_of<Abi>(message)" if function.parameter("message") else "kNoHandle"
    comm = "to_handle(comm)" if function.parameter("comm") else comm
    kind = f"Family::{function.family}, Form::{function.form}"
    yield f"  Call call(mpi<Abi>(), {kind}, {comm});"
    for name in ("op", "root", "dest", "source", "tag"):
        if function.parameter(name):
            yield f"  call.{name} = {'to_handle(op)' if name == 'op' else name};"
    if function.kind == "exchange":
        yield "  call.tag = recvtag;"
    for each in function.memory:
        yield f"  call.add({describe_memory(function, each)});"
    replaced = {each: f"static_cast<{cpp_type(function.parameter(each))}>(memory[{i}])"
                for i, each in enumerate(memory)} | other_types(function)
    if tail:
        replaced[tail] = f"static_cast<{cpp_type(function.parameter(tail))}>(tail)"
    used = "memory, void* tail" if tail else "memory, void*"
    if in_turn:
        described = list(arrays_of(function))
        used += ", const Arrays& arrays" if described else ", const Arrays&"
        yield "  Arrays given;"
        for index, (each, known, count) in enumerate(described):
            yield f"  given.add({each.name}, {known}, {count});"
            element = cpp_type(each).removeprefix("const ").removesuffix("*")
            replaced[each.name] = f"arrays.template get<{element}>({index})"
    captured = "=" if in_turn else "&"
    with_other = f"return real({arguments(function, replaced)});"
    yield f"  const auto call_real = [{captured}](const StandIns& {used}) {{ {with_other} }};"
    if function.kind == "send" and function.family != "Bsend" and function.form != "persistent":
        replaced |= {"buf": "card", "count": "length", "datatype": "byte<Abi>()"}
        tail_ = "void* tail" if tail else "void*"
        how = "real"
        if function.form == "nonblocking":
#A send that is done at once may have a handle that stands for all such sends.
            how, entry = "send_card", "Issend_c" if function.large else "Issend"
            yield f"  const auto {how} = Real<Abi>::of(&{entry}<Abi>, Entry::{entry});"
        yield (f"  const auto call_card = [&](const void* card, int length, {tail_}) "
               f"{{ return {how}({arguments(function, replaced)}); }};")
        yield f"  return send<Abi>(call, call_real, call_card, {tail or 'nullptr'});"
    else:
        if function.kind == "collective" and function.form == "persistent":
            yield "  return repeat<Abi>(call, call_real, request);"
        elif in_turn:
            yield "  return begin<Abi>(call, call_real, given, request);"
        elif function.kind == "partitioned":
            yield "  return begin_partitioned<Abi>(call, call_real, partitions, request);"
        elif function.kind == "split":
            yield "  return begin_split<Abi>(call, call_real, fh);"
        else:
            how, why = "perform", ""
            if function.kind == "send" and function.family != "Bsend" and function.form == "persistent":
                how = "send_again_and_again"
            elif function.kind == "send":
                why = ', "buffered"'
            yield f"  return {how}<Abi>(call, call_real, {tail or 'nullptr'}{why});"
    yield "}"
    yield ""


def is_counted(function: Function) -> bool:
    """Whether MPI counts such calls on each rank, to match them (agreement.h)."""
    return function.kind == "collective" and function.form != "blocking"


def unmatched(function: Function) -> Iterator[str]:
    """As ever, but on MPI_COMM_WORLD, where some ranks have counted another number of calls."""
    yield "template <class Abi>"
    yield f"int {function.name}_unmatched({signature(function)}) {{"
    yield f'  if (is_world<Abi>(comm)) return refuse<Abi>("MPI_{function.name}");'
    yield f"  return {function.name}<Abi>({arguments(function, {})});"
    yield "}"
    yield ""


def words(memory: Memory) -> set[str]:
    """The parameters that describe a buffer."""
    instead = memory.in_place.elements if memory.in_place else ()
    return set(re.findall(r"\w+", " ".join([*memory.elements, *instead])))


def narrowed(large: Function, base: Function) -> Iterator[str]:
    """The form with large counts in terms of the one without, for libraries that lack it (MPI 3)."""
    yield "template <class Abi>"
    yield f"int {large.name}_narrowed({signature(large)}) {{"
    yield f"  const auto base = Current<Abi>::of(&{base.name}<Abi>, Entry::{base.name});"
    comm = "to_handle(comm)" if large.parameter("comm") else "kNoHandle"
    yield (f"  const Call call(mpi<Abi>(), Family::{large.family}, Form::{large.form}, {comm});")
    yield "  Narrow narrow;"
    replaced: dict[str, str] = {}
    positions = []
    for wide, plain in zip(large.parameters, base.parameters, strict=True):
        if cpp_type(wide).replace("Count", "Aint") == cpp_type(plain).replace("Count", "Aint"):
            continue  # as wide in both
        replaced[wide.name] = f"{wide.name}_"
        if wide.name == "position":
            positions.append(wide.name)
            yield "  int position_value = narrow(*position);"
            yield "  int* const position_ = &position_value;"
        elif wide.type.endswith("*"):
            known, count = next((known, count) for each, known, count in arrays_of(large) if each == wide)
            yield f"  const int* const {wide.name}_ = narrow({wide.name}, {known}, {count});"
        else:
            yield f"  const int {wide.name}_ = narrow({wide.name});"
    yield "  if (!narrow.fits()) return call.mpi.fail(call.comm, kErrCount);"
    yield f"  const int code = base({arguments(large, replaced)});"
    for name in positions:
        yield f"  *{name} = {name}_value;"
    if large.parameter("request"):
        yield f"  if (code == 0) keep_until_done<Abi>(narrow, *request, Form::{large.form});"
    yield "  return code;"
    yield "}"
    yield ""


def write_wrappers() -> str:
    functions, _ = read_table()
    lines = [BANNER, "// clang-format off"]
    by_name = {each.name: each for each in functions}
    for function in functions:  # they call each other
        lines += ["template <class Abi>", f"int {function.name}({signature(function)});"]
    for function in functions:
        lines += maker(function) if function.kind in WITHOUT_MEMORY else wrapper(function, by_name)
    for function in functions:
        if function.large:
            lines += narrowed(function, by_name[function.name.removesuffix("_c")])
    lines.append("/// What stands for functions that the library lacks, by entry; null where nothing can.")
    lines.append("template <class Abi>")
    lines.append("void fill_substitutes(void** table) {")
    lines += [fill(each.name, f"{each.name}_narrowed") for each in functions if each.large]
    lines.append("}")
    for function in filter(is_counted, functions):
        lines += unmatched(function)
    lines.append("/// What stands for functions that other ranks cannot match, by entry.")
    lines.append("template <class Abi>")
    lines.append("void fill_unmatched(void** table) {")
    lines += [fill(each.name, f"{each.name}_unmatched") for each in functions if is_counted(each)]
    lines.append("}")
    lines.append("/// The wrappers, by entry.")
    lines.append("template <class Abi>")
    lines.append("void fill_wrappers(void** table) {")
    lines += [fill(each.name, each.name) for each in functions]
    lines.append("}")
    return "\n".join(lines) + "\n"


def fill(entry: str, wrapper: str) -> str:
    guarded = f"guarded<Abi, &{wrapper}<Abi>, decltype(&{wrapper}<Standard>)>()"
    return f"  table[std::size_t(Entry::{entry})] = {guarded};"


def write_by_hand() -> str:
    _, lists = read_table()
    lines = [BANNER, "// clang-format off"]
    for kind in HAND_WRITTEN:
        lines += [f"/// The hand-written wrappers listed as `{kind}`, by entry.", "template <class Abi>"]
        lines += [f"void fill_{kind}(void** table) {{", *(fill(name, name) for name in lists[kind]), "}"]
    return "\n".join(lines) + "\n"
