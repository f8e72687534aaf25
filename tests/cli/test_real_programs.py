"""The command line over the programs of this tree, without a GPU: what they print is what the views read.
The file is long: every verb meets its program here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import forked
import made_up_profiles
import pytest
import typer
from conftest import ROOT
from sennit import __main__
from sennit.operations import VERBS, operation_of
from sennit.verbs import bench, collective, explain, mpi, sim

FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="SENNIT_TEST_PROGRAMS names no folder; make test sets it")

ENDS = ("gpu0", "gpu1", "host0")

# Options of sennit-bench-put that its verb does not offer: one that it always gives, two that SENNIT_MACHINE and
# SENNIT_SPLIT stand for.
NOT_OFFERED = {"--progress", "--machine", "--split"}


def options_of(verb: str, app: typer.Typer = bench.app) -> set[str]:
    """What `sennit bench VERB` offers, or a verb of another app."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return {name for option in group.commands[verb].params for name in option.opts} | {"--help"}


def options_of_program(name: str, *subcommand: str) -> set[str]:
    command = [str(Path(FOLDER) / name), *subcommand, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", done.stdout, re.MULTILINE))


def sennit(*arguments: str, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line on the host executor, with a cache of its own."""
    environment = os.environ | {
        "SENNIT_PROGRAMS": FOLDER,
        "SENNIT_EXECUTOR": "host",
        "SENNIT_CACHE": str(cache),
        "PYTHONPATH": str(ROOT / "python"),
    }
    return forked.sennit(*arguments, environment=environment | more, limit=300)


def document(*arguments: str, cache: Path, **more: str) -> Any:
    done = sennit(*arguments, cache=cache, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_doctor(tmp_path: Path) -> None:
    done = sennit("doctor", "--json", cache=tmp_path)
    assert done.returncode in (0, 3)
    assert json.loads(done.stdout)["checks"]
    assert sennit("doctor", cache=tmp_path).returncode == done.returncode


def test_topo_describes_this_machine_and_the_shipped_ones(tmp_path: Path) -> None:
    kinds = [device["kind"] for device in document("topo", "--json", cache=tmp_path)["devices"]]
    assert kinds.count("gpu") == 4
    names = [machine["name"] for machine in document("topo", "--list", "--json", cache=tmp_path)["machines"]]
    assert "hgx-h200-4" in names
    for name in names:
        assert sennit("topo", "--machine", name, cache=tmp_path).returncode == 0
    assert sennit("topo", "--machine", "no-such-machine", cache=tmp_path).returncode == 2


def test_topo_measures_and_remembers(tmp_path: Path) -> None:
    assert document("topo", "--measure", "--json", cache=tmp_path)["curves"]
    assert document("topo", "--json", cache=tmp_path)["curves"]


def test_nccl_reads_back_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "topo.xml"
    written = sennit("topo", "--machine", "hgx-h200-4", "--nccl", str(file), cache=tmp_path)
    assert written.returncode == 0, written.stderr
    again = document("topo", "--machine", str(file), "--json", cache=tmp_path)
    assert sum(device["kind"] == "gpu" for device in again["devices"]) == 4


def test_explain(tmp_path: Path) -> None:
    arguments = ["explain", "put", "1G", "--from", "gpu0", "--to", "gpu1", "--machine", "hgx-h200-4"]
    explanation = document(*arguments, "--json", cache=tmp_path)
    assert sum(share["bytes"] for share in explanation["shares"]) == 1 << 30
    assert "Predicted: " in sennit(*arguments, cache=tmp_path).stdout
    for verb in ("allreduce", "all-to-all"):
        arguments = ["explain", verb, "1M", "--machine", "hgx-h200-4"]
        plan = document(*arguments, "--json", cache=tmp_path)
        assert (plan["operation"], plan["ranks"], plan["source"]) == (verb.replace("-", "_"), 4, "simulator")
        assert "gpu3 of hgx-h200-4" in sennit(*arguments, cache=tmp_path).stdout
    protocols = {
        one["situation"]: one["protocol"]
        for one in document("explain", "send", "64K", "--json", cache=tmp_path)["situations"]
    }
    assert protocols["GPU to GPU, the receiver waits for it alone"] == "kernel_get"
    assert "rndv_pipeline" in sennit("explain", "send", "64K", cache=tmp_path).stdout
    wrong = sennit("explain", "put", "much", "--from", "gpu0", "--to", "gpu1", cache=tmp_path)
    assert wrong.returncode == 2
    assert "much" in wrong.stderr


def test_what_was_tuned_is_what_messages_follow(tmp_path: Path) -> None:
    ask = ["explain", "put", "8M", "--from", "gpu0", "--to", "gpu1", "--json"]
    two = {"SENNIT_HOST_DEVICES": "2"}  # as few pairs as there can be
    before = document(*ask, cache=tmp_path, **two)
    assert (before["decided_by"], len(before["shares"])) == ("caution", 1)
    assert sennit("tune", "--show", cache=tmp_path, **two).returncode == 1

    table = document("tune", "put", "--json", "-", cache=tmp_path, **two)
    pairs = {(entry["from"], entry["to"]) for entry in table["entries"]}
    assert pairs == {(one, other) for one in ENDS for other in ENDS if one != other}
    assert document("tune", "put", "--show", "--json", "-", cache=tmp_path, **two) == table

    after = document(*ask, cache=tmp_path, **two)
    assert after["decided_by"] == "table"
    (entry,) = (
        entry
        for entry in table["entries"]
        if (entry["from"], entry["to"], entry["both_ways"], entry["bytes"]) == ("gpu0", "gpu1", False, 8 << 20)
    )
    followed = {share["route"]: share["share"] for share in after["shares"]}
    assert followed == pytest.approx(entry["shares"], abs=1e-3)


def test_what_was_tuned_of_collectives_is_what_communicators_follow(tmp_path: Path) -> None:
    assert sennit("table", "check", cache=tmp_path).returncode == 1
    options = ["--operations", "allreduce", "--ranks", "2", "--sizes", "4K,64K"]
    kept = document("tune", "collectives", *options, "--json", "-", cache=tmp_path)
    assert (kept["used"], kept["left"]) == (True, 0)
    entries = [(entry.get("windows", False), entry["bytes"]) for entry in kept["table"]["entries"]]
    assert entries == [(windows, size << 10) for windows in (False, True) for size in (4, 64)]
    shown = document("tune", "collectives", "--show", "--json", "-", cache=tmp_path)
    assert shown["table"] == kept["table"]
    assert "Allreduce, sums of" in sennit("table", "show", cache=tmp_path).stdout
    assert sennit("table", "check", cache=tmp_path).returncode == 0
    assert "4 cases: " in sennit("table", "diff", kept["file"], kept["file"], cache=tmp_path).stdout
    scratch = sennit("table", "check", cache=tmp_path, SENNIT_SCRATCH="32M")
    assert scratch.returncode == 1
    assert "of scratch memory" in scratch.stdout
    # One that is named and is not there: tuning would never make it.
    gone = str(tmp_path / "gone.json")
    named = sennit("table", "check", cache=tmp_path, SENNIT_TABLE=gone)
    assert (named.returncode, named.stdout) == (2, "")
    assert f"{gone} does not exist\n  Check SENNIT_TABLE\n" in named.stderr
    given = sennit("table", "check", gone, cache=tmp_path, SENNIT_TABLE="other.json")
    assert (given.returncode, given.stdout) == (2, "")
    assert f"{gone} does not exist\n  Check the path\n" in given.stderr


def test_a_tuner_keeps_what_another_one_has_measured_meanwhile(tmp_path: Path) -> None:
    """Also of a case that it has read itself, at its start."""
    environment = os.environ | {"SENNIT_EXECUTOR": "host", "SENNIT_CACHE": str(tmp_path)}
    subprocess.run([str(Path(FOLDER) / "sennit-machine"), "measure"], env=environment, check=True, timeout=100,
                   capture_output=True)  # fmt: skip

    def tuner(operation: str, sizes: str) -> subprocess.Popen[bytes]:
        options = ["--ranks", "2", "--operations", operation, "--sizes", sizes, "--budget", "60"]
        return subprocess.Popen([str(Path(FOLDER) / "sennit-tune"), "collectives", *options], env=environment,
                                stdout=subprocess.DEVNULL, start_new_session=True)  # fmt: skip

    assert tuner("allreduce", "1K").wait(100) == 0
    (file,) = tmp_path.glob("*.collectives.json")

    def table() -> Any:
        return json.loads(file.read_text(encoding="utf-8"))

    going = tuner("allgather", "1K,4K")
    until = time.monotonic() + 60
    while len(table()["entries"]) < 3:
        assert time.monotonic() < until
        assert going.poll() is None
        time.sleep(0.005)
    os.killpg(going.pid, signal.SIGSTOP)
    changed = table()
    assert len(changed["entries"]) < 6, "it is done already"
    reduced, _ = (entry for entry in changed["entries"] if entry["operation"] == "allreduce")
    reduced |= {"nccl_us": 1.0, "nccl": "2.28.9"}
    draft = tmp_path / "draft"
    draft.write_text(json.dumps(changed), encoding="utf-8")
    draft.rename(file)
    os.killpg(going.pid, signal.SIGCONT)
    assert going.wait(100) == 0
    entries = table()["entries"]
    assert len(entries) == 6
    assert [entry["nccl_us"] for entry in entries if entry["operation"] == "allreduce"] == [1.0, 0.0]


def test_tune_offers_what_its_programs_do() -> None:
    offered = options_of("tune", __main__.command_line(["tune"]))
    assert options_of_program("sennit-tune", "collectives") - offered == {"--progress"}
    assert options_of_program("sennit-tune", "put") - offered == {"--progress"}


def test_explain_offers_what_its_program_does() -> None:
    asked = {"--operation", "--bytes"}  # the verb, and its argument
    assert options_of_program("sennit-explain", "collective") - options_of("allreduce", explain.app) == asked


def test_sim_offers_what_its_program_does() -> None:
    asked = {"--operation", "--bytes"}  # the verb, and its argument
    offered = options_of("allreduce", sim.app) | options_of("broadcast", sim.app)
    assert options_of_program("sennit-sim", "collective") - offered == asked
    assert options_of_program("sennit-sim", "replay") - options_of("replay", sim.app) == set()
    assert options_of_program("sennit-sim", "check") - options_of("check", __main__.command_line(["check"])) == {
        "--progress"
    }


def test_check_proves_every_algorithm(tmp_path: Path) -> None:
    found = document("check", "--ranks", "5", "--json", cache=tmp_path)
    assert found["findings"] == []
    assert found["operations"] == 11
    assert found["jobs"] > 1000


def test_sim_asks_other_machines(tmp_path: Path) -> None:
    timeline = tmp_path / "timeline.json"
    arguments = ["sim", "allreduce", "64M", "--machine", "mist"]
    found = document(*arguments, "--timeline", str(timeline), "--json", cache=tmp_path)
    # The papers' two points: within sockets first where links end at them (thesis, chapter 5), flat where every GPU
    # has a link to every other (IEEE Micro paper).
    assert found["plans"][0]["algorithm"] == "hierarchical"
    meshed = document("sim", "allreduce", "64M", "--machine", "cedar", "--json", cache=tmp_path)
    assert meshed["plans"][0]["algorithm"] == "two_shot"
    events = json.loads(timeline.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1, 2, 3}
    one = [*arguments, "--algorithm", "hierarchical", "--what-if"]
    for factor, most, least in (("1.0001x", 1.02, 0.98), ("1.1x", 1.02, 0.85), ("2x", 1.0, 0.5)):
        faster = document(*one, f"socket.bandwidth={factor}", "--json", cache=tmp_path)
        assert faster["before"]["us"] == pytest.approx(found["plans"][0]["us"], rel=1e-6)
        for plan in faster["plans"]:
            assert least <= plan["us"] / plan["before_us"] <= most, plan
    assert "times as fast" in sennit(*one, "socket.bandwidth=2x", cache=tmp_path).stdout
    for wrong, named in (
        (["--what-if", "rope.bandwidth=2x"], "rope"), (["--what-if", "nvlink.bandwidth=fast"], "positive number"),
        (["--costs", "patience_us=3"], "launch_us"), (["--algorithm", "magic"], "hierarchical"),
        (["--ranks", "5"], "Use 2 to 4"), (["--timeline", "/proc/t.json"], "/proc/t.json"),
    ):  # fmt: skip
        done = sennit(*arguments, *wrong, cache=tmp_path)
        assert done.returncode == 2, done.stderr
        assert named in done.stderr


def test_explain_and_sim_have_one_answer(tmp_path: Path) -> None:
    ask = ["allreduce", "4M", "--machine", "mist"]
    found = document("sim", *ask, "--json", cache=tmp_path)["plans"][0]
    explained = document("explain", *ask, "--json", cache=tmp_path)
    assert explained["source"] == "simulator"
    assert (explained["chosen"]["algorithm"], explained["chosen"]["blocks"]) == (found["algorithm"], found["blocks"])
    assert explained["candidates"][0]["simulated_us"] == pytest.approx(found["us"])
    simulated = [one["simulated_us"] for one in explained["candidates"] if one["simulated_us"] is not None]
    assert simulated == sorted(simulated)
    assert "simulated" in sennit("explain", *ask, cache=tmp_path).stdout


@pytest.mark.parametrize("arguments", [["tune"], ["tune", "collectives"], ["topo", "--measure"], ["bench", "put"]])
def test_what_cannot_be_kept_is_told_before_anything_is_measured(tmp_path: Path, arguments: list[str]) -> None:
    done = sennit(*arguments, cache=Path("/proc/nowhere"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "what is measured could not be kept: No such file or directory" in done.stderr
    assert "Set SENNIT_CACHE to a folder that you may write to" in done.stderr
    wrong = sennit(*arguments[:2], *(["--operations", "reduce-scater"] if arguments[0] == "tune" else ["--no"]),
                   cache=tmp_path)  # fmt: skip
    assert wrong.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_installed_is_built_by_make_build() -> None:
    build = Path(FOLDER).resolve().parent
    command = ["ninja", "-C", str(build), "-t", "commands", "programs"]
    commands = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    places = rf"(?:{re.escape(str(build))}/)?((?:bin|lib)/[\w-]+(?:\.so)?)"  # links to a library are made with it
    scripts = " ".join(script.read_text() for script in build.glob("src/**/cmake_install.cmake"))
    installed = set(re.findall(f'"{places}', scripts))
    assert {"bin/sennit-tune", "bin/sennit-bench-put", "lib/libsennit.so", "lib/libsennit-mpi.so"} <= installed
    assert installed <= set(re.findall(f"-o {places}", commands))


def test_sim_draws_and_sweeps(tmp_path: Path) -> None:
    picture, page, plot = tmp_path / "loads.svg", tmp_path / "page.html", tmp_path / "plot.svg"
    arguments = ["--algorithm", "hierarchical", "--blocks", "8"]
    files = ["--svg", str(picture), "--html", str(page)]
    done = sennit("sim", "allreduce", "1M", "--machine", "mist", *arguments, *files, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    # What the program calls its links is what the picture finds them by.
    assert re.search(r"load[1-5][^>]*><title>host0 – host1", picture.read_text(encoding="utf-8"))
    assert re.search(r"memory (<1|\d+) %", picture.read_text(encoding="utf-8").replace("&lt;", "<"))
    assert "host0&gt;host1 is full" in page.read_text(encoding="utf-8")
    machines = ["--machine", "mist", "--machine", "cedar"]
    found = document(
        "sim", "allreduce", "256K:1M", *machines, *arguments, "--svg", str(plot), "--json", cache=tmp_path
    )
    assert [(one["bytes"], one["machine"]) for one in found["simulations"]] == [
        (256 << 10, "mist"), (256 << 10, "cedar"), (1 << 20, "mist"), (1 << 20, "cedar"),
    ]  # fmt: skip
    assert plot.read_text(encoding="utf-8").count("<circle") == 4
    for wrong, named in (
        (["1M,2Q", "--machine", "mist"], "2Q on mist"), (["1M", *machines, "--machine", "mits"], "'mits'"),
    ):  # fmt: skip
        done = sennit("sim", "allreduce", *wrong, *arguments, cache=tmp_path)
        assert done.returncode == 2
        assert named in done.stderr


def test_a_schedule_is_written_proved_and_replayed(tmp_path: Path) -> None:
    for name in ("ring.json", "ring.bin"):
        file = tmp_path / name
        arguments = ["sim", "allreduce", "1M", "--machine", "mist", "--algorithm", "segmented_ring", "--blocks", "4"]
        assert sennit(*arguments, "--schedule", str(file), cache=tmp_path).returncode == 0
        assert document("check", str(file), "--json", cache=tmp_path)["findings"] == []
        found = document("sim", "replay", str(file), "--machine", "cedar", "--json", cache=tmp_path)
        assert found["us"] > 0
        assert (
            "ranks on cedar (simulated)"
            in sennit("sim", "replay", str(file), "--machine", "cedar", cache=tmp_path).stdout
        )
    broken = json.loads((tmp_path / "ring.json").read_text())
    strand = next(each for each in broken["strands"] if each["block"] >= 0)
    strand["steps"] = [step for step in strand["steps"] if step["act"] != "signal"]
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    done = sennit("check", str(tmp_path / "broken.json"), cache=tmp_path)
    assert done.returncode == 1
    assert "deadlock" in done.stdout
    (tmp_path / "ring.bin").write_bytes((tmp_path / "ring.bin").read_bytes()[:-9])
    done = sennit("sim", "replay", str(tmp_path / "ring.bin"), "--machine", "cedar", cache=tmp_path)
    assert done.returncode == 2
    assert "at byte" in done.stderr


def test_the_simulator_holds_against_what_was_measured(tmp_path: Path) -> None:
    found = document("reproduce", "hgx-h200-4", "--json", cache=tmp_path)
    errors = sorted(abs(row["us"] / row["measured_us"] - 1) for row in found["rows"] if row["bytes"] >= 64 << 10)
    assert len(errors) > 150
    assert errors[len(errors) // 2] < 0.1
    kept = json.loads((ROOT / "results/hgx-h200-4/reproduction.json").read_text())
    assert found["sources"] == kept["sources"]
    for row, before in zip(found["rows"], kept["rows"], strict=True):
        assert row["us"] == pytest.approx(before["us"], rel=1e-6), (
            "run: sennit reproduce hgx-h200-4 --json > results/hgx-h200-4/reproduction.json; make docs"
        )


@pytest.mark.parametrize("machine", ["mist", "cedar", "helios", "ri2", "cscs"])
def test_papers_are_done_again_as_they_are_kept(machine: str, tmp_path: Path) -> None:
    found = document("reproduce", machine, "--json", cache=tmp_path)
    kept = json.loads((ROOT / f"results/{machine}/paper.json").read_text())
    for number, before in zip(found["numbers"], kept["numbers"], strict=True):
        assert number["ours"] == pytest.approx(before["ours"], rel=1e-6), (
            f"run: sennit reproduce {machine} --json > results/{machine}/paper.json; make docs"
        )
    assert [claim["holds"] for claim in found["claims"]] == [claim["holds"] for claim in kept["claims"]]


def test_ranks_are_mapped_and_the_same_question_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.json", "other.json", "map.svg")]
    asked = ("map", "--pattern", "2d-torus:4x4,w=3", "--machine", "helios")
    done = sennit(*asked, "-o", str(files[0]), "--svg", str(files[2]), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "optimal" in done.stdout
    assert sennit(*asked, "-o", str(files[1]), cache=tmp_path).returncode == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    found = json.loads(files[0].read_text())
    assert found["advised"]
    assert found["mappings"][found["chosen"]]["gain"] > 0.4
    alike = sennit("map", "--pattern", "ring:4", "--machine", "hgx-h200-4", cache=tmp_path)
    assert alike.stdout.startswith("All pairs of GPUs are alike by their links"), alike.stdout
    many = document("map", "--pattern", "2d-torus:32x32", "--machine", "dgx-h100", "--nodes", "128", "--json",
                    cache=tmp_path)  # fmt: skip
    assert sorted(many["mappings"][-1]["map"]) == list(range(1024))
    (tmp_path / "talk.csv").write_text("0,1\n1\n")
    wrong = sennit("map", "--matrix", str(tmp_path / "talk.csv"), "--machine", "helios", cache=tmp_path)
    assert wrong.returncode == 2
    assert "1 numbers where the first line has 2" in wrong.stderr
    pinned = document(
        "map", "--pattern", "ring:8", "--machine", "dgx-1v", "--pin", "3=gpu1,0-2=host1", "--json", cache=tmp_path
    )
    assert pinned["ranks"][3]["gpu"] == "gpu1"
    assert {rank["numa"] for rank in pinned["ranks"][:3]} == {1}


def test_ranks_that_sit_apart_are_told_by_the_mapper(tmp_path: Path) -> None:
    for hosts, said in ((["node1", "node2"], True), (["node1"], False)):
        (tmp_path / "profile.json").write_text(json.dumps(made_up_profiles.halo(hosts)))
        done = sennit("report", str(tmp_path), "--text", cache=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("would send 10 % of them there" in " ".join(done.stdout.split())) == said, done.stdout


def test_pairs_of_gpus_are_printed() -> None:
    command = [str(Path(FOLDER) / "sennit-map"), "pairs", "--machine", "helios"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert found["levels"] == 4
    assert len(found["pairs"]) == 16 * 15
    joined = {pair["to"]: pair["joined"] for pair in found["pairs"] if pair["from"] == "gpu0"}
    assert [joined[gpu] for gpu in ("gpu1", "gpu2", "gpu4", "gpu8")] == [
        "board", "several switches", "host bridge", "sockets",
    ]  # fmt: skip


def test_a_put_is_simulated(tmp_path: Path) -> None:
    options = ["--from", "gpu0", "--to", "gpu1", "--machine", "cedar", "--json"]
    found = document("sim", "put", "256M", *options, cache=tmp_path)
    assert len(found["split"]) == 4
    assert 2.5 < found["single_us"] / found["us"] < 3.2
    wider = document("sim", "put", "256M", *options, "--what-if", "nvlink.bandwidth=2x", cache=tmp_path)
    assert wider["us"] < found["us"]


def test_a_thousand_gpus(tmp_path: Path) -> None:
    options = ["--machine", "dgx-h100", "--nodes", "128", "--json"]
    found = document("sim", "allreduce", "64M", *options, cache=tmp_path)
    assert found["ranks"] == 1024
    times = {each["algorithm"]: each["us"] for each in found["algorithms"]}
    assert len(times) >= 11
    assert times["multilane_halving"] < times["ring"] / 10
    options += ["--algorithm", "chain"]
    whole, chunks, chosen = (
        document("sim", "broadcast", "64M", *options, *each, cache=tmp_path)["algorithms"][0]["us"]
        for each in (["--chunks", "1"], ["--chunks", "64"], [])
    )
    assert chosen < chunks < whole / 10


def test_bench_put(tmp_path: Path) -> None:
    page = tmp_path / "put.html"
    options = ["--pairs", "first", "--sizes", "64K,1M", "--window", "1", "--seconds", "0.05", "--ranks", "2"]
    options += ["--vs", "engine", "--no-tune", "--json", "-", "--html", str(page)]
    result = document("bench", "put", *options, cache=tmp_path)
    assert {row["variant"] for row in result["rows"]} == {"sennit", "engine"}
    assert all(row["verified"] for row in result["rows"] if row["variant"] == "sennit")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_bench_put_offers_what_its_program_does() -> None:
    assert options_of_program("sennit-bench-put") - options_of("put") == NOT_OFFERED


def test_warnings_of_bench_put_recommend_options_that_exist(tmp_path: Path) -> None:
    options = ["--vs", "nccl,ucx", "--ucx-perftest", "/nowhere", "--no-measure"]
    options += ["--sizes", "64K", "--seconds", "0.01", "--json", "-"]
    warnings = " ".join(document("bench", "put", *options, cache=tmp_path)["warnings"])
    assert "/nowhere cannot be run" in warnings
    assert "never measured" in warnings
    assert list(tmp_path.iterdir()) == []
    named = set(re.findall(r"--[a-z-]+", re.sub("`[^`]*`", "", warnings)))  # other commands stand in backquotes
    assert {"--ucx-perftest", "--vs"} <= named <= options_of("put")


def test_bench_allreduce_without_a_gpu(tmp_path: Path) -> None:
    options = ["bench", "allreduce", "--ranks", "2", "--sizes", "8,64K", "--seconds", "0.005"]
    kept = tmp_path / "kept.json"
    done = sennit(*options, "--algorithms", "ring", "--json", str(kept), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "two_shot_whole 1x256" in done.stdout
    shown_again = sennit("bench", "show", str(kept), cache=tmp_path)
    assert shown_again.stdout == done.stdout
    wrong = sennit(*options, "--op", "bit_and", cache=tmp_path)
    assert wrong.returncode == 2
    assert "bit_and is not for float32" in wrong.stderr


def test_bench_allreduce_beside_mpi(tmp_path: Path) -> None:
    options = ["--executor", "host", "--ranks", "2", "--sizes", "64K", "--vs", "openmpi,mpich", "--seconds", "0.05"]
    result = document("bench", "allreduce", *options, "--json", "-", cache=tmp_path)
    assert result["warnings"] == []
    rows = {row["variant"]: row for row in result["rows"]}
    assert list(rows) == ["sennit", "openmpi", "mpich"]
    for row in rows.values():
        assert (row["verified"], row["bytes"], row["ranks"], row["in_place"]) == (True, 65536, 2, True)
    assert result["versions"].keys() >= {"sennit", "openmpi", "mpich"}


@pytest.mark.parametrize("peer", ["openmpi", "mpich"])
@pytest.mark.parametrize("options", [["--type", "int16", "--op", "max"], ["--out-of-place"]])
def test_mpi_does_every_collective(tmp_path: Path, peer: str, options: list[str]) -> None:
    options = [*options, "--executor", "host", "--ranks", "3", "--sizes", "12K", "--vs", peer, "--seconds", "0.001"]
    result = document("bench", "collectives", *options, "--json", "-", cache=tmp_path)
    assert result["warnings"] == []
    own, theirs = ([row for row in result["rows"] if row["variant"] == variant] for variant in ("sennit", peer))
    for member in ("operation", "bytes", "verified"):
        assert [row[member] for row in theirs] == [row[member] for row in own]


def test_bench_collectives_offers_what_its_program_does() -> None:
    assert options_of_program(collective.PROGRAM) - options_of(collective.FAMILY) == {"--progress"}


def test_bench_mpi_offers_what_its_program_does() -> None:
    program, verb = options_of_program(mpi.PROGRAM), options_of("mpi")
    # Those of patterns are `sennit bench patterns`'s.
    assert program - verb == {"--patterns", "--over", "--nccl", "--progress"}
    # How ranks are started, what is a job of its own, and what becomes of the result.
    started = {"-n", "--ranks", "--launcher", "--ucx", "--virtual-nodes"}
    assert verb - program == started | {"--json", "--csv", "--markdown", "--html"}


def test_every_operation_of_the_program_has_a_verb(tmp_path: Path) -> None:
    options = ["--ranks", "2", "--sizes", "4K", "--seconds", "0.001"]
    result = document("bench", "collectives", *options, "--json", "-", cache=tmp_path)
    measured = [row["operation"] for row in result["rows"] if row["variant"] == "sennit"]
    assert measured == [operation_of(verb) for verb in VERBS]
    # Of a barrier there are no numbers to check.
    assert all(row["verified"] == (row["operation"] != "barrier") for row in result["rows"])


@pytest.mark.parametrize("verb", VERBS)
def test_bench_measures_a_collective_without_a_gpu(tmp_path: Path, verb: str) -> None:
    sizes = [] if verb == "barrier" else ["--sizes", "8,64K"]
    options = ["--executor", "host", "--ranks", "2", *sizes, "--seconds", "0.001"]
    kept = tmp_path / "kept.json"
    done = sennit("bench", verb, *options, "--algorithms", "all", "--json", str(kept), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"\n{verb.capitalize()}: " in done.stdout
    rows = json.loads(kept.read_text(encoding="utf-8"))["rows"]
    assert {row["operation"] for row in rows} == {operation_of(verb)}
    assert {row["bytes"] for row in rows} == ({8, 65536} if sizes else {0})
    assert len({row["variant"] for row in rows}) > 1
    shown_again = sennit("bench", "show", str(kept), cache=tmp_path)
    assert shown_again.stdout == done.stdout


def test_an_algorithm_that_an_operation_lacks_is_refused_by_name(tmp_path: Path) -> None:
    wrong = sennit("bench", "broadcast", "--ranks", "2", "--algorithms", "ring", cache=tmp_path)
    assert wrong.returncode == 2
    assert 'there is no broadcast algorithm "ring"' in wrong.stderr
    assert "scatter_allgather" in wrong.stderr
