"""The house itself: versions agree, docs are up to date, the scripts count right. The file is long,
as each script has its tests here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import budgets
import generate_docs
import highlights
import kept_documents
import made_up_profiles
import pytest
import requirements
import run_tests
import tidy
from conftest import ROOT, data
from sennit import __version__
from sennit.model.result import PUT


def test_the_version_is_the_same_everywhere() -> None:
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"VERSION {__version__} " in cmake
    assert f'version = "{__version__}"' in pyproject
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_generated_parts_of_the_docs_are_up_to_date() -> None:
    outdated = generate_docs.stale(ROOT, generate_docs.generated(ROOT))
    assert not outdated, f"run make docs: {[str(file.relative_to(ROOT)) for file in outdated]}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with one result."""
    for folder in ("results/made-up", "docs/tune", "docs/use", "docs/develop", "schemas"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "results/made-up/put.json").write_text(json.dumps(data("result")))
    (tmp_path / "results/made-up/other.json").write_text('{"kind": "something else"}')
    (tmp_path / "docs/tune/bench-put.md").write_text(
        "a\n<!-- generated from results/: bench put -->\n<!-- end of bench put -->\nb\n"
    )
    (tmp_path / "results/made-up/some-name.json").write_text(json.dumps(data("collective")))
    (tmp_path / "docs/tune/bench-collectives.md").write_text(
        "<!-- generated from results/: bench collective -->\n<!-- end of bench collective -->\n"
    )
    (tmp_path / "results/made-up/mpi-gpu.json").write_text(json.dumps(data("mpi")))
    (tmp_path / "docs/develop/goals.md").write_text(
        "<!-- generated from results/: goals -->\n<!-- end of goals -->\n"
    )
    (tmp_path / "docs/tune/bench-partitioned.md").write_text(
        "<!-- generated from results/: bench partitioned -->\n<!-- end of bench partitioned -->\n"
        "<!-- generated from results/: partitioned claims -->\n<!-- end of partitioned claims -->\n"
    )
    (tmp_path / "results/made-up/partitioned.json").write_text(json.dumps(data("partitioned")))
    (tmp_path / "docs/tune/bench-patterns.md").write_text(
        "<!-- generated from results/: bench patterns -->\n<!-- end of bench patterns -->\n"
    )
    (tmp_path / "results/made-up/patterns.json").write_text(json.dumps(data("patterns")))
    (tmp_path / "docs/tune/bench-mpi.md").write_text(
        "<!-- generated from results/: bench mpi -->\n<!-- end of bench mpi -->\n"
    )
    (tmp_path / "results/made-up/training.json").write_text(json.dumps(data("training")))
    (tmp_path / "docs/tune/bench-training.md").write_text(
        "<!-- generated from results/: bench training -->\n<!-- end of bench training -->\n"
    )
    (tmp_path / "results/made-up/torch.json").write_text(json.dumps(data("torch")))
    (tmp_path / "docs/tune/bench-torch.md").write_text(
        "<!-- generated from results/: bench torch -->\n<!-- end of bench torch -->\n"
    )
    (tmp_path / "results/made-up/reproduction.json").write_text(json.dumps(data("reproduction")))
    (tmp_path / "results/made-up/paper.json").write_text(json.dumps(data("sim_paper")))
    (tmp_path / "docs/tune/reproduction.md").write_text(
        "<!-- generated from results/: reproduction -->\n<!-- end of reproduction -->\n"
        "<!-- generated from results/: sim paper -->\n<!-- end of sim paper -->\n"
    )
    (tmp_path / "docs/tune/beyond.md").write_text(
        "<!-- generated from results/: sim beyond -->\n<!-- end of sim beyond -->\n"
    )
    (tmp_path / "docs/tune/cost-models.md").write_text(
        "<!-- generated from results/: closed forms -->\n<!-- end of closed forms -->\n"
        "<!-- generated from results/: rings -->\n<!-- end of rings -->\n"
        "<!-- generated from results/: lines -->\n<!-- end of lines -->\n"
    )
    (tmp_path / "README.md").write_text("<!-- generated from results/: summary -->x<!-- end of summary -->")
    cases, gains = (json.loads((ROOT / f"results/map/{name}.json").read_text()) for name in ("cases", "gains"))
    (tmp_path / "results/made-up/cases.json").write_text(json.dumps(cases | {"rows": cases["rows"][:2]}))
    (tmp_path / "results/made-up/gains.json").write_text(json.dumps(gains | {"rows": gains["rows"][:2]}))
    (tmp_path / "docs/use/map.md").write_text(
        "<!-- generated from results/: map cases -->\n<!-- end of map cases -->\n"
        "<!-- generated from results/: map gains -->\n<!-- end of map gains -->\n"
    )
    (tmp_path / "docs/use/gains.md").write_text(
        "".join(
            f"<!-- generated from results/: {name} highlights -->x<!-- end of {name} highlights -->\n"
            for name in ("collective", "torch", "mpi", "put")
        )
    )
    for made, name in ((made_up_profiles.server, "server"), (made_up_profiles.horovod, "horovod")):
        (tmp_path / f"results/made-up/profile-{name}.json").write_text(json.dumps(made()))
    for page, names in (
        ("metrics", ["profiles"]),
        ("report", ["profile page"]),
        ("profile", ["profile", "recording cost", "profile load"]),
    ):
        (tmp_path / f"docs/use/{page}.md").write_text(
            "".join(f"<!-- generated from results/: {name} -->x<!-- end of {name} -->\n" for name in names)
        )
    return tmp_path


