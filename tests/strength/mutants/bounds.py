"""The ends of what is allowed: indices out of range, elements, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.reference import ReferenceBackend, decisions, expected_output, layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes
from strength.mutants.base import RejectsValid, WrongDecision, edit_tensors, limits, tensors
from strength.mutants.indices import WrongIndices


class OutOfRangeIndexGivesZero(WrongIndices):
    """Writes zeros for an index out of range, as another standard has it."""

    rules = ("out-of-range-indices",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        found = expected_output(desc, inputs)["output_tensor"]
        return found.values if found.open is None else np.where(found.open, 0, found.values)


class OutOfRangeIndexReadsBehindTheInput(WrongIndices):
    """Follows an index out of range to whatever memory is there."""

    rules = ("out-of-range-indices",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        found = expected_output(desc, inputs)["output_tensor"]
        if found.open is None:
            return found.values
        binding, width = inputs["input_tensor"], found.values.itemsize
        behind = binding.buffer[binding.offset + binding.size :][:width].view(found.values.dtype)
        return np.where(found.open, behind, found.values)


class OutOfRangeIndexSpoilsItsNeighbours(WrongIndices):
    """Gives up on the whole output where one index is out of range."""

    rules = ("out-of-range-indices",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        found = expected_output(desc, inputs)["output_tensor"]
        first = layout.bits(inputs["input_tensor"], desc.input_tensor).reshape(-1)[0]
        return found.values if found.open is None else np.full_like(found.values, first)


class OutOfRangeIndexWritesNothing(WrongIndices):
    """Leaves an element of the output as it was where its index is out of range."""

    rules = ("out-of-range-indices",)

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        target = layout.bits(outputs["output_tensor"], desc.output_tensor)
        before = target.copy()
        ReferenceBackend.execute(self, desc, level, inputs, outputs)  # whose indices are right
        is_open = expected_output(desc, inputs)["output_tensor"].open
        if is_open is not None:
            target[is_open] = before[is_open]


class ElementLimitOf31Bits(RejectsValid):
    """Refuses tensors of 2^31 elements and more."""

    def refused(self, desc: Any) -> bool:
        return any(tensor.element_count >= 2**31 for _, tensor in tensors(desc))


class ElementLimitOf33Bits(WrongDecision):
    """Accepts 2^32 elements."""

    rules = ("TENSOR.element-count",)

    def validate(self, desc: Any, level: Level) -> Answer:
        with mock.patch.object(decisions, "MOST_ELEMENTS", 2**33 - 1):
            return super().validate(desc, level)


class AcceptsUnroundedTotalSize(WrongDecision):
    """Rounds TotalTensorSizeInBytes up itself."""

    rules = ("TENSOR.total-size-rounding",)
    also = ("TENSOR.total-size",)

    def seen(self, desc: Any, level: Level) -> Any:
        def rounded(tensor: TensorDesc) -> TensorDesc:
            return replace(tensor, total_tensor_size_in_bytes=tensor.total_tensor_size_in_bytes + 3 & ~3)

        return edit_tensors(desc, rounded)


class AcceptsUnroundedOutputSize(WrongDecision):
    """The same for outputs only."""

    rules = ("TENSOR.total-size-rounding",)
    also = ("TENSOR.total-size",)

    def seen(self, desc: Any, level: Level) -> Any:
        output = desc.output_tensor
        if output is None:
            return desc
        total = output.total_tensor_size_in_bytes + 3 & ~3
        return replace(desc, output_tensor=replace(output, total_tensor_size_in_bytes=total))


class TotalSizeWithoutStrides(WrongDecision):
    """Asks only for as many bytes as the elements have, wherever strides put them."""

    rules = ("TENSOR.total-size",)
    also = ("TENSOR.total-size-rounding",)

    def seen(self, desc: Any, level: Level) -> Any:
        def enough(tensor: TensorDesc) -> TensorDesc:
            total = tensor.total_tensor_size_in_bytes
            if tensor.strides is None or total < minimum_size_in_bytes(tensor.data_type, tensor.sizes, None):
                return tensor
            least = minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
            return replace(tensor, total_tensor_size_in_bytes=max(total, least))

        return edit_tensors(desc, enough)


class TotalSizeWrapsAt32Bits(WrongDecision):
    """Computes the least TotalTensorSizeInBytes in 32 bits, as the published helper does (erratum TENSOR-3)."""

    rules = ("TENSOR.total-size",)

    def seen(self, desc: Any, level: Level) -> Any:
        def enough(tensor: TensorDesc) -> TensorDesc:
            least = minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
            if tensor.total_tensor_size_in_bytes < least % 2**32:
                return tensor
            return replace(tensor, total_tensor_size_in_bytes=max(tensor.total_tensor_size_in_bytes, least))

        return edit_tensors(desc, enough)


class RejectsLargerTotalSize(RejectsValid):
    """Asks for exactly the least TotalTensorSizeInBytes."""

    def refused(self, desc: Any) -> bool:
        return any(
            t.total_tensor_size_in_bytes != minimum_size_in_bytes(t.data_type, t.sizes, t.strides)
            for _, t in tensors(desc)
        )


class RejectsUnalignedTotalSize(RejectsValid):
    """Asks for a TotalTensorSizeInBytes that is a multiple of 4, not for one large enough."""

    def refused(self, desc: Any) -> bool:
        return any(tensor.total_tensor_size_in_bytes % 4 for _, tensor in tensors(desc))


class ClampsIndicesByAnotherDimension(WrongIndices):
    """Checks indices against the size of the last dimension, whichever they run over."""

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        last = desc.input_tensor.sizes[-1]
        return np.where(numbers < limits(desc), np.minimum(numbers, last - 1), numbers)
