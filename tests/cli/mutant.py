"""Damaged documents, for tests of the readers: the same number always gives the same damage."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, TypeAlias

# A member of a document: the object or list that holds it, and its name or index there.
Place: TypeAlias = tuple[Any, Any]

KEPT = 4  # items of a long list that a mutant keeps: more of the same find nothing more, and take longer to draw

# Each stands for a class of mistakes. Of numbers: the ends of ranges, and what overflows or vanishes where it is
# multiplied, divided or turned into text. Of texts: what a view may take for its own marks, or what breaks its lines.
NUMBERS: list[int | float] = [-1, 0, 1, 0.5, -0.0, 5e-324, 1e-30, 1e-9, 3.7, 1e15, 2**31, 2**63 - 1, 1.8e19, -1.8e19]
TEXTS = [
    "", " ", "7", "NaN", "gpu0", "host0", "engine", "split", "a|b\\", "a\nb", "a\r\nb\rc", "tab\there", "=1+1",
    'quote"d', "[/bold]", "[red]", "[", "<b>&amp;</b>", "]]>", "\ufeff", "Ünï → 码", "\U0001f9e6" * 3,
    "e\u0301\u0301", "\u202egpj", "\u200b", "{0}%s{x}", "long " * 1000, "x" * 5000,
]  # fmt: skip

# What no reader lets through.
NO_NUMBERS: list[int | float] = [2**64, -(2**64), 10**30, 10**400, 1e308, float("nan"), float("inf"), float("-inf")]
NO_TEXTS = ["\x1b[2J", "\x00", "\x7f", "\x9b", "\ud800", "\udfff\ud800", "\ufffe"]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], [None], {"": 0}, ["a", 1], {"value": {}}]


def nested(depth: int) -> Any:
    """Lists and objects inside each other."""
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def places(value: Any) -> list[Place]:
    """All members of a document, however deep."""
    found: list[Place] = []
    waiting = [value]
    while waiting:
        at = waiting.pop()
        if isinstance(at, (dict, list)):
            names = list(at) if isinstance(at, dict) else list(range(len(at)))
            found += [(at, name) for name in names]
            waiting += [at[name] for name in names]
    return found


def shortened(value: Any, random: Random) -> Any:
    """`value` with KEPT items of its longest lists, in their order."""
    if isinstance(value, dict):
        return {name: shortened(member, random) for name, member in value.items()}
    if isinstance(value, list):
        chosen = sorted(random.sample(range(len(value)), min(KEPT, len(value))))
        return [shortened(value[index], random) for index in chosen]
    return value


def like(value: Any, random: Random) -> Any:
    """Another value of the same kind, which readers cannot refuse by its type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return random.choice(TEXTS)
    if isinstance(value, (int, float)):
        return random.choice(NUMBERS)
    if isinstance(value, list):
        return value[:1] * random.randrange(3)
    return dict(list(value.items())[1:]) if isinstance(value, dict) else value


# What is done to a member, and how often. What readers let through is the likeliest: nothing else reaches the views.
DAMAGES = {
    "alike": 10,  # another value of its kind
    "everywhere": 10,  # the same in every object that has this member: all links without bandwidth, all rows alike
    "flood": 2,  # one number in place of all measured ones
    "repeat": 4,  # an item twice
    "drop": 1,
    "other": 1,  # a value of any kind, or what is none
    "nest": 1,
    "copy": 1,  # the value of another member; copied, as that may be the one that holds this
    "add": 1,  # a member that no reader knows
    "version": 1,
}
VERSIONS: list[Any] = [0, 2, 1.0, True, "1", None, [1], nested(150), -1, 10**400, "\x1b[2J"]


def damage(document: Any, place: Place, random: Random) -> None:
    """Does one of DAMAGES, where the member is of a kind that allows it."""
    holder, name = place
    (kind,) = random.choices(list(DAMAGES), list(DAMAGES.values()))
    if kind == "alike":
        holder[name] = like(holder[name], random)
    elif kind == "everywhere":
        value = like(holder[name], random)
        for other, its_name in places(document):
            if its_name == name and isinstance(other, dict):
                other[name] = copy.deepcopy(value)
    elif kind == "flood":
        value = random.choice(NUMBERS)
        for other, its_name in places(document):
            if isinstance(other[its_name], float):
                other[its_name] = value
    elif kind == "repeat" and isinstance(holder, list):
        holder.insert(name, copy.deepcopy(holder[name]))
    elif kind == "drop":
        del holder[name]
    elif kind == "other":
        values: list[Any] = random.choice([NUMBERS, TEXTS, NO_NUMBERS, NO_TEXTS, OTHERS])
        holder[name] = copy.deepcopy(random.choice(values))
    elif kind == "nest":
        holder[name] = nested(random.choice([2, 50, 150, 250, 400]))
    elif kind == "copy":
        other, its_name = random.choice(places(document))
        holder[name] = copy.deepcopy(other[its_name])
    elif kind == "add" and isinstance(holder, dict):
        holder[random.choice([*TEXTS, *TEXTS, *NO_TEXTS])] = nested(random.choice([0, 3, 300]))
    elif kind == "version" and isinstance(document, dict):
        document["version"] = random.choice(VERSIONS)


def damaged(document: Any, random: Random) -> Any:
    """A document with one to three members changed."""
    document = shortened(document, random)
    for _ in range(random.randint(1, 3)):
        by_name: dict[Any, list[Place]] = {}
        for holder, name in places(document):
            by_name.setdefault(name if isinstance(holder, dict) else None, []).append((holder, name))
        if by_name:
            # A name first, as there are many rows, but one machine that they were measured on.
            found = by_name[random.choice(list(by_name))]
            damage(document, random.choice(found), random)
    return document


def torn(text: str, random: Random) -> bytes:
    """A text with a damage of the kind that files, editors and hands do."""
    at = random.randrange(len(text))
    piece = text[at : at + random.randint(1, 60)]
    changes: list[str | bytes] = [
        text[:at],
        text[at:],
        text[:at] + text[at + len(piece) :],
        text[:at] + piece + text[at:],
        text[:at] + random.choice('{}[]",:-.0eN\x00\x1b\n\\') + text[at + 1 :],
        text[:at].encode() + bytes([random.randrange(128, 256)]) + text[at:].encode(),
        text.encode("utf-16"),
        "\ufeff" + text,
        text + text,
        text.replace("1", "1" * 5000, 1),
        "[" * 100_000,
        json.dumps(random.choice([*OTHERS, *NUMBERS, *TEXTS])),
    ]
    chosen = random.choice(changes)
    return chosen if isinstance(chosen, bytes) else chosen.encode()


def _written(value: Any) -> str:
    """Numbers that no document holds are written all the same, and so are halves of characters."""
    return json.dumps(value, ensure_ascii=True)


def mutant(document: Any, random: Random) -> bytes:
    """A damaged document: as a file of it might be found."""
    if random.random() < 0.15:
        return torn(_written(shortened(document, random)), random)
    return _written(damaged(document, random)).encode()
