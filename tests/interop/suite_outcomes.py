"""What the ranks of mpi4py's own tests tell (mpi4py_suite.py), and which tests a drop-in makes worse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# What starts processes, for which Open MPI takes a minute; what moves only objects of Python, or nothing.
LEFT_OUT = "test_(spawn|util_pool|util_sync|datatype)[.]py"


@dataclass(frozen=True)
class Outcome:
    """What became of a test on one rank: begun (and never ended), passed, skipped or failed, and the traceback."""

    what: str
    why: str = ""


@dataclass
class Run:
    """The outcomes of each test, one a rank that told any, and where ranks were that did not come to the end."""

    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def passed(self, test: str, ranks: int) -> bool:
        return [each.what for each in self.outcomes.get(test, [])] == ["passed"] * ranks

    def add(self, rank: int, lines: list[list[str]]) -> None:
        """What one rank wrote."""
        here: dict[str, Outcome] = {}
        for test, what, why in lines:
            # A test has failed when one part of it has; what comes after that says nothing.
            if what == "begun" or here.get(test, Outcome("")).what != "failed":
                here[test] = Outcome(what, why)
        if here.pop("", None) is None:
            self.lost.append(f"rank {rank} ended in {lines[-1][0] if lines else 'its beginning'}")
        for test, outcome in here.items():
            self.outcomes.setdefault(test, []).append(outcome)

    @classmethod
    def read(cls, folder: Path, ranks: int) -> Run:
        """What all ranks wrote there."""
        run = cls()
        for rank in range(ranks):
            file = folder / f"rank-{rank}.jsonl"
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            run.add(rank, [json.loads(line) for line in text.splitlines()])
        return run


def doubtful(run: Run, ranks: int) -> list[str]:
    """The tests that did not pass; what stands for the setting up of some only if it failed."""
    return sorted(
        test
        for test, outcomes in run.outcomes.items()
        if not run.passed(test, ranks) and (is_name(test) or any(each.what == "failed" for each in outcomes))
    )


def is_name(test: str) -> bool:
    """Whether it can be run by this name."""
    return re.fullmatch(r"[\w.]+", test) is not None


def worse(with_it: Run, without: Run, ranks: int) -> list[str]:
    """The tests that do not pass with the drop-in but do without, each with what it says."""
    found = [test for test in doubtful(with_it, ranks) if not is_name(test) or without.passed(test, ranks)]
    return [
        f"{test}: {', '.join(each.what for each in with_it.outcomes[test])}\n"
        + next((each.why for each in with_it.outcomes[test] if each.why), "")
        for test in found
    ]


def fallen(with_it: Run, without: Callable[[list[str]], Run], ranks: int) -> list[str]:
    """The same, where what did not pass runs once more: `without` runs tests of these names. What was lost there is
    added to what was lost with it."""
    names = [test for test in doubtful(with_it, ranks) if is_name(test)]
    again = without(names) if names else Run()
    with_it.lost += again.lost
    return worse(with_it, again, ranks)
