"""What `sennit bench partitioned` was asked to measure: its document has it, so that a run can go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sennit.baselines import partitioned as jobs
from sennit.compare.changes import differing
from sennit.model.document import Part, parse
from sennit.model.partitioned import Partitioned
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import names

PLANES = 8
KEPT = "asked"  # the member of the settings
OPTIONS = {"limit": "--hangs-after", "versus": "--vs", "ranks": "-n"}  # those whose option has another name
# Of what a job says before it measures: where one of these differs, lines are not of the same thing.
SAME = ("clock", "cores", "thread_multiple", "last_level_cache", "library")


class Asked(Part):
    """Values of the options, as a document has them; lists are spelled out. `threads` 0: the program's own choice."""

    sizes: str
    partitions: str
    threads: int
    compute: str
    noise: str
    order: str
    cache: str
    versus: list[str]
    seed: int
    seconds: float
    limit: float
    pattern: str = ""  # empty: messages between two ranks
    planes: int = PLANES
    ranks: int = 2

    def arguments(self) -> list[str]:
        """Of the program that measures, but for the back end."""
        made = ["--sizes", self.sizes, "--partitions", self.partitions, "--compute", self.compute, "--noise",
                absolute(self.noise), "--order", self.order, "--cache", self.cache, "--seconds", f"{self.seconds:g}",
                "--limit", f"{self.limit:g}", "--seed", str(self.seed)]  # fmt: skip
        made += ["--pattern", self.pattern, "--planes", str(self.planes)] if self.pattern else []
        return [*made, "--threads", str(self.threads)] if self.threads else made

    def settings(self) -> dict[str, Any]:
        """For the document."""
        return {KEPT: self.model_dump()}


def absolute(noise: str) -> str:
    """The same with the files of replay:FILE by their whole names."""
    return ",".join(f"replay:{Path(file).absolute()}" if kind == "replay" else f"{kind}{colon}{file}"
                    for kind, colon, file in (each.partition(":") for each in names(noise)))  # fmt: skip


def kept(found: Partitioned, origin: str) -> Asked:
    """What a document's run was asked. Raises Problem where it does not say so."""
    if KEPT not in found.settings:
        raise Problem(f"{origin} does not say what was to be measured", "Measure it anew", Exit.USAGE)
    return parse(Asked, found.settings[KEPT], f"settings.{KEPT} of {origin}", version=None)


def refuse_others(asked: Asked, given: Mapping[str, Any], origin: str) -> None:
    """Raises Problem where an option that is given again has another value than in the document."""
    for name, before in asked:
        if name in given and given[name] != before:
            option = OPTIONS.get(name, f"--{name}")
            said = ",".join(before) if isinstance(before, list) else before
            raise Problem(
                f"{origin} was measured with {option} {said}", f"Leave {option} out, or measure anew", Exit.USAGE
            )


def refuse_elsewhere(found: Partitioned, head: jobs.Document, origin: str) -> None:
    """Raises Problem where a job of this machine and MPI would not measure what the document did."""
    here = parse(Partitioned, head, "the job's document")
    apart = differing(_circumstances(found), _circumstances(here))
    if apart:
        raise Problem(
            f"{origin} was measured elsewhere: {', '.join(apart)}", "Go on where it was begun, or measure anew",
            Exit.USAGE,
        )  # fmt: skip


def _circumstances(found: Partitioned) -> dict[str, Any]:
    settings = {name: found.settings.get(name) for name in SAME}
    return found.machine.model_dump() | found.versions | settings
