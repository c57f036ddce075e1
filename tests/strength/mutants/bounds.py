"""The ends of what is allowed: indices out of range, elements, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.reference import expected_output, layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from strength.mutants.base import (
    Bindings,
    RejectsValid,
    WrongDecision,
    breaks_alone,
    execute,
    fault,
    least_total,
    limits,
    of_role,
    plants,
    rows_of,
    tensors,
    with_enough_bytes,
)
from strength.mutants.indices import WrongIndices


def where_open(other: Any, desc: Any, inputs: Bindings) -> Any:
    """Does something else with the right elements where some index is out of range, and those are open."""
    found = expected_output(desc, inputs)["output_tensor"]
    if found.open is None:
        return found.values
    return other(values=found.values, is_open=found.open, source=inputs["input_tensor"], tensor=desc.input_tensor)


def _from_behind(values: Any, is_open: Any, source: Binding) -> Any:
    behind = source.buffer[source.offset + source.size :][: values.itemsize].view(values.dtype)
    return np.where(is_open, behind, values)


plants("computed", WrongIndices, where_open, rules=("out-of-range-indices",)).each(
    OutOfRangeIndexGivesZero=fault(
        lambda values, is_open: np.where(is_open, 0, values),
        "Writes zeros for an index out of range, as another standard has it.",
    ),
    OutOfRangeIndexReadsBehindTheInput=fault(
        _from_behind, "Follows an index out of range to whatever memory is there."
    ),
    OutOfRangeIndexSpoilsItsNeighbours=fault(
        lambda values, source, tensor: np.full_like(values, layout.bits(source, tensor).reshape(-1)[0]),
        "Gives up on the whole output where one index is out of range.",
    ),
)


@plants("execute", WrongIndices, rules=("out-of-range-indices",))
def OutOfRangeIndexWritesNothing(desc: Any, inputs: Bindings, outputs: Bindings) -> None:
    """Leaves an element of the output as it was where its index is out of range."""
    target = layout.bits(outputs["output_tensor"], desc.output_tensor)
    before = target.copy()
    execute(desc, inputs, outputs)
    is_open = expected_output(desc, inputs)["output_tensor"].open
    if is_open is not None:
        target[is_open] = before[is_open]


@plants("tensor_refused", RejectsValid)
def ElementLimitOf31Bits(tensor: TensorDesc) -> bool:
    """Refuses tensors of 2^31 elements and more."""
    return tensor.element_count >= 2**31


@plants("answered", WrongDecision, rules=("TENSOR.element-count",))
def ElementLimitOf33Bits(answer: Answer, desc: Any, level: Level) -> Answer:
    """Accepts 2^32 elements."""
    if breaks_alone(desc, level, "TENSOR.element-count"):
        return Answer(all(tensor.element_count < 2**33 for _, tensor in tensors(desc)))
    return answer


def _rounded(tensor: TensorDesc) -> TensorDesc:
    return replace(tensor, total_tensor_size_in_bytes=tensor.total_tensor_size_in_bytes + 3 & ~3)


ROUNDING = {"rules": ("TENSOR.total-size-rounding",), "also": ("TENSOR.total-size",)}


@plants("tensor_seen", WrongDecision, **ROUNDING)
def AcceptsUnroundedTotalSize(tensor: TensorDesc) -> TensorDesc:
    """Rounds TotalTensorSizeInBytes up itself."""
    return _rounded(tensor)


def _has_short_outputs(operator: str, level: Level) -> bool:
    outputs = {field.name for field in operators()[operator].output_fields}
    rows = (row for name, row in rows_of(operator, level).items() if name in outputs)
    return any(data_type.size < 4 for row in rows for data_type in row.data_types)


@plants("seen", WrongDecision, where=_has_short_outputs, **ROUNDING)
def AcceptsUnroundedOutputSize(desc: Any) -> Any:
    """The same for outputs only, of which some have elements of less than 4 bytes."""
    return with_tensors(desc, {slot.key: _rounded(slot.tensor) for slot in of_role(desc, is_output=True)})


plants("tensor_seen", WrongDecision, rules=("TENSOR.total-size",)).each(
    TotalSizeWithoutStrides=fault(
        lambda tensor: with_enough_bytes(tensor, least_total(replace(tensor, strides=None))),
        "Asks only for as many bytes as the elements have, wherever strides put them.",
        also=("TENSOR.total-size-rounding",),
    ),
    TotalSizeWrapsAt32Bits=fault(
        lambda tensor: with_enough_bytes(tensor, least_total(tensor) % 2**32),
        "Computes the least TotalTensorSizeInBytes in 32 bits, as the published helper does (erratum TENSOR-3).",
    ),
)

plants("tensor_refused", RejectsValid).each(
    RejectsLargerTotalSize=fault(
        lambda tensor: tensor.total_tensor_size_in_bytes != least_total(tensor),
        "Asks for exactly the least TotalTensorSizeInBytes.",
    ),
    RejectsUnalignedTotalSize=fault(
        lambda tensor: tensor.total_tensor_size_in_bytes % 4 != 0,
        "Asks for a TotalTensorSizeInBytes that is a multiple of 4, not for one large enough.",
    ),
)


@plants("taken", WrongIndices)
def ClampsIndicesByAnotherDimension(desc: Any, numbers: Any) -> Any:
    """Checks indices against the size of the last dimension, whichever they run over."""
    last = desc.input_tensor.sizes[-1]
    return np.where(numbers < limits(desc), np.minimum(numbers, last - 1), numbers)


@plants("taken", WrongIndices, families=("one_hot",), rules=("out-of-range-indices",))
def OutOfRangeIndexNamesTheLast(desc: Any, numbers: Any) -> Any:
    """Clamps an index, where one out of range names nothing."""
    return np.minimum(numbers, limits(desc) - 1)
