"""Advice: made-up profiles, and the lines expected of them."""

from __future__ import annotations

import copy
import json
import socket
from typing import Any

import made_up_profiles as made_up
import pytest
from conftest import Programs, data, kept_plans
from made_up_profiles import MIB
from sennit.advice.advice import LEAST, NOTHING_KNOWN, Advice, Known
from sennit.advice.placement import apart
from sennit.advice.rules import RULES, advise, faster, port_gbps
from sennit.model.document import parse
from sennit.model.machine import Machine
from sennit.model.plans import CollectiveTable
from sennit.model.profile import Profile


def read(document: Any) -> Profile:
    return parse(Profile, document, "it")


def given(document: Any, known: Known = NOTHING_KNOWN) -> list[Advice]:
    return advise(read(document), known)


def one(document: Any, begin: str, known: Known = NOTHING_KNOWN) -> Advice:
    (found,) = [advice for advice in given(document, known) if advice.what.startswith(begin)]
    return found


def machine(gbps: float = 400) -> Machine:
    """Four GPUs whose ports have this bandwidth."""
    gpus = [
        {"id": f"gpu{number}", "kind": "gpu", "read_gbps": {"value": gbps, "source": "measured"}}
        for number in range(4)
    ]
    return parse(Machine, {"version": 1, "name": "made-up", "devices": gpus}, "it")


def table(us: float, nccl_us: float, size: int = 25 * MIB) -> CollectiveTable:
    """What was tuned of allreduces on four GPUs."""
    plan = {"algorithm": "two_shot", "blocks": 24, "threads": 256, "us": us, "spread_us": 0.01 * us}
    case = {"layout": ["gpu0", "gpu1", "gpu2", "gpu3"], "operation": "allreduce", "arithmetic": "fast", "bytes": size,
            "plans": [plan], "model_us": us, "nccl_us": nccl_us, "candidates": 3}  # fmt: skip
    return parse(CollectiveTable, data("plans") | {"entries": [case]}, "it")


def test_a_program_that_computes_needs_no_advice() -> None:
    assert given(made_up.harmless()) == []
    assert given(made_up.harmless(), Known(machine(), table(1, 2), never_tuned=True)) == []
    assert given(made_up.profile([], [])) == []


def test_advice_is_worth_two_percent_and_ordered() -> None:
    for make in (made_up.ddp, made_up.halo, made_up.horovod, made_up.large):
        found = given(make(), Known(machine(), never_tuned=True))
        shares = [advice.share for advice in found]
        assert found
        assert shares == sorted(shares, reverse=True)
        assert min(shares) >= LEAST
        for advice in found:
            for sentence in (advice.what, advice.evidence, advice.remedy):
                assert (
                    sentence[0].isupper()
                    or sentence[0].isdigit()
                    or sentence.startswith(("ncclA", "sennit", "docs/"))
                )
                assert sentence.endswith((".", "mpirun)."))


def test_small_sums_on_the_host() -> None:
    found = one(made_up.horovod(), "Allreduces of at most 32 B in host memory take 27 % of run time.")
    assert found.share == pytest.approx(34.0 * 0.8 / 100)
    assert "20900 calls a process (band, bor)" in found.evidence
    assert "98 % of all allreduces" in found.evidence
    assert "HOROVOD_CYCLE_TIME" in found.remedy
    alone = made_up.horovod()
    alone["rows"] = [row for row in alone["rows"] if row["to_bytes"] is None or row["to_bytes"] <= 64]
    assert "MPI_Iallreduce" in one(alone, "Allreduces of at most 32 B").remedy
    counted = made_up.horovod()
    for row in counted["rows"]:
        row["function"] += "_c"  # counts of 64 bits, as mpi4py has them
    assert one(counted, "Allreduces of at most 32 B").share == found.share
    few = made_up.horovod()
    few["rows"][0]["calls"] = few["rows"][1]["calls"] = 80
    assert not [advice for advice in given(few) if advice.what.startswith("Allreduces")]


