"""What becomes of a job where something is wrong with how the drop-in was loaded, or where the program does what MPI
does not allow: it ends as it does without the drop-in, and never hangs."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import c_programs
import debian_mpi
import guard
import pytest
import test_fortran
from c_programs import HANGS
from test_c_programs import have

each_library = pytest.mark.parametrize("name", c_programs.LIBRARIES)


def faults(
    name: str, preloaded: bool, ranks: int, steps: str, settings: dict[str, str] | None = None, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """A program that takes these steps. `before`: what the shell does first, which knows the rank as $rank."""
    program, library = have(name, "c_faults.c")
    command = program.start(ranks, *steps.split())
    place = command.index(str(program.path))
    shell = f'rank="${{PMI_RANK:-$PMIX_RANK}}"; {before}\nexec "$@"'
    command = [*command[:place], "sh", "-c", shell, "sh", *command[place:]] if before else command
    return program.run(ranks, library if preloaded else None, settings, command, guarded=False)


def faults_and_words(name: str, ranks: int, steps: str, before: str = ":") -> subprocess.CompletedProcess[str]:
    """As faults(), with all that ranks said: Hydra loses what they said last before one calls MPI_Abort, so that goes
    to files. Waits between ranks end after two seconds."""
    with tempfile.TemporaryDirectory() as folder:
        done = faults(name, True, ranks, steps, {"SENNIT_TIMEOUT": "2"}, f'exec 2> "{folder}/$rank"; {before}')
        done.stderr += "".join(file.read_text(errors="replace") for file in sorted(Path(folder).iterdir()))
    return done


def guarded(name: str) -> str:
    """LD_PRELOAD=… with the guard behind the drop-in."""
    program, library = have(name, "c_faults.c")
    return next(iter(guard.before(program.found, library, program.library)[1:]), f"LD_PRELOAD={library}")


# ---- loaded on some ranks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("without", [0, 1])
@each_library
def test_ranks_go_on_without_the_drop_in_where_one_lacks_it(name: str, without: int) -> None:
    steps = "init sum exchange sum finalize said"
    # Those that have it stage what they have on GPUs: a guard stands behind.
    before = f'test "$rank" = {without} && unset LD_PRELOAD || export {guarded(name)}'
    done = faults(name, True, 3, steps, {"SENNIT_TIMEOUT": "2"}, before)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("came through") == 3
    said = [line for line in done.stderr.splitlines() if line.startswith("sennit")]
    assert len(said) == 1, done.stderr  # ranks 0 and 1 say it, where they have it
    assert "runs without sennit, but that its GPU buffers go through host memory: timed_out: not all" in said[0]
    assert "ranks answered within 2 s" in said[0]
    assert "LD_PRELOAD has to reach every rank" in said[0]


@each_library
def test_what_cannot_be_matched_then_ends_in_an_error(name: str) -> None:
    before = 'test "$rank" = 1 && unset LD_PRELOAD'
    # Rank 1 stays behind: its call would meet what the others began at MPI_Init, and its MPI could end the job with
    # an error of its own before the others have said theirs.
    done = faults_and_words(name, 3, "init sum stay isum finalize", before)
    assert done.returncode not in (0, HANGS), done.stderr
    assert "MPI_Iallreduce on MPI_COMM_WORLD cannot end, as some ranks run without sennit" in done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_ranks_go_on_without_drop_ins_of_two_versions(name: str, tmp_path: Path) -> None:
    _, library = have(name, "c_faults.c")
    for file in ("libsennit-preload.so", "libsennit-mpi.so"):
        # As another version would have it, of the same length.
        other = (library.parent / file).read_bytes().replace(b"\x000.1.0\x00", b"\x000.1.9\x00")
        (tmp_path / file).write_bytes(other)
    before = f'test "$rank" = 1 && export LD_PRELOAD="{tmp_path}/libsennit-preload.so"'
    done = faults(name, True, 3, "init sum exchange sum finalize said", {"SENNIT_TIMEOUT": "5"}, before)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("came through") == 3
    assert "but that its GPU buffers go through host memory: mismatch" in done.stderr, done.stderr
    assert "0.1.0" in done.stderr, done.stderr
    assert "0.1.9" in done.stderr, done.stderr


# ---- loaded late --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_functions_that_are_looked_up_in_an_mpis_library_are_the_drop_ins(name: str) -> None:
    program, library = have(name, "c_faults.c")
    start = program.start(2)[:-1]
    rank = [sys.executable, str(c_programs.HERE / "looked_up.py"), str(program.found.library)]
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, [*start, *rank], guarded=False)
    assert (done.returncode, done.stdout) == (0, 2 * "reduced\n"), done.stderr
    assert re.search(r"^allreduce .*one_shot", done.stderr, re.MULTILINE), done.stderr


def test_an_mpi_that_is_not_known_is_passed_on_to(tmp_path: Path) -> None:
    """Where a library brings it that is loaded for itself, so that the drop-in's entry points are found before it."""
    program, library = have("debian-mpich", "c_dlopen.c")
    name, other = b"libmpich.so.12\0", b"libothmpi.so.7\0"
    unknown = tmp_path / other.decode().rstrip("\0")
    unknown.write_bytes(program.found.library.read_bytes().replace(name, other))
    unknown.chmod(0o755)
    loaded = c_programs.compiled("debian-mpich", "c_loaded.c", shared=True, linked=unknown)
    assert isinstance(loaded, c_programs.Program)
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, program.start(2, str(loaded.path)), guarded=False)
    assert (done.returncode, done.stdout) == (0, "sum 1\n"), done.stderr
    assert done.stderr == ""  # there is no drop-in for it


