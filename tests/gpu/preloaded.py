"""PyTorch programs under the drop-in for NCCL, on GPUs: starts them by torchrun as users do, with all that sennit can
do (SENNIT_TAKE=all), and reads in sennit's own report who did their calls. preloaded_rank.py is what the ranks run.

  python tests/gpu/preloaded.py [--share-gpu] [--without] [SCENARIO…]

Needs a Python with PyTorch for CUDA, which may be another one than that which runs this (--python). Two ranks share a
GPU where there is but one, or with --share-gpu. Exit code 1: something is wrong. Without PyTorch or a GPU it says so
and ends with 0. `children` alone, what programs take that use neither NCCL nor MPI, needs none of these."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "python")]

import preloaded_children  # noqa: E402
from sennit.baselines.port import free_port  # noqa: E402

LIBRARY = HERE.parent.parent / "build" / "release" / "lib" / "libsennit-preload.so"
PREFIX = "preloaded: "  # before what rank 0 tells
LIMIT_S = 240
ENDING_S = 12  # for ranks that are asked to end; less than the 20 s that scripts/measure-pytorch leaves
GOING_LIMIT_S = 60  # of a job that a rank leaves: it takes some ten seconds, most of them to begin
LONGER_S = 5  # than under NCCL alone nobody waits after a rank is gone
ASK = (
    "import torch, torch.distributed as d;"
    "print(torch.__version__, d.is_nccl_available(), torch.cuda.device_count() if torch.cuda.is_available() else 0)"
)
USUAL = ("NCCL: its type or operator", "NCCL: no bytes, or too many")  # why calls may be NCCL's anywhere


@dataclass(frozen=True)
class Scenario:
    """What the ranks do; what of it must be sennit's, and why else calls may be NCCL's."""

    name: str
    taken: tuple[str, ...]  # operations as the report names them
    allowed: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    goes: bool = False  # a rank leaves, and torchrun ends the others


ALL = ("allreduce", "reduce_scatter", "allgather", "bcast", "reduce")
SCENARIOS = (
    Scenario("collectives", ALL),
    Scenario("bound", ALL),
    Scenario(
        "nonblocking",
        ("allreduce", "allgather", "bcast", "reduce"),
        settings={"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"},
    ),
    Scenario("groups", ("allreduce", "reduce_scatter", "allgather", "bcast")),
    Scenario("messages", ("send", "recv")),
    Scenario("streams", ("allreduce", "bcast")),
    Scenario("graphs", ("allreduce", "reduce_scatter", "allgather")),
    Scenario("beside", ("allreduce", "allgather")),
    Scenario("beside_nccl", ("allreduce",), ("NCCL: not in SENNIT_OPS",), {"SENNIT_OPS": "allreduce"}),
    Scenario("behind", ("allreduce",)),
    Scenario("communicators", ("allreduce", "allgather"), ("NCCL: a rank alone",)),
    Scenario("life", ("allreduce",), ("NCCL: a rank alone",)),
    Scenario("left", ("allreduce",)),
    Scenario("killed", ("allreduce",), settings={"SENNIT_EXPLAIN": "1"}, goes=True),
    Scenario("killed_in_graphs", ("allreduce",), settings={"SENNIT_EXPLAIN": "1"}, goes=True),
    Scenario("raised", ("allreduce",), settings={"SENNIT_EXPLAIN": "1"}, goes=True),
    Scenario("aborted_by_all", ("allreduce",)),
    Scenario("shrunk", ("allreduce",), ("NCCL: what it did was ended to shrink it", "NCCL: a rank alone")),
    Scenario("gone", ("allreduce",), ("NCCL: a rank alone",)),
    Scenario("operators", ("allreduce",)),
)  # fmt: skip
CHILDREN = "children"  # of no ranks
SMALL_SCRATCH = {"SENNIT_SCRATCH": "16M"}


@dataclass(frozen=True)
class Line:
    """One of sennit's report."""

    operation: str
    size: str
    calls: int
    how: str

    @property
    def taken(self) -> bool:
        """Whether sennit did them."""
        return not self.how.startswith("NCCL")


def report_of(errors: str) -> list[Line]:
    """The report in what was printed on stderr."""
    found = re.findall(r"^(\w+) +(to \S+ \S+|above \S+ \S+) +(\d+) +\S+ \S+ +[\d.]+  (.+)$", errors, re.MULTILINE)
    return [Line(operation, size, int(calls), how) for operation, size, calls, how in found]


