"""What PyTorch calls element types and operators, in sennit's terms."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
import torch.distributed as dist

from sennit.capi import Code, Operator, SennitError, Type

_NAMES = {
    "int8": Type.INT8, "uint8": Type.UINT8, "int16": Type.INT16, "uint16": Type.UINT16, "int32": Type.INT32,
    "uint32": Type.UINT32, "int64": Type.INT64, "uint64": Type.UINT64, "float16": Type.FLOAT16,
    "bfloat16": Type.BFLOAT16, "float32": Type.FLOAT32, "float64": Type.FLOAT64,
    "float8_e4m3fn": Type.FLOAT8_E4M3, "float8_e5m2": Type.FLOAT8_E5M2, "bool": Type.UINT8,
}  # fmt: skip
# Those that this PyTorch has.
TYPES: dict[torch.dtype, Type] = {getattr(torch, name): kind for name, kind in _NAMES.items() if hasattr(torch, name)}

_OPERATORS = {
    "SUM": Operator.SUM, "AVG": Operator.AVERAGE, "PRODUCT": Operator.PRODUCT, "MIN": Operator.MIN,
    "MAX": Operator.MAX, "BAND": Operator.BIT_AND, "BOR": Operator.BIT_OR, "BXOR": Operator.BIT_XOR,
    "PREMUL_SUM": Operator.PREMULTIPLIED_SUM,
}  # fmt: skip
# True is 1 and false is 0, and has to stay so.
_OPERATORS_OF_BOOL = _OPERATORS | {
    "SUM": Operator.LOGICAL_OR, "MAX": Operator.LOGICAL_OR, "PRODUCT": Operator.LOGICAL_AND,
    "MIN": Operator.LOGICAL_AND,
}  # fmt: skip
_NOT_OF_BOOL = ("AVG", "PREMUL_SUM")


_OF_COMPLEX = ("SUM", "AVG", "PREMUL_SUM")


class Reduction(NamedTuple):
    """Elements, what is done to them, and by what they are multiplied before a premultiplied sum."""

    kind: Type
    op: Operator
    scale: float = 1
    numbers: int = 1  # of that type in an element of the tensor: a complex one has two

    def count(self, tensor: torch.Tensor) -> int:
        """How many a tensor has."""
        return int(tensor.numel() * self.numbers)


def reduction(given: dist.ReduceOp, dtype: torch.dtype) -> Reduction:
    """Raises SennitError (UNSUPPORTED) for what sennit cannot add up, such as products of complex numbers."""
    found = _reduction(getattr(given, "op", given), dtype)  # ReduceOp.SUM itself is of the enumeration
    if found.op == Operator.PREMULTIPLIED_SUM:
        return found._replace(scale=_factor(given))
    return found


@cache  # asked for at every call
def _reduction(operator: dist.ReduceOp.RedOpType, dtype: torch.dtype) -> Reduction:
    name = str(operator).rpartition(".")[2]
    kind = TYPES.get(dtype.to_real() if dtype.is_complex else dtype)
    known = _OPERATORS_OF_BOOL if dtype == torch.bool else _OPERATORS
    cannot = (dtype == torch.bool and name in _NOT_OF_BOOL) or (dtype.is_complex and name not in _OF_COMPLEX)
    if kind is None or name not in known or cannot:
        raise SennitError(
            Code.UNSUPPORTED, f"there is no {name} of {dtype}", "",
            "Convert the tensor first; docs/use/torch.md lists types and operators",
        )  # fmt: skip
    return Reduction(kind, known[name], numbers=2 if dtype.is_complex else 1)


def _factor(given: dist.ReduceOp) -> float:
    """Of a premultiplied sum. Raises SennitError (UNSUPPORTED) where it is a tensor, whose value only a GPU knows."""
    factor = given.__getstate__()[1]
    if isinstance(factor, torch.Tensor):
        raise SennitError(
            Code.UNSUPPORTED, "the factor of a premultiplied sum is a tensor", "", "Make it of a number"
        )
    return float(factor)
