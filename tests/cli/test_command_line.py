"""The command line as a user's shell sees it: what is printed where, and the exit codes. The file is long: it
has what holds for every verb."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer.main
from conftest import Programs, data
from sennit.__main__ import VERBS, command_line

ERROR = {
    "code": "not_found",
    "what": "no device is called 'gpu9'",
    "where": "machine made-up-4",
    "remedy": "Use gpu0",
}


def error_line(error: dict[str, str]) -> str:
    return json.dumps({"error": error}) + "\n"


@pytest.mark.parametrize(
    "verb",
    [
        [], ["doctor"], ["topo"], ["tune"], ["bench"], ["bench", "put"], ["bench", "show"], ["explain", "put"],
        ["version"], ["bench", "allreduce"], ["bench", "all-to-all-v"], ["bench", "barrier"],
        ["bench", "collectives"], ["bench", "mpi"], ["bench", "torch"], ["bench", "training"],
        ["explain", "allreduce"], ["explain", "all-to-all"], ["explain", "send"], ["table"],
        ["table", "show"], ["table", "diff"], ["table", "check"], ["compare"], ["check"], ["sim"],
        ["sim", "allreduce"], ["reproduce"], ["run"], ["profile"], ["report"],
    ],
)  # fmt: skip
def test_every_verb_has_help_with_examples(programs: Programs, verb: list[str]) -> None:
    done = programs.sennit(*verb, "--help")
    assert done.returncode == 0
    assert "$ sennit " in done.stdout


def test_a_verb_does_not_wait_for_what_others_stand_on() -> None:
    """`sennit run` stands before programs, where each start counts."""
    code = "import sys; from sennit.__main__ import command_line; command_line(['run', 'true']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "sennit.verbs.run" in loaded
    assert not loaded & {"sennit.verbs.bench", "sennit.verbs.sim", "pydantic"}


def test_the_list_of_verbs_reads_none_of_them_and_says_what_they_say() -> None:
    code = "import sys; from sennit.__main__ import command_line; command_line(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"sennit.verbs", "sennit.verbs.options"} == {
        name for name in done.stdout.split() if name.startswith("sennit.verbs")
    }
    for name, verb in VERBS.items():
        alone: Any = typer.main.get_command(command_line([name]))
        said = " ".join(alone.commands[name].help.split())
        assert said.startswith(verb.does[:-1]), name


def test_doctor_succeeds_when_nothing_needed_is_missing(programs: Programs) -> None:
    programs.add("sennit-doctor", data("doctor"))
    done = programs.sennit("doctor", "--executor", "host")
    assert done.returncode == 0
    assert "fix: docker run --ipc=host" in done.stdout
    assert done.stderr == ""
    assert programs.calls("sennit-doctor") == [["--executor", "host"]]


def test_doctor_exits_3_when_something_needed_is_missing(programs: Programs) -> None:
    document = data("doctor")
    document["checks"][1]["state"] = "missing"
    programs.add("sennit-doctor", document, code=3)
    assert programs.sennit("doctor").returncode == 3
    done = programs.sennit("doctor", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout) == document


def test_a_missing_program_is_an_environment_problem_with_a_remedy(programs: Programs) -> None:
    done = programs.sennit("doctor")
    assert done.returncode == 3
    assert "sennit-doctor is not in" in done.stderr
    assert "SENNIT_PROGRAMS" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("code", [1, 2, 3])
def test_an_error_of_a_program_is_told_with_its_remedy_and_code(programs: Programs, code: int) -> None:
    programs.add("sennit-explain", stderr=error_line(ERROR), code=code)
    done = programs.sennit("explain", "put", "1M", "--from", "gpu9", "--to", "gpu0")
    assert done.returncode == code
    assert done.stderr == "sennit: machine made-up-4: no device is called 'gpu9'\n  Use gpu0\n"


def test_errors_do_not_name_the_program_underneath(programs: Programs) -> None:
    wrong = {"where": "sennit-explain", "what": "--bytes: 0 is too few", "remedy": "See: sennit-explain put --help"}
    programs.add("sennit-explain", stderr=error_line(wrong), code=2)
    done = programs.sennit("explain", "put", "1M", "--from", "gpu1", "--to", "gpu0")
    assert done.stderr == "sennit: --bytes: 0 is too few\n  --help says what it takes\n"


def test_a_name_that_is_nearly_right_is_told(programs: Programs) -> None:
    wrong = {"where": "--algorithm", "what": 'there is no algorithm "rnig"', "remedy": "Use one of two_shot, ring"}
    programs.add("sennit-explain", stderr=error_line(wrong), code=2)
    done = programs.sennit("explain", "put", "1M", "--from", "gpu1", "--to", "gpu0")
    assert "  Did you mean ring? Use one of two_shot, ring\n" in done.stderr


def test_help_lists_verbs_in_their_order_and_the_version_is_an_option_too(programs: Programs) -> None:
    listed = re.findall(r"^│ ([a-z]+)  ", programs.sennit("--help", COLUMNS="100").stdout, re.MULTILINE)
    assert listed == list(VERBS)
    assert programs.sennit("--version").stdout == programs.sennit("version").stdout


def test_a_letter_that_the_screen_lacks_ends_nothing(programs: Programs) -> None:
    programs.add("sennit-doctor", data("doctor"))
    ascii_only = programs.environment() | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "sennit", "doctor"], env=ascii_only, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("text", ["", "not json", '{"version": 1', "1" * 5000, "[" * 100_000])
def test_a_program_without_a_document_is_no_traceback(programs: Programs, text: str) -> None:
    programs.add("sennit-doctor", text, stderr="something happened\n")
    done = programs.sennit("doctor")
    assert done.returncode == 1
    assert "sennit-doctor printed no document" in done.stderr
    assert "something happened" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_killed_program_is_named_with_its_signal(programs: Programs) -> None:
    programs.add("sennit-doctor", signal=int(signal.SIGKILL))
    done = programs.sennit("doctor")
    assert done.returncode == 1
    assert "sennit-doctor was ended by SIGKILL" in done.stderr


def test_topo_shows_earlier_measurements(programs: Programs) -> None:
    programs.add("sennit-machine", data("machine"), to="cached")
    done = programs.sennit("topo")
    assert done.returncode == 0
    assert "NVLink × 2, 45.0 GB/s out, 44.0 GB/s in" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("document", [{}, [], {"machines": [{}]}, {"machines": 3}])
def test_a_list_of_machines_that_is_none_is_no_traceback(programs: Programs, document: object) -> None:
    programs.add("sennit-machine", document, to="list")
    done = programs.sennit("topo", "--list")
    assert done.returncode == 2
    assert "the list of sennit-machine" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_step_that_is_none_is_passed_on(programs: Programs) -> None:
    lines = ['{"progress": {"done": 1e400, "total": 2, "what": "a"}}', '{"progress": ' + "[" * 100_000]
    programs.add("sennit-doctor", data("doctor"), stderr="\n".join(lines) + "\n")
    done = programs.sennit("doctor")
    assert done.returncode == 0
    assert "1e400" in done.stderr
    assert "Traceback" not in done.stderr


def test_topo_falls_back_to_discovery_and_says_how_to_measure(programs: Programs) -> None:
    document = data("machine") | {"curves": []}
    programs.add("sennit-machine", to="cached", stderr=error_line(ERROR), code=1)
    programs.add("sennit-machine", document, to="discover")
    done = programs.sennit("topo", "--json", "--executor", "cuda")
    assert json.loads(done.stdout) == document
    assert programs.calls("sennit-machine") == [["cached", "--executor", "cuda"], ["discover", "--executor", "cuda"]]
    assert "sennit topo --measure" in programs.sennit("topo").stderr


def test_topo_passes_on_what_to_show_and_measure(programs: Programs) -> None:
    programs.add("sennit-machine", data("machine"))
    programs.sennit("topo", "--machine", "mist")
    programs.sennit("topo", "--machine", "dump.xml")
    programs.sennit("topo", "--measure", "--thorough")
    assert programs.calls("sennit-machine") == [
        ["show", "mist"],
        ["convert", "--from-nccl", "dump.xml"],
        ["measure", "--progress", "--thorough"],
    ]


def test_a_result_in_the_place_of_a_machine_is_named(programs: Programs) -> None:
    (programs.folder / "result.json").write_text(json.dumps(data("collective")))
    programs.add("sennit-machine", stderr=error_line(ERROR), code=2)
    done = programs.sennit("topo", "--machine", "result.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "result.json is a document of kind bench collective, no machine" in done.stderr


def test_topo_draws_and_writes_for_nccl(programs: Programs) -> None:
    programs.add("sennit-machine", data("machine"), to="cached")
    programs.add("sennit-machine", "<system/>", to="convert")
    done = programs.sennit("topo", "--svg", "pictures/machine.svg", "--nccl", "topo.xml")
    assert done.returncode == 0
    assert (programs.folder / "pictures" / "machine.svg").read_text().startswith("<svg")
    assert (programs.folder / "topo.xml").read_text() == "<system/>"
    assert "wrote topo.xml" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--machine", "mist", "--measure"], ["--thorough"], ["--machine", "mist", "--executor", "host"], ["--no"]],
)
def test_topo_refuses_what_does_not_go_together(programs: Programs, arguments: list[str]) -> None:
    programs.add("sennit-machine", data("machine"))
    done = programs.sennit("topo", *arguments)
    assert done.returncode == 2
    assert programs.calls("sennit-machine") == []


def test_explain_passes_its_options_on(programs: Programs) -> None:
    programs.add("sennit-explain", data("explain"))
    options = ["--machine", "made-up-4", "--both-ways", "--split", "direct=0.9,host0 (sm)=0.1"]
    done = programs.sennit("explain", "put", "256M", "--from", "gpu0", "--to", "gpu1", *options)
    assert done.returncode == 0
    assert "Predicted: 632 µs (424 GB/s)." in done.stdout
    called = ["put", "--bytes", "256M", "--from", "gpu0", "--to", "gpu1", "--machine", "made-up-4", "--both-ways"]
    assert programs.calls("sennit-explain") == [[*called, "--split", "direct=0.9,host0 (sm)=0.1"]]


def test_explain_asks_for_the_operation_of_the_verb(programs: Programs) -> None:
    programs.add("sennit-explain", data("collective_plan"))
    options = ["--ranks", "4", "--machine", "made-up-4"]
    numbers = ["--type", "int32", "--op", "max"]
    verbs = ["allreduce", "reduce-scatter", "allgather", "reduce", "broadcast", "gather", "scatter", "all-to-all"]
    for verb in verbs:
        more = numbers if "reduce" in verb else []
        done = programs.sennit("explain", verb, "64M", *options, *more, "--executor", "cuda")
        assert done.returncode == 0, done.stderr
        assert "→   two_shot 256x256" in done.stdout
        called = ["collective", "--operation", verb.replace("-", "_"), "--bytes", "64M", *options, *more]
        assert programs.calls("sennit-explain")[-1] == [*called, "--executor", "cuda"]
    done = programs.sennit("explain", "allreduce", "64M", "--json")
    assert json.loads(done.stdout) == data("collective_plan")
    assert programs.calls("sennit-explain")[-1] == ["collective", "--operation", "allreduce", "--bytes", "64M"]


def test_sim_passes_its_options_on(programs: Programs) -> None:
    programs.add("sennit-sim", data("sim"))
    options = ["--machine", "made-up-4", "--algorithm", "ring", "--blocks", "8", "--ranks", "3"]
    for verb in [
        "allreduce",
        "reduce-scatter",
        "allgather",
        "reduce",
        "broadcast",
        "gather",
        "scatter",
        "all-to-all",
    ]:
        done = programs.sennit("sim", verb, "64M", *options, "--what-if", "nvlink.bandwidth=2x")
        assert done.returncode == 0, done.stderr
        assert "of the time" in done.stdout
        called = ["collective", "--operation", verb.replace("-", "_"), "--bytes", "64M", *options]
        assert programs.calls("sennit-sim")[-1] == [*called, "--what-if", "nvlink.bandwidth=2x"]
    done = programs.sennit("sim", "allreduce", "1K", "--registered", "--timeline", "t.json", "--json")
    assert json.loads(done.stdout) == data("sim")
    called = ["collective", "--operation", "allreduce", "--bytes", "1K", "--timeline", "t.json"]
    assert programs.calls("sennit-sim")[-1] == [*called, "--registered"]


def test_check_exits_with_what_it_found(programs: Programs) -> None:
    programs.add("sennit-sim", data("check"), code=1)
    done = programs.sennit("check", "--ranks", "3")
    assert done.returncode == 1
    assert "not right" in done.stdout
    assert "race: allreduce by ring, 3 ranks, 1000 bytes, in place" in done.stdout
    assert programs.calls("sennit-sim") == [["check", "--progress", "--ranks", "3"]]
    programs.add("sennit-sim", data("check") | {"findings": []})
    done = programs.sennit("check")
    assert done.returncode == 0
    assert "right, in every order" in done.stdout


def test_reproduce_replays_every_result(programs: Programs, tmp_path: Path) -> None:
    programs.add("sennit-sim", data("sim_against"))
    for name in ("collectives.json", "collectives-late.json", "put.json"):
        (tmp_path / name).write_text("{}")
    done = programs.sennit("reproduce", "made-up-4", "--results", str(tmp_path), "--markdown", str(tmp_path / "r.md"))
    assert done.returncode == 0, done.stderr
    assert "3 cases of 64 KiB and more: median error 5 %" in done.stdout
    assert "Beyond 25 %: gather 4 MiB by direct 32x256 (1.36)" in done.stdout
    assert [call[1] for call in programs.calls("sennit-sim")] == [str(tmp_path / "collectives.json")]
    assert "| reduce-scatter | 4 | 64 MiB | ring 256x256 |" in (tmp_path / "r.md").read_text()
    done = programs.sennit("reproduce", "nowhere")
    assert done.returncode == 2
    assert "there are no results of nowhere" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["allgather", "1M", "--op", "max"], ["allreduce"], ["barrier", "1"], ["all-to-all-v", "1"],
        ["allreduce", "1", "--ranks", "1"],
    ],
)  # fmt: skip
def test_explain_refuses_what_means_nothing(programs: Programs, arguments: list[str]) -> None:
    programs.add("sennit-explain", data("collective_plan"))
    assert programs.sennit("explain", *arguments).returncode == 2
    assert programs.calls("sennit-explain") == []


def test_bench_passes_its_options_on_and_writes_every_format(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    options = ["--from", "gpu0", "--to", "gpu1", "--sizes", "1M,64M", "--traffic", "both_ways", "--window", "1,64"]
    options += ["--vs", "engine,nccl", "--ranks", "2", "--seconds", "0.5", "--executor", "cuda"]
    (programs.folder / "libnccl.so.2").touch()
    options += ["--nccl", "./libnccl.so.2", "--ucx-perftest", "/opt/ucx/ucx_perftest", "--no-measure"]
    files = ["--json", "r.json", "--csv", "r.csv", "--markdown", "r.md", "--html", "r.html"]
    done = programs.sennit("bench", "put", *options, *files)
    assert done.returncode == 0, done.stderr
    assert sorted(programs.calls("sennit-bench-put")[0]) == sorted([*options, "--progress"])
    assert json.loads((programs.folder / "r.json").read_text()) == data("result")
    assert "Most at 256 MiB" in done.stdout
    for name in ("r.csv", "r.md", "r.html"):
        assert (programs.folder / name).stat().st_size > 0
        assert f"wrote {name}" in done.stderr


def test_bench_asks_for_the_operation_of_the_verb(programs: Programs) -> None:
    programs.add("sennit-bench-collective", data("collective"))
    options = ["--type", "int32", "--algorithms", "all", "--ranks", "3", "--skew", "50.0", "--eager", "--waited"]
    asked = {
        "allreduce": ("allreduce", ["--op", "max", "--out-of-place"]),
        "reduce-scatter": ("reduce_scatter", ["--op", "max"]),
        "all-to-all-v": ("all_to_all_v", []),
        "collectives": ("all", ["--op", "max"]),
    }
    for verb, (operation, more) in asked.items():
        done = programs.sennit("bench", verb, *options, *more)
        assert done.returncode == 0, done.stderr
        call = programs.calls("sennit-bench-collective")[-1]
        assert sorted(call) == sorted(["--operations", operation, *options, *more, "--progress"])
    done = programs.sennit("bench", "collectives", "--operations", "gather,scatter")
    assert programs.calls("sennit-bench-collective")[-1] == ["--operations", "gather,scatter", "--progress"]
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("allgather", "--op=max"),
        ("all-to-all", "--out-of-place"),
        ("sendrecv", "--out-of-place"),
        ("barrier", "--sizes=1K"),
        ("reduce", "--operations=all"),
    ],
)
def test_bench_offers_no_option_that_an_operation_has_no_use_for(programs: Programs, verb: str, option: str) -> None:
    programs.add("sennit-bench-collective", data("collective"))
    assert programs.sennit("bench", verb, option).returncode == 2
    assert programs.calls("sennit-bench-collective") == []


def test_bench_writes_the_document_alone_to_a_pipe(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    done = programs.sennit("bench", "put", "--json", "-")
    assert json.loads(done.stdout) == data("result")


@pytest.mark.parametrize(("ratio", "code"), [("0.9", 0), ("1.0", 1), ("1.5", 1)])
def test_bench_exits_1_below_the_ratio_asked_for(programs: Programs, ratio: str, code: int) -> None:
    programs.add("sennit-bench-put", data("result"))
    done = programs.sennit("bench", "put", "--at-least", ratio)
    assert done.returncode == code
    assert ("less than" in done.stderr) == (code == 1)
    assert "made-up-4" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["--from", "gpu0"], ["--from", "a", "--to", "b", "--pairs", "all"], ["--ranks", "0"], ["--traffic", "up"]],
)
def test_bench_refuses_what_makes_no_sense(programs: Programs, arguments: list[str]) -> None:
    programs.add("sennit-bench-put", data("result"))
    assert programs.sennit("bench", "put", *arguments).returncode == 2
    assert programs.calls("sennit-bench-put") == []


def test_a_kept_result_is_shown_and_judged(programs: Programs) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data("result")))
    done = programs.sennit("bench", "show", "kept.json", "--at-least", "0.9")
    assert done.returncode == 0
    assert "1.101 ± 0.004" in done.stdout
    assert programs.sennit("bench", "show", "kept.json", "--at-least", "1").returncode == 1
    assert programs.sennit("bench", "show", "none.json").returncode == 2


def test_a_file_that_cannot_be_written_is_a_usage_problem(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    done = programs.sennit("bench", "put", "--html", "/proc/none/page.html")
    assert done.returncode == 2
    assert "/proc/none/page.html cannot be written" in done.stderr


def test_no_escape_codes_reach_a_pipe(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    done = programs.sennit("bench", "put")
    assert "\x1b" not in done.stdout + done.stderr


def test_forced_colours_are_dropped_by_no_color(programs: Programs) -> None:
    programs.add("sennit-bench-put", data("result"))
    assert "\x1b[32m" in programs.sennit("bench", "put", FORCE_COLOR="1").stdout
    assert "\x1b[32m" not in programs.sennit("bench", "put", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_progress_is_told_after_two_seconds_and_not_before(programs: Programs) -> None:
    step = (
        json.dumps({"progress": {"done": 3, "total": 40, "what": "gpu0 → gpu1, 64 MiB"}}, ensure_ascii=False) + "\n"
    )
    programs.add("sennit-bench-put", data("result"), stderr=step)
    assert programs.sennit("bench", "put").stderr == ""
    programs.add("sennit-bench-put", data("result"), stderr=step, sleep=2.6)
    assert re.fullmatch(r"3 of 40: gpu0 → gpu1, 64 MiB \([23] s\)\n", programs.sennit("bench", "put").stderr)


def test_a_warning_of_a_program_is_told_as_a_sentence(programs: Programs) -> None:
    programs.add("sennit-doctor", data("doctor"), stderr=json.dumps({"warning": "Times vary; measure again."}) + "\n")
    assert programs.sennit("doctor").stderr == "warning: Times vary; measure again.\n"


def test_log_lines_pass_to_stderr(programs: Programs) -> None:
    programs.add("sennit-doctor", data("doctor"), stderr="sennit: warning: [clocks] drift\n{not json\n")
    assert programs.sennit("doctor").stderr == "sennit: warning: [clocks] drift\n{not json\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_ends_it_ends_the_program_too(programs: Programs, number: signal.Signals) -> None:
    programs.add("sennit-bench-put", data("result"), sleep=30)
    command = [sys.executable, "-m", "sennit", "bench", "put"]
    # A shell's background job inherits that it ignores SIGINT.
    with subprocess.Popen(
        command,
        env=programs.environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 20
        while not programs.calls("sennit-bench-put"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert _running(programs.folder / "sennit-bench-put") == []


ASKED_TWICE = """
import os, signal
from sennit import __main__ as sennit
for number in sennit.ENDING:
    signal.signal(number, sennit._end)
try:
    os.kill(os.getpid(), signal.SIGTERM)
except sennit.Ended:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGHUP)
    print("what was measured is kept")
"""


def test_asked_twice_it_still_keeps_what_it_has() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED_TWICE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "what was measured is kept\n", "")


def _running(program: Path) -> list[str]:
    """Processes whose command line names `program`."""
    found = []
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(program).encode() in status.read_bytes():
                found.append(status.parent.name)
        except OSError:
            continue
    return found


def test_a_closed_pipe_is_no_traceback(programs: Programs) -> None:
    programs.add("sennit-machine", {"machines": [{"name": f"m{n}", "description": "x" * 99} for n in range(2000)]})
    command = f"{sys.executable} -m sennit topo --list | head -1"
    done = subprocess.run(
        ["bash", "-c", command], env=programs.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("m0")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
