"""Verbs that are named after operations, found by any spelling of theirs."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from sennit.operations import known_as


class Spelled(TyperGroup):
    """Takes `reduce_scatter` and `reducescatter` for `reduce-scatter`."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or of one that is spelled otherwise."""
        return super().get_command(ctx, known_as(cmd_name, self.commands) or cmd_name)