def test_a_result_becomes_tables_and_figures(tree: Path) -> None:
    files = generate_docs.generated(tree)
    page = files[tree / "docs/tune/bench-put.md"]
    assert page.startswith("a\n<!-- generated")
    assert page.endswith("<!-- end of bench put -->\nb\n")
    assert "## made-up-put" in page
    assert "| 256 MiB | 622.0 ± 1.6 |" in page.replace("622 ± 2", "622.0 ± 1.6")
    for name in re.findall(r"\(\.\./figures/([^)]*)\)", page):
        assert (tree / "docs/figures" / name) in files
    gains = files[tree / "docs/use/gains.md"]
    assert "256 MiB" in gains
    assert "| × NCCL, 4 GPUs | 1 KiB |" in gains
    assert "| × NCCL, PyTorch on 2 GPUs | 1 KiB |" in gains
    collectives = files[tree / "docs/tune/bench-collectives.md"]
    assert "| 1 MiB | 14.2 ± 0.1 | 73.8 | 111 | 28 | two_shot_packets 128x256 |" in collectives
    assert "| 8 B | 12.0 ± 0.2 | 24.0 ± 0.3 | 2.000 ± 0.005 |" in files[tree / "docs/tune/bench-mpi.md"]
    measured = files[tree / "docs/tune/bench-partitioned.md"]
    assert (
        "| it peaks at medium sizes | does not hold: 6.66 GB/s at 16 MiB of 64 KiB to 16 MiB (16 partitions,"
        in measured
    )
    exchanges = files[tree / "docs/tune/bench-patterns.md"]
    assert "| 60 % (59 to 61) | 64.8 % |" in exchanges
    assert "| the same | – | – | 30 % (26 to 35) | 60.3 % |" in exchanges
    torch = files[tree / "docs/tune/bench-torch.md"]
    assert "| 1 KiB | 7.50 ± 0.10 | 3.30 ± 0.02 | 2.27 ± 0.03 | 44 % |" in torch
    report = files[tree / "docs/use/report.md"]
    assert "**Queues.** Lengths are found from the sends and receives of all ranks" in report
    for name in re.findall(r"\(\.\./figures/([^)]*)\)", report):
        assert (tree / "docs/figures" / name) in files
    assert "71 % of run time went into communication" in files[tree / "docs/use/profile.md"]
    assert "**made-up-profile-horovod.** 71 %" in files[tree / "docs/use/metrics.md"]
    assert re.findall("^## (.*)$", page, re.MULTILINE) == ["made-up-put"]
    assert re.findall("^## (.*)$", collectives, re.MULTILINE) == ["made-up-some-name"]
    page = files[tree / "docs/use/map.md"]
    assert "22 problems: by swaps alone a map costs more than Scotch's in 0 of them." in page
    assert "| dgx-1v | `2d-stencil:4x2,w=3` |" in page


def torch_table(tree: Path) -> list[str]:
    text = highlights.torch_highlights(tree)
    return [line for line in text.splitlines() if line.startswith(("| allreduce", "| × NCCL"))]


