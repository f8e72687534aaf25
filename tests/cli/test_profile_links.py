"""Calls that were timed on GPUs, beside what the links of the machine allow."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import made_up_profiles as made_up
import pytest
from conftest import ROOT, Programs, check_snapshot
from sennit.advice.advice import Known
from sennit.advice.rules import advise
from sennit.model.document import parse
from sennit.model.machine import Machine
from sennit.model.profile import Profile
from sennit.model.profile_links import Asked, all_asked, gpu_classes, with_links
from sennit.views.profile.page import profile_html

KIB, MIB = 1 << 10, 1 << 20
H200 = ROOT / "machines/hgx-h200-4.json"
# Of ddp(): 25 MiB, 1 MiB and 4 B summed, 256 KiB broadcast, on 4 ranks.
LEAST = [102.4, 4.1, 1e-5, 0.7]


def read(document: Any) -> Profile:
    return parse(Profile, document, "it")


def machine() -> Machine:
    return parse(Machine, json.loads(H200.read_text()), "it")


def beside(document: Any, **least: Any) -> Profile:
    found = read(document)
    known = dict(zip(all_asked(found), least.get("least", LEAST), strict=False))
    return read(with_links(document, found, least.get("machine", machine()), known))


def bounds(*least: float | None, why: str = "") -> Any:
    rows = [{"operation": "allreduce", "bytes": 1, "ranks": 4, "bound_us": us, "why": why} for us in least]
    return {"version": 1, "kind": "sim bound", "machine": "hgx-h200-4", "rows": rows}


def test_each_size_and_communicator_is_asked_for_once() -> None:
    document = made_up.ddp()
    document["rows"].append(document["rows"][0] | {"reduction": "max"})
    document["rows"].append(document["rows"][0] | {"communicator_size": 2})
    assert all_asked(read(document)) == [
        Asked("allreduce", 25 * MIB, 4), Asked("allreduce", MIB, 4), Asked("allreduce", 4, 4),
        Asked("broadcast", 256 * KIB, 4), Asked("allreduce", 25 * MIB, 2),
    ]  # fmt: skip


def test_of_links_is_the_least_time_over_the_time() -> None:
    found = beside(made_up.ddp(allreduce_us=640))
    first = found.rows[0]
    assert (first.links_us, first.no_links) == (102.4, None)
    assert first.of_links == pytest.approx(0.16)
    assert first.gbps == pytest.approx(25 * MIB / 640e3)
    assert found.rows[4].of_links is None
    assert found.rows[4].no_links is None, "ncclCommInitRank was not timed on a GPU"
    assert found.links
    assert (found.links.machine, found.links.measured) == ("hgx-h200-4", True)


def test_rows_of_one_class_are_shown_together() -> None:
    """By the time that each takes, and the least that it could take."""
    document = made_up.ddp(allreduce_us=640)
    first = document["rows"][0]
    document["rows"].insert(1, first | {"reduction": "max", "device_seconds": 3 * first["device_seconds"]})
    found = beside(document)
    one = gpu_classes(found.rows)[0]
    assert one.calls == 2 * first["calls"]
    assert one.us == pytest.approx(1280)
    assert one.of_links == pytest.approx(0.08)
    assert len(gpu_classes(found.rows)) == 4


def test_what_is_not_known_says_why() -> None:
    document = made_up.ddp()
    document["rows"].append(made_up.row("ncclSend", 4, calls=9, seconds=1, size=MIB, memory="gpu", device=0.1))
    document["rows"].append(made_up.row("ncclGroupEnd", 4, calls=9, seconds=1, device=0.1))
    document["rows"].append(made_up.row("ncclAllReduce", 4, calls=9, seconds=1, size=64, memory="pinned", device=0.1))
    rows = beside(document).rows
    assert [row.no_links for row in rows[5:]] == ["no collective", "no collective", "on host"]
    assert rows[6].gbps is None
    assert beside(document, machine=None).rows[0].no_links == "machine unknown"
    document["ranks"][0]["host"] = "node2"
    assert {row.no_links for row in beside(document).rows[:4]} == {"several hosts"}
    assert all_asked(read(document)) == []
    few = beside(made_up.ddp(), least=["more ranks than GPUs", 1.0, 1.0, 1.0])
    assert few.rows[0].no_links == "more ranks than GPUs"
    assert few.rows[0].gbps == pytest.approx(25 * MIB / 640e3)


def test_a_profile_without_times_on_gpus_stays_as_it_is() -> None:
    for make in (made_up.halo, made_up.horovod, made_up.server):
        document = make()
        assert with_links(document, read(document), machine(), {}) == document


def test_advice_and_the_column_say_the_same() -> None:
    found = beside(made_up.ddp(allreduce_us=6400))
    (advice,) = (each for each in advise(found, Known(machine())) if "what the links allow" in each.what)
    assert "at 2 % of what the links allow" in advice.what


def save(programs: Programs, document: Any, with_machine: bool = True) -> Path:
    folder = programs.folder / "run"
    folder.mkdir(exist_ok=True)
    (folder / "profile.json").write_text(json.dumps(document))
    if with_machine:
        (folder / "machine.json").write_text(H200.read_text())
    return folder


def test_a_report_says_how_far_from_the_links(programs: Programs) -> None:
    save(programs, made_up.ddp())
    programs.add("sennit-sim", bounds(*LEAST), to="bound")
    done = programs.sennit("report", "run", "--csv", "a.csv", COLUMNS="110")
    assert done.returncode == 0, done.stderr
    check_snapshot("report-ddp.txt", done.stdout)
    with (programs.folder / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["of_links"]) == pytest.approx(0.16)
    assert rows[0]["no_links"] == ""
    document = json.loads(programs.sennit("report", "run", "--json").stdout)
    assert document["rows"][0]["links_us"] == 102.4
    assert document["links"] == {"machine": "hgx-h200-4", "measured": True}
    page = (programs.folder / "run/page.html").read_text()
    assert page == profile_html(read(document), advise(read(document), Known(machine())), machine())
    assert "16 %" in page
    assert [call[0] for call in programs.calls("sennit-sim")] == ["bound", "bound"], "one process a report"
    assert all(call[1] == "--rows" for call in programs.calls("sennit-sim"))


def test_a_report_without_a_machine_says_what_it_needs(programs: Programs) -> None:
    save(programs, made_up.ddp(), with_machine=False)
    done = programs.sennit("report", "run", "--text", COLUMNS="110")
    assert done.returncode == 0, done.stderr
    assert "machine unknown" in done.stdout
    assert "sennit topo --json > FOLDER/machine.json" in done.stdout
    assert programs.calls("sennit-sim") == []


def test_what_sennit_sim_cannot_say_is_told(programs: Programs) -> None:
    save(programs, made_up.ddp())
    programs.add("sennit-sim", bounds(None, 1.0, 1.0, 1.0, why="more ranks than GPUs"), to="bound")
    assert "more ranks than GPUs" in programs.sennit("report", "run", "--text").stdout
    error = json.dumps({"error": {"what": "the file is damaged"}}) + "\n"
    programs.add("sennit-sim", stderr=error, code=2, to="bound")
    done = programs.sennit("report", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["no_links"] == "the file is damaged"


def test_what_was_found_at_the_end_of_the_run_stays(programs: Programs) -> None:
    """On another machine, where that of the run is not known."""
    document = beside(made_up.ddp()).model_dump(by_alias=True)
    save(programs, document, with_machine=False)
    assert json.loads(programs.sennit("report", "run", "--json").stdout)["rows"][0]["of_links"] == pytest.approx(0.16)


def test_a_profile_has_its_machine(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked up, never measured."""
    from sennit.verbs import profile

    document = made_up.ddp()
    for rank in document["ranks"]:
        rank["host"] = socket.gethostname()
    programs.add("sennit-profile", document)
    programs.add("sennit-sim", bounds(*LEAST), to="bound")
    programs.add("sennit-machine", json.loads(H200.read_text()), to="cached")
    monkeypatch.setenv("SENNIT_PROGRAMS", str(programs.folder))
    folder = programs.folder / "run"
    folder.mkdir()
    profile.summarize(folder)
    assert json.loads((folder / "machine.json").read_text()) == json.loads(H200.read_text())
    assert json.loads((folder / "profile.json").read_text())["rows"][0]["links_us"] == 102.4
    assert programs.calls("sennit-machine") == [["cached"]]


