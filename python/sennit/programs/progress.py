"""Progress on stderr for what takes longer than two seconds: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from sennit.model.document import decode

PATIENCE = 2.0  # seconds before anything is shown: shorter work needs no bar
QUIET = 10.0  # seconds between lines where there is no terminal, so that logs stay readable


@dataclass(frozen=True)
class Step:
    """Where a program is. A total of 0: not known."""

    done: int
    total: int
    what: str


def step_of(line: str) -> Step | None:
    """The step that a line of a program's stderr reports; None when it is something else."""
    if '"progress"' not in line:
        return None
    try:
        progress = decode(line)["progress"]
        return Step(int(progress["done"]), int(progress["total"]), str(progress["what"]))
    except (ValueError, KeyError, TypeError):
        return None


class Bar:
    """Shows the last step given to it, from PATIENCE seconds after it was opened until it is closed."""

    def __init__(self, title: str, console: Console) -> None:
        self._console = console
        self._step = Step(0, 0, title)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Bar:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._closed.set()
        self._thread.join()

    def update(self, step: Step) -> None:
        """Called from any thread."""
        with self._lock:
            self._step = step

    def _current(self) -> Step:
        with self._lock:
            return self._step

    def _show(self) -> None:
        if self._closed.wait(PATIENCE):
            return
        if self._console.is_terminal:
            self._show_bar()
        else:
            self._show_lines()

    def _show_bar(self) -> None:
        what = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), BarColumn(24), TimeElapsedColumn(), what)
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task("", total=None)
            while True:
                step = self._current()
                progress.update(task, description=step.what, completed=step.done, total=step.total or None)
                if self._closed.wait(0.1):
                    return

    def _show_lines(self) -> None:
        began = time.monotonic() - PATIENCE
        while True:
            step = self._current()
            place = f"{step.done} of {step.total}: " if step.total else ""
            now = time.monotonic()
            self._console.print(Text(f"{place}{step.what} ({now - began:.0f} s)"), soft_wrap=True)
            end = now + QUIET
            while time.monotonic() < end:
                if self._closed.wait(0.2):
                    return
