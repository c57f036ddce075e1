"""DML_OPERATOR_ELEMENT_WISE_BIT_AND, _OR, _XOR, _NOT, _COUNT, _SHIFT_LEFT and _SHIFT_RIGHT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import BITS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import OPERANDS, operands


def combine(operation: Callable[[Tensor, Tensor], Tensor], desc: Any, tensors: Tensors) -> Tensors:
    """BIT_AND, BIT_OR, BIT_XOR: `output[c...] = operation(a[c...], b[c...])`."""
    return {"output_tensor": operation(*operands(tensors))}


def invert(desc: Any, tensors: Tensors) -> Tensors:
    """BIT_NOT: `output[c...] = ~input[c...]`."""
    return {"output_tensor": torch.bitwise_not(tensors["input_tensor"])}


def count(desc: Any, tensors: Tensors) -> Tensors:
    """BIT_COUNT: the bits of each element that are set, bit by bit from the lowest."""
    source = tensors["input_tensor"]
    total = torch.zeros(source.shape, dtype=torch.int8, device=source.device)
    for bit in range(8 * source.itemsize):
        total += (torch.bitwise_right_shift(source, bit) & 1).to(torch.int8)
    return {"output_tensor": total.to(BITS[desc.output_tensor.data_type.size])}


def shift_left(desc: Any, tensors: Tensors) -> Tensors:
    """BIT_SHIFT_LEFT: `output[c...] = a[c...] << b[c...]`, by the low bits of what is too much."""
    a, b = operands(tensors)
    return {"output_tensor": torch.bitwise_left_shift(a, b & _most(a))}


def shift_right(desc: Any, tensors: Tensors) -> Tensors:
    """BIT_SHIFT_RIGHT: `output[c...] = a[c...] >> b[c...]`, by the low bits of what is too much.

    The sign of a, which torch would repeat, goes with the first bit.
    """
    a, b = operands(tensors)
    by = b & _most(a)
    halved = torch.bitwise_right_shift(a, 1) & torch.iinfo(a.dtype).max
    return {"output_tensor": torch.where(by == 0, a, torch.bitwise_right_shift(halved, (by - 1).clamp_min(0)))}


def _most(a: Tensor) -> int:
    """The most bits that an element can be shifted by."""
    return 8 * a.itemsize - 1


_ALIKE = ((*OPERANDS, "output_tensor"),)
OPERATORS = {
    "ELEMENT_WISE_BIT_AND": TorchOperator(partial(combine, torch.bitwise_and), _ALIKE, alike=True),
    "ELEMENT_WISE_BIT_OR": TorchOperator(partial(combine, torch.bitwise_or), _ALIKE, alike=True),
    "ELEMENT_WISE_BIT_XOR": TorchOperator(partial(combine, torch.bitwise_xor), _ALIKE, alike=True),
    "ELEMENT_WISE_BIT_NOT": TorchOperator(invert, alike=True),
    "ELEMENT_WISE_BIT_COUNT": TorchOperator(count, agree=(), alike=True),
    "ELEMENT_WISE_BIT_SHIFT_LEFT": TorchOperator(shift_left, _ALIKE, alike=True),
    "ELEMENT_WISE_BIT_SHIFT_RIGHT": TorchOperator(shift_right, _ALIKE, alike=True),
}
