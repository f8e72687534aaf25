"""Schedules as GOAL and as Chakra's traces, read by readers that are not ours: protobuf's own runtime, and, as
LogGOPSim has to be built, a strict reader of GOAL's grammar that checks what LogGOPSim would. The file is long,
as both readers stand in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from conftest import HERE, Programs
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from sennit.formats.chakra import traces, varint
from sennit.formats.goal import goal
from sennit.formats.msccl import read_algorithm
from sennit.formats.msccl_import import schedule_of
from sennit.formats.order import reached
from sennit.formats.ranges import Ranges
from sennit.formats.schedule import Schedule, document, read_schedule
from sennit.programs.problem import Problem

FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")


OPERATION = r"(l\d+): (?:(calc) (\d+)|(send) (\d+)b to (\d+) tag (\d+)|(recv) (\d+)b from (\d+) tag (\d+))"


@dataclass
class Rank:
    """What stands between a rank's braces, by its labels."""

    operations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    requires: list[tuple[str, str]] = field(default_factory=list)


def read_goal(text: str) -> list[Rank]:
    """The ranks in a text of nothing but what txt2bin of LogGOPSim reads, each label given before it is used."""
    lines = iter(text.splitlines())
    count = int(re.fullmatch(r"num_ranks (\d+)", next(lines))[1])  # type: ignore[index]
    ranks: list[Rank] = []
    inside = False
    for line in lines:
        if not inside:
            if line:
                assert re.fullmatch(r"rank (\d+) \{", line), line
                assert line == f"rank {len(ranks)} {{"
                ranks.append(Rank())
                inside = True
        elif line == "}":
            inside = False
        elif found := re.fullmatch(r"(l\d+) requires (l\d+)", line):
            assert {found[1], found[2]} <= ranks[-1].operations.keys(), line
            ranks[-1].requires.append((found[1], found[2]))
        else:
            found = re.fullmatch(OPERATION, line)
            assert found, line
            assert found[1] not in ranks[-1].operations, line
            ranks[-1].operations[found[1]] = tuple(part for part in found.groups()[1:] if part is not None)
    assert not inside
    assert len(ranks) == count
    return ranks


def check_goal(text: str) -> list[Rank]:
    """Every message has both its sides, of one size, and nothing waits for itself by any way."""
    ranks = read_goal(text)
    sides: dict[tuple[int, int, str], dict[str, tuple[tuple[int, str], int]]] = defaultdict(dict)
    graph: dict[tuple[int, str], set[tuple[int, str]]] = {}
    for rank, each in enumerate(ranks):
        for label, (kind, *values) in each.operations.items():
            graph[rank, label] = set()
            if kind == "calc":
                continue
            peer = int(values[1])
            assert peer != rank
            assert int(values[0]) > 0
            pair = (rank, peer, values[2]) if kind == "send" else (peer, rank, values[2])
            assert kind not in sides[pair], f"two messages {pair}"
            sides[pair][kind] = (rank, label), int(values[0])
        for label, before in each.requires:
            graph[rank, label].add((rank, before))
    for pair, both in sides.items():
        assert both.keys() == {"send", "recv"}, pair
        assert both["send"][1] == both["recv"][1], pair
        graph[both["recv"][0]].add(both["send"][0])
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)
    return ranks


# Of et_def.proto of mlcommons/chakra, 2026: names, numbers and types of the fields.
WHOLE, TEXT, MESSAGE, ENUM = (
    descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
    descriptor_pb2.FieldDescriptorProto.TYPE_ENUM,
)
VALUES = {
    "double": 3, "float": 5, "int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint32": 15, "sint64": 17,
    "fixed32": 19, "fixed64": 21, "sfixed32": 23, "sfixed64": 25, "bool": 27, "string": 29, "bytes": 31,
}  # fmt: skip
NODE_TYPES = ["INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL"]


