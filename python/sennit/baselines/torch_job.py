"""Jobs of PyTorch ranks as torchrun would start them, under NCCL alone or under the drop-in: what a rank sees, and
what comes of what they tell. torch_rank.py is what such ranks share."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sennit.baselines.port import free_port
from sennit.baselines.run import Outcome
from sennit.baselines.run import run as run_ranks

SENNIT, NCCL = "sennit", "nccl"  # variants: NCCL with the drop-in, and alone
GRACE_S = 30  # of a job beyond the limit by which its ranks end themselves, as they begin later


@dataclass
class Told:
    """What jobs said beside their figures."""

    machine: dict[str, Any] = field(default_factory=lambda: {"name": "unknown"})
    versions: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def command(module: str, file: Path, rank: int) -> list[str]:
    """What starts one rank of a job that is in a file."""
    return [sys.executable, "-m", module, str(file), str(rank)]


def environment(inherited: Mapping[str, str], rank: int, ranks: int, port: int, preload: str) -> dict[str, str]:
    """What a rank sees; `preload`: LD_PRELOAD with the drop-in, or without where NCCL alone is measured."""
    package = Path(__file__).resolve().parent.parent.parent
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(package), inherited.get("PYTHONPATH", "")))),
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "LD_PRELOAD": preload,
    }
    result = dict(inherited) | own
    if not preload:
        del result["LD_PRELOAD"]
    return result


def run(
    module: str,
    text: str,
    ranks: int,
    inherited: Mapping[str, str],
    preload: str,
    limit_s: float,
    progress: Callable[[int, int, str], None],
    outcome: Outcome | None = None,
) -> Outcome:
    """One job of so many ranks, to its end or the limit. `text`: what they are asked, which they get as a file;
    `outcome`: gets what they tell at once."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="sennit-torch-") as folder:
        file = Path(folder) / "job.json"
        file.write_text(text, encoding="utf-8")
        return run_ranks(
            [command(module, file, rank) for rank in range(ranks)],
            [environment(inherited, rank, ranks, port, preload) for rank in range(ranks)],
            Path(folder), limit_s, progress, outcome,
        )  # fmt: skip


def said_by_sennit(errors: Sequence[str]) -> list[str]:
    """Of what ranks printed on stderr, why the drop-in did not do its part: figures under it would then be NCCL's."""
    found = []
    for line in errors:
        named = re.match(r"sennit (?:warning|error) \(process \d+\): (.*)", line)
        if named or line.startswith("sennit: the program runs without sennit"):
            found.append(named[1] if named else line.removeprefix("sennit: "))
    return found


def why_none_is_sennits(hows: Iterable[str]) -> str:
    """Why all calls were NCCL's, given how they went (empty: nothing was said of it); empty where sennit did some."""
    known = [how for how in hows if how]
    if not known:
        return "the drop-in was not reached"
    return "" if any(not how.startswith("NCCL") for how in known) else known[0].removeprefix("NCCL: ")


def none_is_sennits(why: str, option: str) -> str:
    """The warning of that. `option`: what has sennit take all that it can."""
    return f"All calls are NCCL's ({why}); try sennit tune collectives, or {option}."


def told(outcomes: Iterable[Outcome]) -> Told:
    """What they said together, each warning once."""
    found = Told()
    for outcome in outcomes:
        said = [*outcome.warnings, *said_by_sennit(outcome.errors)]
        found.warnings += [warning for warning in said if warning not in found.warnings]
        found.versions |= outcome.versions
        found.machine = next((row["machine"] for row in outcome.rows if "machine" in row), found.machine)
    return found
