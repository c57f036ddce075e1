"""How it is recognised in a descriptor that the library's tables are not those of the pages, whatever the family.

They were found by holding every operator's tables against the libraries; see `spec.divergences`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dml_conformance.spec.datatypes import UP_TO_32_BIT, DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import OperatorDesc, Support, desc_spec, is_whole, slots
from dml_conformance.spec.validator import Outcome, decide


def tables_ahead_of_their_level(desc: OperatorDesc) -> bool:
    """The newest tables allow every tensor."""
    spec = desc_spec(desc)
    table = spec.table_at(HIGHEST, spec.variant(desc)) or {}
    return all(_allows(table[slot.field.name], slot.tensor) for slot in slots(desc))


def operators_ahead_of_their_level(desc: OperatorDesc) -> bool:
    """The level that introduces the operator does not reject it."""
    return decide(desc, desc_spec(desc).introduced_in).outcome is not Outcome.REJECT


def integers_beyond_the_tables(desc: OperatorDesc) -> bool:
    return all(slot.tensor.data_type in UP_TO_32_BIT for slot in slots(desc))


def resample_grad_of_fewer_dimensions(desc: OperatorDesc) -> bool:
    return all(len(slot.tensor.sizes) <= 4 for slot in slots(desc))


def optimizer_counts_its_steps(desc: Any) -> bool:
    return bool(desc.training_step_tensor.data_type is DataType.UINT32)


def optimizer_takes_no_fractions_of_steps(desc: Any) -> bool:
    return desc.training_step_tensor.data_type in _FLOATS


def filter_zero_point_as_its_scale(desc: Any) -> bool:
    zero_point, scale = desc.filter_zero_point_tensor, desc.filter_scale_tensor
    return zero_point is not None and len(zero_point.sizes) != len(scale.sizes)


def quantize_dies_of_a_missing_tensor(desc: OperatorDesc) -> bool:
    return not is_whole(desc)


def attention_without_heads(desc: Any) -> bool:
    return bool(desc.head_count == 0 and desc.mask_type == enumeration("DML_MULTIHEAD_ATTENTION_MASK_TYPE").BOOLEAN)


_FLOATS = frozenset({DataType.FLOAT32, DataType.FLOAT16})


def _allows(row: Support, tensor: Any) -> bool:
    return len(tensor.sizes) in row.dimension_counts and tensor.data_type in row.data_types


TABLE_DIVERGENCES: Mapping[str, Callable[[Any], bool]] = {
    "DIV-" + function.__name__.replace("_", "-"): function
    for function in (
        tables_ahead_of_their_level,
        operators_ahead_of_their_level,
        integers_beyond_the_tables,
        resample_grad_of_fewer_dimensions,
        optimizer_counts_its_steps,
        optimizer_takes_no_fractions_of_steps,
        filter_zero_point_as_its_scale,
        quantize_dies_of_a_missing_tensor,
        attention_without_heads,
    )
}