# ---- the program --------------------------------------------------------------------------------------------------


FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")
of_programs = pytest.mark.skipif(not FOLDER, reason="SENNIT_TEST_PROGRAMS names no folder; make test sets it")


def sim(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(Path(FOLDER) / "sennit-sim"), *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)


@of_programs
def test_many_bounds_come_from_one_run() -> None:
    """The same as beside a prediction, and in proportion to bytes."""
    rows = "allreduce 64M 4\n\nallgather 1M 2\nallreduce 1M 4\nbroadcast 8 4\n"
    found = json.loads(sim("bound", "--rows", "-", "--machine", "hgx-h200-4", given=rows).stdout)["rows"]
    assert [(row["operation"], row["bytes"], row["ranks"]) for row in found] == [
        ("allreduce", 64 * MIB, 4), ("allgather", MIB, 2), ("allreduce", MIB, 4), ("broadcast", 8, 4),
    ]  # fmt: skip
    predicted = sim("collective", "--operation", "allreduce", "--bytes", "64M", "--machine", "hgx-h200-4")
    assert found[0]["bound_us"] == pytest.approx(json.loads(predicted.stdout)["bound_us"])
    assert found[0]["bound_us"] == pytest.approx(64 * found[2]["bound_us"])
    one = json.loads(sim("bound", "allgather", "1M", "--ranks", "2", "--machine", str(H200)).stdout)
    assert (one["machine"], one["rows"]) == ("hgx-h200-4", found[1:2])