def test_sums_that_wait_for_a_rank_are_not_called_small() -> None:
    """What a late rank costs is said once, and no fusion helps."""
    document = made_up.halo()
    assert not [advice for advice in given(document) if advice.what.startswith("Allreduces")]
    document["skew"] = []
    assert one(document, "Allreduces of at most 8 B").share == pytest.approx(4.1 / 40)


def test_buckets_that_are_too_small() -> None:
    found = one(made_up.ddp(small=400), "ncclAllReduce of at most 1 MiB takes")
    assert "27 % of run time for 80 % of its bytes" in found.what
    # 16 s at 26.2 GB/s would take 10.2 s at 41 GB/s.
    assert found.share == pytest.approx((16.012 - (400000 * MIB + 4000) / (25 * MIB / 640e-6)) / 60, rel=0.01)
    assert "those of up to 32 MiB reach 41.0 GB/s" in found.evidence
    assert "bucket_cap_mb" in found.remedy
    assert not [advice for advice in given(made_up.ddp()) if "buckets" in advice.what]
    untimed = made_up.ddp(small=400)
    for row in untimed["rows"]:
        row["device_calls"] = 0
    assert given(untimed) == [], "the host's time of a call that only enqueues says nothing"


def test_empty_polls() -> None:
    found = one(made_up.server(), "Looking for messages that are not there takes 15 % of run time.")
    assert found.evidence == "Found nothing: 7190000 of 7200000 calls of MPI_Iprobe."


def test_more_ranks_than_cores() -> None:
    document = made_up.halo()
    said = "8 processes share 2 cores of node2"
    assert not [each for each in given(document) if "share" in each.what], "the profile does not say how many"
    for rank in document["ranks"]:
        rank["cores"] = 8 if rank["host"] == "node1" else 2
    found = one(document, said)
    inside = sum(row.rank_seconds.mean for row in read(document).counted)
    assert found.share == pytest.approx(inside / 40 * (1 - 2 / 8))
    document["ranks"][1]["cores"] = 8
    assert not [each for each in given(document) if said in each.what], "as many cores as one of its processes saw"


def test_a_late_rank() -> None:
    found = one(made_up.halo(), "Ranks wait for rank 5 for 9 % of run time: it computes longer")
    assert found.share == pytest.approx(56 / 16 / 40)
    said = "It came last in 1840 of 2000 of MPI_Allreduce; it is in calls for 3.00 s, the others for 11.0 s."
    assert found.evidence == said
    assert "node2" in found.remedy
    document = made_up.halo()
    document["skew"][0]["latest_calls"] = 700
    assert one(document, "Ranks wait for rank 5"), "it is in calls for less time than all others"
    document["ranks"][5]["inside_seconds"] = 11.0
    assert "it is not one rank alone" in one(document, "Ranks wait for the last one for 9 %").evidence
    document["skew"][0]["inside_seconds"] = 600
    assert not [advice for advice in given(document) if advice.what.startswith("Ranks wait")]


def test_gpu_buffers_of_an_mpi_by_itself() -> None:
    document = made_up.halo()
    document["rows"][0] |= {"memory_in": "gpu", "memory_out": "gpu"}
    document["rows"][0]["rank_seconds"]["mean"] = 8.0
    found = one(document, "MPI calls with GPU buffers take 20 % of run time")
    assert "most of their time in MPI_Isend" in found.evidence
    assert "--accelerate" in found.remedy
    assert not [advice for advice in given(document | {"accelerated": True}) if "GPU buffers" in advice.what]


