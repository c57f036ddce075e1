"""Arithmetic on two numbers: DML_OPERATOR_ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import OPERANDS, operands
from dml_conformance.backends.torch.operators._fused import activated, fusion_fault
from dml_conformance.backends.torch.operators._numbers import narrow, widen
from dml_conformance.backends.torch.operators._order import UNSIGNED, bits
from dml_conformance.spec.structures import DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, ElementWiseBinary

Function = Callable[[Tensor, Tensor], Tensor]


def compute(function: Function, desc: ElementWiseBinary, tensors: Tensors) -> Tensors:
    """ADD, SUBTRACT, MULTIPLY, DIFFERENCE_SQUARE: of integers the low bits, which do not depend on signs."""
    a, b = operands(tensors)
    if a.dtype in UNSIGNED:
        return {"output_tensor": function(bits(a), bits(b))}
    return {"output_tensor": function(a, b)}


def add_activated(desc: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """ADD1: an activation of the sum."""
    a, b = operands(tensors)
    return {"output_tensor": activated(desc.fused_activation, a + b)}


def compute_wide(function: Function, desc: ElementWiseBinary, tensors: Tensors) -> Tensors:
    """The others: unsigned numbers as int64."""
    a, b = operands(tensors)
    if a.dtype in UNSIGNED:
        return {"output_tensor": narrow(function(widen(a), widen(b)), a.dtype)}
    return {"output_tensor": function(a, b)}


def square_of_difference(a: Tensor, b: Tensor) -> Tensor:
    """`(a - b) * (a - b)`."""
    return torch.square(a - b)


def mean(a: Tensor, b: Tensor) -> Tensor:
    """`(a + b) / 2`."""
    return (a + b) / 2 if a.is_floating_point() else torch.div(a + b, 2, rounding_mode="trunc")


def divide(function: Function, is_remainder: bool, desc: ElementWiseBinary, tensors: Tensors) -> Tensors:
    """DIVIDE, MODULUS_FLOOR and MODULUS_TRUNCATE."""
    a, b = operands(tensors)
    if a.dtype is not torch.uint64:
        return compute_wide(partial(divided, function), desc, tensors)
    a, b = bits(a), bits(b)
    found = quotient_of_halves(a, b)
    return {"output_tensor": a - b * found if is_remainder else found}


def divided(function: Function, a: Tensor, b: Tensor) -> Tensor:
    """Integers by 1 where there is no quotient, which would end the process."""
    if a.is_floating_point():
        return function(a, b)
    return function(a, torch.where((b == 0) | ((b == -1) & (a == torch.iinfo(a.dtype).min)), 1, b))


def quotient_of_halves(a: Tensor, b: Tensor) -> Tensor:
    """Of uint64, of which int64 does not have all: the quotient of half the number, doubled, is 1 too small at most.

    A divisor that has the top bit goes into no number twice.
    """
    half = (a >> 1) & torch.iinfo(torch.int64).max
    double = torch.where(b < 0, 0, torch.div(half, torch.where(b > 0, b, 1), rounding_mode="trunc") << 1)
    rest = a - double * b
    return double + (widen(rest.view(torch.uint64)) >= widen(b.view(torch.uint64)))


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """`a / b`, that of integers toward 0."""
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


_LOW_BITS: dict[str, Function] = {
    "ADD": torch.add,
    "DIFFERENCE_SQUARE": square_of_difference,
    "MULTIPLY": torch.mul,
    "SUBTRACT": torch.sub,
}
_WIDE: dict[str, Function] = {
    "ATAN_YX": torch.atan2,
    "MAX": torch.maximum,
    "MEAN": mean,
    "MIN": torch.minimum,
}
_RUNS = {
    **{name: partial(compute, function) for name, function in _LOW_BITS.items()},
    **{name: partial(compute_wide, function) for name, function in _WIDE.items()},
    "DIVIDE": partial(divide, quotient, False),
    "MODULUS_FLOOR": partial(divide, torch.remainder, True),
    "MODULUS_TRUNCATE": partial(divide, torch.fmod, True),
}
OPERATORS = {
    f"ELEMENT_WISE_{name}": TorchOperator(run, ((*OPERANDS, "output_tensor"),), frozenset(OPERANDS), alike=True)
    for name, run in _RUNS.items()
} | {
    "ELEMENT_WISE_ADD1": TorchOperator(
        add_activated, ((*OPERANDS, "output_tensor"),), frozenset(OPERANDS), fault=fusion_fault, alike=True
    )
}
