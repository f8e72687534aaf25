"""Where text goes: results to stdout, progress and messages to stderr. Colours only where someone sees them."""

from __future__ import annotations

import os
import sys
from typing import IO

from rich.console import Console

# Width of tables that go into a file or a pipe, where there is no screen to fit: wide enough for a table with its
# split, so that lines are not broken differently on every machine.
PIPE_WIDTH = 132


def make(stream: IO[str]) -> Console:
    """A console on `stream`. NO_COLOR and streams that are no terminal get plain text (rich sees to both)."""
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False)


def results() -> Console:
    """stdout."""
    return make(sys.stdout)


def messages() -> Console:
    """stderr."""
    return make(sys.stderr)