def schema() -> dict[str, type[Message]]:
    """Its messages, made by protobuf."""
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")

    def add(message: Any, name: str, number: int, kind: int, of: str = "", repeated: bool = False) -> Any:
        label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        one = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        added = message.field.add(name=name, number=number, type=kind, label=label if repeated else one)
        if of:
            added.type_name = f".ChakraProtoMsg.{of}"
        return added

    attribute = file.message_type.add(name="AttributeProto")
    add(attribute, "name", 1, TEXT)
    add(attribute, "doc_string", 2, TEXT)
    attribute.oneof_decl.add(name="value")
    for name, number in VALUES.items():
        kind = getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name.upper()}")
        add(attribute, f"{name}_val", number, kind).oneof_index = 0
    metadata = file.message_type.add(name="GlobalMetadata")
    add(metadata, "version", 1, TEXT)
    add(metadata, "attr", 2, MESSAGE, "AttributeProto", repeated=True)
    types = file.enum_type.add(name="NodeType")
    for number, name in enumerate(NODE_TYPES):
        types.value.add(name=f"{name}_NODE", number=number)
    node = file.message_type.add(name="Node")
    add(node, "id", 1, WHOLE)
    add(node, "name", 2, TEXT)
    add(node, "type", 3, ENUM, "NodeType")
    add(node, "ctrl_deps", 4, WHOLE, repeated=True)
    add(node, "data_deps", 5, WHOLE, repeated=True)
    add(node, "start_time_micros", 6, WHOLE)
    add(node, "duration_micros", 7, WHOLE)
    add(node, "attr", 10, MESSAGE, "AttributeProto", repeated=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}"))
        for name in ("GlobalMetadata", "Node")
    }


