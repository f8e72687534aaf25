"""Chakra execution traces (mlcommons/chakra, et_def.proto), which ASTRA-sim simulates: a file a rank, each a row of
protobuf messages with their lengths before them. The first one is GlobalMetadata, the others are Nodes.

They take three kinds of protobuf's fields, so they are written here; tests read them with protobuf itself."""

from __future__ import annotations

from collections.abc import Iterable

from sennit.formats.messages import Event, messages
from sennit.formats.schedule import Schedule

VERSION = "0.0.4"

# Numbers of fields and of node types in et_def.proto.
METADATA_VERSION, METADATA_ATTRIBUTE = 1, 2
NODE_ID, NODE_NAME, NODE_TYPE, NODE_CTRL_DEPS, NODE_DATA_DEPS, NODE_ATTRIBUTE = 1, 2, 3, 4, 5, 10
ATTRIBUTE_NAME, ATTRIBUTE_UINT32, ATTRIBUTE_UINT64, ATTRIBUTE_BOOL, ATTRIBUTE_STRING = 1, 11, 13, 27, 29
NODE_TYPES = {"calc": 4, "send": 5, "recv": 6}  # COMP_NODE, COMM_SEND_NODE, COMM_RECV_NODE

VARINT, LENGTH_DELIMITED = 0, 2  # how a field's value is written


def traces(schedule: Schedule) -> list[bytes]:
    """The file of each rank. Raises Problem where the schedule never ends."""
    metadata = text(METADATA_VERSION, VERSION)
    metadata += field(METADATA_ATTRIBUTE, text(ATTRIBUTE_NAME, "schema") + text(ATTRIBUTE_STRING, "sennit schedule"))
    return [
        delimited(metadata) + b"".join(delimited(node(number, event)) for number, event in enumerate(events))
        for events in messages(schedule)
    ]


def node(number: int, event: Event) -> bytes:
    """What a rank does, as a Node. Readers may follow data_deps alone, so all that has to come before is there; what
    is order and no data stands in ctrl_deps once more."""
    encoded = whole(NODE_ID, number) + text(NODE_NAME, event.name) + whole(NODE_TYPE, NODE_TYPES[event.kind])
    encoded += numbers(NODE_CTRL_DEPS, event.order) + numbers(NODE_DATA_DEPS, [*event.data, *event.order])
    attributes = [attribute("is_cpu_op", ATTRIBUTE_BOOL, 0)]
    if event.kind == "calc":
        # No time: what the bytes take is the simulated machine's to say.
        attributes += [attribute(name, ATTRIBUTE_UINT64, event.bytes) for name in ("num_ops", "tensor_size")]
    else:
        ends = (event.rank, event.peer) if event.kind == "send" else (event.peer, event.rank)
        attributes += [
            attribute("comm_size", ATTRIBUTE_UINT64, event.bytes),
            attribute("comm_src", ATTRIBUTE_UINT32, ends[0]),
            attribute("comm_dst", ATTRIBUTE_UINT32, ends[1]),
            attribute("comm_tag", ATTRIBUTE_UINT32, event.tag),
        ]
    return encoded + b"".join(field(NODE_ATTRIBUTE, each) for each in attributes)


def attribute(name: str, kind: int, value: int) -> bytes:
    """An AttributeProto with a number of that kind."""
    return text(ATTRIBUTE_NAME, name) + whole(kind, value)


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; all but the last have the eighth."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def delimited(message: bytes) -> bytes:
    """A message behind its length."""
    return varint(len(message)) + message


def whole(number: int, value: int) -> bytes:
    """A field that is a number, an enumerator or a bool; also 0, which a oneof tells from nothing."""
    return varint(number << 3 | VARINT) + varint(value)


def field(number: int, value: bytes) -> bytes:
    """A field that is a message."""
    return varint(number << 3 | LENGTH_DELIMITED) + delimited(value)


def text(number: int, value: str) -> bytes:
    """A field that is a string."""
    return field(number, value.encode())


def numbers(number: int, values: Iterable[int]) -> bytes:
    """A repeated field of numbers, packed."""
    packed = b"".join(map(varint, values))
    return field(number, packed) if packed else b""
