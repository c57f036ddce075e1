"""DML_OPERATOR_ONE_HOT: sequences along one axis, all off but for the element that an index names."""

from __future__ import annotations

from math import prod

from dml_conformance.spec.constraints import axis_of, checked, size_within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import IndexRule, Misfit, Shapes, is_whole, operator_spec, output_sizes
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import OneHot


def axis_limit(desc: OneHot) -> tuple[int, ...]:
    """The size of the output along Axis, which the indices run over."""
    return (desc.output_tensor.sizes[desc.axis],)


def shape(desc: OneHot) -> Shapes | Misfit:
    """The sizes of the indices, along Axis whatever size the output is given."""
    sizes, given, axis = desc.indices_tensor.sizes, desc.output_tensor.sizes, desc.axis
    if axis >= min(len(sizes), len(given)):
        return Misfit("Axis", f"{axis}, the tensors have {len(sizes)} and {len(given)} dimensions")
    return {"output_tensor": (*sizes[:axis], given[axis], *sizes[axis + 1 :])}


def _values_count(desc: OneHot, level: Level) -> Breach | None:
    count = prod(desc.values_tensor.sizes)
    return None if count >= 2 else Breach("ValuesTensor.Sizes", f"{count} element")


SPECS = (
    operator_spec(
        "ONE_HOT",
        shape=shape,
        own_rules=(
            axis_of("Axis", "IndicesTensor"),
            size_within("IndicesTensor", "Axis", 1, 1, name="indices-along-axis", after=("axis-range",)),
            checked("values-count", _values_count),
            output_sizes("axis-range", "indices-along-axis"),
        ),
        index=IndexRule("indices_tensor", "output_tensor", axis_limit),
    ),
)


def values_of_another_dimension_count(desc: OneHot) -> bool:
    """Whether ValuesTensor alone has a DimensionCount of its own."""
    if not is_whole(desc):
        return False
    count = len(desc.output_tensor.sizes)
    return len(desc.indices_tensor.sizes) == count != len(desc.values_tensor.sizes)


DIVERGENCES = {"DIV-one-hot-values-of-another-dimension-count": values_of_another_dimension_count}