def wrong(scenario: Scenario, report: Sequence[Line]) -> list[str]:
    """What of the report is not as it should be."""
    if not report:
        return ["sennit did not report: the drop-in was not reached"]
    found = []
    for operation in scenario.taken:
        lines = [line for line in report if line.operation == operation]
        if not any(line.taken for line in lines):
            found.append(f"no {operation} was sennit's: {', '.join(line.how for line in lines) or 'none was called'}")
        found += [
            f"{line.calls} × {operation} {line.size} went another way: {line.how}"
            for line in lines
            if not line.taken and line.how not in (*USUAL, *scenario.allowed)
        ]
    return found


def grown(with_sennit: Mapping[str, float], alone: Mapping[str, float]) -> list[str]:
    """What grew from loop to loop beyond what NCCL alone leaves behind."""
    most = {"memory_mib": 32, "files": 4, "threads": 2}
    return [
        f"{name} grew by {with_sennit[name]:g}, under NCCL alone by {alone[name]:g}"
        for name, margin in most.items()
        if with_sennit[name] > max(alone[name], 0) + margin
    ]


def longer(with_sennit: Ended | None, alone: Ended) -> list[str]:
    """What is wrong with jobs that a rank left, beside each other: the others are ended, and no later than under NCCL
    alone."""
    found = []
    for ended, under in ((with_sennit, "under sennit"), (alone, "under NCCL alone")):
        if ended is None:
            continue
        if ended.after_s is None:
            found += [f"{under} no rank came so far", *ended.errors.splitlines()[-60:]]
        elif not ended.code:
            how = "the others did not end" if ended.code is None else "it ended as if no rank were gone"
            found.append(f"{under} {how}")
    if with_sennit is None or found:
        return found
    # The report comes at the end of a program, to which these do not come.
    if not re.search(r"^sennit: allreduce of [^:]+: (?!NCCL)", with_sennit.errors, re.MULTILINE):
        found.append("no allreduce was sennit's")
    assert with_sennit.after_s is not None
    assert alone.after_s is not None
    if with_sennit.after_s > alone.after_s + LONGER_S:
        found.append(
            f"it ended {with_sennit.after_s:.1f} s after the rank was gone, {alone.after_s:.1f} s under NCCL"
        )
    return found


# ---- jobs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a job went."""

    code: int | None  # none: it had to be ended
    output: str
    errors: str
    after_s: float | None = None  # it ended so long after a rank was gone; none: no rank was

    @property
    def told(self) -> dict[str, float]:
        """What rank 0 told."""
        lines = [line for line in self.output.splitlines() if line.startswith(PREFIX)]
        return dict(json.loads(lines[-1].removeprefix(PREFIX))) if lines else {}

    def why(self) -> list[str]:
        """What is wrong with it; its last lines follow."""
        if self.code == 0 and self.told:
            return []
        how = f"it did not end within {LIMIT_S} s" if self.code is None else f"it ended with {self.code}"
        # What torchrun says of it comes behind what the ranks said.
        said = self.errors.split("torch/distributed/elastic/multiprocessing/api.py")[0]
        return [how, *self.output.splitlines()[-20:], *said.splitlines()[-60:]]


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends torchrun and its ranks, where they have not ended: whatever has become of the one who waits for them."""
    process.send_signal(signal.SIGTERM)  # which torchrun hands to its ranks
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()


def stop_at_sigterm() -> None:
    """Has SIGTERM (timeout) end this program by an exception, so that what it started is ended first. Once."""

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit("stopped by SIGTERM; what is told above counts")

    signal.signal(signal.SIGTERM, stop)


def job(
    python: str, name: str, ranks: int, library: Path | None, shares: bool, settings: Mapping[str, str],
    limit_s: int = LIMIT_S,
) -> Ended:  # fmt: skip
    """One job of torchrun's, to its end or the limit."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "LD_PRELOAD"))}
    with tempfile.TemporaryDirectory(prefix="sennit-preloaded-") as folder:
        ours = {
            "NCCL_NVLS_ENABLE": "0",
            "PRELOADED_FOLDER": folder,
            "PRELOADED_SHARES": "1" if shares else "",
            "PRELOADED_LIMIT": str(limit_s),
        }
        if library is not None:
            ours |= {"LD_PRELOAD": str(library), "SENNIT_TAKE": "all", "SENNIT_REPORT": "1"}
        command = [python, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", str(ranks),
                   "--master-addr", "127.0.0.1", "--master-port", str(free_port()),
                   str(HERE / "preloaded_rank.py"), name]  # fmt: skip
        with (Path(folder) / "out").open("w+b") as out, (Path(folder) / "errors").open("w+b") as errors:
            process = subprocess.Popen(command, env=kept | ours | dict(settings), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=errors, start_new_session=True)  # fmt: skip
            code: int | None = None
            try:
                code = process.wait(limit_s + 30)  # its ranks end themselves before
            except subprocess.TimeoutExpired:
                pass
            finally:
                end(process)
            gone = Path(folder) / "gone"
            after_s = time.time() - float(gone.read_text(encoding="utf-8")) if gone.exists() else None
            out.seek(0)
            errors.seek(0)
            return Ended(
                code, out.read().decode("utf-8", "replace"), errors.read().decode("utf-8", "replace"), after_s
            )


