"""What a function of the C API failed with, as an exception."""

from __future__ import annotations

from sennit.capi.names import Code


class SennitError(RuntimeError):
    """A failure: its kind, what happened, where (may be empty), and the remedy (may be empty). Its text is the line
    that sennit_last_error() gives."""

    def __init__(self, code: Code, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(code, what, where, remedy)
        self.code = code
        self.what = what
        self.where = where
        self.remedy = remedy

    def again(self) -> SennitError:
        """The same, to be raised once more: an exception that is raised keeps what was going on then."""
        return SennitError(self.code, self.what, self.where, self.remedy)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        remedy = f". {self.remedy}" if self.remedy else ""
        return f"{self.code.name.lower()}: {self.what}{where}{remedy}"


def error_of(result: int, line: str) -> SennitError:
    """The exception for a result and the line of sennit_last_error(), "NAME: WHAT (WHERE). REMEDY"."""
    code = Code(result)
    said = line.removeprefix(f"{code.name.lower()}: ")
    for at, character in enumerate(said):
        end = _closing(said, at) if character == "(" and said[at - 1 : at] == " " else -1
        rest = said[end + 1 :]
        # Parentheses of the sentence itself are not at its end.
        if end > at and (not rest or rest.startswith(". ")):
            return SennitError(code, said[: at - 1], said[at + 1 : end], rest[2:])
    what, _, remedy = said.partition(". ")
    return SennitError(code, what, "", remedy)


def _closing(text: str, at: int) -> int:
    """Where the parenthesis that opens at `at` closes; -1 when it does not."""
    depth = 0
    for index in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return -1
