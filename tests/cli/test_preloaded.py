"""What starts PyTorch programs under the drop-in on GPUs: how it reads sennit's report, and what it says without
any."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import preloaded
import preloaded_children
import pytest
from conftest import ROOT
from preloaded import Ended, Line, Scenario

REPORT = """Some warning of PyTorch's
sennit: NCCL's calls on rank 0, and the host's time for them
operation                           size      calls        bytes    µs a call  how
allreduce                       to 1 KiB         12      3.7 KiB          4.1  one_shot_packets 8x256
allreduce                     to 256 KiB          3      600 KiB          9.7  NCCL: its type or operator
allreduce                   above 64 MiB          1      128 MiB         11.2  NCCL: measured faster (11.0 µs, sennit 11.9)
bcast                          to 16 KiB          2        8 KiB          6.0  NCCL: a rank alone
"""  # noqa: E501


def test_the_report_is_read() -> None:
    lines = preloaded.report_of(REPORT)
    assert lines[0] == Line("allreduce", "to 1 KiB", 12, "one_shot_packets 8x256")
    assert [(line.operation, line.taken) for line in lines[1:]] == [
        ("allreduce", False),
        ("allreduce", False),
        ("bcast", False),
    ]


def test_calls_that_should_be_sennits_and_are_not_are_named() -> None:
    report = preloaded.report_of(REPORT)
    assert preloaded.wrong(Scenario("it", ("allreduce",)), report) == [
        "1 × allreduce above 64 MiB went another way: NCCL: measured faster (11.0 µs, sennit 11.9)"
    ]
    assert preloaded.wrong(Scenario("it", ("bcast",)), report) == [
        "no bcast was sennit's: NCCL: a rank alone",
        "2 × bcast to 16 KiB went another way: NCCL: a rank alone",
    ]
    some = [*report, Line("bcast", "to 1 KiB", 4, "direct 1x256")]
    assert preloaded.wrong(Scenario("it", ("bcast",), ("NCCL: a rank alone",)), some) == []
    assert preloaded.wrong(Scenario("it", ("reduce",)), report) == ["no reduce was sennit's: none was called"]
    assert preloaded.wrong(Scenario("it", ()), []) == ["sennit did not report: the drop-in was not reached"]


def test_what_grows_more_than_under_nccl_is_named() -> None:
    alone = {"memory_mib": 10.0, "files": 1.0, "threads": 0.0}
    assert preloaded.grown({"memory_mib": 40.0, "files": 5.0, "threads": 1.0}, alone) == []
    assert preloaded.grown({"memory_mib": 300.0, "files": 6.0, "threads": 1.0}, alone) == [
        "memory_mib grew by 300, under NCCL alone by 10",
        "files grew by 6, under NCCL alone by 1",
    ]


def test_how_a_job_ended() -> None:
    assert Ended(0, 'noise\npreloaded: {"done": 1}\n', "").why() == []
    assert Ended(0, "noise\n", "").why() == ["it ended with 0", "noise"], "rank 0 has to say that it is done"
    assert Ended(None, "", "Watchdog").why() == ["it did not end within 240 s", "Watchdog"]
    torchrun = "W1 1 torch/distributed/elastic/multiprocessing/api.py:1] Sending process" + 100 * "\nmore"
    said = Ended(1, 'preloaded: {"done": 1}\n', f"AssertionError: wrong\n{torchrun}").why()
    assert said == ["it ended with 1", 'preloaded: {"done": 1}', "AssertionError: wrong", "W1 1 "]


EXPLAINED = "sennit: allreduce of 234.4 KiB: two_shot_packets 32x256\n"


def test_jobs_that_a_rank_leaves_end_as_soon_as_under_nccl() -> None:
    alone = Ended(1, "", "", 1.5)
    assert preloaded.longer(Ended(1, "", EXPLAINED, 6.4), alone) == []
    assert preloaded.longer(Ended(1, "", EXPLAINED, 6.6), alone) == [
        "it ended 6.6 s after the rank was gone, 1.5 s under NCCL"
    ]
    left = EXPLAINED.replace("two_shot", "NCCL: two_shot")
    assert preloaded.longer(Ended(1, "", left, 1.0), alone) == ["no allreduce was sennit's"]
    assert preloaded.longer(None, alone) == []
    assert preloaded.longer(Ended(None, "", EXPLAINED, 80.0), alone) == ["under sennit the others did not end"]
    assert preloaded.longer(Ended(1, "", "no GPU\n"), Ended(0, "", "", 1.0)) == [
        "under sennit no rank came so far",
        "no GPU",
        "under NCCL alone it ended as if no rank were gone",
    ]


TORCHRUN = """#!{python}
import os, sys, time
scenario = sys.argv[-1]
open(os.environ["PRELOADED_FOLDER"] + "/gone", "w").write(repr(time.time()))
sys.stderr.write({said!r} if "LD_PRELOAD" in os.environ else "")
time.sleep(0.2)
sys.exit(1)
"""


def test_a_scenario_that_a_rank_leaves_has_a_job_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preloaded, "LONGER_S", 30)  # this machine may be busy
    python = tmp_path / "python"
    python.write_text(TORCHRUN.format(python=sys.executable, said=EXPLAINED))
    python.chmod(0o755)
    (killed,) = [scenario for scenario in preloaded.SCENARIOS if scenario.name == "killed"]
    library = tmp_path / "none.so"  # which the loader only complains of
    assert preloaded.run(killed, str(python), 2, library, False) == []
    assert preloaded.run(killed, str(python), 2, None, False) == []
    said = capsys.readouterr().out
    assert (said.count("under sennit it ended"), said.count("under NCCL alone it ended")) == (1, 2)


HANGING = """#!{python}
import os, signal, sys, time
if "-c" in sys.argv:
    print("2.11 True 2")
    sys.exit()
