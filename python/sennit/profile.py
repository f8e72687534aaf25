"""Profiles in Python: what `sennit profile` wrote.

import sennit.profile
run = sennit.profile.load("run1")
slowest = max(run.rows, key=lambda row: row["seconds"])
run.rows.to_pandas()  # where pandas is installed; to_arrow() where pyarrow is
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sennit.programs.load_profile import Tables


def load(folder: str | Path) -> Tables:
    """The profile in a folder, or in a file that `sennit report --json` wrote, as lists of dictionaries: `rows`,
    `ranks`, `partners` and `skew`. Raises Problem where there is none."""
    from sennit.programs import load_profile  # here, as programs import this module that load nothing

    return load_profile.load(folder)
