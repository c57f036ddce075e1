"""DML_OPERATOR_ELEMENT_WISE_LOGICAL_*, ELEMENT_WISE_IS_NAN and ELEMENT_WISE_IS_INFINITY."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import BITS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import OPERANDS, operands
from dml_conformance.backends.torch.operators._order import comparable
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, ElementWiseLogic

_EITHER, _POSITIVE, _NEGATIVE = enumeration("DML_IS_INFINITY_MODE")
_INFINITE = {_EITHER: torch.isinf, _POSITIVE: torch.isposinf, _NEGATIVE: torch.isneginf}

Operation = Callable[[Tensor, Tensor], Tensor]


def combine(operation: Operation, desc: ElementWiseLogic, tensors: Tensors) -> Tensors:
    """LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR: of elements that are 0 and others, which are true."""
    return _truths(desc, operation(*operands(tensors)))


def negate(desc: ElementWiseLogic, tensors: Tensors) -> Tensors:
    """LOGICAL_NOT: `output[c...] = !input[c...]`."""
    return _truths(desc, torch.logical_not(tensors["input_tensor"]))


def compare(operation: Operation, desc: ElementWiseLogic, tensors: Tensors) -> Tensors:
    """LOGICAL_EQUALS, LOGICAL_LESS_THAN and their like: `output[c...] = operation(a[c...], b[c...])`."""
    a, b = operands(tensors)
    return _truths(desc, operation(comparable(a), comparable(b)))


def is_nan(desc: ElementWiseLogic, tensors: Tensors) -> Tensors:
    """IS_NAN: `output[c...] = isnan(input[c...])`."""
    return _truths(desc, torch.isnan(tensors["input_tensor"]))


def is_infinity(desc: DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """IS_INFINITY: of the sign that InfinityMode names."""
    return _truths(desc, _INFINITE[desc.infinity_mode](tensors["input_tensor"]))


def _truths(desc: ElementWiseLogic, found: Tensor) -> Tensors:
    return {"output_tensor": found.to(BITS[desc.output_tensor.data_type.size])}


_NUMBERS = frozenset(OPERANDS)
_COMPARISONS = {
    "EQUALS": torch.eq,
    "GREATER_THAN": torch.gt,
    "LESS_THAN": torch.lt,
    "GREATER_THAN_OR_EQUAL": torch.ge,
    "LESS_THAN_OR_EQUAL": torch.le,
}
_COMBINATIONS = {"AND": torch.logical_and, "OR": torch.logical_or, "XOR": torch.logical_xor}
OPERATORS = {
    **{
        f"ELEMENT_WISE_LOGICAL_{name}": TorchOperator(
            partial(combine, operation), ((*OPERANDS, "output_tensor"),), alike=True
        )
        for name, operation in _COMBINATIONS.items()
    },
    "ELEMENT_WISE_LOGICAL_NOT": TorchOperator(negate, alike=True),
    **{
        f"ELEMENT_WISE_LOGICAL_{name}": TorchOperator(partial(compare, operation), (OPERANDS,), _NUMBERS, alike=True)
        for name, operation in _COMPARISONS.items()
    },
    "ELEMENT_WISE_IS_NAN": TorchOperator(is_nan, (), frozenset({"input_tensor"}), alike=True),
    "ELEMENT_WISE_IS_INFINITY": TorchOperator(is_infinity, (), frozenset({"input_tensor"}), alike=True),
}
