"""Reading a document: its text, the version, then every field, and an error that names what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sennit.programs.problem import Exit, Problem

DEEPEST = 200  # levels, as the C++ programs allow (src/base/json.cc); views recurse where documents do

# What 64 bits cannot count is no size, and no time or bandwidth either. Below it arithmetic on two figures overflows
# to infinity at worst, which units show as unknown; beyond it, it would raise.
TOO_LARGE = 2.0**64

# What is no text for people: halves of characters, which no file can hold; what no SVG file may hold; and control
# characters, by which a file of somebody else's could drive the terminal that shows it.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Part(BaseModel):
    """Every object in a document. Members this version does not know are ignored: writers may add some. Numbers are
    finite: JSON has no others."""

    model_config = ConfigDict(populate_by_name=True, extra="ignore", allow_inf_nan=False)


Document = TypeVar("Document", bound=Part)


def parse(model: type[Document], value: object, origin: str, version: int | None = 1) -> Document:
    """`value`, read from `origin`, as a `model`. Raises Problem with the version or the first field that is wrong. A
    `version` of None: of a document that is never kept, and has none."""
    if not isinstance(value, dict):
        raise Problem(f"{origin} holds no JSON object", "Give a file that sennit wrote", Exit.USAGE)
    found = value.get("version")
    if version is not None and found != version:
        raise Problem(
            f"{origin} is of version {json.dumps(found)[:40]}; this sennit reads version {version}",
            "Write the file again with this sennit, or update sennit",
            Exit.USAGE,
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(
            f"{origin}: {_place(first['loc'])}: {first['msg'][:1].lower()}{first['msg'][1:]}",
            "Correct that member, or write the file again",
            Exit.USAGE,
        ) from None


def decode(text: str) -> Any:
    """The JSON in a text. Raises ValueError when it is none, or holds what can be neither reckoned with nor shown; it
    reads on from the text's name: "is not JSON: …"."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"is nested deeper than {DEEPEST} levels") from None
    except ValueError:  # Python refuses to convert thousands of digits
        raise ValueError("holds a number of thousands of digits") from None
    # Without recursion, as its depth is not known yet.
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        place, at = waiting.pop()
        if isinstance(at, (dict, list)) and len(place) >= DEEPEST:
            raise ValueError(f"is nested deeper than {DEEPEST} levels")
        if isinstance(at, dict):
            if any(UNPRINTABLE.search(name) for name in at):
                raise ValueError(f"has a member with a name that is not printable text, in {_place(place)}")
            waiting += [((*place, name), member) for name, member in at.items()]
        elif isinstance(at, list):
            waiting += [((*place, index), item) for index, item in enumerate(at)]
        elif isinstance(at, str) and UNPRINTABLE.search(at):
            raise ValueError(f"holds what is not printable text: {_place(place)}")
        elif isinstance(at, (int, float)) and not abs(at) < TOO_LARGE:
            raise ValueError(f"holds a number that is too large, or none: {_place(place)}")
    return value


def read_json(file: Path) -> Any:
    """The JSON in a file. Raises Problem naming the file, and the place where it stops being JSON."""
    try:
        return decode(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"{file} cannot be read: {error.strerror}", "Check the name", Exit.USAGE) from None
    except UnicodeDecodeError:
        raise Problem(f"{file} is not text", "Give a file that sennit wrote", Exit.USAGE) from None
    except ValueError as error:
        raise Problem(f"{file} {error}", "It may be damaged; write it again", Exit.USAGE) from None


def _place(path: Iterable[str | int]) -> str:
    """For example: rows.3.median_us. Names that are no names of ours may be long, of several lines, and invisible."""
    text = ".".join(" ".join(str(part).split())[:40] for part in path)
    text = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
    return (text if len(text) <= 80 else f"{text[:79]}…") or "the document"
