"""`sennit bench mpi`: what it starts, with what, what it shows, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Programs, check_snapshot, data, shown
from sennit.baselines import ucx
from sennit.compare.groups import groups, ratio
from sennit.model.result import Result
from sennit.programs import launcher, preloading
from sennit.programs.problem import Problem
from sennit.verbs import mpi, recording
from sennit.views.mpi import sentences
from sennit.views.sections import body_markdown, print_result

OPENMPI = "mpirun (Open MPI) 5.0.11"

# ---- tables -------------------------------------------------------------------------------------------------------


def result(**changes: Any) -> Result:
    return Result.model_validate(data("mpi") | changes)


def test_the_tables() -> None:
    check_snapshot("mpi.txt", shown(lambda console: print_result(result(), console)))
    check_snapshot("mpi.md", body_markdown(result()))


def test_what_took_turns_is_compared_by_its_turns_and_other_jobs_by_their_times() -> None:
    group = groups(result())[0]
    assert str(group.ratio(8, "by_hand")) == "2.000 ± 0.005"
    assert str(group.ratio(8, "ucx")) == "1.17 ± 0.03"
    assert ratio(group.row(8), None) is None


def test_the_cost_on_host_buffers_is_that_of_the_size_where_it_may_be_most() -> None:
    group = next(group for group in groups(result()) if group.first.buffers == "host")
    assert sentences(group) == [
        "Before the MPI sennit costs 0.20 % of a call of 8 B (between 0.05 and 0.40 %), less at other sizes."
    ]


def test_without_sennit_there_are_times_alone() -> None:
    document = data("mpi")
    document["rows"] = [row for row in document["rows"] if row["variant"] != "sennit"]
    text = body_markdown(Result.model_validate(document))
    assert "| size | by hand µs | UCX µs |" in text
    assert "× by hand" not in text
    assert "Nothing was measured." in body_markdown(result(rows=[]))


def test_a_table_names_the_benchmark_of_osu() -> None:
    document = data("mpi")
    rows = [row | {"osu": f"osu_{row['operation']}"} for row in document["rows"] if row["operation"] == "latency"]
    document["rows"] = [row | {"buffers": "managed"} for row in rows]
    assert "**Latency: managed buffers, 2 ranks (osu_latency).**" in body_markdown(Result.model_validate(document))


# ---- launchers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said", "kind"),
    [
        ("mpirun", OPENMPI, "openmpi"),
        ("mpiexec", "HYDRA build details:\n", "hydra"),
        ("prterun", "", "openmpi"),
        ("srun", "slurm 24.05", "other"),
    ],
)
def test_a_launcher_is_known_by_its_name_or_version(name: str, said: str, kind: str) -> None:
    assert launcher.kind_of(name, said) == kind


def test_a_launcher_gets_no_more_options_than_it_needs(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "mpirun"
    ours = launcher.Launcher(program, launcher.OPENMPI, ("--bind-to", "none"))
    assert ours.command(2, ["a"], {}, root=False, cores=4) == [str(program), "--bind-to", "none", "-n", "2", "a"]
    whole = ours.command(4, ["a", "b"], {"LD_PRELOAD": "s.so"}, root=True, cores=2)
    assert whole[1:] == [
        "-x", "LD_PRELOAD", "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n", "4", "a",
        "b",
    ]  # fmt: skip
    theirs = launcher.Launcher(program, launcher.HYDRA)
    assert theirs.command(4, ["a"], {"LD_PRELOAD": "s.so"}, root=True, cores=2) == [str(program), "-n", "4", "a"]


def test_the_library_is_the_one_beside_the_launcher(tmp_path: Path) -> None:
    ours = launcher.Launcher(tmp_path / "bin" / "mpirun", launcher.OPENMPI)
    assert ours.library() is None
    assert ours.environment({"A": "1"}) == {"A": "1"}
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmpi.so.40").touch()
    assert ours.library() == tmp_path / "lib" / "libmpi.so.40"
    told = ours.environment({"PMIX_PREFIX": "/elsewhere"})
    assert told == {"PMIX_PREFIX": "/elsewhere", "OPAL_PREFIX": str(tmp_path), "PRTE_PREFIX": str(tmp_path)}


def test_gpus_are_counted_as_cuda_would(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert launcher.gpus({}, tmp_path) == 2
    assert launcher.gpus({"CUDA_VISIBLE_DEVICES": "3"}, tmp_path) == 1
    assert launcher.gpus({"CUDA_VISIBLE_DEVICES": ""}, tmp_path) == 0


def test_a_launcher_that_is_not_there_is_named() -> None:
    with pytest.raises(Problem, match="there is no launcher no-such-mpirun") as caught:
        launcher.find("no-such-mpirun --bind-to core")
    assert caught.value.exit_code == 3


# ---- UCX ----------------------------------------------------------------------------------------------------------


def test_ucx_is_found_in_its_folder_or_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"holds no libucp\.so\.0"):
        ucx.find(tmp_path)
    (tmp_path / "libucp.so.0").touch()
    found = ucx.find(tmp_path)
    assert isinstance(found, ucx.Ucx)
    assert found.folder == tmp_path
    told = found.environment(launcher.HYDRA, {"LD_LIBRARY_PATH": "/a", "LD_PRELOAD": "s.so", "B": "1"})
    assert told == {
        "LD_LIBRARY_PATH": f"{tmp_path}:/a", "B": "1", "MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_NOLOCAL": "1",
    }  # fmt: skip


def test_where_ucx_cannot_be_had_it_is_said_why(tmp_path: Path) -> None:
    ours = launcher.Launcher(tmp_path / "mpirun", launcher.OPENMPI)
    library = tmp_path / "libmpi.so.40"
    library.write_bytes(b"none")
    assert "no GPUs" in ucx.cannot(ours, library, "host")
    assert "was built without UCX" in ucx.cannot(ours, library, "cuda")
    library.write_bytes(b"..libucp.so.0..")
    assert ucx.cannot(ours, library, "cuda") == ""
    assert "srun" in ucx.cannot(launcher.Launcher(tmp_path / "srun", launcher.OTHER), library, "cuda")


def job(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_an_operation_that_crashes_leaves_the_others(tmp_path: Path) -> None:
    document = {"rows": [{"operation": "latency", "variant": "mpi"}, {"operation": "latency", "variant": "sennit"}]}
    told: list[str] = []
    rows, warnings = ucx.measure(
        {
            "latency": job(f"print('''{json.dumps(document)}''')"),
            "allreduce": job("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
            "bcast": job("""import sys; sys.stderr.write('{"error": {"what": "told"}}'); sys.exit(3)"""),
            "gather": job("import sys; sys.exit(7)"),
            "scatter": job("print('no document')"),
            "reduce": job("import time; time.sleep(60)"),
            "alltoall": [str(tmp_path / "none")],
        },
        dict(os.environ),
        3,
        told.append,
    )
    assert rows == [{"operation": "latency", "variant": "ucx"}]
    assert told == ["latency", "allreduce", "bcast", "gather", "scatter", "reduce", "alltoall"]
    for (operation, why), warning in zip(
        [
            ("allreduce", "this MPI crashes on GPU buffers"), ("bcast", "told"), ("gather", "exit code 7"),
            ("scatter", "no document"), ("reduce", "did not end within 3 s"), ("alltoall", "does not start"),
        ],
        warnings,
        strict=True,
    ):  # fmt: skip
        assert warning.startswith(f"ucx is left out of {operation}: ")
        assert why in warning


# ---- the verb -----------------------------------------------------------------------------------------------------

LAUNCHER = """#!/bin/sh
if [ "$1" = --version ]; then echo "{said}"; exit; fi
echo "$LD_PRELOAD|$*" >> "{folder}/started"
while [ "${{1##*/}}" != sennit-bench-mpi ]; do shift; done
exec env -u LD_PRELOAD "$@"
"""


class Tree(Programs):
    """A place where sennit and an MPI are installed: libraries that the loader can load, and that do nothing."""

    def __init__(self, root: Path, said: str = OPENMPI) -> None:
        super().__init__(root / "bin")
        (root / "lib").mkdir()
        self.folder.mkdir()
        for name in (preloading.PRELOADED, *preloading.DROP_INS, "libmpi.so.40"):
            (root / "lib" / name).symlink_to(next(Path("/lib").glob("*/libm.so.6")))
        start = self.folder / "mpirun"
        start.write_text(LAUNCHER.format(said=said, folder=self.folder))
        start.chmod(0o755)
        self.add(mpi.PROGRAM, data("mpi"))

    def bench(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder}:{os.environ['PATH']}"
        return self.sennit("bench", "mpi", *arguments, **{"PATH": path, "CUDA_VISIBLE_DEVICES": ""} | more)

    def started(self) -> list[str]:
        """LD_PRELOAD and the launcher's arguments, call by call."""
        return (self.folder / "started").read_text().splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_it_passes_its_options_on_and_writes_every_format(tree: Tree) -> None:
    options = ["--operations", "latency,allreduce", "--sizes", "8,1M", "--buffers", "gpu,host", "--window", "1,64"]
    options += [
        "--type",
        "int32",
        "--op",
        "max",
        "--bind",
        "none",
        "--ranks-per-node",
        "1",
        "--seconds",
        "0.5",
        "--in-place",
    ]
    done = tree.bench(*options, "--vs", "by_hand", "--direct", "--json", "r.json", "--markdown", "r.md")
    assert done.returncode == 0, done.stderr
    library = str(tree.folder.parent / "lib" / "libmpi.so.40")
    (call,) = tree.calls(mpi.PROGRAM)
    assert call[:2] == ["--library", library]
    assert sorted(call[2:]) == sorted([*options, "--vs", "by_hand", "--direct", "--progress"])
    assert json.loads((tree.folder / "r.json").read_text()) == data("mpi")
    assert (tree.folder / "r.md").stat().st_size > 0
    assert "Latency: GPU buffers, 2 ranks" in done.stdout
    preloaded, _, arguments = tree.started()[0].partition("|")
    assert preloaded.endswith((preloading.PRELOADED, "libm.so.6"))
    assert "-x LD_PRELOAD" in arguments
    assert f" -n 2 {tree.folder}/{mpi.PROGRAM} --library" in arguments


