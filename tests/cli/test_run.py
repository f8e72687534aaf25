"""`sennit run`: what it starts, with what, and what it says when it cannot. The file is long: each launcher
and each refusal has a test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import forked
import pytest
from conftest import ROOT
from sennit.programs import launcher, preloading
from sennit.programs.handed_on import command_line, preloaded
from sennit.verbs import run

Sennit = Callable[..., subprocess.CompletedProcess[str]]


# ---- pure functions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ("", "/s.so"),
        ("/a.so", "/s.so:/a.so"),
        ("/a.so /b.so:/c.so", "/s.so:/a.so:/b.so:/c.so"),
        ("/s.so", "/s.so"),
        ("/a.so:/s.so", "/s.so:/a.so"),
        (" : ", "/s.so"),
    ],
)
def test_the_library_is_in_front_and_there_once(there: str, expected: str) -> None:
    assert preloaded("/s.so", there) == expected


def test_sennits_library_is_taken_out_of_a_preload_and_nothing_else() -> None:
    named = "/b/libsennit-preload.so"
    assert (
        preloading.not_preloaded(f"/a.so {named}:/libsennit-preload.so.old:{named}")
        == "/a.so:/libsennit-preload.so.old"
    )
    assert preloading.not_preloaded(named) == preloading.not_preloaded("") == ""


VARIABLES = {"LD_PRELOAD": "/s.so:/a.so", "SENNIT_REPORT": "1"}


def test_only_open_mpi_wants_variables_named() -> None:
    command = ["mpirun", "-n", "2", "./a", "-x"]
    assert command_line(command, "mpiexec", VARIABLES) == (command, "")
    named = ["mpirun", "-x", "LD_PRELOAD", "-x", "SENNIT_REPORT", "-n", "2", "./a", "-x"]
    assert command_line(command, "openmpi", VARIABLES)[0] == named


def test_variables_that_are_named_already_are_not_named_again() -> None:
    command = ["mpirun", "-x", "SENNIT_REPORT=0", "--x", "HOME", "./a"]
    assert command_line(command, "openmpi", VARIABLES)[0] == ["mpirun", "-x", "LD_PRELOAD", *command[1:]]
    command = ["mpirun", "-x", "LD_PRELOAD", "./a"]
    assert command_line(command, "openmpi", VARIABLES)[0] == ["mpirun", "-x", "SENNIT_REPORT", *command[1:]]


@pytest.mark.parametrize(
    ("launcher", "command", "expected"),
    [
        ("openmpi", "mpirun -x LD_PRELOAD=/b.so -x SENNIT_REPORT ./a",
         "mpirun -x LD_PRELOAD=/s.so:/b.so -x SENNIT_REPORT ./a"),
        ("mpiexec", "mpiexec -genv LD_PRELOAD /b.so ./a", "mpiexec -genv LD_PRELOAD /s.so:/b.so ./a"),
        ("mpiexec", "mpiexec -n 1 --env LD_PRELOAD=/b.so ./a", "mpiexec -n 1 --env LD_PRELOAD=/s.so:/b.so ./a"),
        ("mpiexec", "mpiexec -envlist A,LD_PRELOAD ./a", "mpiexec -envlist A,LD_PRELOAD,SENNIT_REPORT ./a"),
        ("mpiexec", "mpiexec -genvnone -genv SENNIT_REPORT 0 ./a",
         "mpiexec -genv LD_PRELOAD /s.so:/a.so -genvnone -genv SENNIT_REPORT 0 ./a"),
        ("mpiexec", "mpiexec -n 1 ./a -x LD_PRELOAD=/b.so", "mpiexec -n 1 ./a -x LD_PRELOAD=/b.so"),
        ("srun", "srun --export ALL,LD_PRELOAD=/b.so ./a", "srun --export ALL,LD_PRELOAD=/s.so:/b.so ./a"),
        ("srun", "srun --export=A=1 ./a", "srun --export=A=1,LD_PRELOAD,SENNIT_REPORT ./a"),
        ("mpiexec", "mpiexec env A=1 LD_PRELOAD=/b.so ./a LD_PRELOAD=/c.so",
         "mpiexec env A=1 LD_PRELOAD=/s.so:/b.so ./a LD_PRELOAD=/c.so"),
        ("env", "/usr/bin/env -i LD_PRELOAD= ./a", "/usr/bin/env -i LD_PRELOAD=/s.so ./a"),
    ],
)  # fmt: skip
def test_the_library_is_added_to_a_preload_that_the_command_gives(launcher: str, command: str, expected: str) -> None:
    assert command_line(command.split(), launcher, VARIABLES) == (expected.split(), "")


@pytest.mark.parametrize(
    ("launcher", "command", "lost"),
    [
        ("srun", "srun --export=NONE ./a", "srun --export=NONE"),
        ("openmpi", "mpirun env -i ./a", "env -i"),
        ("env", "env -u LD_PRELOAD ./a", "env -u LD_PRELOAD"),
    ],
)
def test_what_keeps_the_library_from_the_program_is_said(launcher: str, command: str, lost: str) -> None:
    assert command_line(command.split(), launcher, VARIABLES)[1] == lost


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("mpirun (Open MPI) 5.0.11\n", True),
        ("prterun (PRRTE) 3.0.14\n", True),
        ("orterun (OpenRTE) 4.1.4\n", True),
        ("HYDRA build details:\n    Version: 5.0.2\n", False),
        ("", False),
    ],
)
def test_open_mpis_launcher_is_known_by_its_version(said: str, expected: bool) -> None:
    assert launcher.is_openmpi(said) == expected


@pytest.mark.parametrize(
    ("variables", "gpus", "expected"),
    [
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1"}, 4, "1"),
        ({"PMIX_RANK": "5"}, 4, "1"),  # prterun tells no more
        ({"PMIX_RANK": "5", "PRTE_LAUNCHED": "1", "SLURM_LOCALID": "0"}, 4, "1"),  # of the job that prterun is in
        ({"PMIX_RANK": "5", "SLURM_LOCALID": "2"}, 4, "2"),  # srun --mpi=pmix
        ({"PMIX_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "2"}, 4, "2"),
        ({"MPI_LOCALRANKID": "5"}, 4, "1"),  # more ranks than GPUs
        ({"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b"}, 8, "GPU-b"),
        ({"SLURM_LOCALID": "3", "CUDA_VISIBLE_DEVICES": "6"}, 8, "6"),  # the launcher has given it one already
        ({"MPI_LOCALRANKID": "2", "CUDA_VISIBLE_DEVICES": ""}, 8, ""),  # and here none
        ({"MPI_LOCALRANKID": "2"}, 0, ""),
        ({"RANK": "2", "CUDA_VISIBLE_DEVICES": "1"}, 8, None),
        ({"MPI_LOCALRANKID": "no number"}, 8, None),
    ],
)
def test_ranks_of_a_node_get_gpus_in_turn(variables: dict[str, str], gpus: int, expected: str | None) -> None:
    assert run.gpu_of_rank(variables, gpus) == expected


def elf(*segments: int, bits: int = 64, order: str = "<", file_type: int = 3) -> bytes:
    """The beginning of an ELF file with a table of segments of these types."""
    head = b"\x7fELF" + bytes([bits // 32, 1 if order == "<" else 2, 1]) + bytes(9)
    if bits == 64:
        head += struct.pack(f"{order}HHIQQQIHHHHHH", file_type, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    else:
        head += struct.pack(f"{order}HHIIIIIHHHHHH", file_type, 3, 1, 0, 52, 0, 0, 52, 32, len(segments), 0, 0, 0)
    size = 56 if bits == 64 else 32
    return head + b"".join(struct.pack(f"{order}I", each).ljust(size, b"\0") for each in segments)


LOAD, DYNAMIC, INTERPRETER, PROGRAM_HEADERS = 1, 2, 3, 6


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_program_without_an_interpreter_is_static(bits: int, order: str) -> None:
    assert preloading.is_static(elf(LOAD, bits=bits, order=order, file_type=2))
    assert preloading.is_static(elf(LOAD, DYNAMIC, bits=bits, order=order))
    assert not preloading.is_static(elf(PROGRAM_HEADERS, INTERPRETER, LOAD, DYNAMIC, bits=bits, order=order))


@pytest.mark.parametrize(
    "head",
    [b"", b"#!/bin/sh\n", b"\x7fELF", elf(LOAD)[:66], elf(), elf(LOAD, file_type=1), b"\x7fELF\x03\x01" + bytes(90)],
)
def test_what_is_no_whole_program_is_not_called_static(head: bytes) -> None:
    assert not preloading.is_static(head)


def test_programs_of_this_machine_are_told_apart(tmp_path: Path) -> None:
    assert preloading.beyond_reach(Path("/bin/sh").resolve()) == ""
    assert preloading.beyond_reach(tmp_path / "none") == ""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not on PATH")
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    options = [["-static"], ["-static-pie"], []]
    for option, why in zip(options, ["it is statically linked"] * 2 + [""], strict=True):
        program = tmp_path / "a"
        subprocess.run([compiler, *option, "a.c", "-o", str(program)], cwd=tmp_path, check=True, timeout=60)
        assert preloading.beyond_reach(program) == why, option


def test_other_rights_are_those_of_another_user_or_group() -> None:
    plain, setuid, setgid, locking = 0o755, 0o4755, 0o2755, 0o2644
    assert not preloading.gains_rights(plain, 0, 0, 1000, 1000)
    assert preloading.gains_rights(setuid, 0, 0, 1000, 1000)
    assert not preloading.gains_rights(setuid, 0, 0, 0, 0)
    assert preloading.gains_rights(setgid, 1000, 0, 1000, 1000)
    assert not preloading.gains_rights(setgid, 0, 1000, 1000, 1000)
    assert not preloading.gains_rights(locking, 0, 0, 1000, 1000)


# ---- runs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A place where sennit is installed: libraries that the loader can load, and that do nothing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    for name in (preloading.PRELOADED, *preloading.DROP_INS):
        (tmp_path / "lib" / name).symlink_to(next(Path("/lib").glob("*/libm.so.6")))
    return tmp_path


@pytest.fixture
def sennit(tree: Path) -> Sennit:
    """Runs the command line, with the libraries of the tree."""

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return forked.sennit("run", *arguments, environment=environment(tree) | more, folder=tree)

    return call


def environment(tree: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SENNIT_", "LD_PRELOAD"))}
    return kept | {"SENNIT_PROGRAMS": str(tree / "bin"), "PYTHONPATH": str(ROOT / "python")}


def library(tree: Path) -> str:
    return str((tree / "lib" / preloading.PRELOADED).resolve())


SHOW = 'echo "$LD_PRELOAD|$SENNIT_OPS|$SENNIT_REPORT|$SENNIT_EXPLAIN|$*"'


def script(tree: Path, name: str, text: str) -> str:
    file = tree / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return f"./{name}"


def test_the_program_sees_the_library_and_what_was_asked_for(tree: Path, sennit: Sennit) -> None:
    name = script(tree, "show", SHOW)
    done = sennit(name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{library(tree)}||||\n"
    done = sennit("--ops", "allreduce,bcast", "--report", "--explain", "--", name, "--report", "--", "-x")
    assert done.stdout == f"{library(tree)}|allreduce,bcast|1|1|--report -- -x\n"
    done = sennit(name, LD_PRELOAD="/lib/none.so", SENNIT_OPS="reduce")
    assert done.stdout == f"{library(tree)}:/lib/none.so|reduce|||\n"


def test_a_wrong_name_in_the_variable_is_told_before_the_program_starts(sennit: Sennit) -> None:
    done = sennit("true", SENNIT_OPS="recv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "SENNIT_OPS: 'recv' is no operation" in done.stderr
    assert sennit("--ops", "bcast", "true", SENNIT_OPS="recv").returncode == 0


def test_names_are_those_that_the_drop_ins_take(sennit: Sennit) -> None:
    source = (ROOT / "src" / "shim" / "switches.cc").read_text()
    for name, ours in (("kCollectives", run.COLLECTIVES), ("kSends", run.SENDS)):
        found = re.search(rf"{name}\[\] = {{([^}}]*)}}", source)
        assert found
        assert tuple(re.findall(r'"(\w+)"', found[1])) == ours
    assert f'kMessages = "{run.MESSAGES}"' in (ROOT / "src" / "shim" / "switches.h").read_text()
    assert f'kNone = "{run.NONE}"' in source
    every = "allreduce,IBCAST,alltoallv_init,send,issend,rsend_init,sendrecv,none"
    assert sennit("--ops", every, "true").returncode == 0


def test_names_of_nccls_drop_in_are_among_them() -> None:
    source = (ROOT / "src" / "shim" / "nccl" / "call.cc").read_text()
    names = set(re.findall(r'case Entry::\w+: return "(\w+)";', source)) - {"send", "recv"}
    assert names
    assert names <= {*run.COLLECTIVES}
    documented = (ROOT / "docs" / "use" / "nccl.md").read_text()
    assert all(f"`{name}`" in documented for name in names)


def test_emulated_memory_is_named(tree: Path, sennit: Sennit) -> None:
    program = script(tree, "show", SHOW)
    assert "GPU memory is emulated here" in sennit(program, SENNIT_EMULATE="1").stderr
    assert sennit(program, SENNIT_EMULATE="0").stderr == ""


def test_options_after_the_command_are_its_own(tree: Path, sennit: Sennit) -> None:
    assert sennit(script(tree, "show", SHOW), "--help", "--ops").stdout.endswith("|--help --ops\n")


def test_the_exit_code_is_the_programs(sennit: Sennit) -> None:
    assert sennit("--", "sh", "-c", "exit 7").returncode == 7
    assert sennit("--", "sh", "-c", "kill -9 $$").returncode == -9


def test_signals_reach_the_program_itself(tree: Path) -> None:
    command = [sys.executable, "-m", "sennit", "run", "sh", "-c", 'trap "exit 9" TERM; echo $$; sleep 20 & wait $!']
    with subprocess.Popen(command, env=environment(tree), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 9


def test_signals_that_python_ignores_are_not_ignored_by_the_program(sennit: Sennit) -> None:
    done = sennit("--", "grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


@pytest.mark.parametrize("off", ["1", "true", "ON"])
def test_nothing_is_changed_where_it_is_disabled(tree: Path, sennit: Sennit, off: str) -> None:
    (tree / "lib" / preloading.PRELOADED).unlink()
    done = sennit("--report", script(tree, "show", SHOW), SENNIT_DISABLE=off)
    assert (done.returncode, done.stdout, done.stderr) == (0, "||||\n", "")


def test_a_rank_is_shown_its_gpu_alone(sennit: Sennit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    command = ("--gpu-per-rank", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    for name in preloading.LOCAL_RANKS:
        monkeypatch.delenv(name, raising=False)
    done = sennit(*command)
    assert done.returncode == 2
    assert "Put sennit behind the launcher" in done.stderr
    monkeypatch.setenv("MPI_LOCALRANKID", "1")
    assert sennit(*command).stdout == "5\n"


def test_open_mpis_launcher_gets_the_names(tree: Path, sennit: Sennit) -> None:
    show = 'test "$1" = --version && echo "mpirun (Open MPI) 5.0.11" || echo "$*"'
    done = sennit("--report", "--", script(tree, "mpirun", show), "-n", "2", "./a")
    programs = "-x SENNIT_PROGRAMS"  # which this test sets
    assert done.stdout == f"-x LD_PRELOAD {programs} -x SENNIT_REPORT -n 2 ./a\n"
    hydra = 'test "$1" = --version && echo "HYDRA build details:" || echo "$*"'
    assert sennit(script(tree, "mpiexec", hydra), "-n", "2", "./a").stdout == "-n 2 ./a\n"


def test_only_launchers_are_asked_for_their_version(tree: Path, sennit: Sennit) -> None:
    assert sennit(script(tree, "program", 'echo "Open MPI" "$*"')).stdout == "Open MPI \n"


def test_a_static_program_runs_all_the_same_with_a_warning(tree: Path, sennit: Sennit) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not on PATH")
    (tree / "a.c").write_text("int main(void) { return 5; }\n")
    subprocess.run([compiler, "-static", "a.c", "-o", "a"], cwd=tree, check=True, timeout=60)
    done = sennit("./a")
    assert done.returncode == 5
    assert done.stderr.startswith(f"warning: sennit does not reach {tree / 'a'}: it is statically linked")


@pytest.mark.parametrize(
    ("arguments", "code", "what", "remedy"),
    [
        ([], 2, "no command is given", "sennit run -- mpirun"),
        (["--report", "--"], 2, "no command is given", "sennit run -- mpirun"),
        (["--ops", "allreduce,", "true"], 2, "--ops 'allreduce,' is no list", "--ops allreduce,bcast"),
        (["--ops", "", "true"], 2, "--ops '' is no list", "--ops allreduce,bcast"),
        (
            ["--ops", "allreduce,foo", "true"],
            2,
            "--ops: 'foo' is no operation",
            "alltoallv, each also as iallred",
        ),
        (
            ["--ops", "none,iscan_init", "true"],
            2,
            "'iscan_init' is no operation",
            "sendrecv for all messages; none for no",
        ),
        (["no-such-command"], 3, "no-such-command is not on PATH", "its name"),
        (["./none"], 3, "./none does not exist", "its path"),
        (["./plain"], 3, "./plain is no program", "chmod +x ./plain"),
        (["./nothing"], 3, "nothing does not start", "#!/bin/sh"),
    ],
)
def test_what_cannot_be_started_is_said(
    tree: Path, sennit: Sennit, arguments: list[str], code: int, what: str, remedy: str
) -> None:
    (tree / "plain").write_text("")
    (tree / "nothing").write_text("echo")
    (tree / "nothing").chmod(0o755)
    done = sennit(*arguments)
    assert done.returncode == code
    assert what in done.stderr
    assert remedy in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", [preloading.PRELOADED, *preloading.DROP_INS])
def test_missing_libraries_are_named_with_a_remedy(tree: Path, sennit: Sennit, name: str) -> None:
    (tree / "lib" / name).unlink()
    done = sennit("true")
    assert done.returncode == 3
    assert f"the library {name} is not in {tree / 'lib'}" in done.stderr
    assert "SENNIT_PROGRAMS" in done.stderr


def test_a_path_that_cannot_be_preloaded_is_said(tree: Path, sennit: Sennit) -> None:
    shutil.copytree(tree / "lib", tree / "a place" / "lib")
    for name in (preloading.PRELOADED, *preloading.DROP_INS):
        (tree / "a place" / "lib" / name).unlink()
        (tree / "a place" / "lib" / name).write_bytes(b"")
    done = sennit("true", SENNIT_PROGRAMS=str(tree / "a place" / "bin"))
    assert done.returncode == 3
    assert "LD_PRELOAD takes no path with a space" in done.stderr


# ---- the libraries themselves -------------------------------------------------------------------------------------

BUILT = os.environ.get("SENNIT_TEST_PROGRAMS", "")


@pytest.mark.skipif(not BUILT, reason="SENNIT_TEST_PROGRAMS names no folder; make test sets it")
def test_the_libraries_that_were_built_are_found_and_harm_no_program(sennit: Sennit) -> None:
    done = sennit("--report", "--", "sh", "-c", SHOW, SENNIT_PROGRAMS=BUILT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{(Path(BUILT).parent / 'lib' / preloading.PRELOADED).resolve()}||1||\n"
