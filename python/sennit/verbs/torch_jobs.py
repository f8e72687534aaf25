"""What the verbs have in common that measure PyTorch programs under NCCL alone and under the drop-in."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from importlib import util
from typing import Any

from sennit import launcher
from sennit.packages import install
from sennit.peers.torch_job import Told
from sennit.problem import Exit, Problem
from sennit.revision import revision


def ranks_or_gpus(asked: int | None, need: str, packages: str = "torch") -> int:
    """How many ranks there are: as asked, or one a GPU. `need`: what needs two ("training needs"). Raises Problem
    (environment) where there are fewer, or no PyTorch: which packages to install."""
    if util.find_spec("torch") is None:
        raise Problem("torch is not installed", install(packages), Exit.ENVIRONMENT)
    count = asked or launcher.gpus(os.environ)
    if count < 2:
        raise Problem(f"{need} two GPUs or more", "Run it where they are", Exit.ENVIRONMENT)
    return count


def document(
    kind: str, told: Told, settings: Mapping[str, Any], rows: Sequence[Any], warnings: Sequence[str]
) -> dict[str, Any]:
    """The result of what the jobs of all variants told."""
    return {
        "version": 1,
        "kind": kind,
        "date": datetime.datetime.now(tz=datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": told.machine,
        "versions": {"sennit": revision()} | told.versions,
        "settings": settings,
        "rows": rows,
        "warnings": warnings,
    }
