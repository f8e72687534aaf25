"""`sennit run --map`: which GPUs a program's ranks see, in which order, and near which cores they run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_up_maps import HERE, changed, few, with_uuids
from sennit.model.map import RankMap
from sennit.programs import machines, near_cores
from sennit.programs.problem import Problem
from sennit.programs.rank_map import Gpus, Rank, asked_gpus, gpus_of, visible_devices
from sennit.verbs import run


def told(text: str) -> dict[str, str]:
    return {"CUDA_VISIBLE_DEVICES": text}


def test_a_program_sees_its_gpus_in_the_order_of_the_map() -> None:
    assert visible_devices(with_uuids(), HERE, {}) == "GPU-3,GPU-2,GPU-1,GPU-0"
    assert visible_devices(with_uuids(), HERE, {}, Rank(1), one=True) == "GPU-2"


@pytest.mark.parametrize("text", ["GPU-0, GPU-1,GPU-2,GPU-3", "0,1,2,3", "3,1,2,0", "GPU-0,1,GPU-2,3"])
def test_a_set_that_somebody_has_chosen_is_kept_and_its_order_is_the_maps(text: str) -> None:
    assert visible_devices(with_uuids(), HERE, told(text)) == "GPU-3,GPU-2,GPU-1,GPU-0"


def test_gpus_that_the_map_leaves_free_stay_behind_its_own() -> None:
    pair = few([{"rank": rank, "node": 0, "gpu": f"gpu{2 - rank}", "uuid": f"GPU-{2 - rank}"} for rank in range(2)])
    assert visible_devices(pair, HERE, told("0,1,2")) == "GPU-2,GPU-1,GPU-0"
    assert visible_devices(pair, HERE, {}) == "GPU-2,GPU-1", "nobody has said that it sees others"


def test_beginnings_of_uuids_are_known_as_cuda_knows_them() -> None:
    here = Gpus(["GPU-a1", "GPU-a2", "GPU-b"])
    one = few([{"rank": 0, "node": 0, "gpu": "gpu2", "uuid": "GPU-b"}])
    assert visible_devices(one, here, told("GPU-b,GPU-a1")) == "GPU-b,GPU-a1"
    with pytest.raises(Problem, match="or any of several"):
        visible_devices(one, here, told("GPU-b,GPU-a"))


def test_numbers_say_nothing_where_gpus_differ() -> None:
    differ = Gpus(HERE.uuids, HERE.pci, alike=False)
    with pytest.raises(Problem, match="is set to other GPUs"):
        visible_devices(with_uuids(), differ, told("0,1,2,3"))
    by_address = told("0,1,2,3") | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert visible_devices(with_uuids(), differ, by_address) == "GPU-3,GPU-2,GPU-1,GPU-0"


OTHERS = Gpus([f"GPU-other{number}" for number in range(4)], ["0000:09:00.0"] * 4)
SLICES = Gpus([f"MIG-{number}" for number in range(4)])


@pytest.mark.parametrize(
    ("found", "here", "environment", "rank", "said", "remedy"),
    [
        (with_uuids(nodes=2), HERE, {}, Rank(), "of 2 nodes", "behind the launcher"),
        (changed(), HERE, {}, Rank(), "names no UUIDs", "Make it on this machine"),
        (with_uuids(), Gpus(HERE.uuids[:3]), {}, Rank(), "a GPU is gone since the map was made, of rank 0", "left"),
        (with_uuids(), OTHERS, {}, Rank(), "of another machine: GPU-3 is not here", "Make it on this machine"),
        (with_uuids(), SLICES, {}, Rank(), r"MIG-0 is a slice of a GPU", "nvidia-smi -mig 0"),
        (with_uuids(), HERE, told("MIG-1/2/3"), Rank(), "is a slice of a GPU", "Leave --map out"),
        (with_uuids(), HERE, told("0,1,2"), Rank(), "0,1,2, without the map's GPU-3", "--gpus 0,1,2"),
        (with_uuids(), HERE, told(""), Rank(), "is set to other GPUs", "Unset it"),
        (with_uuids(), HERE, told("0,1,2,3,7"), Rank(), "and 7 there is none", "Unset it"),
        (with_uuids(), HERE, {}, Rank(4), "local rank 4", "Start as many"),
        (with_uuids(), HERE, {}, Rank(None, None), "no launcher has numbered", "behind the launcher"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(
    found: RankMap, here: Gpus, environment: dict[str, str], rank: Rank, said: str, remedy: str
) -> None:
    with pytest.raises(Problem, match=said) as caught:
        visible_devices(found, here, environment, rank, one="launcher" in said or rank.local is not None)
    assert remedy in caught.value.remedy


def test_a_gpu_that_a_cgroup_hides_is_told_from_one_that_is_gone() -> None:
    ranks = [{"rank": rank, "node": 0, "gpu": f"gpu{rank}", "uuid": f"GPU-{rank}", "pci": f"0000:0{rank}:00.0"}
             for rank in range(4)]  # fmt: skip
    shown = Gpus(HERE.uuids[:1], HERE.pci[:1], installed=HERE.pci)
    with pytest.raises(Problem, match=r"GPU-1 .* a cgroup hides it") as caught:
        visible_devices(few(ranks), shown, {})
    assert "--gpus-per-node" in caught.value.remedy
    with pytest.raises(Problem, match="a GPU is gone"):
        visible_devices(few(ranks), Gpus(HERE.uuids[:1], HERE.pci[:1], installed=HERE.pci[:1]), {})


def test_gpus_are_read_from_the_machine_and_from_the_driver(tmp_path: Path) -> None:
    for name in ("0000:1B:00.0", "0000:1c:00.0"):
        (tmp_path / name).mkdir()
    devices = [{"kind": "gpu", "uuid": "GPU-0", "pci": "0000:1b:00.0", "model": "A"}, {"kind": "host", "id": "host0"},
               {"kind": "gpu", "uuid": "GPU-1", "pci": "0000:1c:00.0", "model": "B"}]  # fmt: skip
    found = gpus_of({"devices": devices}, tmp_path)
    assert (found.uuids, found.alike) == (["GPU-0", "GPU-1"], False)
    assert found.installed == {"0000:1b:00.0", "0000:1c:00.0"}
    assert gpus_of({"devices": devices}, tmp_path / "none").installed == set()


def of_nodes() -> RankMap:
    """Four ranks on two nodes that are like HERE, dealt out in turn; made on the first."""
    return few(
        [{"rank": rank, "node": rank % 2, "gpu": f"gpu{1 - rank // 2}", "uuid": f"GPU-{1 - rank // 2}",
          "pci": f"0000:0{1 - rank // 2}:00.0"} for rank in range(4)], nodes=2,
    )  # fmt: skip


def test_a_rank_of_several_nodes_sees_those_of_its_own() -> None:
    second = Gpus(["GPU-x", "GPU-y"], HERE.pci[:2])
    assert visible_devices(of_nodes(), HERE, {}, Rank(0, 0)) == "GPU-1,GPU-0"
    assert visible_devices(of_nodes(), second, {}, Rank(1, 3)) == "GPU-y,GPU-x", "by their addresses"
    assert visible_devices(of_nodes(), second, {}, Rank(1, 3), one=True) == "GPU-x"
    with pytest.raises(Problem, match="rank 3 is number 1 of node 1 in the map, and number 0") as caught:
        visible_devices(of_nodes(), second, {}, Rank(0, 3))
    assert "--emit rankfile" in caught.value.remedy
    with pytest.raises(Problem, match="has 4 ranks, and this is rank 9"):
        visible_devices(of_nodes(), second, {}, Rank(0, 9))


def test_several_ranks_of_a_gpu_need_a_rank_each() -> None:
    twice = [{"rank": rank, "node": 0, "gpu": "gpu0", "uuid": "GPU-0"} for rank in range(2)]
    with pytest.raises(Problem, match="several ranks on a GPU"):
        visible_devices(few(twice), HERE, {})
    assert visible_devices(few(twice), HERE, {}, Rank(1), one=True) == "GPU-0"


def test_run_gives_a_program_its_map(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    devices = [{"id": name, "kind": "gpu", "uuid": name} for name in HERE.uuids] + [{"id": "host0", "kind": "host"}]
    monkeypatch.setattr(machines, "this_machine", lambda: {"devices": devices})
    file = tmp_path / "map.json"
    file.write_text(with_uuids().model_dump_json(by_alias=True))
    order = "GPU-3,GPU-2,GPU-1,GPU-0"
    assert run.mapped(file, {}, one=False) == {"CUDA_VISIBLE_DEVICES": order, "SENNIT_MAP": order}
    alone = run.mapped(file, {"OMPI_COMM_WORLD_LOCAL_RANK": "2"}, one=True)
    assert alone == {"CUDA_VISIBLE_DEVICES": "GPU-1", "SENNIT_MAP": order}, "the drop-ins look by local rank"
    with pytest.raises(Problem, match="--gpu-per-rank has to know the rank"):
        run.mapped(file, {}, one=True)
    with pytest.raises(Problem, match="--bind has to know the rank"):
        run.mapped(file, {}, one=False, bind=True)
    file.write_text("{}")
    with pytest.raises(Problem, match="is no map"):
        run.mapped(file, {}, one=False)


@pytest.mark.parametrize(
    "variables",
    [
        {"OMPI_COMM_WORLD_LOCAL_RANK": "{}", "OMPI_COMM_WORLD_RANK": "{}"},
        {"MPI_LOCALRANKID": "{}", "PMI_RANK": "{}"},
        {"SLURM_LOCALID": "{}", "SLURM_PROCID": "{}"},
        {"PRTE_LAUNCHED": "1", "PMIX_RANK": "{}", "SLURM_LOCALID": "0", "SLURM_PROCID": "0"},
    ],
    ids=["openmpi", "hydra", "slurm", "prrte"],
)
def test_every_rank_of_a_launcher_gets_the_gpu_of_the_map(variables: dict[str, str]) -> None:
    numbered = [{name: value.format(number) for name, value in variables.items()} for number in range(4)]
    ranks = [Rank(run.local_rank(each), run.whole_rank(each)) for each in numbered]
    seen = [visible_devices(with_uuids(), HERE, {}, rank, one=True) for rank in ranks]
    assert seen == ["GPU-3", "GPU-2", "GPU-1", "GPU-0"]
    assert {asked_gpus(with_uuids(), HERE, rank) for rank in ranks} == {"GPU-3,GPU-2,GPU-1,GPU-0"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OMPI_COMM_WORLD_RANK": "5", "PMIX_RANK": "5", "SLURM_PROCID": "0"}, 5),
        ({"PMI_RANK": "3"}, 3),
        ({"SLURM_PROCID": "7"}, 7),
        ({"PMI_RANK": "-1"}, None),
        ({}, None),
    ],
)
def test_a_launcher_numbers_all_ranks(variables: dict[str, str], expected: int | None) -> None:
    assert run.whole_rank(variables) == expected


# ---- cores --------------------------------------------------------------------------------------------------------


def test_cores_near_a_gpu_are_those_of_its_numa_node(tmp_path: Path) -> None:
    (tmp_path / "node1").mkdir()
    (tmp_path / "node1" / "cpulist").write_text("4-6,9\n")
    assert near_cores.near(1, tmp_path) == {4, 5, 6, 9}
    assert near_cores.near(0, tmp_path) == near_cores.near(-1, tmp_path) == set()


@pytest.mark.parametrize(
    ("allowed", "close", "expected", "warned"),
    [
        ({0, 1, 2, 3}, {2, 3}, {2, 3}, ""),
        ({1, 2}, {2, 3}, {2}, ""),
        ({2}, {2, 3}, set(), ""),
        ({0, 1}, {2, 3}, set(), "far from its GPU"),
        ({0, 1}, set(), set(), "is not known"),
    ],
)
def test_a_rank_that_nobody_bound_is_bound_near_its_gpu(
    allowed: set[int], close: set[int], expected: set[int], warned: str
) -> None:
    cores, said = near_cores.chosen(allowed, close)
    assert cores == expected
    assert warned in said
    assert bool(warned) == bool(said)


def test_run_binds_a_rank_and_warns_of_one_that_is_bound_far_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = [{"id": name, "kind": "gpu", "uuid": name} for name in HERE.uuids]
    monkeypatch.setattr(machines, "this_machine", lambda: {"devices": devices})
    ranks = [{"rank": rank, "node": 0, "gpu": f"gpu{rank}", "uuid": f"GPU-{rank}", "numa": rank // 2}
             for rank in range(4)]  # fmt: skip
    file = tmp_path / "map.json"
    file.write_text(few(ranks).model_dump_json(by_alias=True))
    bound: list[set[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _process, cores: bound.append(cores))
    monkeypatch.setattr(near_cores, "near", lambda numa: {4 * numa, 4 * numa + 1})
    for allowed in ({0, 1, 4, 5}, {0}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _process, cores=allowed: cores)
        run.mapped(file, {"MPI_LOCALRANKID": "3", "PMI_RANK": "3"}, one=True, bind=True)
    assert bound == [{4, 5}]
    assert "rank 3: the launcher has bound the rank to cores far from its GPU" in " ".join(
        capsys.readouterr().err.split()
    )
