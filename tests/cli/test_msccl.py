"""Algorithms of MSCCL's as schedules, and schedules as algorithms: there and back is proved by `sennit check`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import HERE, Programs
from sennit.formats.collectives import KINDS, Collective, collective_of
from sennit.formats.msccl import NAMES, Algorithm, read_algorithm, write_algorithm
from sennit.formats.msccl_export import algorithm_of, too_large
from sennit.formats.msccl_import import schedule_of
from sennit.formats.schedule import Schedule, document, read_schedule
from sennit.programs.problem import Problem

FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")
WITH_PROGRAMS = pytest.mark.skipif(not FOLDER, reason="SENNIT_TEST_PROGRAMS names no folder; make test sets it")
SENNIT_SIM = f"{FOLDER}/sennit-sim"
ALGORITHMS = ("ring_allreduce", "direct_allgather", "pairs_allreduce")

# Algorithms of every kind: stores, loads, packets, copy engines, several stages.
ASKED = {
    "allreduce": "ring one_shot one_shot_loads two_shot_packets hierarchical recursive_doubling copy_engines",
    "reduce": "chain linear packets",
    "reduce_scatter": "ring direct direct_loads packets",
    "allgather": "ring direct direct_loads packets",
    "gather": "direct packets",
    "broadcast": "chain tree knomial_4 scatter_allgather packets",
    "scatter": "direct packets",
    "all_to_all": "direct packets",
}


def data_file(name: str) -> Path:
    return HERE / "data" / f"msccl_{name}.xml"


def imported(name: str, size: int = 4096) -> Schedule:
    return schedule_of(read_algorithm(data_file(name)), size, 0, data_file(name))


def findings(schedule: Schedule, folder: Path) -> list[dict[str, Any]]:
    """What `sennit check` finds."""
    file = folder / "checked.json"
    file.write_text(json.dumps(document(schedule)))
    done = subprocess.run([SENNIT_SIM, "check", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


def there_and_back(schedule: Schedule, folder: Path) -> Schedule:
    call = collective_of(schedule)
    assert call is not None
    file = folder / "exported.xml"
    file.write_text(write_algorithm(algorithm_of(schedule, "exported")))
    return schedule_of(read_algorithm(file), call.bytes, call.root, file)


@pytest.mark.parametrize("name", [*ALGORITHMS, "racing_allreduce"])
def test_an_algorithm_is_written_as_it_was_read(name: str, tmp_path: Path) -> None:
    algorithm = read_algorithm(data_file(name))
    (tmp_path / "again.xml").write_text(write_algorithm(algorithm))
    assert read_algorithm(tmp_path / "again.xml") == algorithm
    assert too_large(algorithm) == ""


def test_an_algorithm_becomes_messages_words_and_promises() -> None:
    schedule = imported("ring_allreduce", 64 << 10)
    assert collective_of(schedule) == Collective("allreduce", 4, 64 << 10, in_place=True)
    assert [launch.program for launch in schedule.launches] == ["ring_allreduce"] * 4
    block = schedule.strands[4]
    # s; rrs and rrs and rrcs and rcs and rcs: wait, move, signal; r: wait, move.
    assert [step.act for step in block.steps] == ["move", "signal", *["await", "move", "signal"] * 5, "await", "move"]
    moves = [step for step in block.steps if step.act == "move"]
    assert {step.bytes for step in moves} == {16 << 10}
    assert [(len(step.sources), len(step.destinations)) for step in moves] == [
        (1, 1), (2, 1), (2, 1), (2, 2), (1, 2), (1, 2), (1, 1)
    ]  # fmt: skip
    scratch = [region.bytes for region in schedule.regions if region.name == "scratch"]
    assert scratch == [6 * (16 << 10)] * 4


@WITH_PROGRAMS
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_is_proved_and_replayed(name: str, tmp_path: Path) -> None:
    schedule = imported(name, 1 << 20)
    assert findings(schedule, tmp_path) == []
    assert findings(there_and_back(schedule, tmp_path), tmp_path) == []
    for machine in ("mist", "hgx-h200-4"):
        command = [SENNIT_SIM, "replay", str(tmp_path / "checked.json"), "--machine", machine]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert json.loads(done.stdout)["us"] > 0


@WITH_PROGRAMS
def test_a_dependency_that_is_missing_is_found(tmp_path: Path) -> None:
    found = findings(imported("racing_allreduce"), tmp_path)
    assert {each["fault"] for each in found} == {"race"}
    assert "rank 1, pairs_allreduce block 1" in found[0]["what"]


def change(name: str, folder: Path, *changes: tuple[str, str]) -> Path:
    """The algorithm's text, in which each first one of the changes' was replaced by the second."""
    text = data_file(name).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    file = folder / "changed.xml"
    file.write_text(text)
    return file


@WITH_PROGRAMS
@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("ring_allreduce", 'type="rrs" srcbuf="i" srcoff="3"', 'type="rrs" srcbuf="i" srcoff="2"', "result"),
        ("ring_allreduce", 'type="rrcs"', 'type="rrs"', "result"),
        ("direct_allgather", 'type="cpy"', 'type="nop"', "unwritten"),
        ("direct_allgather", 'dstoff="2" cnt="2"', 'dstoff="4" cnt="2"', "race"),
        ("pairs_allreduce", 'depid="-1" deps="-1" hasdep="1"/>\n    </tb>', 'depid="-1" deps="-1" hasdep="0"/>\n    </tb>', "deadlock"),  # noqa: E501
        ("pairs_allreduce", 'depid="0" deps="0"', 'depid="-1" deps="-1"', ""),
    ],
)  # fmt: skip
def test_what_an_algorithm_does_wrong_is_found(name: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    file = change(name, tmp_path, (old, new))
    found = findings(schedule_of(read_algorithm(file), 4096, 0, file), tmp_path)
    # The last one is no mistake: who waits for the second step of a thread block waits for the first one too.
    assert (fault in {each["fault"] for each in found}) if fault else found == []


@WITH_PROGRAMS
@pytest.mark.parametrize(
    ("operation", "algorithm"), [(o, a) for o, algorithms in ASKED.items() for a in algorithms.split()]
)
@pytest.mark.parametrize(
    "options", [["--ranks", "4", "--blocks", "1"], ["--ranks", "3", "--blocks", "2", "--out-of-place"]]
)
def test_a_schedule_is_proved_there_and_back(
    operation: str, algorithm: str, options: list[str], tmp_path: Path
) -> None:
    rooted = KINDS[operation].has_root
    out = "--out-of-place" in options
    if operation == "all_to_all":  # never in place
        options = [option for option in options if option != "--out-of-place"]
    file = tmp_path / "schedule.json"
    command = [SENNIT_SIM, "collective", "--operation", operation, "--bytes", "1200", "--machine", "hgx-h200-4"]
    command += ["--algorithm", algorithm, "--schedule", str(file), *options, *(["--root", "1"] if rooted else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    schedule = read_schedule(file)
    in_place = not out and operation != "all_to_all"
    assert collective_of(schedule) == Collective(operation, int(options[1]), 1200, int(rooted), in_place)
    assert findings(there_and_back(schedule, tmp_path), tmp_path) == []


@WITH_PROGRAMS
def test_no_dependency_of_an_exported_algorithm_is_there_for_nothing(tmp_path: Path) -> None:
    algorithm = algorithm_of(imported("pairs_allreduce"), "exported")
    file = tmp_path / "exported.xml"
    places = [step for gpu in algorithm.gpus for block in gpu.blocks for step in block.steps if step.after]
    assert places
    for step in places:
        kept, step.after = step.after, None
        file.write_text(write_algorithm(algorithm))
        assert findings(schedule_of(read_algorithm(file), 4096, 0, file), tmp_path) != []
        step.after = kept


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("operation", KINDS)
def test_a_collective_is_known_by_its_promises(operation: str, in_place: bool) -> None:
    call = Collective(operation, 4, 96, 2 if KINDS[operation].has_root else 0, in_place)
    regions = [region for rank in range(4) for region in call.buffers(rank)]
    whole = {"version": 1, "kind": "schedule", "ranks": 4, "regions": regions, "launches": [], "strands": []}
    schedule = Schedule.model_validate(whole | {"promises": call.promises(regions)})
    assert collective_of(schedule) == call
    assert operation in NAMES
    schedule.promises.pop()
    assert collective_of(schedule) is None


def told(file: Path, size: int = 4096, root: int = 0) -> str:
    """What is wrong with an algorithm, and what to do."""
    with pytest.raises(Problem) as caught:
        schedule_of(read_algorithm(file), size, root, file)
    assert caught.value.exit_code == 2
    assert caught.value.remedy
    return caught.value.what.removeprefix(str(file)).removeprefix(": ")


AFTER_SEND = 'depid="-1" deps="-1" hasdep="0"/>\n      <step s="1"'


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("ring", "</algo>", "", " is no XML: no element found: line 48, column 0"),
        ("ring", "<tb", "<block", " is no XML: mismatched tag"),
        ("ring", "<algo ", "<graph/><algo ", " is no XML: junk after document"),
        ("ring", 'coll="allreduce"', 'coll="custom"', 'algo: nobody says what coll="custom" promises'),
        ("ring", 'coll="allreduce"', "", "algo: coll is missing"),
        ("ring", 'ngpus="4"', 'ngpus="5"', "algo: has the gpus 0, 1, 2, 3, and says there are 5"),
        ("ring", 'gpu id="3"', 'gpu id="7"', "algo: has the gpus 0, 1, 2, 7, and says there are 4"),
        ("ring", 'send="1"', 'send="4"', 'gpu 0, tb 0: send="4" is no other gpu'),
        ("ring", 'send="1"', 'send="0"', 'gpu 0, tb 0: send="0" is no other gpu'),
        ("ring", 'send="1"', 'send="-1"', "gpu 0, tb 0, step 0: s needs a peer, and the tb has none"),
        ("ring", 'type="rrs"', 'type="xyz"', 'gpu 0, tb 0, step 1: there is no type="xyz"'),
        ("ring", 'srcbuf="i"', 'srcbuf="x"', 'gpu 0, tb 0, step 0: there is no srcbuf="x"'),
        ("ring", 'srcoff="0"', 'srcoff="one"', 'gpu 0, tb 0, step 0: srcoff="one" is no number from 0'),
        ("ring", 'srcoff="0"', 'srcoff="4"', "gpu 0, tb 0, step 0: there is no chunk 4 of i: the gpu says it has 4"),
        ("ring", '<step s="1"', '<step s="2"', 'gpu 0, tb 0, step 1: s="2" stands in the wrong place'),
        ("ring", 'type="s"', 'type="nop"', "gpu 1, tb 0, step 6 receives from gpu 0 to gpu 1 on channel 0, and"),
        ("ring", 'type="r" ', 'type="nop" ', "gpu 3, tb 0, step 5 sends from gpu 3 to gpu 0 on channel 0, and"),
        ("ring", 'nchunksperloop="4"', 'nchunksperloop="3"', "4 KiB cannot be cut into 3 chunks of whole bytes"),
        ("ring", 'nchunksperloop="4"', 'nchunksperloop="2"', "gpu 0, tb 0, step 1: there is no chunk 3 of i"),
        ("direct", f'cnt="2" {AFTER_SEND}', f'cnt="1" {AFTER_SEND}', "gpu 0, tb 1, step 0 sends 1 chunks from gpu 0"),
        ("direct", 'send="2" recv="2"', 'send="1" recv="2"', "gpu 0, tb 1, step 0 and gpu 0, tb 2, step 0 both use"),
        ("direct", 'id="2" send', 'id="1" send', "gpu 0: has the tbs 0, 1, 1, 3"),
        ("pairs", 'depid="0" deps="1"', 'depid="0" deps="7"', "gpu 0, tb 1, step 1: waits for step 7 of tb 0, which"),
        ("pairs", 'depid="0" deps="1"', 'depid="5" deps="1"', "gpu 0, tb 1, step 1: waits for step 1 of tb 5, which"),
    ],
)  # fmt: skip
def test_what_an_algorithm_says_wrong_is_named(name: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    full = next(each for each in ALGORITHMS if each.startswith(name))
    assert told(change(full, tmp_path, (old, new))).startswith(said)


def test_a_message_that_cannot_be_cut_is_told_what_can(tmp_path: Path) -> None:
    with pytest.raises(Problem) as caught:
        imported("direct_allgather", 4097)
    assert "16388" in caught.value.what or "16 KiB" in caught.value.what
    assert "multiple of 2" in caught.value.remedy
    assert "no root 9" in told(data_file("ring_allreduce"), root=9)
    assert "cannot be read" in told(tmp_path / "none.xml")


def two_ranks(steps: list[dict[str, Any]], **promise: Any) -> Schedule:
    """A broadcast of 64 bytes from rank 0 to rank 1, by rank 0's lane alone."""
    regions = [{"rank": rank, "name": "buffer", "bytes": 64} for rank in range(2)]
    strands = [{"rank": rank, "lane": rank, "steps": steps if rank == 0 else []} for rank in range(2)]
    promises = [{"result": [rank, 0], "bytes": 64, "sources": [[0, 0]]} | promise for rank in range(2)]
    whole = {"version": 1, "kind": "schedule", "ranks": 2, "launches": [], "regions": regions}
    return Schedule.model_validate(whole | {"strands": strands, "promises": promises})


