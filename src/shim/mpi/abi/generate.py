#!/usr/bin/env python3
"""Writes what the drop-in for MPI is made of, from functions.txt and handles.txt:

    generate.py FOLDER

mpi_entries.inc   assembly: the preloaded library's entry points
mpi_names.inc     C: their names
functions.inc     C++: their numbers
descriptions.inc  C++: what the arguments of each function are
prototypes.inc    C++: the type of each function
lookups.inc       C++: the tables of functions that are looked up by name
wrappers.inc      C++: a wrapper for each function that takes memory
by_hand.inc       C++: where the hand-written wrappers go
handles.inc       C++: the predefined handles

A file that would be the same is left alone, so that nothing is compiled again for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from table import BANNER, read_handles, read_table
from wrappers import write_by_hand, write_descriptions, write_lookups, write_prototypes, write_wrappers


def write_functions() -> str:
    functions, _ = read_table()
    families = list(dict.fromkeys(each.family for each in functions if each.has_entry))
    assert len(families) < 256
    lines = [BANNER, "// clang-format off"]
    lines.append(
        "/// Every function: first those with an entry point, as the preloaded library counts them, and of those"
    )
    lines.append("/// first what has a generated wrapper.")
    lines.append(f"enum class Entry : std::uint16_t {{ {', '.join(each.name for each in functions)} }};")
    lines.append(f"inline constexpr std::size_t kWrapped = {sum(each.is_wrapped for each in functions)};")
    lines.append(f"inline constexpr std::size_t kEntries = {sum(each.has_entry for each in functions)};")
    spelled = " || ".join(f"entry == Entry::{each.name}" for each in functions if each.kind == "requests")
    lines.append("/// Whether it completes, starts or frees requests.")
    lines.append(f"constexpr bool is_of_requests(Entry entry) {{ return {spelled}; }}")
    lines.append("/// Blocking, non-blocking and persistent forms of a function are one family.")
    lines.append(f"enum class Family : std::uint8_t {{ {', '.join(families)} }};")
    spelled = ", ".join(f'"{each}"' for each in families)
    lines.append(f"inline constexpr std::string_view kFamilyNames[] = {{{spelled}}};")
    collective = dict.fromkeys(each.family for each in functions if each.kind == "collective")
    spelled = " || ".join(f"family == Family::{each}" for each in collective)
    lines.append("/// Whether all ranks of a communicator take part, at one level.")
    lines.append(f"constexpr bool is_collective(Family family) {{ return {spelled}; }}")
    receives = dict.fromkeys(each.family for each in functions if each.kind in ("receive", "exchange"))
    spelled = " || ".join(f"family == Family::{each}" for each in receives)
    lines.append("/// Whether a message comes, which may be shorter than its buffer.")
    lines.append(f"constexpr bool receives(Family family) {{ return {spelled}; }}")
    messages = dict.fromkeys(each.family for each in functions if each.kind in ("send", "receive", "exchange"))
    spelled = " || ".join(f"family == Family::{each}" for each in messages)
    lines.append("/// Whether one rank sends, or receives, what another does not wait for.")
    lines.append(f"constexpr bool is_message(Family family) {{ return {spelled}; }}")
    return "\n".join(lines) + "\n"


def entry_names() -> list[str]:
    """All entry points, in the order of their numbers."""
    return [f"MPI_{each.name}" for each in read_table()[0] if each.has_entry]


def write_entries() -> str:
    lines = [f"  sennit_entry {name}, {number}" for number, name in enumerate(entry_names())]
    return "\n".join(["/* Generated from functions.txt by generate.py. Do not edit. */", *lines]) + "\n"


def write_names() -> str:
    names = entry_names()
    lines = [BANNER.replace("// ", "/* ").rstrip() + " */", f"#define SENNIT_FRONT_ENTRIES {len(names)}"]
    lines.append(f"#define SENNIT_FRONT_LONGEST {max(map(len, names))}")
    lines.append("static const char* const names[SENNIT_FRONT_ENTRIES] = {")
    lines += [f'  "{name}",' for name in names]
    return "\n".join([*lines, "};"]) + "\n"


def write_handles() -> str:
    rows = read_handles()
    lines = [BANNER, "// clang-format off", "inline constexpr Predefined kPredefined[] = {"]
    for kind, name, standard, mpich, openmpi, meaning in rows:
        lines.append(f'  {{"{kind}", "{name}", {standard}, {mpich}, "{openmpi}", "{meaning}"}},')
    lines.append("};")
    return "\n".join(lines) + "\n"


WRITERS = {
    "mpi_entries": write_entries,
    "mpi_names": write_names,
    "functions": write_functions,
    "descriptions": write_descriptions,
    "prototypes": write_prototypes,
    "lookups": write_lookups,
    "wrappers": write_wrappers,
    "by_hand": write_by_hand,
    "handles": write_handles,
}


def main() -> None:
    for name, write in WRITERS.items():
        file, text = Path(sys.argv[1]) / f"{name}.inc", write()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
