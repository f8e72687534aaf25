#!/usr/bin/env python3
"""The functions that a version of NCCL has, read from its nccl.h, and kept in nccl_headers/VERSION.txt.

  nccl_prototypes.py NCCL_H        writes that file, of the version that the header says it is

A wheel of NCCL, as nvidia-nccl-cu12, has the header in nvidia/nccl/include. Kept are the oldest version that the
drop-in takes, each later one on the package index that first had a function with a communicator, and the newest."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE / "nccl_headers"
RESULTS = r"ncclResult_t|const char\s*\*|void"


def in_one_way(parameter: str) -> str:
    """A parameter with one way of writing it: const void* sendbuff."""
    return re.sub(r"\s+", " ", re.sub(r"\s*\*\s*", "* ", parameter.strip())).replace("* *", "**").strip()


def type_of(parameter: str) -> str:
    """Of a parameter, without its name."""
    return in_one_way(re.sub(r"\b\w+$", "", parameter.strip()))


def prototypes(header: str) -> dict[str, list[str]]:
    """The functions that a header declares, without nccl, and their parameters."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)
    found = re.findall(rf"\b(?:{RESULTS})\s+nccl([A-Z]\w*)\s*\(([^)]*)\)\s*;", text)
    return {
        name: [in_one_way(each) for each in inside.split(",") if each.strip() not in ("", "void")]
        for name, inside in found
    }


def version_of(header: str) -> tuple[int, int, int]:
    """What a header says of itself: (2, 28, 9)."""
    numbers = [re.search(rf"#define NCCL_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH")]
    assert all(numbers), "no nccl.h"
    major, minor, patch = (int(each[1]) for each in numbers if each)
    return major, minor, patch


def lines(functions: dict[str, list[str]]) -> str:
    """As they are kept: a line a function, as functions.txt of the drop-in has them."""
    return "".join(f"{name}({', '.join(parameters)})\n" for name, parameters in sorted(functions.items()))


def kept(file: Path) -> dict[str, list[str]]:
    """What lines() wrote."""
    found = [re.fullmatch(r"(\w+)\((.*)\)", line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert all(found), file
    return {each[1]: [one for one in each[2].split(", ") if one] for each in found if each}


def main() -> None:
    """The program."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    header = Path(sys.argv[1]).read_text(encoding="utf-8")
    KEPT.mkdir(exist_ok=True)
    file = KEPT / f"{'.'.join(map(str, version_of(header)))}.txt"
    file.write_text(lines(prototypes(header)), encoding="utf-8")
    print(file)


if __name__ == "__main__":
    main()
