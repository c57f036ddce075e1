"""DML_OPERATOR_DIAGONAL_MATRIX and DIAGONAL_MATRIX1: matrices with a value along their diagonals."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import type_of
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes_rule, shapes_comparable, slots
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_diagonal_matrix_operator_desc"
PAGE1 = "api/ns-directml-dml_diagonal_matrix1_operator_desc"


def shape(desc: Any) -> Shapes | Misfit:
    """The input's sizes; without an input whatever sizes the output is given."""
    source = getattr(desc, "input_tensor", None)
    return {"output_tensor": (desc.output_tensor if source is None else source).sizes}


DIAGONAL_MATRIX = operator_spec(
    "DIAGONAL_MATRIX",
    shape=shape,
    execution_rules=(
        Rule(
            "DIAGONAL_MATRIX.values",
            Category.EXECUTION,
            "in each matrix of the last two dimensions the elements whose column is their row and Offset more are "
            "Value, all others 0; an integer type has Value without its fraction, and what a Value that the type does "
            "not reach becomes is left open",
            Source(PAGE, "Description"),
            settles=("DIAGONAL_MATRIX-2",),
        ),
    ),
    summary="makes matrices with a value along one diagonal and zeros elsewhere",
    pseudocode="output[..., y, x] = y + Offset == x ? Value : 0",
)

DIAGONAL_MATRIX1 = operator_spec(
    "DIAGONAL_MATRIX1",
    shape=shape,
    source=Source(PAGE1),
    own_rules=(
        type_of("ValueDataType"),
        output_sizes_rule(
            "DIAGONAL_MATRIX1",
            Source(PAGE1, "Tensor constraints"),
            shapes_comparable("DIAGONAL_MATRIX1"),
            is_any=True,
            erratum="DIAGONAL_MATRIX1-2",
        ),
    ),
    execution_rules=(
        Rule(
            "DIAGONAL_MATRIX1.values",
            Category.EXECUTION,
            "in each matrix of the last two dimensions the elements on the diagonals from DiagonalFillBegin to before "
            "DiagonalFillEnd are Value; where the end is below the begin, those on all other diagonals are; the rest "
            "is the input, or 0 without one, bit for bit",
            Source(PAGE1, "Description"),
            settles=("DIAGONAL_MATRIX1-1",),
        ),
    ),
    summary="fills a band of diagonals, or all but a band, with a value",
    pseudocode="output[..., y, x] = x - y in [Begin, End), or not in [End, Begin) ? Value : input[..., y, x] or 0",
)

SPECS = (DIAGONAL_MATRIX, DIAGONAL_MATRIX1)


def matrix_of_64_bits(desc: Any) -> bool:
    """Whether the elements have 64 bits."""
    return all(slot.tensor.data_type.size == 8 for slot in slots(desc))


DIVERGENCES = {"DIV-diagonal-matrix-of-64-bits": matrix_of_64_bits}