@pytest.mark.parametrize("name", debian_mpi.LIBRARIES)
def test_fortran_may_come_late(name: str, tmp_path: Path) -> None:
    program, library = have(name, "c_dlopen.c")
    first = c_programs.compiled(name, "c_loaded.c", shared=True, options=("-DGOES_ON",))
    assert isinstance(first, c_programs.Program)
    then = tmp_path / "loaded.so"
    sources = ("fortran_memory.f90", "fortran_loaded.f90")
    if missing := test_fortran.compiled(name, then, sources, ("-shared", "-fPIC", f"-Wl,-rpath,{debian_mpi.LIB}")):
        pytest.skip(missing)
    start = program.start(2, str(first.path), str(then))
    done = program.run(2, library, {"SENNIT_REPORT": "1"}, start, guarded=False)
    assert (done.returncode, done.stdout) == (0, "sum 1\nsum of many 1\n"), done.stderr
    assert re.search(r"^allreduce .*one_shot", done.stderr, re.MULTILINE), done.stderr


# ---- what MPI does not allow --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        "init init sum finalize",  # more than once
        "finalize",  # what has not begun
        "send",
        "init sum finalize send",  # after the end
        "init exchange finalize wait",
        "init sum finalize barrier",
        "init sum abort sum finalize said",
        "init sum exit sum finalize said",  # without MPI_Finalize
        "init sum kill sum finalize said",
        "init begun kill begun finalize said",
        "init exchange kill exchange finalize said",
        "init exit sum finalize said",
    ],
)
@pytest.mark.of_each_family
@each_library
def test_a_faulty_program_ends_as_it_does_alone(name: str, steps: str) -> None:
    alone, with_it = faults(name, False, 2, steps), faults(name, True, 2, steps)
    assert with_it.returncode not in (0, HANGS), with_it.stderr
    # A rank that is gone may be found by the others sooner than by the launcher, whose code then is theirs.
    gone = any(step in steps for step in ("exit", "abort", "kill"))
    assert gone or with_it.returncode == alone.returncode, with_it.stderr
    assert "came through" not in with_it.stdout
    assert "kill" in steps or with_it.stdout == ""  # Hydra tells there of a rank that was killed
    if "not allowed" in alone.stderr or "disallowed" in alone.stderr:
        function = re.search(r"The (\w+)\(\) function was called", alone.stderr)
        assert function is None or f"The {function[1]}() function was called" in with_it.stderr


def without_cleanup(node: str, steps: str) -> subprocess.CompletedProcess[str]:
    """Four ranks on nodes that are named so, whose launcher leaves the others alone when one was killed. Hydra, told
    so, tells them by SIGUSR1, which ends what does not ignore it; and it loses what ranks said last before one calls
    MPI_Abort, so that goes to files."""
    program, library = have("mpich", "c_faults.c")
    launcher, *others = program.start(4, *steps.split())
    place = others.index(str(program.path))
    with tempfile.TemporaryDirectory() as folder:
        shell = f'rank="$PMI_RANK"; export SENNIT_NODE={node}; trap "" USR1; "$@" 2> "{folder}/$rank"; exit $?'
        command = [launcher, "-disable-auto-cleanup", *others[:place], "sh", "-c", shell, "sh", *others[place:]]
        done = program.run(4, library, {"SENNIT_TIMEOUT": "10"}, command, guarded=False)
        done.stderr += "".join(file.read_text(errors="replace") for file in sorted(Path(folder).iterdir()))
    return done


