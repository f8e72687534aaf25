"""What the verbs have in common that measure PyTorch programs under NCCL alone and under the drop-in."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from importlib import util
from typing import Any

from sennit.baselines.torch_job import Told
from sennit.programs import launcher
from sennit.programs.handed_on import preloaded
from sennit.programs.packages import install
from sennit.programs.preloading import is_off, not_preloaded
from sennit.programs.problem import Exit, Problem
from sennit.programs.revision import revision


def ranks_or_gpus(asked: int | None, need: str, packages: str = "torch") -> int:
    """How many ranks there are: as asked, or one a GPU. `need`: what needs two ("training needs"). Raises Problem
    (environment) where there are fewer, or no PyTorch: which packages to install."""
    if util.find_spec("torch") is None:
        raise Problem("torch is not installed", install(packages), Exit.ENVIRONMENT)
    count = asked or launcher.gpus(os.environ)
    if count < 2:
        raise Problem(f"{need} two GPUs or more", "Run it where they are", Exit.ENVIRONMENT)
    return count


def preload(library: str, inherited: Mapping[str, str]) -> str:
    """LD_PRELOAD of ranks under sennit, or, without a library, under NCCL alone. This process may run under `sennit
    run` itself, whose library is in neither but the first."""
    there = not_preloaded(inherited.get("LD_PRELOAD", ""))
    return preloaded(library, there) if library else there


def check_on(inherited: Mapping[str, str]) -> None:
    """Raises Problem (usage) where SENNIT_DISABLE keeps sennit from ranks that are to run under it: NCCL would be
    compared with itself."""
    if is_off(inherited):
        raise Problem(
            "SENNIT_DISABLE is set: jobs under sennit would run without it",
            "Unset it (unset SENNIT_DISABLE)",
            Exit.USAGE,
        )


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
