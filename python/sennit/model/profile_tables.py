"""A profile as tables: lists of rows, each of a row's values by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sennit.model.document import Part
from sennit.model.profile import Partners, Profile, Rank, Row, Skew

Line = dict[str, Any]
TABLES: Mapping[str, type[Rank] | type[Row] | type[Partners] | type[Skew]] = {
    "rows": Row, "ranks": Rank, "partners": Partners, "skew": Skew,
}  # fmt: skip


def tables(profile: Profile) -> dict[str, list[Line]]:
    """By the names that they have in the document. What is a part of its own there, as the spread between ranks,
    becomes columns: rank_seconds_least and so on."""
    return {name: [_flat(part.model_dump(by_alias=True)) for part in getattr(profile, name)] for name in TABLES}


def columns(name: str) -> list[str]:
    """Those of a table, also of one without rows."""
    found = []
    for member, field in TABLES[name].model_fields.items():
        inner = (
            field.annotation if isinstance(field.annotation, type) and issubclass(field.annotation, Part) else None
        )
        label = field.alias or member
        found += [f"{label}_{each}" for each in inner.model_fields] if inner else [label]
    return found


def _flat(values: Mapping[str, Any]) -> Line:
    flat: Line = {}
    for name, value in values.items():
        flat |= (
            {f"{name}_{each}": inner for each, inner in value.items()}
            if isinstance(value, Mapping)
            else {name: value}
        )
    return flat
