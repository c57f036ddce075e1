"""DML_OPERATOR_GATHER: slices of the input along one axis, chosen and arranged by an index tensor."""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, checked, leading_ones, member, rank, within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import IndexRule, Misfit, Shapes, no_misfit, operator_spec, output_sizes
from dml_conformance.spec.operators._indexing import axis_limit
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import Gather
from dml_conformance.spec.tensor import braces, from_first_above_one


def uncropped_sizes(desc: Gather) -> tuple[int, ...]:
    """The input's sizes with the Axis entry replaced by the last IndexDimensions index sizes."""
    input_sizes, index_sizes = desc.input_tensor.sizes, desc.indices_tensor.sizes
    meaningful = index_sizes[len(index_sizes) - desc.index_dimensions :]
    return (*input_sizes[: desc.axis], *meaningful, *input_sizes[desc.axis + 1 :])


def shape(desc: Gather) -> Shapes | Misfit:
    """`uncropped_sizes` right-aligned into the dimension count, where no size above 1 would be cropped."""
    sizes, count = uncropped_sizes(desc), len(desc.input_tensor.sizes)
    surplus = len(sizes) - count
    if surplus > 0 and set(sizes[:surplus]) != {1}:
        return Misfit("OutputTensor.DimensionCount", f"sizes {braces(sizes)} do not fit {count} dimensions")
    return {"output_tensor": (1,) * -surplus + sizes[max(surplus, 0) :]}


def _shape_before_2_1(desc: Gather, level: Level) -> Breach | None:
    return None if desc.index_dimensions == 1 else Breach("IndexDimensions", str(desc.index_dimensions))


_ATTRIBUTES = ("axis-range", "index-dimensions-range")

SPECS = (
    operator_spec(
        "GATHER",
        shape=shape,
        own_rules=(
            axis_of("Axis"),
            within("IndexDimensions", 0, rank("IndicesTensor")),
            leading_ones(
                "IndicesTensor",
                member("IndexDimensions"),
                name="leading-index-sizes",
                after=("index-dimensions-range",),
            ),
            checked("output-rank", no_misfit(shape), after=_ATTRIBUTES),
            output_sizes(*_ATTRIBUTES, "output-rank"),
            checked("shape-before-2_1", _shape_before_2_1, until=Level.L2_1, after=_ATTRIBUTES),
        ),
        index=IndexRule("indices_tensor", "input_tensor", axis_limit),
    ),
)


def _writes_before_its_sizes(desc: Gather) -> bool:
    return desc.index_dimensions > desc.axis + 1


def _crops_any_size(desc: Gather) -> bool:
    found = uncropped_sizes(desc)
    return len(found) > len(desc.output_tensor.sizes) and _aligned(desc) == desc.output_tensor.sizes


def _scalar_index_any_first_size(desc: Gather) -> bool:
    return desc.index_dimensions == 0 and _aligned(desc)[1:] == tuple(desc.output_tensor.sizes[1:])


def _index_batch_longer_than_input(desc: Gather) -> bool:
    """What the library takes for a batch of indices has at most as many dimensions as there are before Axis, but more
    than the input has. Leading ones are left out on both sides.
    """
    leading = desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.index_dimensions]
    count = len(from_first_above_one(leading))
    return len(from_first_above_one(desc.input_tensor.sizes)) < count <= int(desc.axis)


def _aligned(desc: Gather) -> tuple[int, ...]:
    """Those sizes at the right of the output's dimensions; whatever is too much on the left is gone."""
    sizes, count = uncropped_sizes(desc), len(desc.output_tensor.sizes)
    return ((1,) * count + sizes)[-count:]


def _index_batch_found_in_input(desc: Gather) -> bool | None:
    """The leading index sizes are taken for a batch that the input must begin with; leading ones are left out on both.

    They are at most as many as there are dimensions before Axis.
    """
    if desc.index_dimensions > desc.axis + 1:
        return None  # DIV-gather-writes-before-its-sizes
    batch = from_first_above_one(desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.index_dimensions])
    of_input = from_first_above_one(desc.input_tensor.sizes)
    if len(batch) > desc.axis:
        return False
    return None if len(of_input) < len(batch) else bool(of_input[: len(batch)] == batch)


DIVERGENCES = {
    "DIV-gather-writes-before-its-sizes": _writes_before_its_sizes,
    "DIV-gather-crops-any-size": _crops_any_size,
    "DIV-gather-scalar-index-any-first-size": _scalar_index_any_first_size,
    "DIV-gather-index-batch-longer-than-input": _index_batch_longer_than_input,
}
CONDITIONS = {"GATHER.leading-index-sizes": _index_batch_found_in_input}