def test_gains_shows_pytorchs_allreduce_in_graphs_and_queued(tree: Path) -> None:
    head = "| × NCCL, PyTorch on 2 GPUs | 1 KiB | 1 MiB | 64 MiB |"  # what was measured
    graph = "| allreduce, in a CUDA graph | 2.27 × (3.30 µs) | 1.67 × (10.2 µs) | 1.00 × (270 µs) |"
    assert torch_table(tree) == [head, graph]
    document = data("torch")
    for row in document["rows"]:
        row["way"] = {"graph": "queued", "queued": "graph"}.get(row["way"], row["way"])
    (tree / "results/made-up/torch.json").write_text(json.dumps(document))
    assert torch_table(tree) == [head, graph.replace("in a CUDA graph", "queued behind other work")]


def test_gains_shows_pytorch_on_the_most_gpus(tree: Path) -> None:
    document = data("torch")
    for row in document["rows"]:
        row |= {"ranks": 8, "median_us": row["median_us"] * (2 if row["variant"] == "nccl" else 1)}
    for name in ("a-larger", "z-larger"):  # before and behind that of two
        folder = tree / "results" / name
        folder.mkdir()
        (folder / "torch.json").write_text(json.dumps(document))
        assert torch_table(tree)[0].startswith("| × NCCL, PyTorch on 8 GPUs |")
        assert torch_table(tree)[1].startswith("| allreduce, in a CUDA graph | 4.55 × (3.30 µs) |")
        (folder / "torch.json").rename(folder / "torch-trial.json")
        assert torch_table(tree)[0].startswith("| × NCCL, PyTorch on 2 GPUs |")
    for kept in tree.glob("results/*/torch.json"):
        kept.unlink()
    assert highlights.torch_highlights(tree) == kept_documents.NONE_YET


def test_gains_shows_mpi_by_hand_of_the_most_ranks_and_the_fastest_between_nodes(tree: Path) -> None:
    document = data("mpi")
    own = {
        "operation": "allreduce",
        "variant": "sennit",
        "buffers": "gpu",
        "bytes": 1 << 20,
        "ranks": 4,
        "median_us": 25,
    }
    hand = own | {"variant": "by_hand", "median_us": 250}
    between = [own | {"nodes": 2, "median_us": 100}, hand | {"nodes": 2}]
    slow = [own | {"nodes": 2, "median_us": 200}, hand | {"nodes": 2}]
    in_place = [own | {"in_place": True}, hand | {"in_place": True}]
    folder = tree / "results/larger"
    folder.mkdir()
    for name, rows in (("a", [own, hand, *in_place]), ("b", slow), ("c", between), ("d", slow)):
        document["rows"] = rows
        (folder / f"mpi-{name}.json").write_text(json.dumps(document))
    lines = [line for line in highlights.mpi_highlights(tree).splitlines() if line.startswith("| allreduce")]
    assert lines == [
        "| allreduce, 4 ranks | Open MPI v5.0.11 | – | – | 10.0 × (25.0 µs) | – | – | – |",
        "| allreduce, 4 ranks on 2 nodes | Open MPI v5.0.11 | – | – | 2.50 × (100 µs) | – | – | – |",
    ]


def test_readme_shows_a_line_for_each_kind_of_program(tree: Path) -> None:
    document = data("torch")
    for row in document["rows"]:
        row["way"] = {"graph": "queued", "queued": "graph"}.get(row["way"], row["way"])
    (tree / "results/made-up/torch.json").write_text(json.dumps(document))
    lines = highlights.summary(tree, kept_documents.kept_results(tree, PUT)).splitlines()
    assert lines[0] == "| times as fast | as | 64 KiB | 1 MiB | 16 MiB | 64 MiB |"
    assert "| PyTorch: allreduce on 2 GPUs | NCCL | – | 1.67 × | – | 1.00 × |" in lines
    assert any(
        line.startswith("| MPI: message from GPU to GPU, 2 ranks | UCX with CUDA under the same MPI |")
        for line in lines
    )
    assert lines[-1].startswith("Measured 20")


