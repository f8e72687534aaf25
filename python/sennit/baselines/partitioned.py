"""Jobs of sennit-bench-partitioned, one a back end and one a question: what one of them finds is kept when another
one hangs or crashes."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sennit.baselines.run import Outcome, run
from sennit.model.document import decode
from sennit.model.partitioned import BACK_ENDS, FAILED, HUNG, QUESTIONS
from sennit.programs.problem import Exit, Problem
from sennit.programs.progress import step_of

PROGRAM = "sennit-bench-partitioned"
FEWEST_ROUNDS = 8  # of a line of a pattern, the untimed one too
MOST_HANGS = 3  # one after the other, after which a back end is left
EARLY = QUESTIONS[0]
WRONG = ("timed_out", "corrupt", "system_error")  # what the ranks say of a message that does not work
ANSWER_S = 5.0  # that a question may take
START_S = 60.0  # that a launcher may take beside what its ranks do

Progress = Callable[[int, int, str], None]
Document = dict[str, Any]
Keep = Callable[[Document], None]  # takes the document so far, in any thread, after each line of it
Command = Callable[[Sequence[str]], list[str]]  # the command line of a job with these arguments of the program


@dataclass
class Heard(Outcome):
    """What a job prints: a document on stdout, perhaps with a launcher's own lines behind it, and on stderr progress
    and errors, a JSON line each."""

    lines: list[str] = field(default_factory=list)
    at: int = 0  # the line of the result that it had come to
    progress: Progress = lambda *_: None
    head: Document = field(default_factory=dict)  # the document as far as it is known before a line is measured
    keep: Keep = lambda _: None

    def hear(self, line: str, _: object) -> None:
        """A line of stdout."""
        self.lines.append(line)

    def complain(self, line: str) -> None:
        """A line of stderr."""
        if step := step_of(line):
            self.at = step.done
            self.progress(step.done, step.total, step.what)
        elif line.startswith(('{"document"', '{"row"')) and (told := _told(line)):
            self.head = told.get("document", self.head)
            if "row" in told:
                self.rows.append(told["row"])
                self.keep(self.head | {"rows": self.rows})
        else:
            super().complain(line)

    @property
    def document(self) -> dict[str, Any] | None:
        """What it printed, if it came to that."""
        text = "\n".join(self.lines)
        try:
            _, end = json.JSONDecoder().raw_decode(text)
            found = decode(text[:end])
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    @property
    def so_far(self) -> Document | None:
        """What it told line by line, where it did not come to its end; None where that is nothing."""
        return self.head | {"rows": self.rows} if self.head and self.rows else None

    @property
    def error(self) -> dict[str, str]:
        """What it said to be wrong: code, what, where and remedy."""
        for line in reversed(self.errors):
            if line.startswith('{"error"'):
                try:
                    return {str(name): str(value) for name, value in decode(line)["error"].items()}
                except (ValueError, AttributeError):
                    continue
        return {}

    def said(self) -> str:
        """Why there is no document, in a few words."""
        if error := self.error:
            return f"{f'{where}: ' if (where := error.get('where', '')) else ''}{error.get('what', '')}"
        return self.reason or "it printed nothing"


def _told(line: str) -> Document:
    """What a line of JSON tells; nothing where a launcher broke it."""
    try:
        found = decode(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def start(
    command: Sequence[str], environment: Mapping[str, str], limit_s: float, progress: Progress,
    keep: Keep = lambda _: None,
) -> Heard:  # fmt: skip
    """Runs a job to its end, or to the limit. Nothing of it is left."""
    # Not in a folder that is named after a test or a user: MPIs put sockets there, whose paths are to be short.
    with tempfile.TemporaryDirectory(prefix="sennit-partitions-") as folder:
        heard = Heard(progress=progress, keep=keep)
        run([command], [{**environment, "TMPDIR": folder}], Path(folder), limit_s, lambda *_: None, heard)
    return heard


# ---- rows ---------------------------------------------------------------------------------------------------------


def measure(
    command: Command, environment: Mapping[str, str], back_ends: Sequence[str], arguments: Sequence[str],
    limit_s: float, progress: Progress, *, begun: Document | None = None, keep: Keep = lambda _: None,
) -> Document:  # fmt: skip
    """The document of all back ends. `limit_s`: of one job; `begun`: a document whose lines are not measured again.
    Raises Problem where no job could measure anything, and the first says that it is wrong usage, or this
    machine's fault."""
    whole: Document = begun or {}
    for back_end in back_ends:
        _of_back_end(whole, command, environment, back_end, arguments, limit_s, progress, keep)
    places = {name: place for place, name in enumerate(BACK_ENDS)}
    whole["rows"].sort(key=lambda row: (places.get(row["back_end"], len(places)), row["line"]))
    return whole


def head(command: Command, environment: Mapping[str, str], back_end: str, arguments: Sequence[str]) -> Document:
    """What a job of this back end says of the machine, the MPI and its settings, with no line measured. Raises
    Problem."""
    every = ",".join(map(str, range(lines(arguments))))
    heard = start(
        command(["--back-end", back_end, *arguments, "--skip", every]), environment, START_S, lambda *_: None
    )
    if (document := heard.document) is None:
        raise _problem(heard)
    return document


