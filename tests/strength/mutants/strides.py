"""Where strides put the elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import expected_output, layout
from strength.mutants.base import (
    EXECUTED,
    Mutant,
    RejectsValid,
    bound,
    index_numbers,
    memory_in_order,
    tensors,
    with_packed_source,
)
from strength.mutants.indices import WrongIndices


class IndexStridesIgnored(WrongIndices):
    rules = ("EXECUTION.strides",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        flat = memory_in_order(desc.indices_tensor, inputs["indices_tensor"])
        tensor, binding = bound(desc.indices_tensor.data_type, flat)
        return index_numbers(replace(desc, indices_tensor=tensor), {"indices_tensor": binding})


class InputStridesIgnored(Mutant):
    rules = ("EXECUTION.strides",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        return with_packed_source(desc, inputs)


class BroadcastNotSupported(Mutant):
    """Takes strides with a 0 among them for ones that were not given."""

    rules = ("EXECUTION.strides",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        has_zero = 0 in (desc.input_tensor.strides or ())
        return with_packed_source(desc, inputs) if has_zero else super().computed(desc, inputs)


class SmallestStrideTakenForOne(Mutant):
    """Reads whole vectors along the dimension of the smallest stride."""

    rules = ("EXECUTION.strides",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        source = desc.input_tensor
        steps = [stride for stride, size in zip(source.effective_strides, source.sizes, strict=True) if size > 1]
        least = min(steps, default=0)
        strides = tuple(1 if stride == least > 0 else stride for stride in source.effective_strides)
        return super().computed(replace(desc, input_tensor=replace(source, strides=strides)), inputs)


class OutputStridesIgnored(Mutant):
    rules = ("EXECUTION.strides",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        layout.bits(output, replace(desc.output_tensor, strides=None))[...] = values


class StridesTakenForBytes(Mutant):
    """Takes the output's strides for bytes; elements of one byte come out right."""

    rules = ("EXECUTION.strides",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        strides = desc.output_tensor.strides
        np.ndarray(values.shape, values.dtype, output.view, strides=strides)[...] = values


class RejectsStrides(RejectsValid):
    def refused(self, desc: Any) -> bool:
        return any(tensor.strides is not None for _, tensor in tensors(desc))


class RejectsBroadcastInputs(RejectsValid):
    """Refuses a stride of 0 on inputs, where it is allowed, as on outputs."""

    def refused(self, desc: Any) -> bool:
        return any(tensor.strides is not None and 0 in tensor.strides for _, tensor in tensors(desc))


class RowsTakenForPadded(Mutant):
    """Reads a tensor without strides as if each row were padded to an even number of elements."""

    rules = EXECUTED

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        source = desc.input_tensor
        if source.strides is not None or source.sizes[-1] % 2 == 0:
            return super().computed(desc, inputs)
        rows, binding = source.element_count // source.sizes[-1], inputs["input_tensor"]
        memory = memory_in_order(source, binding).reshape(-1)
        places = np.arange(rows)[:, None] * (source.sizes[-1] + 1) + np.arange(source.sizes[-1])
        tensor, copy = bound(source.data_type, memory[np.minimum(places, memory.size - 1)].reshape(source.sizes))
        return expected_output(replace(desc, input_tensor=tensor), {**inputs, "input_tensor": copy})[
            "output_tensor"
        ].values


class RejectsInterleavedOutputs(RejectsValid):
    """Takes output elements to share memory wherever no dimension steps over all of the next."""

    def refused(self, desc: Any) -> bool:
        reach = 0
        strides, sizes = desc.output_tensor.effective_strides, desc.output_tensor.sizes
        for stride, size in sorted((stride, size) for stride, size in zip(strides, sizes, strict=True) if size > 1):
            if stride <= reach:
                return True
            reach += stride * (size - 1)
        return False