def test_figures_that_nothing_generates_are_stale(tree: Path) -> None:
    files = generate_docs.generated(tree)
    for file, text in files.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert generate_docs.stale(tree, files) == []
    left = tree / "docs/figures/left.svg"
    left.touch()
    assert generate_docs.stale(tree, files) == [left]
    (tree / "results/made-up/put.json").unlink()
    assert tree / "docs/tune/bench-put.md" in generate_docs.stale(tree, generate_docs.generated(tree))


def test_missing_markers_are_named(tree: Path) -> None:
    (tree / "README.md").write_text("no markers")
    with pytest.raises(SystemExit, match="summary"):
        generate_docs.generated(tree)


def test_the_requirements_are_those_of_the_package() -> None:
    listed = requirements.requirements(ROOT / "pyproject.toml", ["dev"])
    assert any(line.startswith("typer>=") for line in listed)
    assert "clang-format==14.0.6" in listed
    with pytest.raises(KeyError):
        requirements.requirements(ROOT / "pyproject.toml", ["nothing"])


JUNIT = """<testsuite tests="4"><testcase classname="a" name="good" status="run"/>
<testcase classname="a" name="bad" status="fail"><failure message=""/></testcase>
<testcase classname="a" name="broken"><error/></testcase>
<testcase classname="a" name="left" status="run" result="skipped"><skipped message="/a/b.cc:33&#x0A;no such&#x0A;thing
here&#x0A;"/></testcase>
<testcase classname="b" name="py"><skipped type="pytest.skip" message="no dpkg">b.py:1: no dpkg</skipped></testcase>
<testcase classname="c" name="mute" status="notrun"><skipped message=""/></testcase></testsuite>"""


def test_the_summary_counts_what_ran(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(JUNIT)
    outcome = run_tests.read_junit("stage", report)
    assert (outcome.passed, outcome.failures) == (1, ["a.bad", "a.broken"])
    assert outcome.skips == ["left: no such thing here", "py: no dpkg", "mute: it gives no reason"]
    assert run_tests.summary([outcome], 61) == [
        "failed in stage: a.bad",
        "failed in stage: a.broken",
        "make test: 1 passed, 2 failed, 3 skipped in 1 min 1 s",
    ]


def test_of_a_failing_program_what_passed_is_not_shown() -> None:
    good = "[ RUN      ] A.good/0\n[       OK ] A.good/0 (0 ms)\n"
    bad = "[ RUN      ] A.bad\na.cc:3: Failure\n[  FAILED  ] A.bad (1 ms)\n"
    assert run_tests.failing(good + bad + good) == bad


def test_a_stage_that_ran_nothing_failed(tmp_path: Path) -> None:
    assert run_tests.read_junit("stage", tmp_path / "none.xml").failures == ["none: no test ran"]
    (tmp_path / "empty.xml").write_text("<testsuite/>")
    assert run_tests.read_junit("stage", tmp_path / "empty.xml").failures == ["empty: no test ran"]


def test_a_stage_may_take_half_more_than_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "BUDGETS", {"lint": 100})
    assert budgets.over("lint", 150) == ""
    told = "lint: 151 s of CPU, more than half over its budget of 100 s (scripts/budgets.py)"
    assert budgets.over("lint", 151) == told
    clock = iter([0.0, 151.0, 0.0, 151.0])
    monkeypatch.setattr(run_tests, "cpu_seconds", lambda: next(clock))
    for ci, failures in (("true", [told]), ("", [])):
        monkeypatch.setenv("CI", ci)
        assert run_tests.timed(lambda: run_tests.Outcome("lint", 1), "lint", budgeted=True).failures == failures


def test_a_stage_beside_others_that_raises_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    def stage() -> run_tests.Outcome:
        print("begun")
        raise OSError("no clang-tidy")

    outcome = run_tests.beside(stage, "lint")()
    assert (outcome.stage, outcome.failures) == ("lint", ["OSError: no clang-tidy"])
    said = capfd.readouterr()
    assert said.out == "begun\n"
    assert "in stage\n" in said.err