def run(scenario: Scenario, python: str, ranks: int, library: Path | None, shares: bool) -> list[str]:
    """Runs it; what is wrong."""
    if scenario.goes:
        return run_going(scenario, python, ranks, library, shares)
    ended = job(python, scenario.name, ranks, library, shares, {**SMALL_SCRATCH, **scenario.settings})
    found = ended.why()
    if found or library is None:
        return found
    found = wrong(scenario, report_of(ended.errors))
    if scenario.name == "life":
        alone = job(python, scenario.name, ranks, None, shares, {})
        found += alone.why() or grown(ended.told, alone.told)
    return found


def run_going(scenario: Scenario, python: str, ranks: int, library: Path | None, shares: bool) -> list[str]:
    """The same where a rank leaves."""

    def ended(under: Path | None) -> Ended:
        settings = {**SMALL_SCRATCH, **scenario.settings} if under else {}
        return job(python, scenario.name, ranks, under, shares, settings, GOING_LIMIT_S)

    with_sennit, alone = ended(library) if library else None, ended(None)
    for each, under in ((with_sennit, "under sennit"), (alone, "under NCCL alone")):
        if each is not None and each.after_s is not None:
            print(f"preloaded: {scenario.name}: {under} it ended {each.after_s:.1f} s after the rank was gone")
    return longer(with_sennit, alone)


# ---- what is here -------------------------------------------------------------------------------------------------


def ask(python: str) -> tuple[str, int]:
    """Why that Python will not do (empty: it does), and how many GPUs it sees."""
    if shutil.which(python) is None:
        return f"{python} is not on PATH", 0
    done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{python} has no PyTorch ({(done.stderr.strip().splitlines() or ['it says nothing'])[-1]})", 0
    version, nccl, gpus = done.stdout.split()[-3:]
    if nccl != "True" or gpus == "0":
        return f"{python}'s PyTorch {version} {'has no NCCL' if nccl != 'True' else 'sees no GPU'}", 0
    return "", int(gpus)


def told(what: str, problems: Sequence[str]) -> bool:
    """Prints how it went; whether something is wrong."""
    print(f"preloaded: {what}: {'ok' if not problems else 'FAILED'}", flush=True)
    for line in problems:
        print(f"  {line}", flush=True)
    return bool(problems)


def main() -> int:
    """The program."""
    stop_at_sigterm()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [CHILDREN, *(scenario.name for scenario in SCENARIOS)]
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"any of {', '.join(names)}; default: all")
    parser.add_argument("--share-gpu", action="store_true", help="two ranks on the first GPU")
    parser.add_argument("--without", action="store_true", help="under NCCL alone: are the programs right?")
    parser.add_argument("--ranks", type=int, help="default: one a GPU, eight at most")
    parser.add_argument("--python", help="one with PyTorch; default: this one, else python3")
    parser.add_argument("--library", type=Path, default=LIBRARY, help="libsennit-preload.so")
    asked = parser.parse_args()
    if unknown := [name for name in asked.scenarios if name not in names]:
        parser.error(f"there is no scenario {unknown[0]}; there are {', '.join(names)}")
    found = {python: ask(python) for python in ([asked.python] if asked.python else [sys.executable, "python3"])}
    python = next((name for name, (why, _) in found.items() if not why), None)
    if python is None and asked.scenarios != [CHILDREN]:
        print("preloaded: skipped: " + "; ".join(dict.fromkeys(why for why, _ in found.values())))
        return 0
    if not asked.library.exists():
        print(f"preloaded: {asked.library} is not built; run scripts/build release", file=sys.stderr)
        return 1
    failed = 0
    if not asked.scenarios or CHILDREN in asked.scenarios:
        failed += told(CHILDREN, preloaded_children.run(asked.library))
    if python is None or asked.scenarios == [CHILDREN]:
        return 1 if failed else 0
    gpus = found[python][1]
    shares = asked.share_gpu or gpus < 2
    ranks = asked.ranks or (2 if shares else min(gpus, 8))
    for scenario in SCENARIOS:
        if asked.scenarios and scenario.name not in asked.scenarios:
            continue
        problems = run(scenario, python, ranks, None if asked.without else asked.library, shares)
        failed += told(f"{scenario.name}, {ranks} ranks{' on one GPU' if shares else ''}", problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
