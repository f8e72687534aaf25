"""Which sennit a result was measured with: the version, and the commit that its programs were built from
(cmake/revision.cmake puts it into them)."""

from __future__ import annotations

import mmap
import re

from sennit import __version__
from sennit.programs.places import find
from sennit.programs.problem import Problem

PROGRAMS = ("sennit-bench-put", "sennit-bench-collective", "sennit-bench-mpi")  # those that say it in their results
BUILT = re.compile(rb"\0(" + re.escape(__version__).encode() + rb"\+[0-9a-f]{7,40}(?:-dirty)?)\0")


def revision() -> str:
    """For example "0.1.0+3cf2cc5524-dirty", of the build that would be used; without a checkout when it was built, or
    without its programs, the version alone."""
    for name in PROGRAMS:
        try:
            with find(name).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                if found := BUILT.search(text):
                    return found[1].decode()
        except (Problem, OSError, ValueError):  # absent, or empty
            continue
    return __version__