def test_ranks_are_as_many_as_gpus(tree: Tree) -> None:
    assert tree.bench("--json", "-", CUDA_VISIBLE_DEVICES="0,1,2,3").returncode == 0
    assert tree.bench("--json", "-", "-n", "3", CUDA_VISIBLE_DEVICES="0,1").returncode == 0
    assert [f" -n {ranks} " in line for ranks, line in zip((4, 3), tree.started(), strict=True)] == [True, True]


def test_the_document_alone_goes_to_a_pipe_and_can_be_shown_again(tree: Tree) -> None:
    done = tree.bench("--json", "-")
    assert json.loads(done.stdout) == data("mpi")
    (tree.folder / "kept.json").write_text(done.stdout)
    assert tree.sennit("bench", "show", "kept.json").stdout == tree.bench().stdout


def test_two_results_are_compared(tree: Tree) -> None:
    (tree.folder / "a.json").write_text(json.dumps(data("mpi")))
    done = tree.sennit("compare", "a.json", "a.json")
    assert done.returncode == 0, done.stderr
    assert f"{len(data('mpi')['rows'])} rows: " in done.stdout
    assert "Allreduce: float32 sum, GPU buffers, in place, 2 ranks" in done.stdout


def test_ucx_without_gpus_is_a_warning(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "libucp.so.0").touch()
    tree.add(mpi.PROGRAM, data("mpi") | {"settings": {"executor": "host"}, "warnings": []})
    done = tree.bench("--vs", "by_hand,ucx", "--ucx", str(tmp_path), "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "ucx is left out: there are no GPUs here" in json.loads(done.stdout)["warnings"][0]
    assert tree.calls(mpi.PROGRAM)[0][-3:] == ["--vs", "by_hand", "--progress"]


def test_ucx_is_a_job_of_its_own_for_each_operation(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "libucp.so.0").touch()
    library = tmp_path / "libmpi.so.40"
    library.write_bytes(b"libucp.so.0")
    rows = [row for row in data("mpi")["rows"] if row["variant"] != "ucx"]
    tree.add(mpi.PROGRAM, data("mpi") | {"rows": rows, "warnings": []})
    asked = ["--operations", "latency,bandwidth,allreduce", "--buffers", "gpu,host", "--sizes", "8"]
    done = tree.bench("--vs", "ucx", "--ucx", str(tmp_path), "--library", str(library), *asked, "--json", "-")
    assert done.returncode == 0, done.stderr
    first, *others = tree.calls(mpi.PROGRAM)
    assert sorted(first[2:]) == sorted([*asked, "--vs", "none", "--progress"])
    names = ["latency", "bandwidth", "allreduce"]  # with GPU buffers
    assert [call[2:] for call in others] == [
        ["--sizes", "8", "--operations", name, "--vs", "mpi", "--direct", "--buffers", "gpu"] for name in names
    ]
    document = json.loads(done.stdout)
    # What the made-up program says is each time the same: its two rows of mpi.
    assert [row["variant"] for row in document["rows"][len(rows) :]] == ["ucx"] * 9
    assert document["settings"]["ucx"]["OMPI_MCA_pml"] == "ucx"
    assert document["settings"]["ucx"]["folder"] == f"{tmp_path.parent.name}/{tmp_path.name}"
    assert not tree.started()[1].partition("|")[0]


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (["--vs", "nccl"], 2, "there is no peer 'nccl'"),
        (["--launcher", "no-such-mpirun"], 3, "there is no launcher no-such-mpirun"),
        (["--ucx", "/nonexistent"], 2, "holds no libucp.so.0"),
        (["-n", "1"], 2, "--ranks"),
        (["--bind", "all"], 2, "--bind"),
    ],
)
def test_what_makes_no_sense_is_refused(tree: Tree, arguments: list[str], code: int, what: str) -> None:
    done = tree.bench(*arguments)
    assert done.returncode == code
    assert what in done.stderr
    assert tree.calls(mpi.PROGRAM) == []


