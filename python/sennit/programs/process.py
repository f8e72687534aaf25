"""Running the C++ programs: their document, their progress, and their errors as problems for the user."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import IO, Any

from rich.text import Text

from sennit.model.document import decode
from sennit.programs import console
from sennit.programs.places import find
from sennit.programs.problem import Exit, Problem
from sennit.programs.progress import Bar, step_of


@dataclass(frozen=True)
class Output:
    """What a program printed on stdout, and its exit code."""

    text: str
    exit_code: int


def document(name: str, *arguments: str, title: str) -> tuple[Any, int]:
    """Runs a program that prints one JSON document; the document, and the exit code it came with. `title` says what
    is being done while no step is reported. Raises Problem when there is no document."""
    return document_of(run(name, *arguments, title=title), name)


def document_of(output: Output, name: str) -> tuple[Any, int]:
    """What a program printed, read. Raises Problem when it is no document."""
    try:
        return decode(output.text), output.exit_code
    except ValueError as error:
        raise Problem(
            f"{name} printed no document: it {error} (exit code {output.exit_code})",
            "Messages above may say why; please report this with them",
            output.exit_code if output.exit_code in (1, 2, 3) else Exit.WORSE,
        ) from None


def run(name: str, *arguments: str, title: str) -> Output:
    """Runs a program, as run_command() does."""
    return run_command([str(find(name)), *arguments], name, title)


def run_command(
    command: Sequence[str], name: str, title: str, environment: Mapping[str, str] | None = None
) -> Output:
    """Runs a program of ours, or what starts its ranks, showing its progress; lines of stderr that are neither
    progress nor an error are passed on. Raises Problem with the program's own message and exit code when it reports
    an error, or when it was killed. Ctrl-C ends the program as well, and nothing of it is left."""
    try:
        # A session of its own: Ctrl-C reaches this process alone, which then ends the program's whole group.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env=environment,
        )  # fmt: skip
    except OSError as error:
        raise Problem(f"{command[0]} does not start: {error.strerror}", "Build it again", Exit.ENVIRONMENT) from None
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[dict[str, str]] = []
    with Bar(title, console.messages()) as bar:
        reader = threading.Thread(target=_read_messages, args=(process.stderr, bar, errors), daemon=True)
        reader.start()
        try:
            text = process.stdout.read().decode("utf-8", "replace")
            code = process.wait()
        except BaseException:
            end(process)
            raise
        finally:
            reader.join(timeout=5)
    if errors:
        raise _problem(errors[-1], code, name)
    if code < 0:
        raise Problem(
            f"{name} was ended by {signal.Signals(-code).name}",
            "If you did not do that, please report it with the lines above",
        )
    if code != 0 and not text.strip():
        raise Problem(f"{name} failed with exit code {code}", "The lines above may say why", code)
    return Output(text, code)


def _read_messages(stream: IO[bytes], bar: Bar, errors: list[dict[str, str]]) -> None:
    """Sorts the lines of a program's stderr."""
    for raw in stream:
        line = raw.decode("utf-8", "replace").rstrip("\n")
        if step := step_of(line):
            bar.update(step)
        elif error := _error_of(line):
            errors.append(error)
        elif warning := _warning_of(line):
            console.messages().print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)
        elif line:
            console.messages().print(Text(line), soft_wrap=True)
            sys.stderr.flush()


def _error_of(line: str) -> dict[str, str] | None:
    if not line.startswith("{"):
        return None
    try:
        error = decode(line)["error"]
        return {str(key): str(value) for key, value in error.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _warning_of(line: str) -> str:
    """The sentence of a line {"warning": "…"}; empty when it is something else."""
    if not line.startswith('{"warning"'):
        return ""
    try:
        return str(decode(line)["warning"])
    except (ValueError, KeyError, TypeError):
        return ""


def _problem(error: dict[str, str], code: int, name: str) -> Problem:
    """What the program says is wrong, without its name: users typed a verb, and cannot always call the program."""
    where = error.get("where", "")
    what = error.get("what", "") or error.get("code", "unknown error")
    remedy = re.sub(rf"^See: {re.escape(name)}.* --help$", "--help says what it takes", error.get("remedy", ""))
    said = f"{where}: {what}" if where and where != name else what
    asked, listed = re.search(r'"(\w+)"$', what), re.fullmatch(r"Use one of (.+)", remedy)
    if asked and listed and (close := get_close_matches(asked[1], listed[1].split(", "), 1)):
        remedy = f"Did you mean {close[0]}? {remedy}"
    return Problem(said, remedy, code if code > 0 else Exit.WORSE)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and the ranks it started: asked first, made to after two seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=2)
            return
        except subprocess.TimeoutExpired:
            continue
