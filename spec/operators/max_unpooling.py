"""DML_OPERATOR_MAX_UNPOOLING: elements written to where a max-pooling found them, zeros everywhere else.

The output's sizes are free: what an index means is its place in the output as one row of elements.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import sizes_follow
from dml_conformance.spec.operator import IndexRule, Misfit, Shapes, operator_spec
from dml_conformance.spec.structures import MaxUnpooling


def shape(desc: MaxUnpooling) -> Shapes | Misfit:
    """The output's own sizes, as the page lets them be anything."""
    if len(desc.output_tensor.sizes) != len(desc.input_tensor.sizes):
        return Misfit("OutputTensor.DimensionCount", str(len(desc.output_tensor.sizes)))
    return {"output_tensor": desc.output_tensor.sizes}


def output_elements(desc: MaxUnpooling) -> tuple[int, ...]:
    """What indices run over: every element of the output."""
    return (desc.output_tensor.element_count,)


SPECS = (
    operator_spec(
        "MAX_UNPOOLING",
        shape=shape,
        own_rules=(
            sizes_follow(
                "IndicesTensor",
                lambda desc: desc.input_tensor.sizes,
                "the input's",
                name="same-sizes",
                after=("dimension-counts",),
            ),
        ),
        index=IndexRule("indices_tensor", "output_tensor", output_elements),
    ),
)
