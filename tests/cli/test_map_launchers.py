"""`sennit map --emit`: what launchers read of a map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Programs
from made_up_maps import on_two_nodes, with_uuids
from sennit.model.map import RankMap
from sennit.programs.launch_files import launch_file
from sennit.programs.problem import Problem


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("rankfile", "rank 0=a slot=0\nrank 1=b slot=0\nrank 2=a slot=1\nrank 3=b slot=1\n"),
        ("hostfile", "a:1\nb:1\na:1\nb:1\n"),
        ("slurm", "a\nb\na\nb\n"),
    ],
)
def test_launchers_get_the_ranks_of_each_node(form: str, expected: str) -> None:
    assert launch_file(on_two_nodes(), form, ["a", "b"]) == expected


def test_one_node_is_said_by_a_variable_or_by_counts() -> None:
    assert launch_file(with_uuids(), "env", []) == "export CUDA_VISIBLE_DEVICES=GPU-3,GPU-2,GPU-1,GPU-0\n"
    assert launch_file(with_uuids(), "hostfile", []) == "localhost:4\n"


@pytest.mark.parametrize(
    ("found", "form", "hosts", "said"),
    [
        (on_two_nodes(), "rankfile", ["a", "a"], "1 hosts are named"),
        (on_two_nodes(), "env", ["a", "b"], "of one node"),
        (with_uuids(), "lsf", [], "no form 'lsf'"),
    ],
)
def test_what_no_launcher_can_be_told_is_refused(found: RankMap, form: str, hosts: list[str], said: str) -> None:
    with pytest.raises(Problem, match=said):
        launch_file(found, form, hosts)


def test_the_verb_prints_what_a_launcher_reads(programs: Programs, tmp_path: Path) -> None:
    programs.add("sennit-map", json.loads(on_two_nodes().model_dump_json(by_alias=True)))
    (tmp_path / "hosts.txt").write_text("# ours\nnode1 slots=2\n\nnode2:2\n")
    done = programs.sennit("map", "--pattern", "ring:4", "--hosts", "hosts.txt", "--emit", "slurm")
    assert (done.returncode, done.stdout) == (0, "node1\nnode2\nnode1\nnode2\n"), done.stderr
    done = programs.sennit("map", "--pattern", "ring:4", "--hosts", "none.txt", "--emit", "slurm")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
