"""Reading documents: what is wrong is named, whatever it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, data
from sennit.model.collective_plan import CollectivePlan
from sennit.model.doctor import Doctor
from sennit.model.document import Part, parse, read_json
from sennit.model.explain import Explanation
from sennit.model.machine import Machine
from sennit.model.map import RankMap
from sennit.model.partitioned import Partitioned
from sennit.model.plans import CollectiveTable
from sennit.model.recording_cost import RecordingCost
from sennit.model.result import Result
from sennit.model.send_plan import SendPlan
from sennit.model.sim import Beyond, Check, Held, Messages, Paper, Reproduction, SimulatedPut, Simulation, Sweep
from sennit.model.tuned import PutTable
from sennit.programs.problem import Exit, Problem

MODELS: list[tuple[type[Part], str]] = [
    (Result, "result"), (Machine, "machine"), (Doctor, "doctor"), (Explanation, "explain"),
    (Result, "collective"), (CollectiveTable, "plans"), (CollectivePlan, "collective_plan"), (SendPlan, "send_plan"),
    (Simulation, "sim"), (Sweep, "sim_sweep"), (Check, "check"), (Held, "sim_against"),
    (Reproduction, "reproduction"), (Messages, "sim_messages"), (Paper, "sim_paper"),
    (SimulatedPut, "sim_put"), (Beyond, "sim_beyond"), (Result, "mpi"),
    (Result, "training"), (Result, "torch"), (RankMap, "map"),
    (RecordingCost, "recording_cost"),
    (Partitioned, "partitioned"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "name"), MODELS)
def test_a_good_document_is_read(model: type[Part], name: str) -> None:
    assert parse(model, data(name), name)


@pytest.mark.parametrize(("model", "name"), MODELS)
@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_refused_by_its_number(model: type[Part], name: str, version: Any) -> None:
    with pytest.raises(Problem, match=f"version {json.dumps(version)}") as caught:
        parse(model, data(name) | {"version": version}, name)
    assert caught.value.exit_code == Exit.USAGE
    assert "update sennit" in caught.value.remedy


@pytest.mark.parametrize(("model", "name"), MODELS)
def test_each_missing_member_is_named_or_has_a_default(model: type[Part], name: str) -> None:
    for member, field in model.model_fields.items():
        document = data(name)
        document.pop(field.alias or member, None)
        if field.is_required():
            with pytest.raises(Problem, match=field.alias or member):
                parse(model, document, "the file")
        else:
            assert parse(model, document, "the file")


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(Problem, match="no JSON object"):
        parse(Result, value, "the file")


def test_the_wrong_field_is_named_by_its_path() -> None:
    document = data("result")
    document["rows"][3]["median_us"] = "soon"
    with pytest.raises(Problem, match=r"the file: rows\.3\.median_us: "):
        parse(Result, document, "the file")


@pytest.mark.parametrize(
    ("member", "value"), [("median_us", 0), ("median_us", float("nan")), ("bytes", -1), ("window", 0), ("gbps", -2)]
)
def test_impossible_figures_are_refused(member: str, value: float) -> None:
    document = data("result")
    document["rows"][0][member] = value
    with pytest.raises(Problem, match=member):
        parse(Result, document, "the file")


def test_members_of_a_newer_writer_are_ignored() -> None:
    assert parse(Result, data("result") | {"colour": "red"}, "the file").kind == "bench put"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"version": 1,', "is not JSON"),
        (b"\xff\xfe", "is not text"),
        (b"[" * 100000, "is nested deeper than 200 levels"),
        (b"[" * 201 + b"]" * 201, "is nested deeper than 200 levels"),
        (b"1" * 5000, "holds a number of thousands of digits"),
        (b'{"rows": [{"gbps": 1e400}]}', r"holds a number that is too large, or none: rows\.0\.gbps"),
        (b'{"settings": {"a": NaN}}', r"holds a number that is too large, or none: settings\.a"),
        (b'{"bytes": 18446744073709551616}', "holds a number that is too large, or none: bytes"),
        (b'{"settings": {"a": "\\ud800"}}', r"holds what is not printable text: settings\.a"),
        (b'["\\u001b[2J"]', "holds what is not printable text: 0"),
        (b'{"a": {"\\u0000": 1}}', "has a member with a name that is not printable text, in a"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "result.json"
    file.write_bytes(content)
    with pytest.raises(Problem, match=f"result.json {said}") as caught:
        read_json(file)
    assert caught.value.exit_code == Exit.USAGE


def test_what_is_unusual_but_right_is_read(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text('{"a": [18446744073709549568, -0.0, 5e-324, "tab\\there\\nÜnï 码 🧦"]}', encoding="utf-8")
    assert read_json(file) == {"a": [18446744073709549568, 0.0, 5e-324, "tab\there\nÜnï 码 🧦"]}
    file.write_text("[" * 200 + "]" * 200)
    assert read_json(file)


def test_a_place_with_a_long_name_is_told_short() -> None:
    document = data("tuned")
    document["entries"][0]["shares"] = {"x\n" * 5000: "half"}
    with pytest.raises(Problem) as caught:
        parse(PutTable, document, "the file")
    assert caught.value.what.startswith("the file: entries.0.shares.x x x")
    assert len(caught.value.what) < 200
    assert "\n" not in caught.value.what


def test_a_place_with_an_invisible_name_is_told_visibly(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    file.write_bytes(b'{"\\ufeff": 1e999}')
    with pytest.raises(Problem) as caught:
        read_json(file)
    assert caught.value.what == f"{file} holds a number that is too large, or none: \\ufeff"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="No such file"):
        read_json(tmp_path / "none.json")


@pytest.mark.parametrize("name", ["result", "collective", "mpi", "patterns", "torch", "training"])
def test_the_schema_of_results_is_the_one_that_the_reader_follows(name: str) -> None:
    schema = json.loads((ROOT / "schemas" / "result.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = data(name) if name != "training" else parse(Result, data(name), name).model_dump(by_alias=True)
    validator.validate(document)
    for member in ("version", "kind", "rows", "machine"):
        assert not validator.is_valid({key: value for key, value in document.items() if key != member})


def test_names_that_benchmarks_once_had_are_read() -> None:
    training = data("training")
    training["rows"][0] |= {"calls": "nccl"}
    row = parse(Result, training, "it").rows[0]
    assert (row.operation, row.median_us, row.plan) == ("training", 1e3 * training["rows"][0]["median_ms"], "NCCL")
    torch = data("torch")
    assert parse(Result, torch, "it").rows[0].plan == torch["rows"][0]["how"]
    collective = data("collective")
    del collective["rows"][0]["in_place"]
    assert parse(Result, collective, "it").rows[0].in_place
    training["rows"][1]["median_ms"] = "soon"
    with pytest.raises(Problem, match=r"it: rows\.1\.median_us: "):
        parse(Result, training, "it")


@pytest.mark.parametrize(
    "file", sorted((ROOT / "results").glob("*/put-table.json")), ids=lambda file: file.parent.name
)
def test_the_kept_put_tables_follow_their_schema(file: Path) -> None:
    schema = json.loads((ROOT / "schemas" / "put-table.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = read_json(file)
    validator.validate(document)
    assert isinstance(document, dict)
    del document["entries"]
    assert not validator.is_valid(document)


@pytest.mark.parametrize("file", sorted((ROOT / "machines").glob("*.json")), ids=lambda file: file.stem)
def test_the_shipped_machines_are_read(file: Path) -> None:
    assert parse(Machine, read_json(file), file.name).devices
