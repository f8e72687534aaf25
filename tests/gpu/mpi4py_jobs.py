"""mpi4py's own tests with arrays of CuPy on GPUs, through the drop-in for MPI: what passes with host arrays and
without the drop-in passes with it. Needs mpi4py and CuPy, in the Python that starts this.

    mpi4py_jobs.py mpich|openmpi --tests FOLDER [--prefix FOLDER] [--ranks N] [--json FILE] [OPTIONS OF ITS main.py]

`--tests`: `test` of mpi4py's sources, of the installed version. `--prefix`: where the MPI is; default: its wheel's.
Exit code 1: some tests fell."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "interop")]

from sennit.baselines import mpi  # noqa: E402
from suite_outcomes import LEFT_OUT, Run, fallen  # noqa: E402

LONGEST = 150  # seconds of one run
# MPI_BOTTOM with types that hold addresses of GPU memory (docs/use/mpi.md), which the suite itself spares Open MPI.
NAMES_LEFT_OUT = "Bottom"


@dataclass(frozen=True)
class Job:
    found: mpi.Installed
    ranks: int
    tests: Path

    def run(self, with_it: bool, options: list[str]) -> Run:
        with tempfile.TemporaryDirectory(prefix="sennit-suite-") as name:
            folder = Path(name)
            settings = {"SUITE_OUTCOMES": name} | (
                {"SENNIT_REPORT": "1", "SUITE_LEFT_OUT": NAMES_LEFT_OUT} if with_it else {}
            )
            command = mpi.launch(self.found, self.ranks, root=os.geteuid() == 0)
            if with_it:  # behind the launcher, since it has to know the rank
                command += [sys.executable, "-m", "sennit", "run", "--gpu-per-rank", "--"]
            suite = ROOT / "tests" / "interop" / "mpi4py_suite.py"
            command += [sys.executable, "-B", str(suite), str(self.tests), "-q", *(["--cupy"] if with_it else [])]
            with (folder / "log").open("wb") as log:
                subprocess.run(
                    ["timeout", "-k", "5", str(LONGEST), *command, *options],
                    env=mpi.environment(self.found, dict(os.environ), folder) | settings,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    check=False,
                )
            run = Run.read(folder, self.ranks)
            log_text = (folder / "log").read_text(encoding="utf-8", errors="replace")
            if run.lost:
                run.lost.append(log_text[-4000:])
            report = log_text.find("sennit: calls with GPU buffers")
            if with_it and report < 0:
                run.lost.append("no call had a buffer of CuPy: " + log_text[-2000:])
            elif with_it:
                print(log_text[report:], flush=True)
            return run


def at(name: str, prefix: Path) -> mpi.Installed | str:
    """An MPI in a folder of its own."""
    known = mpi.LIBRARIES[name]
    found = mpi.Installed(known, "", prefix / "bin" / known.launcher, prefix / "lib" / known.library)
    absent = [str(file) for file in (found.launcher, found.library) if not file.exists()]
    return f"there is no {absent[0]}" if absent else found


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpi", choices=mpi.LIBRARIES)
    parser.add_argument("--tests", type=Path, required=True)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments, options = parser.parse_known_args()
    found = at(arguments.mpi, arguments.prefix.resolve()) if arguments.prefix else mpi.find(arguments.mpi)
    if isinstance(found, str):
        print(f"mpi4py_jobs: {found}", file=sys.stderr)
        return 3
    job = Job(found, arguments.ranks, arguments.tests.resolve())
    with_it = job.run(True, options or ["-e", LEFT_OUT])
    fell = fallen(with_it, lambda names: job.run(False, names), job.ranks)
    passed = sum(with_it.passed(test, job.ranks) for test in with_it.outcomes)
    for line in [*with_it.lost, *fell]:
        print(line)
    print(
        f"{found.library.name}, {job.ranks} ranks: {passed} tests passed of {len(with_it.outcomes)}, {len(fell)} fell"
    )
    if arguments.json:
        told = {
            "library": found.library.name,
            "ranks": job.ranks,
            "passed": passed,
            "fell": fell,
            "lost": with_it.lost,
        }
        arguments.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 1 if fell or with_it.lost or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
