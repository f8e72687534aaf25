"""Every kind of result in every view, every verb that writes them, and files that cannot be written."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
import typer.main
from conftest import Programs, data
from sennit.model.document import parse
from sennit.model.result import Result
from sennit.operations import known_as
from sennit.verbs import bench, run
from sennit.views.csv import to_csv

KINDS = ("result", "collective", "mpi", "torch", "training")
VIEWS = {"--json": "r.json", "--csv": "r.csv", "--markdown": "r.md", "--html": "r.html"}
FILES = [part for pair in VIEWS.items() for part in pair]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_result_is_shown_in_every_view(programs: Programs, name: str) -> None:
    document = data(name)
    (programs.folder / "kept.json").write_text(json.dumps(document))
    done = programs.sennit("bench", "show", "kept.json", *FILES)
    assert done.returncode == 0, done.stderr
    text = {view: (programs.folder / file).read_text() for view, file in VIEWS.items()}
    assert json.loads(text["--json"]) == document
    rows = list(csv.DictReader(io.StringIO(text["--csv"])))
    assert len(rows) == len(document["rows"])
    assert [row["variant"] for row in rows] == [row["variant"] for row in document["rows"]]
    assert text["--markdown"].count("|") > len(rows)
    assert text["--html"].startswith("<!doctype html>")
    assert document["machine"]["name"] in text["--html"]
    assert ("<svg" in text["--html"]) == (name != "training")  # which has no sizes
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in text["--html"].replace('xmlns="http://www.w3.org/2000/svg"', "")


@pytest.mark.parametrize("name", KINDS)
def test_a_result_without_rows_has_every_view(programs: Programs, name: str) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data(name) | {"rows": []}))
    done = programs.sennit("bench", "show", "kept.json", *FILES)
    assert done.returncode == 0, done.stderr
    assert (programs.folder / "r.csv").read_text().startswith("machine,date,")


def test_values_that_are_several_stay_in_their_cell() -> None:
    def cells(name: str, column: str) -> list[str]:
        document = data(name)
        text = to_csv(parse(Result, document, name))
        return [row[column] for row in csv.DictReader(io.StringIO(text))]

    assert any(cell.startswith("times_as_fast=") for cell in cells("mpi", "sennit"))
    assert set(cells("mpi", "verified")) == {"true", "false"}
    losses: list[Any] = data("training")["rows"][0]["losses"]
    assert cells("training", "losses")[0] == ";".join(map(str, losses))


def test_every_benchmark_writes_every_view() -> None:
    commands: Any = typer.main.get_command(bench.app)
    for name, command in commands.commands.items():
        if name == "project":  # computes from what others measured
            continue
        options = {option for each in command.params for option in each.opts}
        assert options >= VIEWS.keys(), name


def test_a_benchmark_writes_what_it_measured(programs: Programs) -> None:
    programs.add("sennit-bench-collective", data("collective"))
    done = programs.sennit("bench", "allreduce", *FILES)
    assert done.returncode == 0, done.stderr
    for file in VIEWS.values():
        assert (programs.folder / file).stat().st_size > 0
        assert f"wrote {file}" in done.stderr


def test_what_only_puts_are_judged_by_is_refused_elsewhere(programs: Programs) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data("collective")))
    done = programs.sennit("bench", "show", "kept.json", "--at-least", "0.9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--at-least compares puts" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        (["bench", "put", "--html"], "sennit-bench-put"),
        (["bench", "put", "--json"], "sennit-tune"),
        (["bench", "allreduce", "--csv"], "sennit-bench-collective"),
        (["bench", "torch", "--html"], "sennit-tune"),
        (["bench", "training", "--csv"], "sennit-tune"),
        (["bench", "mpi", "--markdown"], "sennit-bench-mpi"),
        (["tune", "put", "--json"], "sennit-tune"),
        (["topo", "--measure", "--svg"], "sennit-machine"),
        (["topo", "--nccl"], "sennit-machine"),
        (["sim", "allreduce", "1M", "--timeline"], "sennit-sim"),
        (["sim", "allreduce", "1M,2M", "--html"], "sennit-sim"),
        (["reproduce", "mist", "--markdown"], "sennit-sim"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    programs: Programs, arguments: list[str], program: str
) -> None:
    (programs.folder / "folder").mkdir()
    for file in ("/proc/none/file", "folder"):
        done = programs.sennit(*arguments, file)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{file} cannot be written" in done.stderr
    assert programs.calls(program) == []


@pytest.mark.parametrize("name", ["sim", "plans", "tuned", "check", "reproduction"])
def test_a_document_of_another_kind_is_named(programs: Programs, name: str) -> None:
    kept = data(name)
    (programs.folder / "kept.json").write_text(json.dumps(kept))
    (programs.folder / "result.json").write_text(json.dumps(data("result")))
    for verb in (["bench", "show", "kept.json"], ["compare", "result.json", "kept.json"]):
        done = programs.sennit(*verb)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"kept.json is a document of kind {kept['kind']}, no result of sennit bench" in done.stderr


def test_what_was_there_stays_until_there_is_something_new(programs: Programs) -> None:
    (programs.folder / "r.html").write_text("before")
    assert programs.sennit("bench", "show", "none.json", "--html", "r.html", "--csv", "new.csv").returncode == 2
    assert (programs.folder / "r.html").read_text() == "before"
    assert not (programs.folder / "new.csv").exists()


def test_the_list_of_machines_takes_no_option_of_one_machine(programs: Programs) -> None:
    done = programs.sennit("topo", "--list", "--svg", "a.svg")
    assert done.returncode == 2
    assert "--svg is of one machine" in done.stderr


@pytest.mark.parametrize("text", ["reduce_scatter", "reduce-scatter", "reducescatter"])
def test_verbs_and_switches_take_every_spelling_of_an_operation(programs: Programs, text: str) -> None:
    documents = {"bench": ("sennit-bench-collective", "collective"), "sim": ("sennit-sim", "sim"),
                 "explain": ("sennit-explain", "collective_plan")}  # fmt: skip
    for verb, (program, kept) in documents.items():
        programs.add(program, data(kept))
        done = programs.sennit(verb, text, *(["1M"] if verb != "bench" else []))
        assert done.returncode == 0, done.stderr
        assert "reduce_scatter" in programs.calls(program)[-1]
    assert known_as(text, run.OPERATIONS) == "reduce_scatter"


def test_operations_have_the_names_of_both_families() -> None:
    assert known_as("broadcast", run.OPERATIONS) == "bcast"
    assert known_as("ibroadcast", run.OPERATIONS) == "ibcast"
    assert known_as("bcast", ("allreduce", "broadcast")) == "broadcast"
    assert known_as("all-to-all", run.OPERATIONS) == "alltoall"
    assert known_as("reduce-scatter-block-init", run.OPERATIONS) == "reduce_scatter_block_init"
    assert known_as("recv", run.OPERATIONS) is None
    for names in (run.OPERATIONS, bench.app.registered_commands):
        spelled = [str(getattr(each, "name", each)) for each in names]
        assert [known_as(each, spelled) for each in spelled] == spelled
