"""Where strides put the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from strength.mutants.base import (
    EXECUTED,
    Bindings,
    RejectsValid,
    bound,
    compute,
    index_numbers,
    memory_in_order,
    plants,
    tensors,
    with_indices,
    with_packed_source,
    with_source,
)
from strength.mutants.indices import WrongIndices


@plants("computed", WrongIndices, rules=("EXECUTION.strides",))
def IndexStridesIgnored(desc: Any, inputs: Bindings) -> Any:
    flat = memory_in_order(desc.indices_tensor, inputs["indices_tensor"])
    tensor, binding = bound(desc.indices_tensor.data_type, flat)
    packed = replace(desc, indices_tensor=tensor)
    return with_indices(desc, inputs, index_numbers(packed, {"indices_tensor": binding}))


@plants("computed", rules=("EXECUTION.strides",))
def InputStridesIgnored(desc: Any, inputs: Bindings) -> Any:
    return with_packed_source(desc, inputs)


@plants("computed", rules=("EXECUTION.strides",))
def BroadcastNotSupported(desc: Any, inputs: Bindings) -> Any:
    """Takes strides with a 0 among them for ones that were not given."""
    has_zero = 0 in (desc.input_tensor.strides or ())
    return with_packed_source(desc, inputs) if has_zero else compute(desc, inputs)


@plants("computed", rules=("EXECUTION.strides",))
def SmallestStrideTakenForOne(desc: Any, inputs: Bindings) -> Any:
    """Reads whole vectors along the dimension of the smallest stride."""
    source = desc.input_tensor
    steps = [stride for stride, size in zip(source.effective_strides, source.sizes, strict=True) if size > 1]
    least = min(steps, default=0)
    strides = tuple(1 if stride == least > 0 else stride for stride in source.effective_strides)
    return compute(replace(desc, input_tensor=replace(source, strides=strides)), inputs)


@plants("written", rules=("EXECUTION.strides",))
def OutputStridesIgnored(desc: Any, values: Any, output: Binding) -> None:
    layout.bits(output, replace(desc.output_tensor, strides=None))[...] = values


@plants("written", rules=("EXECUTION.strides",))
def StridesTakenForBytes(desc: Any, values: Any, output: Binding) -> None:
    """Takes the output's strides for bytes; elements of one byte come out right."""
    strides = desc.output_tensor.strides
    np.ndarray(values.shape, values.dtype, output.view, strides=strides)[...] = values


@plants("refused", RejectsValid)
def RejectsStrides(desc: Any) -> bool:
    return any(tensor.strides is not None for _, tensor in tensors(desc))


@plants("refused", RejectsValid)
def RejectsBroadcastInputs(desc: Any) -> bool:
    """Refuses a stride of 0 on inputs, where it is allowed, as on outputs."""
    return any(tensor.strides is not None and 0 in tensor.strides for _, tensor in tensors(desc))


@plants("computed", rules=EXECUTED)
def RowsTakenForPadded(desc: Any, inputs: Bindings) -> Any:
    """Reads a tensor without strides as if each row were padded to an even number of elements."""
    source = desc.input_tensor
    if source.strides is not None or source.sizes[-1] % 2 == 0:
        return compute(desc, inputs)
    rows, binding = source.element_count // source.sizes[-1], inputs["input_tensor"]
    memory = memory_in_order(source, binding).reshape(-1)
    places = np.arange(rows)[:, None] * (source.sizes[-1] + 1) + np.arange(source.sizes[-1])
    return with_source(desc, inputs, memory[np.minimum(places, memory.size - 1)].reshape(source.sizes))


@plants("refused", RejectsValid)
def RejectsInterleavedOutputs(desc: Any) -> bool:
    """Takes output elements to share memory wherever no dimension steps over all of the next."""
    reach = 0
    strides, sizes = desc.output_tensor.effective_strides, desc.output_tensor.sizes
    for stride, size in sorted((stride, size) for stride, size in zip(strides, sizes, strict=True) if size > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False
