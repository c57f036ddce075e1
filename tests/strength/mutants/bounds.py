"""The ends of what is allowed: indices out of range, elements, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer
from dml_conformance.backends.reference import expected_output, layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from strength.mutants.base import (
    REFERENCE,
    Bindings,
    RejectsValid,
    WrongDecision,
    breaks_alone,
    execute,
    least_total,
    limits,
    of_role,
    plants,
    tensors,
    with_enough_bytes,
)
from strength.mutants.indices import WrongIndices


@plants("computed", WrongIndices, rules=("out-of-range-indices",))
def OutOfRangeIndexGivesZero(desc: Any, inputs: Bindings) -> Any:
    """Writes zeros for an index out of range, as another standard has it."""
    found = expected_output(desc, inputs)["output_tensor"]
    return found.values if found.open is None else np.where(found.open, 0, found.values)


@plants("computed", WrongIndices, rules=("out-of-range-indices",))
def OutOfRangeIndexReadsBehindTheInput(desc: Any, inputs: Bindings) -> Any:
    """Follows an index out of range to whatever memory is there."""
    found = expected_output(desc, inputs)["output_tensor"]
    if found.open is None:
        return found.values
    binding, width = inputs["input_tensor"], found.values.itemsize
    behind = binding.buffer[binding.offset + binding.size :][:width].view(found.values.dtype)
    return np.where(found.open, behind, found.values)


@plants("computed", WrongIndices, rules=("out-of-range-indices",))
def OutOfRangeIndexSpoilsItsNeighbours(desc: Any, inputs: Bindings) -> Any:
    """Gives up on the whole output where one index is out of range."""
    found = expected_output(desc, inputs)["output_tensor"]
    first = layout.bits(inputs["input_tensor"], desc.input_tensor).reshape(-1)[0]
    return found.values if found.open is None else np.full_like(found.values, first)


@plants("execute", WrongIndices, rules=("out-of-range-indices",))
def OutOfRangeIndexWritesNothing(desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
    """Leaves an element of the output as it was where its index is out of range."""
    target = layout.bits(outputs["output_tensor"], desc.output_tensor)
    before = target.copy()
    execute(desc, inputs, outputs)
    is_open = expected_output(desc, inputs)["output_tensor"].open
    if is_open is not None:
        target[is_open] = before[is_open]


@plants("refused", RejectsValid)
def ElementLimitOf31Bits(desc: Any) -> bool:
    """Refuses tensors of 2^31 elements and more."""
    return any(tensor.element_count >= 2**31 for _, tensor in tensors(desc))


@plants("validate", WrongDecision, rules=("TENSOR.element-count",))
def ElementLimitOf33Bits(desc: Any, level: Level) -> Answer:
    """Accepts 2^32 elements."""
    if breaks_alone(desc, level, "TENSOR.element-count"):
        return Answer(all(tensor.element_count < 2**33 for _, tensor in tensors(desc)))
    return REFERENCE.validate(desc, level)


def _rounded(tensor: TensorDesc) -> TensorDesc:
    return replace(tensor, total_tensor_size_in_bytes=tensor.total_tensor_size_in_bytes + 3 & ~3)


@plants("tensor_seen", WrongDecision, rules=("TENSOR.total-size-rounding",), also=("TENSOR.total-size",))
def AcceptsUnroundedTotalSize(tensor: TensorDesc) -> TensorDesc:
    """Rounds TotalTensorSizeInBytes up itself."""
    return _rounded(tensor)


class AcceptsUnroundedOutputSize(WrongDecision):
    """The same for outputs only, of which some have elements of less than 4 bytes."""

    rules, also = ("TENSOR.total-size-rounding",), ("TENSOR.total-size",)

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        spec = operators()[operator]
        table = spec.table_at(level) or {}
        types = {
            data_type
            for field in spec.output_fields
            if field.name in table
            for data_type in table[field.name].data_types
        }
        return any(data_type.size < 4 for data_type in types) and super().shows_at(operator, level)

    def seen(self, desc: Any) -> Any:
        return with_tensors(desc, {slot.key: _rounded(slot.tensor) for slot in of_role(desc, is_output=True)})


@plants("tensor_seen", WrongDecision, rules=("TENSOR.total-size",), also=("TENSOR.total-size-rounding",))
def TotalSizeWithoutStrides(tensor: TensorDesc) -> TensorDesc:
    """Asks only for as many bytes as the elements have, wherever strides put them."""
    return with_enough_bytes(tensor, least_total(replace(tensor, strides=None)))


@plants("tensor_seen", WrongDecision, rules=("TENSOR.total-size",))
def TotalSizeWrapsAt32Bits(tensor: TensorDesc) -> TensorDesc:
    """Computes the least TotalTensorSizeInBytes in 32 bits, as the published helper does (erratum TENSOR-3)."""
    return with_enough_bytes(tensor, least_total(tensor) % 2**32)


@plants("refused", RejectsValid)
def RejectsLargerTotalSize(desc: Any) -> bool:
    """Asks for exactly the least TotalTensorSizeInBytes."""
    return any(tensor.total_tensor_size_in_bytes != least_total(tensor) for _, tensor in tensors(desc))


@plants("refused", RejectsValid)
def RejectsUnalignedTotalSize(desc: Any) -> bool:
    """Asks for a TotalTensorSizeInBytes that is a multiple of 4, not for one large enough."""
    return any(tensor.total_tensor_size_in_bytes % 4 for _, tensor in tensors(desc))


@plants("taken", WrongIndices)
def ClampsIndicesByAnotherDimension(desc: Any, numbers: Any) -> Any:
    """Checks indices against the size of the last dimension, whichever they run over."""
    last = desc.input_tensor.sizes[-1]
    return np.where(numbers < limits(desc), np.minimum(numbers, last - 1), numbers)


@plants("taken", WrongIndices, families=("one_hot",), rules=("out-of-range-indices",))
def OutOfRangeIndexNamesTheLast(desc: Any, numbers: Any) -> Any:
    """Clamps an index, where one out of range names nothing."""
    return np.minimum(numbers, limits(desc) - 1)
