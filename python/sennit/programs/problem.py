"""What goes wrong in ways a user can mend: a message, a remedy and an exit code, never a traceback."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the exit code of `sennit` means; scripts may rely on it."""

    OK = 0
    WORSE = 1  # the answer is worse than was asked for, or there is no answer
    USAGE = 2
    ENVIRONMENT = 3  # this machine lacks something


class Problem(Exception):
    """An error for the user: `what` is wrong, the `remedy` (may be empty), and the code to exit with."""

    def __init__(self, what: str, remedy: str = "", exit_code: int = Exit.WORSE) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.exit_code = exit_code
