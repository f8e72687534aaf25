"""`sennit version`."""

from __future__ import annotations

import re
from typing import Any

from sennit.programs import console, places, process
from sennit.programs.machines import PROGRAM
from sennit.programs.problem import Problem
from sennit.programs.revision import revision
from sennit.verbs.options import examples

EXAMPLES = examples("sennit version")


def kernels(build: Any) -> str:
    """What GPUs a build has kernels for. `build`: what `sennit-machine build` says, where architectures are named as
    CMake names them: 80-real is machine code alone, 90 also PTX, and 90-virtual PTX alone, for newer GPUs."""
    if not build["architectures"]:
        return "none; for GPUs: make build CUDA=on"
    made = re.findall(r"(\d+)(\d)[a-z]?(-real)?", build["architectures"])
    each = [f"{major}.{minor}{'' if real else ' and newer'}" for major, minor, real in made]
    return f"compute capability {', '.join(each)}; CUDA {build['cuda']}"


def version() -> None:
    """Print the version, where its programs are, and which GPUs they have kernels for."""
    lines = [f"sennit {revision()}"]
    try:
        lines.append(f"programs: {places.find(PROGRAM).parent}")
        lines.append(f"GPU kernels: {kernels(process.document(PROGRAM, 'build', title='asking the build')[0])}")
    except Problem as problem:
        lines.append(f"programs: none ({problem.remedy})" if len(lines) == 1 else f"GPU kernels: unknown ({problem})")
    console.results().print("\n".join(lines), markup=False, soft_wrap=True)