@of_programs
def test_what_has_no_bound_says_why() -> None:
    rows = "allreduce 1M 8\nbarrier 0 4\nallreduce 1M 1\n"
    found = json.loads(sim("bound", "--rows", "-", "--machine", "hgx-h200-4", given=rows).stdout)["rows"]
    assert [row["bound_us"] for row in found] == [None, None, None]
    assert [row["why"] for row in found] == [
        "more ranks than GPUs",
        "a barrier moves no bytes",
        "one rank needs no link",
    ]


@of_programs
@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        (["--rows", "-"], "allreduce 64M\n", "standard input:1: 'allreduce 64M' is no row"),
        (["--rows", "-"], "allreduce 64M 4 5\n", "is no row"),
        (["--rows", "-"], "allreduce 1M 4\nreshuffle 64M 4\n", "standard input:2"),
        (["--rows", "/nowhere/rows"], "", "cannot read /nowhere/rows"),
        (["allreduce"], "", "one row is asked for by OPERATION and SIZE"),
        (["allreduce", "64M", "--rows", "-"], "", "one row is asked for"),
        ([], "", "one row is asked for"),
    ],
)
def test_what_is_no_row_is_refused(arguments: list[str], given: str, said: str) -> None:
    done = sim("bound", *arguments, "--machine", "hgx-h200-4", given=given)
    assert (done.returncode, done.stdout) == (2, "")
    error = json.loads(done.stderr)["error"]
    assert said in f"{error['where']}: {error['what']}"
    assert error["remedy"]


@of_programs
def test_a_report_reads_what_the_program_says(programs: Programs) -> None:
    """Close to what the machine's own figures come to: 25 MiB at 4 GPUs' ports."""
    save(programs, made_up.ddp())
    programs.folder.joinpath("sennit-sim").symlink_to(Path(FOLDER) / "sennit-sim")
    rows = json.loads(programs.sennit("report", "run", "--json").stdout)["rows"]
    assert rows[0]["of_links"] == pytest.approx(0.16, abs=0.02)
    assert rows[0]["no_links"] is None
