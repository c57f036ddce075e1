"""DML_OPERATOR_ELEMENT_WISE_BIT_AND, _OR, _XOR, _NOT, _COUNT, _SHIFT_LEFT and _SHIFT_RIGHT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import BITS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._element_wise import OPERANDS, operands
from dml_conformance.spec.structures import ElementWiseBits


def combine(operation: Callable[[Tensor, Tensor], Tensor], desc: ElementWiseBits, tensors: Tensors) -> Tensors:
    """BIT_AND, BIT_OR, BIT_XOR, the shifts: `output[c...] = operation(a[c...], b[c...])`."""
    return {"output_tensor": operation(*operands(tensors))}


def invert(desc: ElementWiseBits, tensors: Tensors) -> Tensors:
    """BIT_NOT: `output[c...] = ~input[c...]`."""
    return {"output_tensor": torch.bitwise_not(tensors["input_tensor"])}


def count(desc: ElementWiseBits, tensors: Tensors) -> Tensors:
    """BIT_COUNT: the bits of each element that are set, bit by bit from the lowest."""
    source = tensors["input_tensor"]
    total = torch.zeros(source.shape, dtype=torch.int8, device=source.device)
    for bit in range(8 * source.itemsize):
        total += (torch.bitwise_right_shift(source, bit) & 1).to(torch.int8)
    return {"output_tensor": total.to(BITS[desc.output_tensor.data_type.size])}


def shift_left(a: Tensor, b: Tensor) -> Tensor:
    """`a << b`, by the low bits of what is too much."""
    return torch.bitwise_left_shift(a, b & (8 * a.itemsize - 1))


def shift_right(a: Tensor, b: Tensor) -> Tensor:
    """`a >> b`, by the low bits of what is too much; the sign of a, which torch would repeat, goes with the first."""
    by = b & (8 * a.itemsize - 1)
    halved = torch.bitwise_right_shift(a, 1) & torch.iinfo(a.dtype).max
    return torch.where(by == 0, a, torch.bitwise_right_shift(halved, (by - 1).clamp_min(0)))


_OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "AND": torch.bitwise_and,
    "OR": torch.bitwise_or,
    "XOR": torch.bitwise_xor,
    "SHIFT_LEFT": shift_left,
    "SHIFT_RIGHT": shift_right,
}
OPERATORS = {
    "ELEMENT_WISE_BIT_NOT": TorchOperator(invert, alike=True),
    "ELEMENT_WISE_BIT_COUNT": TorchOperator(count, agree=(), alike=True),
    **{
        f"ELEMENT_WISE_BIT_{name}": TorchOperator(partial(combine, of), ((*OPERANDS, "output_tensor"),), alike=True)
        for name, of in _OPERATIONS.items()
    },
}
