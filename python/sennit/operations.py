"""Operations: what each does, and their names. Documents have one spelling, reduce_scatter; people may write any:
reduce-scatter, as verbs are called, reducescatter, and MPI's bcast for broadcast."""

from __future__ import annotations

from collections.abc import Iterable

# Verb → what its operation does.
VERBS = {
    "allreduce": "every rank gets the reduction of all inputs",
    "reduce-scatter": "every rank gets its message of the reduction of all inputs",
    "allgather": "every rank gets the messages of all",
    "reduce": "the root gets the reduction of all inputs",
    "broadcast": "every rank gets the root's message",
    "gather": "the root gets the messages of all",
    "scatter": "every rank gets its message from the root",
    "all-to-all": "every rank gets a message from each",
    "all-to-all-v": "as all-to-all, lengths told pair by pair",
    "sendrecv": "every rank sends the next one a message",
    "barrier": "no rank goes on before all have come",
}

REDUCING = ("allreduce", "reduce_scatter", "reduce")
REGISTERED = ("allreduce", "allgather", "all_to_all")  # that go straight between symmetric windows
BARRIERS = ("barrier", "ibarrier", "barrier_init")  # of no size

OTHER = {"broadcast": "bcast", "bcast": "broadcast"}


def works_in_place(verb: str) -> bool:
    """Whether its output may be its input."""
    return not verb.startswith("all-to-all") and verb != "sendrecv"


def operation_of(verb: str) -> str:
    """As programs and documents name it: "reduce_scatter"."""
    return verb.replace("-", "_")


def spoken(operation: str) -> str:
    """At the beginning of a title: "Reduce-scatter"."""
    return operation.replace("_", "-").capitalize()


def letters(name: str) -> str:
    """A name without what separates its words."""
    return name.replace("-", "").replace("_", "")


def known_as(text: str, names: Iterable[str]) -> str | None:
    """The one of these names that somebody means; None where there is none."""
    known = {letters(name): name for name in names}
    asked = letters(text)
    others = [asked.replace(name, other) for name, other in OTHER.items() if name in asked]
    return next((known[each] for each in (asked, *others) if each in known), None)