def test_calls_that_are_staged_say_why() -> None:
    """By reason; not those of which nothing can be gained."""
    document = made_up.halo(["node1"]) | {"accelerated": True}
    for row, how in zip(document["rows"], (
        "staged: derived type with gaps, rows alone", "staged: small", "direct copy",
        "staged: the GPUs have no peer access",
    ), strict=False):  # fmt: skip
        row |= {"memory_in": "gpu", "memory_out": "gpu", "how": how}
        row["rank_seconds"]["mean"] = 4.0
    found = one(document, "Calls that go through host memory (derived type with gaps, rows alone) take 10 %")
    assert found.evidence == "8000 calls a process of MPI_Isend."
    assert "without gaps" in found.remedy
    assert "sennit doctor" in one(document, "Calls that go through host memory (the GPUs have no peer").remedy
    assert not [advice for advice in given(document) if "(small)" in advice.what]


def test_a_machine_that_was_never_tuned() -> None:
    found = one(made_up.ddp(), "Collectives on GPUs take 4 % of run time, and", Known(never_tuned=True))
    assert found.remedy.startswith("sennit tune")
    assert given(made_up.ddp()) == []


def test_calls_beside_what_the_links_allow() -> None:
    known = Known(machine())
    slow = made_up.ddp(allreduce_us=6400)
    found = one(slow, "ncclAllReduce of 16 MiB to 32 MiB in GPU memory takes 43 % of run time, at 2 % of what", known)
    assert "bus bandwidth 6.14 GB/s of 400 GB/s" in found.evidence
    assert found.share == pytest.approx(25.6 / 60 * (1 - 0.01536 / 0.7), rel=0.01)
    assert "sennit tune" in found.remedy
    assert given(made_up.ddp(allreduce_us=100), known) == []
    faster_here = Known(machine(), table(5000, 6000))
    found = one(slow, "ncclAllReduce of 16 MiB", faster_here)
    assert "Measured here: two_shot 24x256, 1.20 ± 0.02 × as fast as NCCL." in found.evidence
    assert found.share == pytest.approx(25.6 / 60 * (1 - 1 / 1.2), rel=0.01)
    assert found.remedy.startswith("sennit run")
    assert given(made_up.halo(), known) == given(made_up.halo()), "what is not timed on the GPU is left alone"


def test_ports_are_as_measured_else_of_the_links() -> None:
    assert port_gbps(machine(395)) == 395
    links = []
    for other, kind, value in ((1, "nvlink", 50), (2, "nvlink", 25), (3, "pcie", 12)):
        figure = {"value": value, "source": "specification"}
        ends = {"from": "gpu0", "to": f"gpu{other}", "kind": kind}
        links.append(ends | {"forward_gbps": figure, "backward_gbps": figure})
    gpus = [{"id": f"gpu{number}", "kind": "gpu"} for number in range(4)]
    document: dict[str, Any] = {"version": 1, "name": "it", "devices": gpus, "links": links}
    assert port_gbps(parse(Machine, document, "it")) == 12, "of the GPU that has least"
    assert port_gbps(parse(Machine, document | {"devices": document["devices"][:2]}, "it")) == 50
    assert port_gbps(parse(Machine, {"version": 1, "name": "it", "devices": []}, "it")) == 0


def test_only_what_was_measured_to_be_faster_is_named() -> None:
    assert faster(None, "allreduce", 4, MIB) is None
    assert faster(table(90, 100, MIB), "allreduce", 4, MIB) is not None
    assert faster(table(100, 90, MIB), "allreduce", 4, MIB) is None
    assert faster(table(90, 100, MIB), "allreduce", 4, 16 * MIB) is None
    assert faster(table(90, 100, MIB), "allreduce", 2, MIB) is None
    assert faster(table(90, 100, MIB), "allgather", 4, MIB) is None


# Of halo()'s ranks, two lines of its grid on either host, which has every second rank.
TWO_LINES = [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]


