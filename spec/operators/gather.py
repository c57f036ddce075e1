"""DML_OPERATOR_GATHER: slices of the input along one axis, chosen and arranged by an index tensor."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of, leading_ones, member, rank, within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    INDICES,
    IndexRule,
    Misfit,
    Shapes,
    ids,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operators._indexing import axis_limit, indexing_execution_rules
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import LEVEL_HISTORY, Source
from dml_conformance.spec.tensor import braces, from_first_above_one

PAGE = "ns-directml-dml_gather_operator_desc"


def uncropped_sizes(desc: Any) -> tuple[int, ...]:
    """The input's sizes with the Axis entry replaced by the last IndexDimensions index sizes."""
    input_sizes, index_sizes = desc.input_tensor.sizes, desc.indices_tensor.sizes
    meaningful = index_sizes[len(index_sizes) - desc.index_dimensions :]
    return (*input_sizes[: desc.axis], *meaningful, *input_sizes[desc.axis + 1 :])


def shape(desc: Any) -> Shapes | Misfit:
    """`uncropped_sizes` right-aligned into the dimension count, where no size above 1 would be cropped."""
    sizes, count = uncropped_sizes(desc), len(desc.input_tensor.sizes)
    surplus = len(sizes) - count
    if surplus > 0 and set(sizes[:surplus]) != {1}:
        return Misfit("OutputTensor.DimensionCount", f"sizes {braces(sizes)} do not fit {count} dimensions")
    return {"output_tensor": (1,) * -surplus + sizes[max(surplus, 0) :]}


def _output_rank(desc: Any, level: Level) -> Breach | None:
    found = shape(desc)
    return Breach(*found) if isinstance(found, Misfit) else None


def _shape_before_2_1(desc: Any, level: Level) -> Breach | None:
    return None if desc.index_dimensions == 1 else Breach("IndexDimensions", str(desc.index_dimensions))


_ATTRIBUTES = ids("GATHER", "axis-range", "index-dimensions-range")
_COMPARABLE = shapes_comparable("GATHER")

GATHER = operator_spec(
    "GATHER",
    shape=shape,
    groups={"IndicesTensor": INDICES},
    own_rules=(
        axis_of("Axis", settles=("GATHER-3",)),
        within(
            "IndexDimensions",
            0,
            rank("IndicesTensor"),
            statement="IndexDimensions is from 0 to IndicesTensor.DimensionCount, both included",
            remedy="count the meaningful dimensions of IndicesTensor, without its leading ones",
            settles=("GATHER-1",),
        ),
        leading_ones(
            "IndicesTensor",
            member("IndexDimensions"),
            name="leading-index-sizes",
            statement="the page calls the index dimensions before the last IndexDimensions irrelevant leading ones, "
            "and does not say what other sizes there mean",
            remedy="give the leading dimensions of IndicesTensor size 1, or raise IndexDimensions",
            section="IndexDimensions",
            after=("index-dimensions-range",),
            erratum="GATHER-8",
        ),
        Rule(
            "GATHER.output-rank",
            Category.SHAPE,
            "right-aligning the output's sizes crops leading ones only",
            Source(PAGE, "OutputTensor"),
            "lower IndexDimensions, or pad all tensors with leading dimensions of size 1",
            check=_output_rank,
            needs=_COMPARABLE | _ATTRIBUTES,
            settles=("GATHER-5",),
        ),
        output_sizes_rule(
            "GATHER", Source(PAGE, "OutputTensor"), _COMPARABLE | _ATTRIBUTES | ids("GATHER", "output-rank")
        ),
        Rule(
            "GATHER.shape-before-2_1",
            Category.SHAPE,
            "level 2_1 relaxed the shapes that GATHER takes; no page says what was restricted before. Left open here: "
            "every IndexDimensions but 1, since only these move sizes between dimensions",
            Source(LEVEL_HISTORY, "DML_FEATURE_LEVEL_2_1"),
            "use IndexDimensions 1, or ask for level 2_1",
            until=Level.L2_1,
            check=_shape_before_2_1,
            needs=_COMPARABLE | _ATTRIBUTES,
            erratum="GATHER-7",
        ),
    ),
    execution_rules=indexing_execution_rules("GATHER", PAGE, "the Axis dimension"),
    summary="gathers slices of the input along Axis, arranged by the indices",
    pseudocode="output[before, i..., after] = input[before, indices[i...], after], right-aligned",
    index=IndexRule("indices_tensor", "input_tensor", axis_limit),
)

SPECS = (GATHER,)


def _writes_before_its_sizes(desc: Any) -> bool:
    return bool(desc.index_dimensions > desc.axis + 1)


def _crops_any_size(desc: Any) -> bool:
    found = uncropped_sizes(desc)
    return len(found) > len(desc.output_tensor.sizes) and _aligned(desc) == desc.output_tensor.sizes


def _scalar_index_any_first_size(desc: Any) -> bool:
    return desc.index_dimensions == 0 and _aligned(desc)[1:] == tuple(desc.output_tensor.sizes[1:])


def _index_batch_longer_than_input(desc: Any) -> bool:
    """What the library takes for a batch of indices has at most as many dimensions as there are before Axis, but more
    than the input has. Leading ones are left out on both sides.
    """
    leading = desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.index_dimensions]
    count = len(from_first_above_one(leading))
    return len(from_first_above_one(desc.input_tensor.sizes)) < count <= int(desc.axis)


def _aligned(desc: Any) -> tuple[int, ...]:
    """Those sizes at the right of the output's dimensions; whatever is too much on the left is gone."""
    sizes, count = uncropped_sizes(desc), len(desc.output_tensor.sizes)
    return ((1,) * count + sizes)[-count:]


def _index_batch_found_in_input(desc: Any) -> bool | None:
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
