"""DML_OPERATOR_FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE: tensors made of numbers alone."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import type_of
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

CONSTANT_PAGE = "ns-directml-dml_fill_value_constant_operator_desc"
SEQUENCE_PAGE = "ns-directml-dml_fill_value_sequence_operator_desc"


def shape(desc: Any) -> Shapes | Misfit:
    """Whatever sizes the output is given."""
    return {"output_tensor": desc.output_tensor.sizes}


FILL_VALUE_CONSTANT = operator_spec(
    "FILL_VALUE_CONSTANT",
    shape=shape,
    own_rules=(type_of("ValueDataType"),),
    execution_rules=(
        Rule(
            "FILL_VALUE_CONSTANT.values",
            Category.EXECUTION,
            "every output element is Value, bit for bit",
            Source(CONSTANT_PAGE, "Description"),
        ),
    ),
    summary="fills the output with one value",
    pseudocode="output[c...] = Value",
)

FILL_VALUE_SEQUENCE = operator_spec(
    "FILL_VALUE_SEQUENCE",
    shape=shape,
    own_rules=(type_of("ValueDataType"),),
    execution_rules=(
        Rule(
            "FILL_VALUE_SEQUENCE.values",
            Category.EXECUTION,
            "the output elements, the last dimension running fastest, are ValueStart and each ValueDelta more than the "
            "one before, unsigned ones modulo 2 to the power of their bits; left open are signed ones from the first "
            "sum on that their type does not hold, and floating-point ones from the first that may be rounded",
            Source(SEQUENCE_PAGE, "Description"),
            settles=("FILL_VALUE_SEQUENCE-1", "FILL_VALUE_SEQUENCE-3"),
        ),
    ),
    summary="fills the output with numbers that are one step apart",
    pseudocode="output[element n, row-major] = ValueStart + n * ValueDelta",
)

SPECS = (FILL_VALUE_CONSTANT, FILL_VALUE_SEQUENCE)