KILLS = (
    "init sum kill sum finalize",
    "init return sum kill sum finalize",
    "init kill sum finalize",
    "init begun kill begun finalize",
    "init kill begun finalize",
    "init return begun kill begun finalize",
    "init exchange kill exchange finalize",
    "init exchange kill await finalize",
    "init exchange kill finalize",
)


@pytest.mark.parametrize(
    ("node", "steps"),
    # Windows of GPU memory are for one node.
    [*itertools.product(("0", "$((rank / 2))"), KILLS), ("0", "init window kill fence finalize")],
)
def test_the_others_end_when_a_rank_was_killed(node: str, steps: str) -> None:
    """Where the launcher lets them live: in a collective of one node and of several, in a message, at a
    fence, and at the end."""
    done = without_cleanup(node, steps)
    assert done.returncode not in (0, HANGS), done.stderr
    # Where the MPI carries something, it may find it first.
    named = re.search(r"sennit error .*rank [023]: .*peer_lost: rank 1 died", done.stderr)
    assert named or node != "0" or "exchange" in steps, done.stderr


def test_who_has_an_error_ends_those_who_cannot_see_it() -> None:
    """The ranks of the other node wait in the MPI's own barrier; one run in five left them there."""
    for _ in range(10):
        done = without_cleanup("$((rank / 2))", "init begun kill begun finalize")
        assert done.returncode not in (0, HANGS), done.stderr


@pytest.mark.parametrize("what", ["differ", "roots sum", "types sum"])
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_ranks_that_give_other_counts_roots_or_types_end_at_once(name: str, what: str) -> None:
    done = faults_and_words(name, 3, f"init sum {what} finalize said")
    assert done.returncode not in (0, HANGS), done.stderr
    assert re.search(r"sennit error .*MPI_\w+ on MPI_COMM_WORLD: mismatch: rank 1 gives", done.stderr), done.stderr


@pytest.mark.parametrize(
    "where", ["reducing", "begun", "receiving", "sending", "host", "anybody", "several", "revoked"]
)
def test_those_that_a_rank_has_left_go_on(where: str) -> None:
    """With Open MPI's fault tolerance (ULFM)."""
    program, library = have("openmpi", "c_survivors.c")
    launcher, *others = program.start(4, where)
    start = [launcher, "--personality", "ompi", "--with-ft", "ulfm", *others]
    for drop_in_of in (None, library):
        done = program.run(4, drop_in_of, {"SENNIT_TIMEOUT": "10", "SENNIT_REPORT": "1"}, start)
        assert done.stdout == "all arrived\n", done.stdout + done.stderr[-4000:]
    for taken in ("allreduce .* two_shot", "isend .* direct copy"):  # it says so in MPI_Finalize
        assert re.search(taken, done.stderr), done.stderr


@each_library
def test_a_program_may_go_on_after_the_end(name: str) -> None:
    done = faults(name, True, 2, "init sum finalize finalized said")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("came through") == 2


def test_a_program_that_may_do_without_an_mpi_finds_none(tmp_path: Path) -> None:
    """It asks by weak references. A library that comes later finds functions that fail."""
    _, library = have("openmpi", "c_faults.c")
    source, program = Path(c_programs.HERE, "c_weak.c"), tmp_path / "weak"
    for options, output in (["-O2"], "no MPI\n"), (["-O2", "-Wl,-z,relro,-z,now"], "no MPI\n"):
        subprocess.run(["gcc", *options, str(source), "-o", str(program)], timeout=60, check=True)
        done = subprocess.run([program], env={"LD_PRELOAD": str(library)}, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


# ---- functions that the MPI lacks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("alone", "not there, not there, not there"),
        ("drop-in", "unsupported, unsupported, done"),
        ("disabled", "unsupported, unsupported, done"),
        ("half", "unsupported, unsupported, unsupported"),  # without the library behind the preloaded one
    ],
)
def test_a_function_that_the_library_lacks_is_unsupported(how: str, said: str, tmp_path: Path) -> None:
    program, library = have("debian-openmpi", "c_lacking.c")
    if how == "half":
        library = Path(shutil.copy(library, tmp_path))
    settings = {"SENNIT_DISABLE": "1"} if how == "disabled" else {}
    done = program.run(2, None if how == "alone" else library, settings, guarded=False)
    assert (done.returncode, done.stdout) == (0, f"{said}\n"), done.stderr
    assert ("the program runs without sennit" in done.stderr) == (how == "half"), done.stderr
