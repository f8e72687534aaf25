"""What `sennit doctor` says of each MPI's partitioned messages: it asks as
`sennit bench partitioned --probe` does."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sennit.baselines import partitioned as jobs
from sennit.model.doctor import Check
from sennit.model.document import parse
from sennit.model.partitioned import QUESTIONS, Probe
from sennit.programs import launcher, places
from sennit.programs.problem import Problem
from sennit.verbs.mpi import Start

TITLE = "MPI's partitioned messages"
SIZES = ("64", "64K")  # below and above what MPIs send at once
INSTEAD = (
    "See whether persistent sends, one a partition, are sooner: sennit bench partitioned "
    "--vs persistent_partitions,mpi"
)
SAID = {
    "start_all": ("MPI_Startall starts two at once", "start them one by one, with MPI_Start"),
    "before_start": ("partitions may be ready before the receiver has started", "let the receiver start first"),
    "while_waiting": (
        "partitions may be ready while another thread waits",
        "let no other thread wait in MPI meanwhile",
    ),
}


def partitioned_checks() -> list[Check]:
    """A check for each MPI whose launcher is on PATH; none where the program that asks is not built."""
    try:
        places.find(jobs.PROGRAM)
    except Problem:
        return []
    checks = []
    seen = set()
    for name in launcher.USUAL:
        try:
            found = launcher.find(name)
        except Problem:
            continue
        if found.kind not in seen:
            seen.add(found.kind)
            checks.append(_check(found))
    return checks


def _check(found: launcher.Launcher) -> Check:
    environment = found.environment(os.environ)
    job = Start(found, 2, str(found.library() or ""), program=jobs.PROGRAM)

    def command(arguments: Sequence[str]) -> list[str]:
        return job.command(environment, arguments)

    try:
        answers, document = jobs.ask(command, environment, QUESTIONS, SIZES, lambda *_: None)
    except Problem as problem:
        return _made(found.kind, "not_applicable", f"Not asked with {found.program.name}: {problem.what}.")
    return check_of(parse(Probe, answers, "the answers", version=None), document.get("versions", {}).get("mpi", ""),
                    found.kind)  # fmt: skip


def check_of(probe: Probe, mpi: str, kind: str) -> Check:
    """What the answers come to. It works where partitions are early and nothing hangs."""
    early = bool(probe.early) and all(one.early for one in probe.early)
    told = ["partitions leave early" if early else "no partition leaves before all are ready"]
    if not early and any(one.early for one in probe.early):
        told = ["partitions leave early at some sizes"]
    if not probe.early:
        why = probe.early_failed.why if probe.early_failed else ""
        told = [f"whether partitions leave early was not told ({why})"]
    fixes = []
    for question, (said, instead) in SAID.items():
        answer = getattr(probe, question)
        if answer is not None and answer.works is not None:
            told.append(said if answer.works else f"not so: {said}")
            fixes += [] if answer.works else [instead]
    fix = "; ".join(fixes)
    if not early:
        fix = f"{INSTEAD}{'; ' if fix else ''}{fix}"
    detail = f"{mpi or kind}: {'; '.join(told)}."
    return _made(kind, "degraded" if fix else "works", detail, fix[:1].upper() + fix[1:])


def _made(kind: str, state: str, detail: str, fix: str = "") -> Check:
    return Check.model_validate(
        {"id": f"partitioned_{kind}", "title": TITLE, "state": state, "detail": detail, "fix": fix}
    )
