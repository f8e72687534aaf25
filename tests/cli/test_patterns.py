"""`sennit bench patterns`: what is asked of the two programs, and what is shown of maps that took turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import check_snapshot, data, shown
from sennit.compare.groups import groups
from sennit.model.result import Result
from sennit.verbs import mpi
from sennit.verbs.patterns import paper_patterns
from sennit.views.csv import to_csv
from sennit.views.patterns import charts, paid_after, sentences, table
from sennit.views.sections import html, print_result
from test_mpi import Tree

MAPPER = "sennit-map"


def result(**changes: Any) -> Result:
    return Result.model_validate(data("patterns") | changes)


def only(*variants: str) -> Result:
    return result(rows=[row for row in data("patterns")["rows"] if row["variant"].startswith(variants)])


def test_the_tables() -> None:
    check_snapshot("patterns.txt", shown(lambda console: print_result(result(), console)))


def test_a_map_is_judged_by_whether_its_interval_holds_nothing() -> None:
    (group,) = groups(result())
    assert [line["gain"] for line in table(group).verdicts] == ["", "same", "slower", "", "faster", "slower"]
    assert sentences(group) == [
        "By contention, distance an exchange takes 60.0 ± 1.0 % less at 1 MiB, 65 % predicted."
    ]


def test_where_nothing_is_gained_that_is_said() -> None:
    (group,) = groups(only("as it is", "random"))
    assert sentences(group) == ["No metric has another map than the order as it is."]
    rows = data("patterns")["rows"]
    rows[4]["saved"] = {"part": 0.01, "low": -0.01, "high": 0.02}
    (group,) = groups(result(rows=rows))
    assert "leave the order as it is" in sentences(group)[0]


def test_a_map_has_paid_when_it_saved_the_time_to_find_it() -> None:
    (group,) = groups(result())
    before, mapped, random = group.rows[1048576].values()
    assert paid_after(mapped, before) == 3  # 1.3 ms by 600 µs each
    assert paid_after(random, before) is None
    mapped.saved = None
    assert paid_after(mapped, before) is None


def test_exchanges_over_nccl_have_a_table_of_their_own() -> None:
    rows = data("patterns")["rows"]
    both = groups(result(rows=[*rows, *(row | {"over": "nccl"} for row in rows)]))
    title = "2d-torus:2x2,w=3: GPU buffers, 4 ranks on 2 nodes"
    assert [group.title for group in both] == [title, f"{title}, over NCCL"]
    assert sentences(both[0]) == sentences(both[1])


def test_the_charts_are_those_of_the_paper() -> None:
    (group,) = groups(result())
    gains, paid = charts(group)
    assert "that a map saves" in gains
    for name in ("contention", "distance", "random", "worst"):
        assert f">{name}<" in gains
    assert "contention, distance" not in gains, "a map of two metrics is in both lines"
    assert "Exchanges until a map has paid" in paid
    assert charts(groups(only("as it is"))[0]) == []
    page = html(result())
    assert page.count("<svg") == 2
    assert "<script" not in page


def test_rows_as_csv() -> None:
    lines = to_csv(result()).splitlines()
    assert lines[0].startswith("machine,date,pattern,variant,map,over,buffers,bytes")
    assert "2;0;3;1" in lines[5]
    assert "part=0.6;low=0.59;high=0.61" in lines[5]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (4, ["2d-stencil:2x2", "2d-torus:2x2", "2d-hypercube", "2d-stencil:2x2,w=3", "2d-torus:2x2,w=3",
             "2d-hypercube:w=3"]),
        (6, ["2d-stencil:3x2", "2d-torus:3x2", "2d-stencil:3x2,w=3", "2d-torus:3x2,w=3"]),
        (16, ["2d-stencil:4x4", "2d-torus:4x4", "3d-torus:4x2x2", "4d-hypercube", "2d-stencil:4x4,w=3",
              "2d-torus:4x4,w=3", "3d-torus:4x2x2,w=3", "4d-hypercube:w=3"]),
    ],
)  # fmt: skip
def test_patterns_are_the_papers_for_so_many_ranks(ranks: int, expected: list[str]) -> None:
    assert paper_patterns(ranks) == expected


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    made.add(mpi.PROGRAM, data("patterns"))
    made.add(MAPPER, data("map-variants"), to="variants")
    return made


def test_maps_are_asked_for_and_measured(tree: Tree) -> None:
    pattern = ["--pattern", "2d-torus:2x2,w=3", "--pattern", "ring:4"]
    options = ["--buffers", "gpu,host", "--over", "mpi,nccl", "--nccl", "libnccl.so.2", "--bind", "none"]
    options += ["--ranks-per-node", "2", "--seconds", "0.5"]
    asked = ["--sizes", "1K,1M", "--machine", "mist"]
    files = ["--json", "r.json", "--html", "r.html"]
    done = tree.sennit("bench", "patterns", *pattern, *options, *asked, *files, PATH=f"{tree.folder}:/bin:/usr/bin")
    assert done.returncode == 0, done.stderr
    (mapping,) = tree.calls(MAPPER)
    assert mapping == ["variants", *pattern, *asked, "--ranks-per-node", "2"]
    (call,) = tree.calls(mpi.PROGRAM)
    assert [part for part in call if not part.startswith("/")] == ["--library", "--patterns", *options, "--progress"]
    assert f" -n 4 {tree.folder}/{mpi.PROGRAM} " in tree.started()[0], "as many ranks as the pattern has"
    assert "of made-up-4, as asked for" in json.loads((tree.folder / "r.json").read_text())["warnings"][0]
    assert "paid after" in done.stdout
    again = tree.sennit("bench", "show", "r.json")
    assert "2d-torus:2x2,w=3: GPU buffers, 4 ranks on 2 nodes" in again.stdout


def test_patterns_are_of_as_many_ranks_as_gpus_and_of_four_at_least(tree: Tree) -> None:
    for visible, grid in (("0,1,2,3,4,5,6,7", "4x2"), ("0", "2x2")):
        path = f"{tree.folder}:/bin:/usr/bin"
        assert tree.sennit("bench", "patterns", PATH=path, CUDA_VISIBLE_DEVICES=visible).returncode == 0
        assert f"2d-stencil:{grid}" in tree.calls(MAPPER)[-1]


def test_other_ranks_than_the_patterns_are_refused(tree: Tree) -> None:
    path = f"{tree.folder}:/bin:/usr/bin"
    done = tree.sennit("bench", "patterns", "--pattern", "2d-torus:2x2,w=3", "-n", "8", PATH=path)
    assert done.returncode == 2
    assert "has 4 ranks, and -n says 8" in done.stderr
    assert tree.calls(mpi.PROGRAM) == []


def test_an_error_of_the_mapper_is_the_users(tree: Tree) -> None:
    error = {"code": "unsupported", "what": "machine 'vm' has no GPUs to map ranks to", "where": "",
             "remedy": "Name a machine that has: --machine dgx-1v"}  # fmt: skip
    tree.add(MAPPER, stderr=json.dumps({"error": error}) + "\n", code=3, to="variants")
    done = tree.sennit("bench", "patterns", PATH=f"{tree.folder}:/bin:/usr/bin")
    assert done.returncode == 3
    assert "no GPUs to map ranks to" in done.stderr
    assert tree.calls(mpi.PROGRAM) == []
