"""Functions of one number: DML_OPERATOR_ELEMENT_WISE_ABS, _EXP, _SIN and their like."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import NUMBERS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import scale
from dml_conformance.backends.torch.operators._order import UNSIGNED, bits
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, ElementWiseUnary

Function = Callable[[Tensor], Tensor]
_HALVES_TO_EVEN, _TOWARD_ZERO, _TOWARD_INFINITY = enumeration("DML_ROUNDING_MODE")


def compute(function: Function, desc: ElementWiseUnary, tensors: Tensors) -> Tensors:
    """`output[c...] = function(input[c...])`; with ScaleBias, of `input[c...] * Scale + Bias`."""
    return {"output_tensor": function(scale(desc, tensors["input_tensor"]))}


def round_to_whole(desc: DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """ROUND: as RoundingMode says."""
    return {"output_tensor": _ROUNDED[desc.rounding_mode](tensors["input_tensor"])}


def _half_away_from_zero(source: Tensor) -> Tensor:
    whole = source.trunc()
    return torch.where((source - whole).abs() >= 0.5, whole + source.sign(), whole)


def sign(desc: ElementWiseUnary, tensors: Tensors) -> Tensors:
    """SIGN: -1, 0 or 1; of a NaN 0."""
    source = tensors["input_tensor"]
    if source.dtype in UNSIGNED:
        return {"output_tensor": bits(source).ne(0).to(bits(source).dtype)}
    found = torch.gt(source, 0).to(torch.int8) - torch.lt(source, 0).to(torch.int8)
    return {"output_tensor": found.to(NUMBERS[desc.output_tensor.data_type])}


_ROUNDED: dict[int, Function] = {
    _HALVES_TO_EVEN: torch.round,
    _TOWARD_ZERO: torch.trunc,
    _TOWARD_INFINITY: _half_away_from_zero,
}
_FUNCTIONS: dict[str, Function] = {
    "ABS": torch.abs,
    "ACOS": torch.acos,
    "ACOSH": torch.acosh,
    "ASIN": torch.asin,
    "ASINH": torch.asinh,
    "ATAN": torch.atan,
    "ATANH": torch.atanh,
    "CEIL": torch.ceil,
    "COS": torch.cos,
    "COSH": torch.cosh,
    "ERF": torch.erf,
    "EXP": torch.exp,
    "FLOOR": torch.floor,
    "LOG": torch.log,
    "NEGATE": torch.neg,
    "RECIP": torch.reciprocal,
    "SIN": torch.sin,
    "SINH": torch.sinh,
    "SQRT": torch.sqrt,
    "TAN": torch.tan,
    "TANH": torch.tanh,
}
_NUMBERS = frozenset({"input_tensor"})
OPERATORS = {
    **{
        f"ELEMENT_WISE_{name}": TorchOperator(partial(compute, function), numbers=_NUMBERS, alike=True)
        for name, function in _FUNCTIONS.items()
    },
    "ELEMENT_WISE_SIGN": TorchOperator(sign, numbers=_NUMBERS, alike=True),
    "ELEMENT_WISE_ROUND": TorchOperator(round_to_whole, numbers=_NUMBERS, alike=True),
}
