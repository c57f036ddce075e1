"""Where strides put the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.tensor import TensorDesc
from strength.mutants.base import (
    EXECUTED,
    Bindings,
    RejectsValid,
    bound,
    compute,
    fault,
    index_numbers,
    main_output,
    memory_in_order,
    of_role,
    plants,
    source,
    types_of_output,
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


@plants("computed", reads=True, rules=("EXECUTION.strides",))
def InputStridesIgnored(desc: Any, inputs: Bindings) -> Any:
    return with_packed_source(desc, inputs)


@plants("computed", reads=True, rules=("EXECUTION.strides",))
def BroadcastNotSupported(desc: Any, inputs: Bindings) -> Any:
    """Takes strides with a 0 among them for ones that were not given."""
    has_zero = 0 in (source(desc).tensor.strides or ())
    return with_packed_source(desc, inputs) if has_zero else compute(desc, inputs)


@plants("computed", reads=True, rules=("EXECUTION.strides",))
def SmallestStrideTakenForOne(desc: Any, inputs: Bindings) -> Any:
    """Reads whole vectors along the dimension of the smallest stride."""
    read = source(desc).tensor
    steps = [stride for stride, size in zip(read.effective_strides, read.sizes, strict=True) if size > 1]
    least = min(steps, default=0)
    strides = tuple(1 if stride == least > 0 else stride for stride in read.effective_strides)
    return compute(with_tensors(desc, {source(desc).key: replace(read, strides=strides)}), inputs)


@plants("written", rules=("EXECUTION.strides",))
def OutputStridesIgnored(desc: Any, values: Any, output: Binding) -> None:
    layout.bits(output, replace(main_output(desc).tensor, strides=None))[...] = values


def _has_wide_outputs(operator: str, level: Level) -> bool:
    return any(data_type.size > 1 for data_type in types_of_output(operator, level))


@plants("written", where=_has_wide_outputs, rules=("EXECUTION.strides",))
def StridesTakenForBytes(desc: Any, values: Any, output: Binding) -> None:
    """Takes the output's strides for bytes; elements of one byte come out right."""
    strides = main_output(desc).tensor.strides
    np.ndarray(values.shape, values.dtype, output.view, strides=strides)[...] = values


plants("tensor_refused", RejectsValid).each(
    RejectsStrides=lambda tensor: tensor.strides is not None,
    RejectsBroadcastInputs=fault(
        lambda tensor: 0 in (tensor.strides or ()),
        "Refuses a stride of 0 on inputs, where it is allowed, as on outputs.",
        reads=True,
    ),
)


@plants("computed", reads=True, lacks=("input_state_tensor",), rules=EXECUTED)  # which has even rows
def RowsTakenForPadded(desc: Any, inputs: Bindings) -> Any:
    """Reads a tensor without strides as if each row were padded to an even number of elements."""
    read = source(desc).tensor
    if read.strides is not None or read.sizes[-1] % 2 == 0:
        return compute(desc, inputs)
    rows, binding = read.element_count // read.sizes[-1], inputs[source(desc).key]
    memory = memory_in_order(read, binding).reshape(-1)
    places = np.arange(rows)[:, None] * (read.sizes[-1] + 1) + np.arange(read.sizes[-1])
    return with_source(desc, inputs, memory[np.minimum(places, memory.size - 1)].reshape(read.sizes))


@plants("refused", RejectsValid)
def RejectsInterleavedOutputs(desc: Any) -> bool:
    """Takes output elements to share memory wherever no dimension steps over all of the next."""
    return any(_is_interleaved(slot.tensor) for slot in of_role(desc, is_output=True))


def _is_interleaved(tensor: TensorDesc) -> bool:
    reach = 0
    for stride, size in sorted(zip(tensor.effective_strides, tensor.sizes, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False
