"""How it is recognised in a descriptor that the library's tables are not those of the pages, whatever the family.

They were found by holding every operator's tables against the libraries; see `spec.divergences`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dml_conformance.spec import structures
from dml_conformance.spec.datatypes import UP_TO_32_BIT, DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc, Support, is_whole, slots, spec_of
from dml_conformance.spec.validator import Outcome, decide


def tables_ahead_of_their_level(desc: OperatorDesc) -> bool:
    """The newest tables allow every tensor."""
    spec = spec_of(desc)
    table = spec.table_at(HIGHEST, spec.variant(desc)) or {}
    return all(_allows(table[slot.field.name], slot.tensor) for slot in slots(desc))


def operators_ahead_of_their_level(desc: OperatorDesc) -> bool:
    """The level that introduces the operator does not reject it."""
    return decide(desc, spec_of(desc).introduced_in).outcome is not Outcome.REJECT


def integers_beyond_the_tables(desc: OperatorDesc) -> bool:
    return all(slot.tensor.data_type in UP_TO_32_BIT for slot in slots(desc))


def resample_grad_of_fewer_dimensions(desc: OperatorDesc) -> bool:
    return all(len(slot.tensor.sizes) <= 4 for slot in slots(desc))


def optimizer_of_any_dimensions(desc: structures.AdamOptimizer) -> bool:
    """Sizes are right but for how many there are, and so is the step."""
    step = desc.training_step_tensor
    sizes = {slot.tensor.sizes for slot in slots(desc) if slot.tensor is not step}
    is_step = step.data_type is DataType.UINT32 and step.element_count == 1
    return is_step and len(sizes) == 1 and {len(each) for each in (step.sizes, *sizes)} != {4}


def filter_zero_point_as_its_scale(desc: structures.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC) -> bool:
    zero_point, scale = desc.filter_zero_point_tensor, desc.filter_scale_tensor
    return zero_point is not None and len(zero_point.sizes) != len(scale.sizes)


def quantize_dies_of_a_missing_tensor(desc: OperatorDesc) -> bool:
    return not is_whole(desc)


def attention_without_heads(desc: structures.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC) -> bool:
    return bool(desc.head_count == 0)


def _allows(row: Support, tensor: Any) -> bool:
    return len(tensor.sizes) in row.dimension_counts and tensor.data_type in row.data_types


TABLE_DIVERGENCES: Mapping[str, Callable[[Any], bool]] = {
    "DIV-" + function.__name__.replace("_", "-"): function
    for function in (
        tables_ahead_of_their_level,
        operators_ahead_of_their_level,
        integers_beyond_the_tables,
        resample_grad_of_fewer_dimensions,
        optimizer_of_any_dimensions,
        filter_zero_point_as_its_scale,
        quantize_dies_of_a_missing_tensor,
        attention_without_heads,
    )
}
