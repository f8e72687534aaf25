"""The drop-ins under sanitizers, in programs that use them from several threads, or in every way there is."""

from __future__ import annotations

from pathlib import Path

import pytest
import repeats
import sanitized

PROGRAMS = {
    "threads": ("c_threads.c", 2, "6", "20", "2"),
    "window": ("c_threads.c", 2, "6", "100", "3", "0x8000", "12"),  # of short messages, some left by their senders
    "background": ("c_background.c", 3),
    "probes": ("c_short_messages.c", 2, "threads"),
    "mixed": ("c_short_messages.c", 2, "mixed"),
    "buffers": ("c_buffers.c", 2),
    "statuses": ("c_requests.c", 2, "statuses"),
    "persistent": ("c_requests.c", 2, "persistent"),
    "progress": ("c_progress.c", 2, "no file", "Comm_dup", "Comm_split", "Intercomm_create", "Neighbor_alltoall"),
    "columns": ("c_columns.c", 2),
    "parts": ("c_partitions.c", 2),
    "given": ("c_partitions.c", 2, "threads"),
    "halves": ("c_halves.c", 2),
    "mismatches": ("c_mismatches.c", 3, "count", "begun", "root", "function"),
    "windows": ("c_windows.c", 3, "even"),
    "accumulates": ("c_accumulates.c", 2, "all"),
}
# Debian's MPICH is another version, and takes other ways; without UCX's `cma` its own windows wait for ever.
# Open MPI waits for ever where threads give parts of a message.
CASES = [(name, what) for name in ("mpich", "openmpi") for what in PROGRAMS if (name, what) != ("openmpi", "given")]
CASES += [("debian-mpich", what) for what in ("threads", "window", "probes")]

# Every run has each program under one sanitizer: under ThreadSanitizer those whose own threads call MPI, or that have
# the progress thread work. `make test-all` has both for each.
OF_THREADS = {"threads", "background", "probes", "given", "progress", "windows"}


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


@pytest.mark.parametrize(
    ("name", "what"), repeats.but(CASES, lambda name, what: name == "openmpi" and what not in OF_THREADS)
)
def test_no_address_is_wrong(name: str, what: str, tmp_path: Path) -> None:
    check(sanitized.ADDRESSES, name, what, tmp_path)


@pytest.mark.parametrize(
    ("name", "what"), repeats.but(CASES, lambda name, what: name == "mpich" and what in OF_THREADS)
)
def test_no_threads_race(name: str, what: str, tmp_path: Path) -> None:
    check(sanitized.THREADS, name, what, tmp_path)


NCCL = (
    *("collectives", "messages", "streams", "groups", "types", "windows", "patient", "pairs", "shrunk", "grown"),
    *("divided", "crossed", "early", "aborted", "compared", "simulated", "forked"),
    *("aborted_in_destroy", "revoked_in_destroy", "finalized_later"),
)


RANKS = {"grown": 4, "divided": 4, "streams": 2, "compared": 2, "simulated": 2, "forked": 2,
         "aborted_in_destroy": 2, "revoked_in_destroy": 2}  # fmt: skip


def check_nccl(sanitizer: sanitized.Sanitizer, test: str) -> None:
    job = sanitized.run_nccl(sanitizer, test, RANKS.get(test, 3))
    if isinstance(job, str):
        pytest.skip(job)
    assert set(job.codes) == {0}, job.text
    assert all("runtime error" not in said for said in job.errors), job.text
    # The drop-in was reached.
    assert any("sennit: " in said for said in job.errors), job.text


# As above; what ends in different ways, and what shares streams, has several threads at work.
NCCL_OF_THREADS = {
    *("streams", "groups", "windows", "patient", "crossed", "aborted", "forked"),
    *("aborted_in_destroy", "revoked_in_destroy", "finalized_later"),
}


@pytest.mark.parametrize("test", repeats.but([(each,) for each in NCCL], lambda test: test not in NCCL_OF_THREADS))
def test_no_address_is_wrong_under_nccl(test: str) -> None:
    check_nccl(sanitized.ADDRESSES, test)


@pytest.mark.parametrize("test", repeats.but([(each,) for each in NCCL], lambda test: test in NCCL_OF_THREADS))
def test_no_threads_race_under_nccl(test: str) -> None:
    check_nccl(sanitized.THREADS, test)