def store(at: int, size: int) -> dict[str, Any]:
    return {"act": "move", "group": at, "bytes": size, "from": [[0, at]], "to": [[1, at]]}


def test_what_cannot_be_said_in_chunks_is_named() -> None:
    assert algorithm_of(two_ranks([store(0, 24), store(24, 40)]), "x").chunks == 8
    with pytest.raises(
        Problem, match=r"strands\[0\].steps\[1\], a move of a lane on rank 0: its 41 bytes are no whole"
    ):
        algorithm_of(two_ranks([store(0, 24), store(23, 41)]), "x")
    with pytest.raises(Problem, match="no name for what the schedule promises"):
        algorithm_of(two_ranks([store(0, 64)], sources=[[0, 4]]), "x")


def test_what_runtimes_have_no_room_for_is_told() -> None:
    algorithm: Algorithm = algorithm_of(two_ranks([store(0, 64)]), "x")
    assert too_large(algorithm) == ""
    block = algorithm.gpus[0].blocks[0]
    block.steps = block.steps * 300
    block.steps[0].count = 80
    assert too_large(algorithm) == "300 steps of a thread block, of 256; 80 chunks in a step, of 71"


def test_the_commands(programs: Programs) -> None:
    assert "$ sennit sim import" in programs.sennit("sim", "import", "--help").stdout
    algorithm = str(data_file("pairs_allreduce"))
    done = programs.sennit("sim", "import", algorithm, "--bytes", "64K", "--output", "pairs.json")
    assert (done.returncode, done.stderr) == (0, "wrote pairs.json\n")
    schedule = read_schedule(programs.folder / "pairs.json")
    assert collective_of(schedule) == Collective("allreduce", 2, 64 << 10, in_place=True)
    assert document(schedule) == json.loads((programs.folder / "pairs.json").read_text())
    done = programs.sennit("sim", "export", "pairs.json", "--to", "msccl", "--output", "pairs.xml")
    assert (done.returncode, done.stderr) == (0, "wrote pairs.xml\n")
    text = (programs.folder / "pairs.xml").read_text()
    assert re.match(
        '<algo name="pairs" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce"', text
    )
    for wrong, named in (
        (["--bytes", "much", "--output", "x.json"], "'much' is not a size"),
        (["--bytes", "1K", "--output", "x.bin"], "ends in .json"),
        (["--bytes", "1K", "--output", "/proc/nothing/x.json"], "cannot be written"),
        (["--bytes", "0", "--output", "x.json"], "cannot be cut"),
    ):
        done = programs.sennit("sim", "import", algorithm, *wrong)
        assert done.returncode == 2
        assert named in done.stderr