def test_every_stage_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []

    def timed(work: Callable[[], run_tests.Outcome], _title: str, budgeted: bool) -> run_tests.Outcome:
        assert budgeted
        return work()

    def summary(outcomes: list[run_tests.Outcome], *_: object) -> list[str]:
        stages.extend(outcome.stage for outcome in outcomes)
        return []

    monkeypatch.setattr(run_tests, "timed", timed)
    monkeypatch.setattr(run_tests, "summary", summary)
    monkeypatch.setattr(run_tests, "gpus", lambda: 0)
    monkeypatch.setattr(run_tests, "linting", lambda: run_tests.Outcome("lint"))
    monkeypatch.setattr(run_tests, "build", lambda preset, *_: run_tests.Outcome(f"{preset} build"))
    monkeypatch.setattr(run_tests, "cpp", lambda preset, *_: run_tests.Outcome(preset))
    monkeypatch.setattr(run_tests, "python", lambda stage, *_: run_tests.Outcome(stage))
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert run_tests.main() == 0
    assert stages == list(budgets.BUDGETS)


def test_the_stamp_of_a_source_follows_its_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    source, header = tmp_path / "src/a.cc", tmp_path / "src/room/b.h"
    header.parent.mkdir(parents=True)
    source.write_text('#include "room/b.h"\n#include <vector>\n')
    header.write_text('#include "b.h"\nint b;\n')
    assert tidy.closure(source, [tmp_path / "src"]) == [source, header]
    before = tidy.stamp([source], ["-DA"], "checks")
    assert tidy.stamp([source], ["-DA"], "checks") == before
    header.write_text("int c;\n")
    after = tidy.stamp([source], ["-DA"], "checks")
    assert after != before
    assert len({after, tidy.stamp([source], ["-DA"], "other checks"), tidy.stamp([source], ["-DB"], "checks")}) == 3


def test_clang_tidy_reads_whole_rooms(tmp_path: Path) -> None:
    sizes = {"a/1.cc": 9, "a/2.cc": tidy.UNIT_BYTES, "b/1.cc": 9, "c/1.cc": 9}
    files = [tmp_path / name for name in sizes]
    for file, size in zip(files, sizes.values(), strict=True):
        file.parent.mkdir(exist_ok=True)
        file.write_text("int main() {}".ljust(size))
    assert tidy.units(reversed(files)) == [files[:2], files[2:]]
    text = tidy.text_of(files[2:])
    assert text.count("#define main main_0\n") == text.count("#define main main_1\n") == 1
    assert text.count("#undef main\n") == text.count("#include") == 2


def test_clang_tidy_is_given_what_all_sources_need() -> None:
    commands = ["c++ -Ia -isystem b -DC=1 -Dall_EXPORTS -O3 -std=c++20 -c x.cc", "c++ -Ia -Id -c y.cc"]
    flags = tidy.flags_of([{"command": command} for command in commands])
    assert flags[:5] == ["-Ia", "-isystemb", "-DC=1", "-std=c++20", "-Id"]


def test_make_names_its_targets() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "check", "test", "lint", "gpu-test", "build", "format", "docs", "clean"):
        assert f"make {target} " in shown


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="not a Debian system")
def test_a_user_without_root_is_given_the_line_to_run(tmp_path: Path) -> None:
    for name in ("scripts/setup", "scripts/requirements.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    # EUID cannot be set, so the condition is what a user who is not root meets; the package exists nowhere.
    setup = tmp_path / "scripts/setup"
    setup.write_text(setup.read_text().replace("((EUID == 0))", "false"))
    (tmp_path / "scripts/packages.txt").write_text("# comment\nbash\nno-such-package-anywhere\n")
    done = subprocess.run([str(setup)], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "sudo apt-get install -y no-such-package-anywhere\n" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_every_block_program_is_compiled_for_gpus_once() -> None:
    programs: list[str] = []
    for header in (ROOT / "src").glob("*/*.h"):
        text = header.read_text(encoding="utf-8")
        for name in re.findall(r"^struct (\w+) \{\n  static constexpr const char\* kName = ", text, re.MULTILINE):
            aliases = re.findall(rf"^using (\w+) = {name}<", text, re.MULTILINE)
            programs += [f"{header.parent.name}::{each}" for each in aliases or [name]]
    compiled = [
        each
        for source in (ROOT / "src" / "cuda").glob("*.cu")
        for each in re.findall(r"kernel_of<([\w:]+)>\(\)", source.read_text(encoding="utf-8"))
    ]
    assert len(programs) > 30
    assert sorted(compiled) == sorted(programs)
