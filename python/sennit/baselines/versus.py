"""`--vs`: which peers the C++ program measures and which are measured after it, beside the rows that it gave."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sennit.baselines import mpi, symmetric
from sennit.baselines.job import Case, Job
from sennit.baselines.run import Outcome, run
from sennit.model.document import parse
from sennit.model.result import OWN, Result
from sennit.programs import console
from sennit.programs.progress import Bar, Step

OURS = (*mpi.LIBRARIES, symmetric.NAME)  # those with a program of their own
SHARED = Path("/dev/shm")


def split(versus: str | None) -> tuple[str | None, list[str]]:
    """What of --vs is for the C++ program, and which peers are measured here. Where all are ours it is told to
    measure none, since without --vs it would measure NCCL on GPUs."""
    if versus is None:
        return None, []
    names = [name.strip() for name in versus.split(",")]
    ours = [name for name in OURS if name in names]
    others = [name for name in names if name not in OURS]
    return ",".join(others) if others else "none", ours


@dataclass(frozen=True)
class Asked:
    """What the rows of sennit say about what to measure beside them."""

    executor: str
    ranks: int
    seconds: float
    eager: bool
    cases: list[Case]


def asked_of(result: Result) -> Asked:
    """The same operations, sizes and numbers as sennit's rows."""
    own = [row for row in result.rows if row.variant == OWN]
    cases = [Case(row.operation, row.bytes, row.type, row.operator, row.in_place) for row in own]
    seconds = result.settings.get("seconds")
    return Asked(
        str(result.settings.get("executor", "")),
        own[0].ranks if own else 0,
        float(seconds) if isinstance(seconds, int | float) else 0.2,
        not any(row.graph for row in own),
        cases,
    )


def limit_s(asked: Asked) -> int:
    """How long a peer may take: for each case the time to measure it, as much again for runs that are slower than
    their warm-up, and to check it; and to start."""
    return int(60 + sum(4 * asked.seconds + 2 + case.bytes / 50e6 for case in asked.cases))


def suited(asked: Asked, peer: str) -> tuple[Asked, list[str]]:
    """The cases that the peer can do, and a warning for each reason why it cannot do others."""
    left_out = symmetric.can if peer == symmetric.NAME else lambda case: mpi.can(peer, case)
    reasons = {case: left_out(case) for case in asked.cases}
    kept = [case for case, reason in reasons.items() if not reason]
    return replace(asked, cases=kept), list(dict.fromkeys(filter(None, reasons.values())))


def elsewhere(asked: Asked, peer: str) -> str:
    """Why the peer is of no use where sennit was measured; empty where it is."""
    on_gpus = asked.executor == "cuda"
    if peer in mpi.LIBRARIES and on_gpus:
        return f"{peer} is left out: it is measured on host memory, and this is on GPUs; give --executor host."
    if peer == symmetric.NAME and not on_gpus:
        return f"{peer} is left out: symmetric memory is on GPUs; compare where there are two or more of them."
    return ""


def add(document: dict[str, Any], origin: str, peers: Iterable[str], skew_us: float = 0) -> dict[str, Any]:
    """The document, which is of `origin`, with what these peers took for the same. A peer that cannot be measured is
    a warning. Raises Problem."""
    asked = asked_of(parse(Result, document, origin))
    outcomes = [measured(peer, asked, skew_us) for peer in peers if asked.cases]
    return with_outcomes(document, outcomes)


def with_outcomes(document: dict[str, Any], outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The document with their rows, versions and warnings at its end."""
    whole = {**document}
    for outcome in outcomes:
        whole["rows"] = [*whole["rows"], *outcome.rows]
        whole["versions"] = {**whole.get("versions", {}), **(outcome.versions if outcome.rows else {})}
        whole["warnings"] = [*whole.get("warnings", []), *outcome.warnings]
    return whole


def measured(peer: str, asked: Asked, skew_us: float) -> Outcome:
    """What one peer took, or a warning that says why not."""
    if why := elsewhere(asked, peer):
        return Outcome(warnings=[why])
    asked, left_out = suited(asked, peer)
    if not asked.cases:
        return Outcome(warnings=left_out)
    limit = limit_s(asked)
    job = Job(peer, asked.ranks, asked.cases, asked.seconds, skew_us, asked.eager, limit + 10)
    with Bar(f"measuring {peer}", console.messages()) as bar:
        outcome = _run(job, limit, lambda done, total, what: bar.update(Step(done, total, what)))
    outcome.warnings = left_out + outcome.warnings
    if outcome.reason:
        outcome.warnings.append(failure(peer, outcome))
    return outcome


def failure(peer: str, outcome: Outcome) -> str:
    """Told of a peer that did not get to its end."""
    part = "only measured in part" if outcome.rows else "left out"
    return f"{peer} is {part}: {outcome.reason}; or leave it out of --vs."


def _run(job: Job, limit: int, progress: Callable[[int, int, str], None]) -> Outcome:
    found = symmetric.find() if job.peer == symmetric.NAME else mpi.find(job.peer)
    if isinstance(found, str):
        return Outcome(reason=found)
    # In shared memory: there lies what ranks exchange, and goes with the folder whatever became of them.
    place = SHARED if os.access(SHARED, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sennit-peer-", dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        file = folder / "job.json"
        file.write_text(job.text(), encoding="utf-8")
        commands, environments = processes(found, job, file, os.environ)
        outcome = run(commands, environments, folder, limit, progress)
    if isinstance(found, mpi.Installed):
        outcome.versions[job.peer] = found.version
    return outcome


def processes(
    found: mpi.Installed | symmetric.Installed, job: Job, file: Path, inherited: Mapping[str, str]
) -> tuple[list[list[str]], list[dict[str, str]]]:
    """The command lines to start at once, and their environments."""
    if isinstance(found, mpi.Installed):
        root = os.geteuid() == 0
        return [mpi.command(found, job, file, root)], [mpi.environment(found, inherited, file.parent)]
    commands = [symmetric.command(file, rank) for rank in range(job.ranks)]
    return commands, [symmetric.environment(inherited, file.parent)] * job.ranks
