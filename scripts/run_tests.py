"""What can be tested on this machine, in stages, and one line at the end that says how it went.

Stages: the C++ tests as users get them (with CUDA where there is a compiler; on GPUs where there are any), again
under AddressSanitizer with UBSan and under ThreadSanitizer, the command line, programs over real libraries, lint. A
failing stage does not stop the next ones: one run tells everything. A stage that takes half more than its budget of
CPU seconds (budgets.py) fails in CI. Exit code 1 when anything failed."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import budgets
import lint
from house import BIN, ROOT, gpus, unrandomised

REPORTS = ROOT / "build" / "reports"


@dataclass
class Outcome:
    """How one stage went; `failures` names what failed, `skips` what was left out, and why. `seconds` are of the
    clock, `cpu_seconds` of all processes together; `slowest` has the seconds of each test."""

    stage: str
    passed: int = 0
    skips: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0
    cpu_seconds: float = 0
    slowest: list[tuple[float, str]] = field(default_factory=list)


def read_junit(stage: str, *reports: Path) -> Outcome:
    """The counts in JUnit files, as GoogleTest and pytest write them. A report without any test is a failure."""
    outcome = Outcome(stage)
    for report in reports:
        cases = list(ElementTree.parse(report).getroot().iter("testcase")) if report.exists() else []
        for case in cases:
            name = f"{case.get('classname', '')}.{case.get('name', '')}"
            outcome.slowest.append((float(case.get("time", 0)), name))
            if case.find("failure") is not None or case.find("error") is not None:
                outcome.failures.append(name)
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                outcome.skips.append(f"{case.get('name', '')}: {reason(case)}")
            else:
                outcome.passed += 1
        if not cases:
            outcome.failures.append(f"{report.stem}: no test ran")
    return outcome


def reason(case: ElementTree.Element) -> str:
    """Why a test was skipped. GoogleTest puts the place in its code on a line before the message."""
    skipped = case.find("skipped")
    message = "" if skipped is None else skipped.get("message", "")
    return " ".join(re.sub(r"^\S+:\d+\n", "", message).split()) or "it gives no reason"


def own_cache() -> dict[str, str]:
    """Tests know nothing of what was measured and tuned on this machine before, as `make demo` does: they would take
    other plans, and other paths between threads that stand for processes."""
    folder = REPORTS / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return {"SENNIT_CACHE": str(folder)}


def build(preset: str, targets: str = "tests", repeats: bool = False) -> Outcome:
    """Builds targets of a preset, their names with spaces between. `repeats`: every room under sanitizers, too."""
    options = [] if preset == "release" else [f"-DSENNIT_SANITIZE_ALL={'ON' if repeats else 'OFF'}"]
    done = subprocess.run([str(ROOT / "scripts" / "build"), preset, targets, *options], cwd=ROOT, check=False)
    failures = [] if done.returncode == 0 else ["its messages are above"]
    return Outcome(f"{preset} build", passed=int(not failures), failures=failures)


def cpp(preset: str, repeats: bool = False, rooms: Sequence[str] = ()) -> Outcome:
    """Runs a preset's tests, those of some rooms or of all; those that need GPUs only where there is one. `repeats`:
    also what takes minutes (SENNIT_TEST_ALL)."""
    reports = ROOT / "build" / preset / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    # Many tests wait for a rank that never comes, and leave a processor to others.
    command = ["ctest", "--preset", preset, "--parallel", str((os.cpu_count() or 1) * 3 // 2)]
    left_out = ["gpu"] if preset != "release" or gpus() == 0 else []
    # What is the same under sanitizers (tests/CMakeLists.txt).
    left_out += ["alike"] if preset == "release" and not repeats and not rooms else []
    if left_out:
        command += ["--label-exclude", f"^({'|'.join(left_out)})$"]
    if rooms:
        command += ["--label-regex", f"^({'|'.join(rooms)})$"]
    prefix = unrandomised() if preset == "tsan" else []
    listed = subprocess.run([*command, "--show-only=json-v1"], cwd=ROOT, check=True, capture_output=True, text=True)
    done = subprocess.run(
        [*prefix, *command],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | own_cache() | ({"SENNIT_TEST_ALL": "1"} if repeats else {}),
    )
    tests = [test["name"] for test in json.loads(listed.stdout)["tests"]]
    outcome = read_junit(preset, *(reports / f"{test}.xml" for test in tests if "." not in test))
    (REPORTS / f"{preset}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if outcome.failures or done.returncode != 0:
        print(failing(done.stdout) + done.stderr)
    if done.returncode != 0 and not outcome.failures:
        outcome.failures.append(f"ctest ended with exit code {done.returncode}")
    return outcome


def failing(log: str) -> str:
    """What programs with a failing test printed, without the tests that passed: a newcomer reads failures."""
    return re.sub(r"\[ RUN      \] (\S+)\n\[       OK \] \1 .*\n", "", log)


def python(stage: str, repeats: bool, *options: str, files: Sequence[str] = ()) -> Outcome:
    """The Python tests of a folder of tests/, or of some of its files, against made-up programs and those built."""
    report = REPORTS / f"{stage}.xml"
    report.unlink(missing_ok=True)
    command = [
        str(BIN / "python"),
        "-m",
        "pytest",
        f"--junitxml={report}",
        *(["-m", ""] if repeats else []),
        *options,
    ]
    environment = os.environ | own_cache() | {"SENNIT_TEST_PROGRAMS": str(ROOT / "build" / "release" / "bin")}
    done = subprocess.run([*command, *(files or [f"tests/{stage}"])], cwd=ROOT, check=False, env=environment)
    outcome = read_junit(stage, report)
    if done.returncode != 0 and not outcome.failures:
        outcome.failures.append(f"pytest ended with exit code {done.returncode}")
    return outcome


def workers(folder: str) -> list[str]:
    """pytest's options for as many processes as tests of a folder keep busy."""
    processors = os.cpu_count() or 1
    if folder != "interop":
        return ["-n", str(processors)]
    # A test of these uses half of two processors: programs are compiled, ranks start one after the other and wait. A
    # file is one worker's, which compiles once what its tests share.
    return ["-n", str(max(2, processors // 4)), "--dist", "loadfile"]


def linting() -> Outcome:
    """One check a tool."""
    outcome = Outcome("lint")
    for tool, complaints in lint.checks().items():
        for complaint in complaints:
            print(f"--- {tool}\n{complaint}\n")
        outcome.passed += not complaints
        outcome.failures += [tool] if complaints else []
    return outcome


def timed(stage: Callable[[], Outcome], title: str, budgeted: bool = False) -> Outcome:
    """Runs a stage between two lines that say what it is and how it went. `budgeted`: it has a budget of CPU seconds,
    and CI holds it to that."""
    print(f"=== {title}", flush=True)
    start, cpu = time.monotonic(), cpu_seconds()
    outcome = stage()
    outcome.seconds, outcome.cpu_seconds = time.monotonic() - start, cpu_seconds() - cpu
    for skip in outcome.skips:
        print(f"    skipped {skip}")
    for seconds, name in sorted(outcome.slowest, reverse=True)[:10]:
        print(f"    {seconds:6.1f} s  {name}")
    print(f"    {counts(outcome)} in {outcome.seconds:.0f} s, CPU {outcome.cpu_seconds:.0f} s", flush=True)
    if budgeted and (told := budgets.over(outcome.stage, outcome.cpu_seconds)):
        print(f"    {told}", flush=True)
        if os.environ.get("CI") == "true":
            outcome.failures.append(told)
    return outcome


def beside(stage: Callable[[], Outcome], name: str) -> Callable[[], Outcome]:
    """Begins a stage in a process of its own, which counts its CPU seconds alone. What is returned waits for it, and
    prints then what it printed; a stage that raised has failed."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)

    def work() -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            try:
                outcome = stage()
            except Exception as error:  # of any kind: the other stages are summed up all the same
                traceback.print_exc()
                outcome = Outcome(name, failures=[f"{type(error).__name__}: {error}"])
        sender.send((outcome, said.getvalue()))

    process = fork.Process(target=work)
    process.start()
    sender.close()

    def wait() -> Outcome:
        outcome, said = receiver.recv()
        process.join()
        print(said, end="")
        return outcome  # type: ignore[no-any-return]

    return wait


def cpu_seconds() -> float:
    """What the processes that this one has waited for have used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def counts(outcome: Outcome) -> str:
    """For example: 12 passed, 0 failed, 1 skipped."""
    skipped = f", {len(outcome.skips)} skipped" if outcome.skips else ""
    return f"{outcome.passed} passed, {len(outcome.failures)} failed{skipped}"


def summary(outcomes: list[Outcome], seconds: float, target: str = "test") -> list[str]:
    """The lines at the end: what failed, by stage, then the total, of what `make` was asked for, and its seconds."""
    lines = [f"failed in {outcome.stage}: {name}" for outcome in outcomes for name in outcome.failures]
    total = Outcome("all")
    for outcome in outcomes:
        total.passed += outcome.passed
        total.skips += outcome.skips
        total.failures += outcome.failures
    minutes, rest = divmod(round(seconds), 60)
    return [*lines, f"make {target}: {counts(total)} in {minutes} min {rest} s"]


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--all", action="store_true", help="with what repeats tests (tests/interop/repeats.py), and every case of C++"
    )
    repeats = parser.parse_args().all
    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    start = time.monotonic()

    def stage(title: str, work: Callable[[], Outcome]) -> Outcome:
        # What all of it takes has no budget, and neither has what GPUs do.
        outcomes.append(timed(work, title, budgeted=not repeats and gpus() == 0))
        return outcomes[-1]

    for preset, targets, how in (
        ("release", "all" if repeats else "programs tests_optimised", "optimised"),
        ("asan", "tests", "under AddressSanitizer and UBSan"),
        ("tsan", "tests", "under ThreadSanitizer"),
    ):
        if not stage(f"C++ {how}: build", partial(build, preset, targets, repeats)).failures:
            stage(f"C++ {how}: tests", partial(cpp, preset, repeats))
    stage("command line", partial(python, "cli", repeats, *workers("cli")))
    linted = beside(partial(timed, linting, "lint", budgeted=not repeats and gpus() == 0), "lint")
    title = "programs over MPI, NCCL and PyTorch; lint beside"
    stage(title, partial(python, "interop", repeats, *workers("interop")))
    outcomes.append(linted())
    print("\n".join(summary(outcomes, time.monotonic() - start, "test-all" if repeats else "test")))
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
