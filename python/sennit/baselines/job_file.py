"""What the ranks of a job are asked, as a file that each of them reads."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, ClassVar, TypeVar

J = TypeVar("J", bound="JobFile")


class JobFile:
    """A dataclass with a list of `cases`, which is written and read as JSON."""

    CASE: ClassVar[type[Any]]  # the dataclass of a case

    def text(self) -> str:
        """As a file."""
        return json.dumps(asdict(self))  # type: ignore[call-overload]

    @classmethod
    def read(cls: type[J], text: str) -> J:
        """From such a file."""
        found = json.loads(text)
        return cls(**{**found, "cases": [cls.CASE(**case) for case in found["cases"]]})
