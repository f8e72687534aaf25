"""Running the ranks of a peer: what rank 0 tells is collected, every wait is bounded, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sennit.baselines.job import ERROR, EXPLAINED, heard, shared_files

GRACE_S = 5.0  # for other ranks to end by themselves after one has failed, and for a launcher that is asked to end
MARK = "SENNIT_RUN_FOLDER"  # in the environment of all processes of a run; no switch of sennit's own
SHARED = Path("/dev/shm")
NOISE = 2000  # lines of stderr that are kept for a reason to be found in


@dataclass
class Outcome:
    """What was found, and why there is not more; an empty reason: there is nothing more."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    errors: list[str] = field(default_factory=list)  # lines of stderr
    explained: list[str] = field(default_factory=list)  # those that say how calls go, which are no reason to fail
    shared: set[Path] = field(default_factory=set)  # files in shared memory that ranks made

    def hear(self, line: str, progress: Callable[[int, int, str], None]) -> None:
        """A line of a rank's stdout."""
        said = heard(line)
        if "row" in said:
            self.rows.append(said["row"])
        if "warning" in said:
            self.warnings.append(said["warning"])
        self.versions.update(said.get("versions", {}))
        self.shared.update(map(Path, said.get("shared", [])))
        if "progress" in said:
            progress(*said["progress"])

    def complain(self, line: str) -> None:
        """A line of its stderr; of very many the last are kept."""
        kept = self.explained if EXPLAINED.match(line) else self.errors
        kept.append(line)
        del kept[:-NOISE]

    def why(self, codes: Sequence[int | None], limit_s: float) -> str:
        """Why it failed, in a few words, given how its processes ended (None: they had to be ended); empty where it
        did not."""
        told = [line.removeprefix(ERROR) for line in self.errors if line.startswith(ERROR)]
        failed = [code for code in codes if code]
        if told and (failed or None in codes):
            return told[0]
        if failed:
            last = next((line for line in reversed(self.errors) if any(map(str.isalnum, line))), "")
            how = f"exit code {failed[0]}" if failed[0] > 0 else f"signal {-failed[0]}"
            return f"it ended with {how}{f' ({last.strip()[:200]})' if last else ''}"
        return f"it did not end within {limit_s:g} s" if None in codes else ""


def run(
    commands: Sequence[Sequence[str]],
    environments: Sequence[Mapping[str, str]],
    folder: Path,
    limit_s: float,
    progress: Callable[[int, int, str], None],
    outcome: Outcome | None = None,
) -> Outcome:
    """Runs one process for each command at once, in `folder`, to the end of all or to the limit. Whatever ends it,
    also an exception in this thread, ends all their processes. `outcome`: gets what is told as soon as it is told, so
    that it is there after an exception, too; its reason is set at the end alone."""
    outcome = Outcome() if outcome is None else outcome
    before = set(SHARED.glob("**/*"))  # of others
    processes: list[subprocess.Popen[bytes]] = []
    readers: list[threading.Thread] = []
    try:
        for command, environment in zip(commands, environments, strict=True):
            # A session of its own: Ctrl-C reaches this process alone, which then ends what it has started.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                env={**environment, MARK: str(folder)}, start_new_session=True,
            )  # fmt: skip
            processes.append(process)
            assert process.stdout is not None
            assert process.stderr is not None
            readers += [
                _reading(process.stdout, lambda line: outcome.hear(line, progress)),
                _reading(process.stderr, outcome.complain),
            ]
        codes = _ends(processes, limit_s)
    except OSError as error:
        outcome.reason = f"it does not start: {error.strerror}"
        return outcome
    finally:
        outcome.shared.update(mapped(folder))
        end(processes)
        end_marked(folder)
        for reader in readers:
            reader.join(timeout=5)
        for file in outcome.shared - before:  # MPICH leaves one where its ranks are killed
            with suppress(OSError):
                if file.stat().st_uid == os.geteuid():
                    file.unlink()
    outcome.reason = outcome.why(codes, limit_s)
    return outcome


def _reading(stream: IO[bytes], take: Callable[[str], object]) -> threading.Thread:
    def read() -> None:
        for raw in stream:
            take(raw.decode("utf-8", "replace").rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _ends(processes: Sequence[subprocess.Popen[bytes]], limit_s: float) -> list[int | None]:
    """Their exit codes; None: still running at the limit, or a little after another one has failed."""
    until = time.monotonic() + limit_s
    while True:
        codes = [process.poll() for process in processes]
        if None not in codes or time.monotonic() > until:
            return codes
        if any(codes):
            until = min(until, time.monotonic() + GRACE_S)
        time.sleep(0.02)


def end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ends them: asked first, so that a launcher ends its ranks, then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            process.send_signal(number)  # nothing where it has ended
        until = time.monotonic() + GRACE_S
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))


def end_marked(folder: Path) -> None:
    """Ends what is left of a run."""
    until = time.monotonic() + GRACE_S
    while (left := marked(folder)) and time.monotonic() < until:
        for each in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.01)


def mapped(folder: Path) -> list[Path]:
    """The files in shared memory that the processes of a run have mapped."""
    found = []
    for process in marked(folder):
        with suppress(OSError):
            maps = Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="replace")
            found += [Path(file) for file in shared_files(maps)]
    return found


def marked(folder: Path) -> list[int]:
    """The processes of the run in this folder: they inherit the mark, whatever group or session their launcher put
    them into. Those that are over, and those of other users, show no environment."""
    mark, found = f"{MARK}={folder}".encode(), []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found
