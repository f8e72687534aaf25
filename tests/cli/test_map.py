"""`sennit map`: what is asked of the program, what is shown, kept and drawn."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Programs, check_snapshot, data, shown
from made_up_maps import changed, few
from sennit.model.document import parse, read_json
from sennit.model.machine import Machine
from sennit.model.map import RankMap, kept
from sennit.programs.problem import Problem
from sennit.views.map_html import map_html
from sennit.views.map_svg import before_and_after, by_gpu, gpu_ids, matrices, tenants
from sennit.views.map_text import print_map, title

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def found() -> RankMap:
    """What sennit-map said of sixteen ranks on Helios, once."""
    return RankMap.model_validate(data("map"))


def helios() -> Machine:
    return Machine.model_validate(read_json(ROOT / "machines" / "helios.json"))


def test_a_map_on_the_terminal(found: RankMap) -> None:
    check_snapshot("map.txt", shown(lambda console: print_map(found, console, "map.json")))


def test_nothing_to_gain_is_one_line() -> None:
    alike = changed(
        advised=False, verdict="all pairs alike within 1.2 % (measured): any order is as good",
        mappings=data("map")["mappings"][::2], chosen=1,
    )  # fmt: skip
    assert shown(lambda console: print_map(alike, console)).splitlines() == [
        "All pairs alike within 1.2 % (measured): any order is as good."
    ]


def test_what_stays_on_its_socket_is_said() -> None:
    said = "16 of 16 ranks stay on the socket that their launcher bound them to"
    assert f"{said}." in shown(lambda console: print_map(changed(kept=said), console)).splitlines()


def test_what_is_kept_has_no_times_and_follows_the_schema() -> None:
    document = data("map")
    file = kept(document)
    assert "found_ms" not in json.dumps(file)
    assert file["pays_after"] is None
    faster = copy.deepcopy(document)
    faster["mappings"][-1]["found_ms"] *= 2
    faster["pays_after"] = 7
    assert kept(faster) == file
    schema = json.loads((ROOT / "schemas" / "map.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(file)
    for member in ("kind", "fingerprint", "ranks", "mappings"):
        assert not validator.is_valid({name: value for name, value in file.items() if name != member})


def test_how_far_a_map_may_be_off() -> None:
    mapping = changed().best
    assert mapping.proved is not None
    bound = {"heaviest_us": mapping.heaviest_us / 2, "sum": mapping.cost}
    halved = mapping.model_validate(mapping.model_dump() | {"proved": False, "bound": bound})
    assert halved.gap() == pytest.approx(0.5)
    bound = {"heaviest_us": mapping.heaviest_us, "sum": 0.9 * mapping.cost}
    less = mapping.model_validate(mapping.model_dump() | {"proved": False, "bound": bound})
    assert less.gap() == pytest.approx(0.1)
    assert changed().mappings[0].gap() is None


def test_the_picture_has_the_ranks_in_the_boxes(found: RankMap) -> None:
    picture = ElementTree.fromstring(before_and_after(found, helios()))
    written = [each.text or "" for each in picture.iter(f"{SVG}text")]
    assert sum(text.startswith("rank ") for text in written) == 32
    assert sum("As it is" in text for text in written) == 1
    assert len(list(picture.findall(f"{SVG}svg"))) == 2
    boxes = tenants(found, found.mappings[0], helios())
    assert (boxes["gpu0"], boxes["gpu15"]) == ("rank 0", "rank 15")
    assert len(matrices(found)) == 2
    assert sorted(by_gpu(found)) == list(range(16))
    assert not matrices(changed(traffic=data("map")["traffic"] | {"matrix": []}))


def test_gpus_that_were_chosen_have_their_own_names() -> None:
    ranks = [{"rank": rank, "node": 0, "gpu": f"gpu{9 - rank}"} for rank in range(2)]
    assert gpu_ids(few(ranks, gpus=2, advised=False), helios()) == ["gpu9", "gpu8"]


def test_the_page_is_whole(found: RankMap) -> None:
    text = map_html(found, helios())
    assert title(found).split(",")[0] in text
    assert text.count("<svg") >= 5
    assert "<script" not in text


def test_the_verb_asks_and_writes(programs: Programs, tmp_path: Path) -> None:
    programs.add("sennit-map", data("map"))
    programs.add("sennit-machine", read_json(ROOT / "machines" / "helios.json"))
    files = [tmp_path / name for name in ("map.json", "map.svg", "map.html")]
    done = programs.sennit(
        "map", "--pattern", "2d-torus:4x4,w=3", "--machine", "helios", "--nodes", "1", "--solver", "all",
        "-o", str(files[0]), "--svg", str(files[1]), "--html", str(files[2]),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(file.stat().st_size > 1000 for file in files)
    call = programs.calls("sennit-map")[0]
    assert call[0] == "map"
    assert call[call.index("--pattern") + 1] == "2d-torus:4x4,w=3"
    assert call[call.index("--solver") + 1] == "all"
    again = programs.sennit("report", str(files[0]))
    assert again.returncode == 0, again.stderr
    assert "16 ranks on helios" in again.stdout


def test_the_verb_takes_a_profile(programs: Programs, tmp_path: Path) -> None:
    programs.add("sennit-map", data("map"))
    (tmp_path / "profile.json").write_text(json.dumps(data("profile")))
    assert programs.sennit("map", str(tmp_path), "--keep-sockets", "--json").returncode == 0
    call = programs.calls("sennit-map")[0]
    assert "--profile" in call
    assert "--keep-sockets" in call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "what the ranks send is not given"),
        (["--pattern", "ring:4", "--matrix", "x"], "given more than once"),
        (["none"], "does not exist"),
    ],
)
def test_what_cannot_be_asked_is_said(programs: Programs, arguments: list[str], said: str) -> None:
    done = programs.sennit("map", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chosen": 3}, "not among"),
        ({"ranks": []}, "not those of 16 ranks"),
        ({"gpus": 4}, "no places of their own"),
    ],
)
def test_a_map_that_is_not_whole_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Problem, match=said):
        parse(RankMap, data("map") | changes, "map.json")


def test_a_document_that_is_no_profile_is_refused(tmp_path: Path) -> None:
    from sennit.programs.map import Question, ask

    (tmp_path / "profile.json").write_text(json.dumps(data("machine")))
    with pytest.raises(Problem, match="is no profile"):
        ask(Question(profile=tmp_path))
