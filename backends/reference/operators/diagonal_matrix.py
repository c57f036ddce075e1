"""DIAGONAL_MATRIX and DIAGONAL_MATRIX1: matrices with a value along their diagonals."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.reference.layout import UNSIGNED, Array, Arrays, Compute
from dml_conformance.backends.reference.operators._conversion import converted, scalar
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec import structures
from dml_conformance.spec.expectation import Expectation, Mask, Within


def diagonal_matrix(
    desc: structures.DML_DIAGONAL_MATRIX_OPERATOR_DESC, arrays: Arrays
) -> dict[str, Array | Expectation]:
    """output[..., y, x] = y + Offset == x ? Value : 0"""
    tensor = desc.output_tensor
    on_diagonal = np.broadcast_to(diagonals(tensor.sizes) == desc.offset, tensor.sizes)
    value = converted(np.array(desc.value, np.float32), tensor.data_type)

    def on(part: Any) -> Any:
        return None if part is None else np.where(on_diagonal, part, part.dtype.type(0))

    within = value.within
    if within is not None and tensor.data_type.is_float:
        spread = Within(on(within.low), on(within.high), on(within.nan), on(within.where))
        return {"output_tensor": Expectation(on(value.values), within=spread)}
    return {"output_tensor": Expectation(on(value.values), free=on(value.free))}  # without its fraction


def diagonal_matrix1(desc: structures.DML_DIAGONAL_MATRIX1_OPERATOR_DESC, arrays: Arrays) -> dict[str, Array]:
    """output[..., y, x] = x - y in [Begin, End), or not in [End, Begin) ? Value : input[..., y, x] or 0"""
    tensor, begin, end = desc.output_tensor, desc.diagonal_fill_begin, desc.diagonal_fill_end
    number = diagonals(tensor.sizes)
    is_value: Mask = (begin <= number) & (number < end) if begin <= end else ~((end <= number) & (number < begin))
    value = scalar(desc.value, tensor.data_type).view(UNSIGNED[tensor.data_type.size])
    rest = arrays.get("input_tensor", np.zeros((), value.dtype))
    return {"output_tensor": np.broadcast_to(np.where(is_value, value, rest), tensor.sizes)}


def diagonals(sizes: tuple[int, ...]) -> Array:
    """The number of the diagonal that each element of a matrix is on: its column less its row."""
    return np.arange(sizes[-1]) - np.arange(sizes[-2])[:, None]


def cut(desc: structures.DiagonalMatrix, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """Diagonals are counted from the corner of the box."""
    corner = spans[-1].start - spans[-2].start
    named = ("offset", "diagonal_fill_begin", "diagonal_fill_end")
    moved = {name: getattr(desc, name) - corner for name in named if hasattr(desc, name)}
    return msgspec.structs.replace(desc, **moved), {key: array[tuple(spans)] for key, array in arrays.items()}


OPERATORS: dict[str, Compute] = {"DIAGONAL_MATRIX": diagonal_matrix, "DIAGONAL_MATRIX1": diagonal_matrix1}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut)
