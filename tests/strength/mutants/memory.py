"""Memory that is written and must not be, or must be and is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import layout
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import implied_size_in_bytes
from strength.mutants.base import Mutant, limits


class WritesPastTheEnd(Mutant):
    """Writes one element more than there are."""

    rules = ("EXECUTION.output-bounds",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        super().written(desc, values, output)
        tensor = desc.output_tensor
        end = output.offset + implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
        output.buffer[end : end + tensor.data_type.size] = 0


class WritesBeforeTheStart(Mutant):
    rules = ("EXECUTION.output-bounds",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        super().written(desc, values, output)
        output.buffer[output.offset - 1] = 0


class ClearsTheWholeBoundRange(Mutant):
    """Zeroes all that is bound, also the bytes that TotalTensorSizeInBytes leaves over."""

    rules = ("EXECUTION.output-bounds",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        output.view[:] = 0
        super().written(desc, values, output)


class WritesWholeVectors(Mutant):
    """Zeroes the rest of the last 16 bytes, beyond TotalTensorSizeInBytes."""

    rules = ("EXECUTION.output-bounds",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        end = output.offset + desc.output_tensor.total_tensor_size_in_bytes
        output.buffer[end : output.offset + (end - output.offset + 15) // 16 * 16] = 0
        super().written(desc, values, output)


class IgnoresBindingOffset(Mutant):
    """Writes to the start of the output's resource."""

    rules = ("EXECUTION.output-bounds",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        super().written(desc, values, output._replace(offset=0))


class ScribblesOnItsInput(Mutant):
    """Leaves a bit of the input's memory flipped."""

    rules = ("EXECUTION.inputs-unchanged",)

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        super().execute(desc, level, inputs, outputs)
        inputs["input_tensor"].view[0] ^= 1


class ResolvesNegativeIndicesInPlace(Mutant):
    """Writes the places that negative indices stand for back into the index tensor."""

    since = "3_0"
    has = ("indices_tensor",)
    rules = ("EXECUTION.inputs-unchanged",)

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        super().execute(desc, level, inputs, outputs)
        numbers = layout.indices(inputs["indices_tensor"], desc.indices_tensor)
        if numbers.dtype.kind == "i":
            numbers[...] = np.where(numbers < 0, numbers + limits(desc), numbers)


class LastElementUnwritten(Mutant):
    rules = ("values",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        target = layout.bits(output, desc.output_tensor)
        last = tuple(size - 1 for size in target.shape)
        kept = target[last]
        target[...] = values
        target[last] = kept


class WritesNothing(Mutant):
    rules = ("values",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        pass
