"""Reading a document: the version first, then every field, and an error that names what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sennit.problem import Exit, Problem


class Part(BaseModel):
    """Every object in a document. Members this version does not know are ignored: writers may add some. Numbers are
    finite: JSON has no others."""

    model_config = ConfigDict(populate_by_name=True, extra="ignore", allow_inf_nan=False)


Document = TypeVar("Document", bound=Part)


def parse(model: type[Document], value: object, origin: str, version: int = 1) -> Document:
    """`value`, read from `origin`, as a `model`. Raises Problem with the version or the first field that is wrong."""
    if not isinstance(value, dict):
        raise Problem(f"{origin} holds no JSON object", "Give a file that sennit wrote", Exit.USAGE)
    found = value.get("version")
    if found != version:
        raise Problem(
            f"{origin} is of version {json.dumps(found)[:40]}; this sennit reads version {version}",
            "Write the file again with this sennit, or update sennit",
            Exit.USAGE,
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Problem(
            f"{origin}: {where}: {first['msg'][:1].lower()}{first['msg'][1:]}",
            "Correct that member, or write the file again",
            Exit.USAGE,
        ) from None


def read_json(file: Path) -> Any:
    """The JSON in a file. Raises Problem naming the file, and the place where it stops being JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"{file} cannot be read: {error.strerror}", "Check the name", Exit.USAGE) from None
    except UnicodeDecodeError:
        raise Problem(f"{file} is not text", "Give a file that sennit wrote", Exit.USAGE) from None
    except (json.JSONDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise Problem(f"{file} is not JSON: {reason}", "It may be truncated; write it again", Exit.USAGE) from None
