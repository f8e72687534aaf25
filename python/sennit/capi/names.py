"""The enumerations of sennit.h. Their numbers are stable."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """sennit_result: kinds of failure."""

    OK = 0
    INVALID_ARGUMENT = 1
    NOT_FOUND = 2
    UNSUPPORTED = 3
    OUT_OF_MEMORY = 4
    PERMISSION_DENIED = 5
    TIMED_OUT = 6
    PEER_LOST = 7
    MISMATCH = 8
    CORRUPT = 9
    DEVICE_ERROR = 10
    SYSTEM_ERROR = 11
    ABORTED = 12


class Type(IntEnum):
    """sennit_type: elements."""

    INT8 = 0
    UINT8 = 1
    INT16 = 2
    UINT16 = 3
    INT32 = 4
    UINT32 = 5
    INT64 = 6
    UINT64 = 7
    FLOAT16 = 8
    BFLOAT16 = 9
    FLOAT32 = 10
    FLOAT64 = 11
    FLOAT8_E4M3 = 12
    FLOAT8_E5M2 = 13


class Operator(IntEnum):
    """sennit_operator: what becomes of several numbers."""

    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3
    AVERAGE = 4
    PREMULTIPLIED_SUM = 5
    BIT_AND = 6
    BIT_OR = 7
    BIT_XOR = 8
    LOGICAL_AND = 9
    LOGICAL_OR = 10
    LOGICAL_XOR = 11
