"""`sennit version`."""

from __future__ import annotations

from sennit import __version__
from sennit.programs import console, places
from sennit.programs.problem import Problem
from sennit.verbs.options import examples

EXAMPLES = examples("sennit version")


def version() -> None:
    """Print the version, and where its programs are."""
    try:
        place = str(places.find("sennit-machine").parent)
    except Problem as problem:
        place = f"none ({problem.remedy})"
    console.results().print(f"sennit {__version__}\nprograms: {place}", markup=False, soft_wrap=True)
