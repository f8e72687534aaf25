"""The tables of a profile, for sennit.profile."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sennit.model.document import parse
from sennit.model.profile import Profile
from sennit.model.profile_tables import Line, tables
from sennit.programs.problem import Exit, Problem
from sennit.programs.profiles import merged

ARROW = "'sennit[profile]'"  # the extra that has pyarrow


class Table(list[Line]):
    """Rows, each a dictionary of a row's values."""

    def to_pandas(self) -> Any:
        """As a DataFrame. Raises Problem where pandas is missing."""
        return _library("pandas", "pandas").DataFrame(list(self))

    def to_parquet(self, file: str | Path) -> None:
        """Writes them to a file of Parquet. Raises Problem where pyarrow is missing."""
        _library("pyarrow.parquet", ARROW).write_table(self.to_arrow(), file)

    def to_arrow(self) -> Any:
        """As a pyarrow.Table. Raises Problem where pyarrow is missing."""
        return _library("pyarrow", ARROW).Table.from_pylist(list(self))


@dataclass(frozen=True)
class Tables:
    """A profile. `document` has all of it; what its members mean is in schemas/profile.schema.json."""

    rows: Table
    ranks: Table
    partners: Table
    skew: Table
    lateness: Table
    queues: Table
    timeline: Table
    document: Any


def load(folder: str | Path) -> Tables:
    """The profile in a folder, or in a file that `sennit report --json` wrote. Raises Problem where there is none."""
    document = merged(Path(folder))
    found = tables(parse(Profile, document, str(folder)))
    return Tables(**{name: Table(lines) for name, lines in found.items()}, document=document)


def _library(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise Problem(
            f"{name.partition('.')[0]} is not installed", f"pip install {package}", Exit.ENVIRONMENT
        ) from None