def end(*_):
    open({folder!r} + f"/ended-{{os.getpid()}}", "w").close()
    sys.exit(1)
signal.signal(signal.SIGTERM, end)
open({folder!r} + f"/began-{{os.getpid()}}", "w").close()
time.sleep(60)
"""


@pytest.mark.parametrize(("program", "scenario", "jobs"), [("preloaded", "killed", 1), ("torch_jobs", "fsdp", 2)])
def test_what_it_started_ends_with_it(tmp_path: Path, program: str, scenario: str, jobs: int) -> None:
    python = tmp_path / "python"
    python.write_text(HANGING.format(python=sys.executable, folder=str(tmp_path)))
    python.chmod(0o755)
    command = [sys.executable, str(ROOT / "tests" / "gpu" / f"{program}.py"), "--python", str(python), scenario]
    command += ["--library", str(python)] if program == "preloaded" else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("began-*"))) < jobs and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "stopped by SIGTERM" in errors
    began = [file.name.removeprefix("began-") for file in tmp_path.glob("began-*")]
    assert len(began) == jobs
    until = time.monotonic() + 20  # the system's first process may take a moment to let go of them
    while any(Path(f"/proc/{each}").exists() for each in began) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{each}").exists() for each in began)
    if program == "preloaded":
        assert (tmp_path / f"ended-{began[0]}").exists(), "torchrun is asked, as its ranks are to end, too"


def test_every_scenario_has_ranks_that_do_it() -> None:
    done = (ROOT / "tests/gpu/preloaded_rank.py").read_text(encoding="utf-8")
    for scenario in preloaded.SCENARIOS:
        assert f'"{scenario.name}": preloaded_' in done


@pytest.mark.parametrize("gpus", ["0", "2"])
def test_without_pytorch_on_gpus_it_says_so_and_is_content(tmp_path: Path, gpus: str) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n" + ("echo 2.11.0 True 0\n" if gpus == "0" else "echo no torch >&2\nexit 1\n"))
    python.chmod(0o755)
    done = subprocess.run([sys.executable, ROOT / "tests/gpu/preloaded.py", "--python", python], capture_output=True,
                          text=True, check=False)  # fmt: skip
    why = "'s PyTorch 2.11.0 sees no GPU" if gpus == "0" else " has no PyTorch (no torch)"
    assert (done.returncode, done.stdout) == (0, f"preloaded: skipped: {python}{why}\n")


def test_without_the_drop_in_it_says_what_to_build(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 2.11.0 True 2\n")
    python.chmod(0o755)
    command = [sys.executable, str(ROOT / "tests/gpu/preloaded.py"), "--python", str(python), "--library", "/none.so"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "/none.so is not built; run scripts/build release" in done.stderr


@pytest.mark.parametrize("longer", [0.0, 6.0])
def test_what_programs_without_nccl_take_is_printed(
    longer: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preloaded_children, "start_ms", lambda _, library: 1.0 + (longer if library else 0.0))
    found = preloaded_children.run(Path("/library.so"))
    assert found == (["true takes more than 5 ms longer", "python takes more than 5 ms longer"] if longer else [])
    said = f"true takes {1 + longer:.2f} ms with the preloaded library, 1.00 without (medians of 50 starts)"
    assert said in capsys.readouterr().out