def test_ranks_that_talk_and_sit_apart() -> None:
    said = "Ranks 0 and 1 talk most and sit on different hosts: 80 % of all bytes go between hosts."
    found = one(made_up.halo(), said, Known(order=TWO_LINES))
    assert "would send 10 % of them there" in found.evidence
    assert "Place ranks so: node1 0, 1, 2, 3, 4, 5, 6, 7; node2 8, 9," in found.remedy
    assert found.share == pytest.approx(6.9 / 40 * 0.875)
    assert not any("talk most" in advice.what for advice in given(made_up.halo())), "the mapper has said nothing"
    assert apart(read(made_up.halo(["node1"])), TWO_LINES) is None
    assert apart(read(made_up.halo()), TWO_LINES[:8]) is None, "another job's"
    assert apart(read(made_up.halo()), list(range(16))) is None, "no order is better"


def test_ranks_are_looked_at_by_the_mapper_where_they_may_sit_apart(programs: Programs) -> None:
    folder = programs.folder / "run"
    folder.mkdir()
    answer = {"version": 1, "kind": "map order", "ranks": 16, "process": TWO_LINES}
    programs.add("sennit-map", answer, to="order")
    for document, said in ((made_up.halo(), True), (made_up.halo(["node1"]), False)):
        (folder / "profile.json").write_text(json.dumps(document))
        done = programs.sennit("report", "run", "--text")
        assert done.returncode == 0, done.stderr
        assert ("Ranks 0 and 1 talk most" in done.stdout) == said
    assert len(programs.calls("sennit-map")) == 1, "on one host there is nothing to ask"
    programs.add("sennit-map", stderr=json.dumps({"error": {"what": "no"}}) + "\n", code=2, to="order")
    (folder / "profile.json").write_text(json.dumps(made_up.halo()))
    done = programs.sennit("report", "run", "--text")
    assert (done.returncode, "talk most" in done.stdout) == (0, False)


def test_rules_do_not_mind_the_order_of_rows() -> None:
    for make in (made_up.ddp, made_up.halo, made_up.horovod):
        document = make()
        turned = copy.deepcopy(document)
        for name in ("rows", "ranks", "partners", "skew"):
            turned[name].reverse()
        known = Known(order=TWO_LINES)
        assert {advice.what for advice in given(document, known)} == {advice.what for advice in given(turned, known)}
    assert len(RULES) == 10


def test_what_lies_in_the_folder_is_known(programs: Programs) -> None:
    folder = programs.folder / "run"
    folder.mkdir()
    (folder / "profile.json").write_text(json.dumps(made_up.ddp(allreduce_us=6400)))
    (folder / "machine.json").write_text(machine().model_dump_json(by_alias=True))
    kept = kept_plans(table=json.loads(table(5000, 6000).model_dump_json()))  # as sennit tune writes it
    (folder / "collective-table.json").write_text(json.dumps(kept))
    done = programs.sennit("report", "run", "--text")
    assert done.returncode == 0, done.stderr
    assert "Measured here: two_shot 24x256" in done.stdout
    assert programs.calls("sennit-machine") == []


def test_this_machines_cache_is_asked_where_the_profile_is_its_own(programs: Programs) -> None:
    folder = programs.folder / "run"
    folder.mkdir()
    document = made_up.ddp(allreduce_us=6400)
    (folder / "profile.json").write_text(json.dumps(document))
    programs.add("sennit-machine", machine().model_dump(by_alias=True, mode="json", exclude_none=True))
    assert "What to do" not in programs.sennit("report", "run", "--text").stdout
    assert programs.calls("sennit-machine") == []
    for rank in document["ranks"]:
        rank["host"] = socket.gethostname()
    (folder / "profile.json").write_text(json.dumps(document))
    assert "at 2 % of what the links allow" in programs.sennit("report", "run", "--text").stdout
    programs.add("sennit-tune", kept_plans(table=json.loads(table(5000, 6000).model_dump_json())), to="kept")
    assert "Measured here" in programs.sennit("report", "run", "--text").stdout
    never = json.dumps({"error": {"what": "collectives were never tuned on this machine"}}) + "\n"
    programs.add("sennit-tune", stderr=never, code=1, to="kept")
    assert "this machine was never tuned" in programs.sennit("report", "run", "--text").stdout