def read_trace(content: bytes) -> tuple[Any, list[Any]]:
    """The metadata and the nodes of a file, in which nothing is unknown to the schema."""
    classes = schema()
    messages: list[Any] = []
    at = 0
    while at < len(content):
        length = shift = 0
        while True:
            byte = content[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        message: Any = classes["Node" if messages else "GlobalMetadata"]()
        message.ParseFromString(content[at : at + length])
        for part in (message, *message.attr):
            assert len(UnknownFieldSet(part)) == 0
        messages.append(message)
        at += length
    assert at == len(content)
    return messages[0], messages[1:]


def attributes(node: Any) -> dict[str, Any]:
    return {each.name: getattr(each, each.WhichOneof("value")) for each in node.attr}


def check_chakra(contents: list[bytes], ranks: list[Rank]) -> None:
    """The traces say what the GOAL text says, node by node."""
    assert len(contents) == len(ranks)
    kinds = {"COMP": "calc", "COMM_SEND": "send", "COMM_RECV": "recv"}
    for rank, (content, expected) in enumerate(zip(contents, ranks, strict=True)):
        metadata, nodes = read_trace(content)
        assert metadata.version
        assert [node.id for node in nodes] == list(range(len(expected.operations)))
        requires: dict[str, set[int]] = defaultdict(set)
        for label, before in expected.requires:
            requires[label].add(int(before[1:]) - 1)
        for node, (label, operation) in zip(nodes, expected.operations.items(), strict=True):
            assert kinds[NODE_TYPES[node.type]] == operation[0]
            assert set(node.data_deps) == requires[label]
            assert set(node.ctrl_deps) <= requires[label]
            values = attributes(node)
            assert values["is_cpu_op"] is False
            if operation[0] == "calc":
                assert {"num_ops", "tensor_size"} <= values.keys()
                continue
            ends = (rank, int(operation[2])) if operation[0] == "send" else (int(operation[2]), rank)
            said = (values["comm_size"], values["comm_src"], values["comm_dst"], values["comm_tag"])
            assert said == (int(operation[1]), *ends, int(operation[3]))


def made(ranks: int, regions: list[tuple[int, str, int]], *lanes: list[dict[str, Any]]) -> Schedule:
    """A schedule of lanes alone. Steps without a group are one behind the other."""
    strands = [
        {"rank": rank, "lane": rank, "block": -1, "steps": [{"group": at} | step for at, step in enumerate(steps)]}
        for rank, steps in enumerate(lanes)
    ]
    known = [{"rank": rank, "name": name, "bytes": size} for rank, name, size in regions]
    whole = {"version": 1, "kind": "schedule", "ranks": ranks, "regions": known, "launches": [], "strands": strands}
    return Schedule.model_validate(whole)


def imported(name: str, size: int) -> Schedule:
    file = HERE / "data" / f"msccl_{name}.xml"
    return schedule_of(read_algorithm(file), size, 0, file)


TWO = [(0, "buffer", 64), (1, "buffer", 64), (0, "scratch", 128), (1, "scratch", 128)]


def test_a_store_and_its_signal_are_messages_and_the_wait_is_order() -> None:
    schedule = made(
        2,
        TWO,
        [
            {"act": "move", "bytes": 48, "to": [[0, 0]]},
            {"act": "move", "bytes": 48, "from": [[0, 0]], "to": [[3, 0]]},
            {"act": "signal", "value": 1, "to": [[3, 64]]},
        ],
        [
            {"act": "await", "value": 1, "from": [[3, 64]]},
            {"act": "move", "bytes": 48, "from": [[3, 0], [1, 0]], "to": [[1, 0]]},
            {"act": "move", "bytes": 48, "from": [[1, 0]]},
        ],
    )
    assert goal(schedule) == (
        "num_ranks 2\n"
        "\nrank 0 {\n"
        "l1: send 48b to 1 tag 0\n"
        "l2: send 1b to 1 tag 1\nl2 requires l1\n"
        "}\n"
        "\nrank 1 {\n"
        "l1: recv 48b from 0 tag 0\n"
        "l2: recv 1b from 0 tag 1\n"
        "l3: calc 1\nl3 requires l1\nl3 requires l2\n"
        "l4: calc 0\nl4 requires l3\n"
        "}\n"
    )
    nodes = read_trace(traces(schedule)[1])[1]
    assert [node.name for node in nodes] == ["lane stores", "signal", "lane reduces", "lane reads"]
    # What came is data, that it has come is order.
    assert (list(nodes[2].data_deps), list(nodes[2].ctrl_deps)) == ([0, 1], [1])


def test_a_load_asks_behind_what_its_rank_did_and_is_answered_behind_what_made_the_bytes() -> None:
    schedule = made(
        2,
        TWO,
        [
            {"act": "move", "bytes": 8, "from": [[0, 0]], "to": [[3, 0]]},
            {"act": "move", "bytes": 8, "from": [[3, 0]], "to": [[0, 8]]},
        ],
        [],
    )
    ranks = check_goal(goal(schedule))
    assert list(ranks[0].operations.values()) == [
        ("send", "8", "1", "0"),
        ("send", "1", "1", "1"),
        ("recv", "8", "1", "0"),
        ("calc", "1"),
    ]
    assert list(ranks[1].operations.values()) == [
        ("recv", "8", "0", "0"),
        ("recv", "1", "0", "1"),
        ("send", "8", "0", "0"),
    ]
    assert ranks[1].requires == [("l3", "l1"), ("l3", "l2")]


def test_packets_are_their_own_signal_and_travel_with_their_tags() -> None:
    schedule = made(
        2,
        TWO,
        [{"act": "move", "bytes": 12, "value": 7, "from": [[0, 0]], "to": [[3, 32, "packets"]]}],
        [{"act": "move", "bytes": 12, "value": 7, "from": [[3, 32, "packets"]], "to": [[1, 0]]}],
    )
    ranks = check_goal(goal(schedule))
    assert list(ranks[0].operations.values()) == [("send", "32", "1", "0")]
    assert list(ranks[1].operations.values()) == [("recv", "32", "0", "0"), ("calc", "1")]
    assert ranks[1].requires == [("l2", "l1")]


def test_events_and_words_of_one_rank_are_order_alone() -> None:
    copy = {"act": "move", "bytes": 8, "from": [[0, 0]], "to": [[0, 8]]}
    schedule = made(1, TWO[:1], [])
    lanes = [
        [copy, {"act": "record", "subject": 2, "value": 1}, {"act": "wait", "subject": 3, "value": 1}, copy],
        [{"act": "wait", "subject": 2, "value": 1}, copy, {"act": "record", "subject": 3, "value": 1}],
    ]
    whole = document(schedule)
    whole["strands"] = [
        {"rank": 0, "lane": at, "block": -1, "steps": [{"group": i} | step for i, step in enumerate(steps)]}
        for at, steps in enumerate(lanes)
    ]
    text = goal(Schedule.model_validate(whole))
    assert read_goal(text)[0].requires == [("l2", "l1"), ("l3", "l1"), ("l3", "l2")]


def test_who_waits_for_ever_is_named() -> None:
    schedule = made(1, TWO[:1], [{"act": "await", "value": 1, "from": [[0, 0]]}])
    with pytest.raises(Problem, match=r"strands\[0\].steps\[0\], an await of a lane on rank 0 waits for ever"):
        goal(schedule)


@pytest.mark.parametrize(("name", "size"), [("ring_allreduce", 64 << 10), ("direct_allgather", 1 << 20)])
def test_goal_and_chakra_say_the_same_of_an_algorithm(name: str, size: int) -> None:
    schedule = imported(name, size)
    ranks = check_goal(goal(schedule))
    check_chakra(traces(schedule), ranks)
    sent = Counter(int(values[0]) for each in ranks for kind, *values in each.operations.values() if kind == "send")
    if name == "ring_allreduce":
        assert sent[size // 4] == 4 * 6
    else:
        assert sent[size] == 4 * 3


@pytest.mark.parametrize(
    ("value", "written"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (1 << 63, b"\x80" * 9 + b"\x01")]
)
def test_varints(value: int, written: bytes) -> None:
    assert varint(value) == written


def test_words_wrap() -> None:
    assert reached(1, 1)
    assert reached(2, 1)
    assert not reached(1, 2)
    assert reached(0, 0xFFFFFFFF)
    assert not reached(0xFFFFFFFF, 0)


def test_ranges_are_split_where_values_change() -> None:
    known = Ranges(0)
    known.set(10, 20, 1)
    known.set(15, 30, 2)
    known.set(40, 40, 9)
    known.change(12, 17, lambda value: value + 10)
    assert list(known.of(0, 100)) == [0, 1, 11, 12, 2, 0]
    assert list(known.of(12, 15)) == [11]
    assert list(known.of(30, 30)) == []


def test_export_has_help_and_writes_what_it_says(programs: Programs) -> None:
    assert "$ sennit sim export" in programs.sennit("sim", "export", "--help").stdout
    file = programs.folder / "ring.json"
    file.write_text(json.dumps(document(imported("ring_allreduce", 4096))))
    done = programs.sennit("sim", "export", "ring.json", "--to", "goal", "--output", "made/ring.goal")
    assert (done.returncode, done.stderr) == (0, "wrote made/ring.goal\n")
    ranks = check_goal((programs.folder / "made/ring.goal").read_text())
    done = programs.sennit("sim", "export", "ring.json", "--to", "chakra", "--output", "ring")
    assert done.stderr.splitlines() == [f"wrote ring.{rank}.et" for rank in range(4)]
    check_chakra([(programs.folder / f"ring.{rank}.et").read_bytes() for rank in range(4)], ranks)


def test_what_is_wrong_with_a_schedule_is_named(programs: Programs) -> None:
    whole = document(imported("pairs_allreduce", 4096))

    def told(change: Any) -> str:
        broken = json.loads(json.dumps(whole))
        change(broken)
        (programs.folder / "broken.json").write_text(json.dumps(broken))
        done = programs.sennit("sim", "export", "broken.json", "--to", "goal", "--output", "x")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "version 7" in told(lambda d: d.update(version=7))
    assert "kind" in told(lambda d: d.update(kind="machine"))
    assert "regions[0]: there is no rank 9" in told(lambda d: d["regions"][0].update(rank=9))
    assert "launches[0]: its blocks are not there" in told(lambda d: d["launches"][0].update(first=99))
    assert "stand for others" in told(lambda d: d["launches"][1].update(fold=2.5))
    assert "steps[1]: there is no launch 7" in told(lambda d: d["strands"][0]["steps"][1].update(subject=7))
    assert "strands.2.steps.0" in told(lambda d: d["strands"][2]["steps"][0].update({"from": [[None, 5]]}))
    assert "there is no region 99" in told(lambda d: d["strands"][2]["steps"][0].update({"from": [[99, 5]]}))
    assert "promises[0]: there is no region 70" in told(lambda d: d["promises"][0].update(result=[70, 0]))
    (programs.folder / "broken.bin").write_bytes(b"SNNT\0\1")
    done = programs.sennit("sim", "export", "broken.bin", "--to", "goal", "--output", "x")
    assert done.returncode == 2
    assert "NAME.json" in done.stderr
    assert programs.sennit("sim", "export", "none.json", "--to", "goal", "--output", "x").returncode == 2
    assert programs.sennit("sim", "export", "broken.json", "--to", "xml", "--output", "x").returncode == 2


@pytest.mark.skipif(not FOLDER, reason="SENNIT_TEST_PROGRAMS names no folder; make test sets it")
@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [
        ("allreduce", "ring"), ("allreduce", "hierarchical"), ("allreduce", "copy_engines"),
        ("allreduce", "one_shot_packets"), ("allreduce", "two_shot_loads"), ("allgather", "direct"),
        ("reduce", "chain"), ("all_to_all", "packets"),
    ],
)  # fmt: skip
def test_every_kind_of_step_becomes_messages(tmp_path: Path, operation: str, algorithm: str) -> None:
    file = tmp_path / "schedule.json"
    command = [f"{FOLDER}/sennit-sim", "collective", "--operation", operation, "--bytes", "4K", "--machine", "mist"]
    command += ["--algorithm", algorithm, "--blocks", "2", "--schedule", str(file)]
    subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    schedule = read_schedule(file)
    ranks = check_goal(goal(schedule))
    check_chakra(traces(schedule), ranks)
    assert all(each.operations for each in ranks)
