"""Operators on the bits of an element: ELEMENT_WISE_BIT_NOT."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import Shapes, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

PAGE = "ns-directml-dml_element_wise_bit_not_operator_desc"


def shape(desc: Any) -> Shapes:
    """The output has the input's sizes."""
    return {"output_tensor": desc.input_tensor.sizes}


SPECS = (
    operator_spec(
        "ELEMENT_WISE_BIT_NOT",
        shape=shape,
        own_rules=(
            output_sizes_rule(
                "ELEMENT_WISE_BIT_NOT", Source(PAGE, "Tensor constraints"), shapes_comparable("ELEMENT_WISE_BIT_NOT")
            ),
        ),
        execution_rules=(
            Rule(
                "ELEMENT_WISE_BIT_NOT.values",
                Category.EXECUTION,
                "every bit of an output element is the opposite of the input's",
                Source(PAGE, "Description"),
            ),
        ),
        summary="inverts every bit",
        pseudocode="output[c...] = ~input[c...]",
    ),
)