def done_lines(document: Document, back_end: str) -> list[int]:
    """The numbers of the lines of a back end that a document has."""
    return sorted(row["line"] for row in document.get("rows", []) if row["back_end"] == back_end)


def _of_back_end(
    whole: Document, command: Command, environment: Mapping[str, str], back_end: str, arguments: Sequence[str],
    limit_s: float, progress: Progress, keep: Keep,
) -> None:  # fmt: skip
    hangs = 0
    while len(done := done_lines(whole, back_end)) < lines(arguments):
        skipped = ["--skip", ",".join(map(str, done))] if done else []
        heard = start(
            command(["--back-end", back_end, *arguments, "--progress", *skipped]), environment, limit_s, progress,
            lambda so_far: keep(_joined(whole, so_far)),
        )  # fmt: skip
        document = heard.document
        if document is None:
            _join(whole, heard.so_far)
            if not whole.get("rows"):
                raise _problem(heard)
            whole["warnings"].append(
                f"{back_end} is left out from line {heard.at + 1} on: {heard.said()}. Start it alone: "
                f"{spelled(command(['--back-end', back_end, *arguments]))}"
            )
            return
        rows = document["rows"]
        _join(whole, document)
        if not rows or rows[-1]["state"] != HUNG:
            return
        hangs = hangs + 1 if len(rows) == 1 else 1
        if hangs == MOST_HANGS:
            whole["warnings"].append(
                f"{back_end} hung in {MOST_HANGS} lines one after the other, so its other lines are left out; leave "
                "it out of --vs."
            )
            return


def lines(arguments: Sequence[str]) -> int:
    """How many rows a back end has by these arguments, which name all axes."""
    count = 1
    for name in ("--sizes", "--partitions", "--noise", "--order", "--cache"):
        count *= len(arguments[list(arguments).index(name) + 1].split(","))
    return count


def _join(whole: Document, document: Document | None) -> None:
    whole.update(_joined(whole, document) if document else {})


def _joined(whole: Document, document: Document) -> Document:
    """The first with the rows and warnings of the second; it is left as it is."""
    if not whole:
        return document
    warnings = [each for each in document["warnings"] if each not in whole["warnings"]]
    return whole | {"rows": whole["rows"] + document["rows"], "warnings": whole["warnings"] + warnings}


def spelled(command: Sequence[str]) -> str:
    """A command line by the names of programs and files: folders are this machine's own, and documents travel."""
    return shlex.join(Path(word).name if word.startswith("/") else word for word in command)


def alone(row: Mapping[str, Any]) -> list[str]:
    """The arguments that measure one row."""
    of_pattern = ["--pattern", row["pattern"], "--planes", str(planes(row))] if "pattern" in row else []
    return [
        *of_pattern,
        "--back-end", row["back_end"], "--sizes", str(row["bytes"]), "--partitions", str(row["partitions"]),
        "--threads", str(row["threads"]), "--compute", f"{row['compute_us']:g}us", "--noise", row["noise"],
        "--order", row["order"], "--cache", row["cache"],
    ]  # fmt: skip


def planes(row: Mapping[str, Any]) -> int:
    """Of each octant of a row's sweep, or iterations of its halo."""
    return int(row["steps"]) // (8 if row["pattern"] == "sweep3d" else 1)


def add_commands(document: dict[str, Any], command: Command) -> None:
    """Says of rows that hung or failed what starts them alone."""
    for row in document["rows"]:
        if row["state"] in (HUNG, FAILED):
            row["command"] = spelled(command(alone(row)))


def _problem(heard: Heard) -> Problem:
    error = heard.error
    code = {"invalid_argument": Exit.USAGE, "unsupported": Exit.ENVIRONMENT}.get(error.get("code", ""), Exit.WORSE)
    last = next((line for line in reversed(heard.errors) if line.strip() and not line.startswith("{")), "")
    return Problem(heard.said(), error.get("remedy", "") or last.strip()[:200], code)


# ---- questions ----------------------------------------------------------------------------------------------------


def ask(
    command: Command, environment: Mapping[str, str], questions: Sequence[str], sizes: Sequence[str],
    progress: Progress,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """The answers, by question, and the document of a job that came to its end; empty where none did. What takes
    longer than ANSWER_S is a no. Raises Problem where the MPI cannot be started at all, or has no such messages."""
    answers: dict[str, Any] = {}
    document: dict[str, Any] = {}
    # One after the other: ranks that have no core each would be late with their answers.
    for number, question in enumerate(questions):
        progress(number, len(questions), question.replace("_", " "))
        about = ["--sizes", ",".join(sizes)] if sizes and question == EARLY else []
        line = command(["--probe", question, "--limit", f"{ANSWER_S:g}", *about])
        heard = start(line, environment, START_S, lambda *_: None)
        if found := heard.document:
            document = document or found
            answers |= found["probe"]
            continue
        code = heard.error.get("code")
        if question == EARLY and code in ("invalid_argument", "unsupported"):
            raise _problem(heard)
        # That a job did not come to its end for another reason says nothing of the messages.
        answer = {"works": False if code in WRONG else None, "why": heard.said(), "command": spelled(line)}
        answers["early_failed" if question == EARLY else question] = answer
    return answers, document
