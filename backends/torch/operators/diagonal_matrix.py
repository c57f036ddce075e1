"""DML_OPERATOR_DIAGONAL_MATRIX and DIAGONAL_MATRIX1."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dml_conformance.backends.torch.memory import BITS
from dml_conformance.backends.torch.operators import Tensors, TorchOperator
from dml_conformance.backends.torch.operators._scalars import bits_of, value_fault
from dml_conformance.spec import structures


def diagonal_matrix(desc: structures.DML_DIAGONAL_MATRIX_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """DIAGONAL_MATRIX: `output[..., y, x] = y + Offset == x ? Value : 0`."""
    output, value = desc.output_tensor, desc.value
    if not output.data_type.is_float and math.isfinite(value):
        value = math.trunc(value)
    rows, columns = _coordinates(output.sizes)
    bits = torch.full((), bits_of(value, output.data_type), dtype=BITS[output.data_type.size])
    matrix = torch.where(rows + desc.offset == columns, bits, torch.zeros_like(bits))
    return {"output_tensor": matrix.expand(output.sizes)}


def diagonal_matrix1(desc: structures.DML_DIAGONAL_MATRIX1_OPERATOR_DESC, tensors: Tensors) -> Tensors:
    """DIAGONAL_MATRIX1: Value on the diagonals of the band, or on all others where it is turned round."""
    output, begin, end = desc.output_tensor, desc.diagonal_fill_begin, desc.diagonal_fill_end
    source = tensors.get("input_tensor")
    device = None if source is None else source.device  # without an input it is the one that the operator runs on
    rows, columns = _coordinates(output.sizes, device)
    is_after, is_before = columns >= rows + begin, columns < rows + end
    is_value = is_after & is_before if begin <= end else is_after | is_before
    bits = torch.full((), bits_of(desc.value, output.data_type), dtype=BITS[output.data_type.size], device=device)
    rest = torch.zeros_like(bits) if source is None else source
    return {"output_tensor": torch.where(is_value, bits, rest).expand(output.sizes)}


def _coordinates(sizes: tuple[int, ...], device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of a matrix, one beside the other."""
    return torch.arange(sizes[-2], device=device).unsqueeze(1), torch.arange(sizes[-1], device=device)


OPERATORS = {
    "DIAGONAL_MATRIX": TorchOperator(diagonal_matrix, agree=(), alike=True),
    # An element's value is that of its place, and not of what stands there alone.
    "DIAGONAL_MATRIX1": TorchOperator(diagonal_matrix1, fault=value_fault, alike=True, apart=lambda desc: ()),
}
