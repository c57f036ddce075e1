"""DML_OPERATOR_TOP_K and TOP_K1: the K largest elements of each sequence along one axis, in order, and their indices.

TOP_K1 can take the smallest instead; TOP_K is TOP_K1 with an AxisDirection of DECREASING.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, below, size_along, within
from dml_conformance.spec.operator import Misfit, Shapes, operator_spec, output_sizes
from dml_conformance.spec.structures import TopK

ALONG = size_along("InputTensor", "Axis")


def shape(desc: TopK) -> Shapes | Misfit:
    """Of both outputs: the input's sizes with K along Axis."""
    sizes = desc.input_tensor.sizes
    if desc.axis >= len(sizes):
        return Misfit("Axis", f"{desc.axis}, InputTensor has {len(sizes)} dimensions")
    selected = (*sizes[: desc.axis], desc.k, *sizes[desc.axis + 1 :])
    return {"output_value_tensor": selected, "output_index_tensor": selected}


RULES = (
    axis_of("Axis"),
    within("K", 1, ALONG, after=("axis-range",)),
    below("K", ALONG._replace(told="all elements along Axis"), name="k-of-all", after=("axis-range", "k-range")),
    output_sizes("axis-range", "k-range"),
)
SPECS = tuple(operator_spec(name, shape=shape, own_rules=RULES) for name in ("TOP_K", "TOP_K1"))
