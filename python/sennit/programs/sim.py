"""What a collective would take on a machine, as records: the command line asks here, and so may programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sennit import units
from sennit.model.document import parse
from sennit.model.sim import Messages, MessagesSweep, Simulation, Sweep
from sennit.programs import process
from sennit.programs.problem import Exit, Problem

PROGRAM = "sennit-sim"
ORIGIN = f"the document of {PROGRAM}"
STEP = 4  # from a size of a range to the next, as benchmarks go from 1 KiB to 1 GiB
SIZES = "Write a size such as 64M, a list such as 64K,1M,64M, or a range such as 64K:64M"


@dataclass(frozen=True)
class Question:
    """One collective on one machine. The program chooses what is None; docs/tune/sim.md says what each means."""

    operation: str
    size: str
    machine: str | Path | None = None
    algorithm: str | None = None
    blocks: int | None = None
    ranks: int | None = None
    root: int | None = None
    out_of_place: bool = False
    registered: bool = False
    what_if: Sequence[str] = ()
    costs: str | None = None
    epsilon: float | None = None
    timeline: str | Path | None = None
    schedule: str | Path | None = None

    def arguments(self) -> list[str]:
        """For sennit-sim."""
        names = ("machine", "algorithm", "blocks", "ranks", "root", "costs", "epsilon", "timeline", "schedule")
        arguments = _arguments(self, names) + (["--registered"] if self.registered else [])
        return arguments + (["--out-of-place"] if self.out_of_place else [])


@dataclass(frozen=True)
class MessagesQuestion:
    """One collective of whole messages, on nodes that are this machine each."""

    operation: str
    size: str
    machine: str | Path | None = None
    nodes: int = 1
    algorithm: str | None = None
    chunks: int | None = None
    root: int | None = None
    sources: str | None = None
    k: int | None = None
    what_if: Sequence[str] = ()
    costs: str | None = None
    epsilon: float | None = None
    equations: bool = False

    def arguments(self) -> list[str]:
        """For sennit-sim."""
        names = ("machine", "nodes", "algorithm", "chunks", "root", "sources", "k", "costs", "epsilon")
        return _arguments(self, names) + (["--equations"] if self.equations else [])


def _arguments(question: Question | MessagesQuestion, names: Sequence[str]) -> list[str]:
    """What both ask, and of these options those that were given, with their values."""
    options = {"operation": question.operation.replace("-", "_"), "bytes": question.size}
    options |= {name: getattr(question, name) for name in names}
    arguments = [part for name, value in options.items() if value is not None for part in (f"--{name}", str(value))]
    every = [question.what_if] if isinstance(question.what_if, str) else question.what_if
    return arguments + [part for text in every for part in ("--what-if", text)]


def simulate(
    operation: str,
    size: str | int,
    *,
    machine: str | Path | None = None,
    algorithm: str | None = None,
    blocks: int | None = None,
    ranks: int | None = None,
    root: int | None = None,
    out_of_place: bool = False,
    registered: bool = False,
    what_if: Sequence[str] = (),
    costs: str | None = None,
    epsilon: float | None = None,
    timeline: str | Path | None = None,
    schedule: str | Path | None = None,
) -> Simulation:
    """What `sennit sim OPERATION SIZE` says, with its options. Raises Problem with what is wrong and a remedy."""
    question = Question(
        operation, str(size), machine, algorithm, blocks, ranks, root, out_of_place, registered, what_if, costs,
        epsilon, timeline, schedule,
    )  # fmt: skip
    return ask(question)[0]


def simulate_messages(
    operation: str,
    size: str | int,
    *,
    machine: str | Path | None = None,
    nodes: int = 1,
    algorithm: str | None = None,
    chunks: int | None = None,
    root: int | None = None,
    sources: int | str | None = None,
    k: int | None = None,
    what_if: Sequence[str] = (),
    costs: str | None = None,
    epsilon: float | None = None,
) -> Messages:
    """What `sennit sim OPERATION SIZE --nodes N` says, with its options. Raises Problem."""
    all_or_so_many = None if sources is None else str(sources)
    question = MessagesQuestion(
        operation, str(size), machine, nodes, algorithm, chunks, root, all_or_so_many, k, what_if, costs, epsilon
    )
    return ask_messages(question)[0]


def ask_messages(question: MessagesQuestion, title: str = "simulating") -> tuple[Messages, Any]:
    """The answer, and the document that it was read from. Raises Problem."""
    document, _ = process.document(PROGRAM, "messages", *question.arguments(), title=title)
    return parse(Messages, document, ORIGIN), document


def ask_messages_each(
    question: MessagesQuestion, sizes: Sequence[str], nodes: Sequence[int]
) -> tuple[MessagesSweep, Any]:
    """The same of each size on each number of nodes. Raises Problem, which says of which."""
    documents: list[Any] = []
    for size in sizes:
        for number in nodes:
            where = f"{units.size(int(size)) if size.isdecimal() else size} on {number} nodes"
            try:
                documents.append(ask_messages(replace(question, size=size, nodes=number), f"simulating {where}")[1])
            except Problem as problem:
                raise Problem(f"{where}: {problem.what}", problem.remedy, problem.exit_code) from None
    sweep = {"version": 1, "kind": "sim messages sweep", "simulations": documents}
    return parse(MessagesSweep, sweep, ORIGIN), sweep


def nodes_of(text: str) -> list[int]:
    """The numbers of nodes of "4", and of "2:16": each twice the one before, and the last. Raises Problem."""
    parts = text.split(":")
    if len(parts) > 2 or not all(part.isdecimal() and part.isascii() for part in parts):
        raise Problem(
            f"'{text}' is no number of nodes", "Write a number such as 16, or a range such as 2:16", Exit.USAGE
        )
    first, last = int(parts[0]), int(parts[-1])
    if not 0 < first <= last:
        why = "starts at 0" if first == 0 else "ends before it starts"
        raise Problem(f"the range '{text}' {why}", "Write a number such as 16, or a range such as 2:16", Exit.USAGE)
    numbers = []
    while first < last:
        numbers.append(first)
        first *= 2
    return [*numbers, last]


def ask(question: Question, title: str = "simulating") -> tuple[Simulation, Any]:
    """The answer, and the document that it was read from. Raises Problem."""
    document, _ = process.document(PROGRAM, "collective", *question.arguments(), title=title)
    return parse(Simulation, document, ORIGIN), document


def ask_each(question: Question, sizes: Sequence[str], machines: Sequence[str | None]) -> tuple[Sweep, Any]:
    """The same of each size on each machine, whatever size and machine the question names. Raises Problem, which
    says of which."""
    documents: list[Any] = []
    names: dict[str, str | None] = {}  # in documents → as asked for
    for size in sizes:
        for machine in machines:
            where = f"{units.size(int(size)) if size.isdecimal() else size} on {machine or 'this machine'}"
            try:
                found, document = ask(replace(question, size=size, machine=machine), f"simulating {where}")
            except Problem as problem:
                raise Problem(f"{where}: {problem.what}", problem.remedy, problem.exit_code) from None
            if names.setdefault(found.machine, machine) != machine:
                raise Problem(
                    f"{names[found.machine]} and {machine} are both called '{found.machine}' in their documents",
                    "Give one of them another name there",
                    Exit.USAGE,
                )
            documents.append(document)
    sweep = {"version": 1, "kind": "sim sweep", "simulations": documents}
    return parse(Sweep, sweep, ORIGIN), sweep


def sizes_of(text: str) -> list[str]:
    """The sizes of a list "64K,1M", and of ranges "64K:64M" in it, for sennit-sim to read: it names what is no size.
    Raises Problem where a range is none."""
    sizes: list[str] = []
    for part in text.split(","):
        sizes += _range(part) if ":" in part else [part.strip()]
    if "" in sizes:
        raise Problem(f"'{text}' is no list of sizes", SIZES, Exit.USAGE)
    return list(dict.fromkeys(sizes))


def _range(text: str) -> list[str]:
    """From the first size to the last one, which is always there, each STEP times the one before."""
    try:
        first, last = map(units.bytes_of, text.split(":"))
    except ValueError as error:
        # Either one of them is none, or there are not two.
        why = f": {error}" if text.count(":") == 1 else ""
        raise Problem(f"'{text}' is no range of sizes{why}", SIZES, Exit.USAGE) from None
    if not 0 < first <= last:
        why = "starts at 0" if first == 0 else "ends before it starts"
        raise Problem(f"the range '{text}' {why}", SIZES, Exit.USAGE)
    sizes = []
    while first < last:
        sizes.append(str(first))
        first *= STEP
    return [*sizes, str(last)]
