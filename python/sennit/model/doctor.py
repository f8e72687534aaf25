"""What works on this machine: the document of sennit-doctor."""

from __future__ import annotations

from typing import Literal

from sennit.model.document import Part


class Check(Part):
    """One capability."""

    id: str
    title: str
    state: Literal["works", "degraded", "missing", "not_applicable"]
    needed: bool = False
    detail: str
    fix: str = ""


class Doctor(Part):
    """The whole document."""

    version: Literal[1]
    date: str = ""
    host: str = ""
    checks: list[Check]

    @property
    def missing(self) -> list[Check]:
        """What is needed and missing."""
        return [check for check in self.checks if check.needed and check.state == "missing"]
