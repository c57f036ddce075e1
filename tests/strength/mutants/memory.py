"""Memory that is written and must not be, or must be and is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from dml_conformance.spec.tensor import implied_size_in_bytes
from strength.mutants.base import GATHERS, Bindings, execute, limits, main_output, numbers_of, plants, source, write


@plants("written", rules=("EXECUTION.output-bounds",))
def WritesPastTheEnd(desc: Any, values: Any, output: Binding) -> None:
    """Writes one element more than there are."""
    write(desc, values, output)
    tensor = main_output(desc).tensor
    end = output.offset + implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    output.buffer[end : end + tensor.data_type.size] = 0


@plants("written", rules=("EXECUTION.output-bounds",))
def WritesBeforeTheStart(desc: Any, values: Any, output: Binding) -> None:
    write(desc, values, output)
    output.buffer[output.offset - 1] = 0


@plants("written", rules=("EXECUTION.output-bounds",))
def ClearsTheWholeBoundRange(desc: Any, values: Any, output: Binding) -> None:
    """Zeroes all that is bound, also the bytes that TotalTensorSizeInBytes leaves over."""
    output.view[:] = 0
    write(desc, values, output)


@plants("written", rules=("EXECUTION.output-bounds",))
def WritesWholeVectors(desc: Any, values: Any, output: Binding) -> None:
    """Zeroes the rest of the last 16 bytes, beyond TotalTensorSizeInBytes."""
    end = output.offset + main_output(desc).tensor.total_tensor_size_in_bytes
    output.buffer[end : output.offset + (end - output.offset + 15) // 16 * 16] = 0
    write(desc, values, output)


@plants("written", rules=("EXECUTION.output-bounds",))
def IgnoresBindingOffset(desc: Any, values: Any, output: Binding) -> None:
    """Writes to the start of the output's resource."""
    write(desc, values, output._replace(offset=0))


@plants("execute", reads=True, rules=("EXECUTION.inputs-unchanged",))
def ScribblesOnItsInput(desc: Any, inputs: Bindings, outputs: Bindings) -> None:
    """Leaves a bit of the input's memory flipped."""
    execute(desc, inputs, outputs)
    if inputs:
        inputs[source(desc).key].view[0] ^= 1


@plants("execute", reads=True, rules=("EXECUTION.in-place",))
def ClearsTheOutputFirst(desc: Any, inputs: Bindings, outputs: Bindings) -> None:
    """Zeroes the output before it reads the input, which may lie in the same memory."""
    output = main_output(desc)
    layout.bits(outputs[output.key], output.tensor)[...] = 0
    execute(desc, inputs, outputs)


@plants("execute", since="3_0", families=GATHERS, rules=("EXECUTION.inputs-unchanged",))
def ResolvesNegativeIndicesInPlace(desc: Any, inputs: Bindings, outputs: Bindings) -> None:
    """Writes the places that negative indices stand for back into the index tensor."""
    execute(desc, inputs, outputs)
    numbers = numbers_of(inputs["indices_tensor"], desc.indices_tensor)
    if numbers.dtype.kind == "i":
        numbers[...] = np.where(numbers < 0, numbers + limits(desc), numbers)


@plants("written", rules=("values",))
def LastElementUnwritten(desc: Any, values: Any, output: Binding) -> None:
    target = layout.bits(output, main_output(desc).tensor)
    last = tuple(size - 1 for size in target.shape)
    kept = target[last]
    target[...] = values
    target[last] = kept


@plants("written", rules=("values",))
def WritesNothing() -> None:
    pass


@plants("written", rules=("values",))
def ZerosUnwritten(desc: Any, values: Any, output: Binding) -> None:
    """Takes the output's memory for cleared, and writes what is not zero."""
    target = layout.bits(output, main_output(desc).tensor)
    target[...] = np.where(values == 0, target, values)
