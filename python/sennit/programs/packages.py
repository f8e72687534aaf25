"""How what is missing is installed."""

from __future__ import annotations

import shlex
import sys


def install(packages: str) -> str:
    """The command that installs them for the Python that looks for them: another one's pip would not help."""
    return f"{shlex.quote(sys.executable)} -m pip install {packages}"
