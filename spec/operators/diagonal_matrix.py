"""DML_OPERATOR_DIAGONAL_MATRIX and DIAGONAL_MATRIX1: matrices with a value along their diagonals."""

from __future__ import annotations

from dml_conformance.spec.constraints import type_of
from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes, slots
from dml_conformance.spec.structures import DiagonalMatrix


def shape(desc: DiagonalMatrix) -> Shapes:
    """The input's sizes; without an input whatever sizes the output is given."""
    source = getattr(desc, "input_tensor", None)
    return {"output_tensor": (desc.output_tensor if source is None else source).sizes}


SPECS = (
    operator_spec("DIAGONAL_MATRIX", shape=shape),
    operator_spec(
        "DIAGONAL_MATRIX1",
        shape=shape,
        own_rules=(type_of("ValueDataType"), output_sizes(is_any=True, section="Tensor constraints")),
    ),
)


def matrix_of_64_bits(desc: DiagonalMatrix) -> bool:
    """Whether the elements have 64 bits."""
    return all(slot.tensor.data_type.size == 8 for slot in slots(desc))


DIVERGENCES = {"DIV-diagonal-matrix-of-64-bits": matrix_of_64_bits}