def test_an_error_of_the_ranks_is_the_users(tree: Tree) -> None:
    error = {"code": "corrupt", "what": "byte 8 of message 0 is wrong", "where": "allreduce by sennit: rank 1",
             "remedy": "Report it"}  # fmt: skip
    tree.add(mpi.PROGRAM, stderr=json.dumps({"error": error}) + "\n", code=1)
    done = tree.bench()
    assert done.returncode == 1
    assert "allreduce by sennit: rank 1: byte 8 of message 0 is wrong" in done.stderr


def test_missing_libraries_are_named(tree: Tree) -> None:
    (tree.folder.parent / "lib" / preloading.PRELOADED).unlink()
    done = tree.bench()
    assert done.returncode == 3
    assert f"the library {preloading.PRELOADED} is not in" in done.stderr


# ---- what recording costs ----------------------------------------------------------------------------------------


def test_rows_of_another_job_stand_beside() -> None:
    document: Any = {"rows": [{"variant": "mpi", "median_us": 1.0}], "warnings": ["a core each"]}
    rows = [{"variant": "recorded", "median_us": 1.5}, {"variant": "mpi", "median_us": 1.1}]
    beside = {"rows": rows, "warnings": ["a core each", "noise"]}
    recording.add(document, beside, "recorded", "mpip")
    assert document["rows"][1:] == [{"variant": "mpip", "median_us": 1.5}]
    assert document["warnings"] == ["a core each", "noise"]
    recording.add(document, {"rows": rows[1:], "warnings": []}, "recorded", "mpip")
    assert len(document["rows"]) == 2
    assert document["warnings"][-1] == "Nothing was measured of mpip: no call of MPI reached its library first."


def test_a_library_of_mpip_has_to_be_there(programs: Programs) -> None:
    done = programs.sennit("bench", "profile", "--mpip", "/nowhere/libmpiP.so")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no /nowhere/libmpiP.so" in done.stderr
