"""DML_OPERATOR_MAX_UNPOOLING: elements written to where a max-pooling found them, zeros everywhere else.

The output's sizes are free: what an index means is its place in the output as one row of elements.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import sizes_follow
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Misfit,
    Shapes,
    operator_spec,
)
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source

NAME = "MAX_UNPOOLING"
PAGE = "ns-directml-dml_max_unpooling_operator_desc"


def shape(desc: Any) -> Shapes | Misfit:
    """The output's own sizes, as the page lets them be anything."""
    if len(desc.output_tensor.sizes) != len(desc.input_tensor.sizes):
        return Misfit("OutputTensor.DimensionCount", str(len(desc.output_tensor.sizes)))
    return {"output_tensor": desc.output_tensor.sizes}


def output_elements(desc: Any) -> tuple[int, ...]:
    """What indices run over: every element of the output."""
    return (desc.output_tensor.element_count,)


SPECS = (
    operator_spec(
        NAME,
        shape=shape,
        groups={"IndicesTensor": INDICES},
        own_rules=(
            sizes_follow(
                "IndicesTensor",
                lambda desc: desc.input_tensor.sizes,
                "the input's",
                "IndicesTensor has the sizes of InputTensor",
                name="same-sizes",
                remedy="give every element of the input an index",
                after=("dimension-counts",),
            ),
        ),
        execution_rules=(
            Rule(
                f"{NAME}.values",
                Category.EXECUTION,
                "the output has each input element at the place that its index names, bit for bit, and zeros "
                "elsewhere; where several indices name one place, any input element may stand there",
                Source(PAGE),
                settles=("MAX_UNPOOLING-3",),
            ),
        ),
        summary="writes the input's elements to the places that the indices name, and zeros everywhere else",
        pseudocode="output = 0; output[indices[c...]] = input[c...], the output taken for one row",
        index=IndexRule("indices_tensor", "output_tensor", output_elements),
    ),
)
