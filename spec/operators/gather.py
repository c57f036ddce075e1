"""DML_OPERATOR_GATHER: slices of the input along one axis, chosen and arranged by an index tensor."""

from __future__ import annotations

from typing import ClassVar

from dml_conformance.spec.datatypes import ALL, FLOATS, INDEX_TYPES, UINT32_ONLY, UP_TO_32_BIT
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import (
    DATA,
    FOUR_ONLY,
    INDICES,
    ONE_TO_EIGHT,
    IndexRule,
    OperatorDesc,
    OperatorSpec,
    Support,
    ids,
    output_sizes_rule,
    shapes_comparable,
    tensor_input,
    tensor_output,
    uint,
)
from dml_conformance.spec.operators._indexing import axis_range_rule, indexing_execution_rules
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import LEVEL_HISTORY, Source
from dml_conformance.spec.tensor import TensorDesc, braces

PAGE = "ns-directml-dml_gather_operator_desc"


class GatherDesc(OperatorDesc, frozen=True):
    """`DML_GATHER_OPERATOR_DESC`."""

    operator: ClassVar[str] = "GATHER"
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    index_dimensions: int


def uncropped_sizes(desc: GatherDesc) -> tuple[int, ...]:
    """The input's sizes with the Axis entry replaced by the last IndexDimensions index sizes."""
    input_sizes, index_sizes = desc.input_tensor.sizes, desc.indices_tensor.sizes
    meaningful = index_sizes[len(index_sizes) - desc.index_dimensions :]
    return input_sizes[: desc.axis] + meaningful + input_sizes[desc.axis + 1 :]


def output_sizes(desc: GatherDesc) -> tuple[int, ...] | None:
    """`uncropped_sizes` right-aligned into the dimension count; None where a size above 1 would be cropped."""
    sizes, count = uncropped_sizes(desc), len(desc.input_tensor.sizes)
    surplus = len(sizes) - count
    if surplus <= 0:
        return (1,) * -surplus + sizes
    return sizes[surplus:] if set(sizes[:surplus]) == {1} else None


def _index_dimensions_range(desc: GatherDesc, level: Level) -> Breach | None:
    count = len(desc.indices_tensor.sizes)
    if desc.index_dimensions <= count:
        return None
    return Breach("IndexDimensions", f"{desc.index_dimensions}, IndicesTensor has {count} dimensions")


def _leading_index_sizes(desc: GatherDesc, level: Level) -> Breach | None:
    leading = desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.index_dimensions]
    return Breach("IndicesTensor.Sizes", f"leading sizes {braces(leading)}") if set(leading) - {1} else None


def _output_rank(desc: GatherDesc, level: Level) -> Breach | None:
    if output_sizes(desc) is not None:
        return None
    sizes, count = uncropped_sizes(desc), len(desc.output_tensor.sizes)
    return Breach("OutputTensor.DimensionCount", f"sizes {braces(sizes)} do not fit {count} dimensions")


def _shape_before_2_1(desc: GatherDesc, level: Level) -> Breach | None:
    return None if desc.index_dimensions == 1 else Breach("IndexDimensions", str(desc.index_dimensions))


_ATTRIBUTES = ids("GATHER", "axis-range", "index-dimensions-range")
_COMPARABLE = shapes_comparable("GATHER")

SPEC = OperatorSpec(
    name="GATHER",
    type_value=67,
    desc=GatherDesc,
    introduced_in=Level.L1_0,
    fields=(
        tensor_input("InputTensor", "input_tensor"),
        tensor_input("IndicesTensor", "indices_tensor", INDICES),
        tensor_output("OutputTensor", "output_tensor"),
        uint("Axis", "axis"),
        uint("IndexDimensions", "index_dimensions"),
    ),
    tables={
        Level.L1_0: {DATA: Support(FOUR_ONLY, FLOATS), INDICES: Support(FOUR_ONLY, UINT32_ONLY)},
        Level.L2_1: {DATA: Support(FOUR_ONLY, UP_TO_32_BIT), INDICES: Support(FOUR_ONLY, UINT32_ONLY)},
        Level.L3_0: {DATA: Support(ONE_TO_EIGHT, UP_TO_32_BIT), INDICES: Support(ONE_TO_EIGHT, INDEX_TYPES)},
        Level.L4_1: {DATA: Support(ONE_TO_EIGHT, ALL), INDICES: Support(ONE_TO_EIGHT, INDEX_TYPES)},
    },
    output_sizes=output_sizes,
    own_rules=(
        axis_range_rule("GATHER", PAGE, settles=("GATHER-3",)),
        Rule(
            "GATHER.index-dimensions-range",
            Category.ATTRIBUTES,
            "IndexDimensions is from 0 to IndicesTensor.DimensionCount, both included",
            Source(PAGE, "IndexDimensions"),
            "count the meaningful dimensions of IndicesTensor, without its leading ones",
            check=_index_dimensions_range,
            needs=_COMPARABLE,
            settles=("GATHER-1",),
        ),
        Rule(
            "GATHER.leading-index-sizes",
            Category.SHAPE,
            "the page calls the index dimensions before the last IndexDimensions irrelevant leading ones, and does not "
            "say what other sizes there mean",
            Source(PAGE, "IndexDimensions"),
            "give the leading dimensions of IndicesTensor size 1, or raise IndexDimensions",
            check=_leading_index_sizes,
            needs=_COMPARABLE | ids("GATHER", "index-dimensions-range"),
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
    execution_rules=indexing_execution_rules("GATHER", PAGE, Level.L1_0, "the Axis dimension"),
    source=Source(PAGE),
    summary="gathers slices of the input along Axis, arranged by the indices",
    pseudocode="output[before, i..., after] = input[before, indices[i...], after], right-aligned",
    index=IndexRule("indices_tensor", "input_tensor", lambda desc: (desc.input_tensor.sizes[desc.axis],)),
)
