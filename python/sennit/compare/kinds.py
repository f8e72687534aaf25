"""Tuned collectives, put side by side: the sizes of an operation on the same devices share one table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sennit.model.plans import CollectiveTable, TunedCase

# What is done to numbers on their way, as a heading says it.
ARITHMETICS = {
    "none": "",
    "fast": "sums of float32, float16 and bfloat16",
    "general": "any other type and operator",
}


@dataclass(frozen=True)
class Kind:
    """What cases have in common but for their size."""

    layout: tuple[str, ...]
    operation: str
    arithmetic: str
    windows: bool = False

    @property
    def title(self) -> str:
        """For example: Allreduce, sums of float32, float16 and bfloat16: 2 ranks on gpu0, gpu1."""
        done = ARITHMETICS.get(self.arithmetic, self.arithmetic)
        operation = self.operation.replace("_", "-").capitalize()
        between = " between windows" if self.windows else ""
        return (
            f"{operation}{between}{f', {done}' if done else ''}: {len(self.layout)} ranks on {', '.join(self.layout)}"
        )


def kind_of(case: TunedCase) -> Kind:
    """The kind that a case is of."""
    return Kind(tuple(case.layout), case.operation, case.arithmetic, case.windows)


@dataclass(frozen=True)
class KindClass:
    """A kind, and its cases by size."""

    kind: Kind
    cases: list[TunedCase]

    @property
    def gained(self) -> list[TunedCase]:
        """Those where another plan is taken than the cost model's, the one that gains most first."""
        gains = [(gain.value, case) for case in self.cases if (gain := case.over_model) is not None]
        return [case for _, case in sorted(gains, key=lambda pair: -pair[0])]


def kinds(table: CollectiveTable) -> list[KindClass]:
    """All kinds, in the order of the table. Of a case that is there twice the later one counts."""
    found: dict[Kind, dict[int, TunedCase]] = {}
    for case in table.entries:
        found.setdefault(kind_of(case), {})[case.bytes] = case
    return [KindClass(kind, [cases[size] for size in sorted(cases)]) for kind, cases in found.items()]


def changed_by_windows(table: CollectiveTable, one: KindClass) -> list[TunedCase]:
    """The cases of a kind between windows that are another library's than the same in ordinary buffers, as sennit's
    drop-in for NCCL decides."""
    if not one.kind.windows:
        return []
    like = replace(one.kind, windows=False)
    ordinary = {case.bytes: case.is_sennits for case in table.entries if kind_of(case) == like}
    return [case for case in one.cases if {case.is_sennits, ordinary.get(case.bytes)} == {True, False}]


def layouts(table: CollectiveTable) -> list[str]:
    """The devices that it was measured on, each list in words."""
    return list(dict.fromkeys(", ".join(case.layout) for case in table.entries))
