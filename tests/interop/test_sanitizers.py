"""The drop-in for MPI under sanitizers, in programs that use it from several threads, or in every way there is."""

from __future__ import annotations

from pathlib import Path

import pytest
import sanitized

PROGRAMS = {
    "threads": ("c_threads.c", 2, "6", "60", "2"),
    "window": ("c_threads.c", 2, "6", "300", "3", "0x8000", "12"),  # of short messages, some left by their senders
    "background": ("c_background.c", 3),
    "probes": ("c_short_messages.c", 2, "threads"),
    "mixed": ("c_short_messages.c", 2, "mixed"),
    "buffers": ("c_buffers.c", 2),
    "statuses": ("c_requests.c", 2, "statuses"),
    "windows": ("c_windows.c", 3, "even"),
    "accumulates": ("c_accumulates.c", 2, "all"),
}
# Debian's MPICH is another version, and takes other ways; without UCX's `cma` its own windows wait for ever.
CASES = [(name, what) for name in ("mpich", "openmpi") for what in PROGRAMS]
CASES += [("debian-mpich", what) for what in ("threads", "window", "probes")]


def check(sanitizer: sanitized.Sanitizer, name: str, what: str, folder: Path) -> None:
    """It arrives, and the sanitizer has nothing to say: it would, and change the exit code."""
    source, ranks, *arguments = PROGRAMS[what]
    done = sanitized.run(sanitizer, name, str(source), folder, int(ranks), *map(str, arguments))
    if isinstance(done, str):
        pytest.skip(done)
    if done.stdout == "no such threads\n":
        pytest.skip("the MPI lets only one thread call it at a time")
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-12000:]
    assert "runtime error" not in done.stderr, done.stderr[-12000:]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_no_address_is_wrong(name: str, what: str, tmp_path: Path) -> None:
    check(sanitized.ADDRESSES, name, what, tmp_path)


@pytest.mark.parametrize(("name", "what"), CASES)
def test_no_threads_race(name: str, what: str, tmp_path: Path) -> None:
    check(sanitized.THREADS, name, what, tmp_path)
