"""What is wrong only where things are large, or where several lie side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding, Execution
from dml_conformance.backends.reference import decisions, layout
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes, span_in_elements
from strength.mutants.base import (
    EXECUTED,
    Mutant,
    WrongDecision,
    edit_tensors,
    limits,
    tensors,
)
from strength.mutants.indices import WrongIndices

MIB = 2**20
OF_32_BITS = 2**32


class OfScale(Mutant, abstract=True):
    """A fault that the cases of scale are for, which a campaign has at its newest level alone."""

    since = HIGHEST.label


# --- indices ----------------------------------------------------------------------------------------------------------


class ShortIndex(OfScale, WrongIndices, abstract=True):
    """Reads indices of one type by way of another that does not hold them all."""

    index_type: ClassVar[DataType]
    by: ClassVar[type]

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        if desc.indices_tensor.data_type is not self.index_type:
            return numbers
        held = np.clip(numbers, -(2**62), 2**62).astype(self.by).astype(np.int64)
        return np.minimum(held, limits(desc) - 1)


class Int64IndexIn8Bits(ShortIndex):
    index_type, by = DataType.INT64, np.int8


class Uint64IndexIn8Bits(ShortIndex):
    index_type, by = DataType.UINT64, np.uint8


class Int32IndexInInt16(ShortIndex):
    index_type, by = DataType.INT32, np.int16


class Int64IndexInInt16(ShortIndex):
    index_type, by = DataType.INT64, np.int16


class Uint32IndexInUint16(ShortIndex):
    index_type, by = DataType.UINT32, np.uint16


class Uint64IndexInUint16(ShortIndex):
    index_type, by = DataType.UINT64, np.uint16


class Int32IndexThroughFloat32(ShortIndex):
    index_type, by = DataType.INT32, np.float32


class Int64IndexThroughFloat32(ShortIndex):
    index_type, by = DataType.INT64, np.float32


class Uint32IndexThroughFloat32(ShortIndex):
    index_type, by = DataType.UINT32, np.float32


class Uint64IndexThroughFloat32(ShortIndex):
    index_type, by = DataType.UINT64, np.float32


class NegativeIndexIn16Bits(OfScale, WrongIndices):
    """Reads the low half of a negative index, and takes what it finds for negative."""

    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers < 0, (numbers & 0xFFFF) - 2**16, numbers)


class LongCoordinate(OfScale, WrongIndices, abstract=True):
    """Reads one coordinate of a tuple in 16 bits."""

    has = ("input_dimension_count",)
    place: ClassVar[int]

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        cut = numbers.copy()
        cut[..., self.place] %= 2**16
        return cut


class FirstCoordinateIn16Bits(LongCoordinate):
    place = 0


class LastCoordinateIn16Bits(LongCoordinate):
    place = -1


# --- outputs ----------------------------------------------------------------------------------------------------------


class WritesAPart(OfScale, abstract=True):
    """Leaves what a grid does not reach as it was."""

    rules = ("values",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        reached = self.reached(values.shape)
        layout.bits(output, desc.output_tensor)[reached] = values[reached]

    def reached(self, sizes: tuple[int, ...]) -> Any:
        """Which elements are written, of an output of these sizes."""
        raise NotImplementedError


def _first(count: int, of: int) -> Any:
    return np.arange(of) < count


class Writes65535BlocksOf256(WritesAPart):
    """Starts at most 65,535 blocks of 256 elements, on a packed output."""

    blocks = 65_535

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        if values.size > self.blocks * 256:
            super().written(desc, values, output)
        else:
            Mutant.written(self, desc, values, output)

    def reached(self, sizes: tuple[int, ...]) -> Any:
        return _first(self.blocks * 256, prod(sizes)).reshape(sizes)


class Writes2To24Elements(Writes65535BlocksOf256):
    """Counts the output's elements in a FLOAT32."""

    blocks = 65_536


class WritesAlong(WritesAPart, abstract=True):
    """Writes at most 65,535 of what is along one of three: the rows, their elements, or the last dimension but one."""

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        if max(values.size // values.shape[-1], *values.shape) > 65_535:
            super().written(desc, values, output)
        else:
            Mutant.written(self, desc, values, output)


class Writes65535Rows(WritesAlong):
    def reached(self, sizes: tuple[int, ...]) -> Any:
        rows = _first(65_535, prod(sizes[:-1])).reshape(*sizes[:-1], 1)
        return np.broadcast_to(rows, sizes)


class Writes65535Columns(WritesAlong):
    def reached(self, sizes: tuple[int, ...]) -> Any:
        return np.broadcast_to(_first(65_535, sizes[-1]), sizes)


class Writes65535InTheMiddle(WritesAlong):
    def reached(self, sizes: tuple[int, ...]) -> Any:
        middle = _first(65_535, sizes[-2] if len(sizes) > 1 else 1)[:, None]
        return np.broadcast_to(middle, sizes)


# --- addresses --------------------------------------------------------------------------------------------------------


class InputWraps(OfScale, abstract=True):
    """Addresses the memory of one input with too few bits."""

    rules = ("values",)
    attribute: ClassVar[str] = "input_tensor"
    least: ClassVar[int]  # bytes that start again at 0

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        view = inputs[self.attribute].view
        if view.size <= self.least:
            return super().computed(desc, inputs)
        wrapped = Binding(np.resize(view[: self.least], view.size), 0, view.size)
        return super().computed(desc, {**inputs, self.attribute: wrapped})


class InputWrapsAt1Mib(InputWraps):
    least = MIB


class InputWrapsAt16Mib(InputWraps):
    least = 16 * MIB


class IndicesWrapAt16Mib(InputWraps):
    has = ("indices_tensor",)
    attribute = "indices_tensor"
    least = 16 * MIB


class OutputWrapsAt16Mib(OfScale):
    """Writes what is beyond 16 MiB of the output to its start."""

    rules = ("values",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        if output.size <= 16 * MIB:
            super().written(desc, values, output)
            return
        memory = output.view.copy()
        super().written(desc, values, Binding(memory, 0, output.size))
        output.view[: 16 * MIB] = memory[: 16 * MIB]
        output.view[: output.size - 16 * MIB] = memory[16 * MIB :][: 16 * MIB]


# --- decisions --------------------------------------------------------------------------------------------------------


class TileSizesIn32Bits(OfScale, WrongDecision):
    """Multiplies sizes by repeats in 32 bits."""

    has = ("repeats",)
    rules = ("output-sizes",)

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.input_tensor is None or desc.output_tensor is None:
            return desc
        sizes, repeats = desc.input_tensor.sizes, desc.repeats
        products = tuple(size * repeat for size, repeat in zip(sizes, repeats, strict=False))
        wrapped = tuple(product % OF_32_BITS for product in products)
        if products == wrapped or wrapped != desc.output_tensor.sizes or len(sizes) != len(repeats):
            return desc
        one = TensorDesc.of(desc.input_tensor.data_type, (1,) * len(sizes))
        return replace(desc, repeats=wrapped, input_tensor=one)


class ElementsIn32Bits(OfScale, WrongDecision):
    """Multiplies the sizes of a tensor in 32 bits."""

    rules = ("TENSOR.element-count",)

    def validate(self, desc: Any, level: Level) -> Answer:
        with mock.patch.object(decisions, "prod", lambda sizes: prod(sizes) % OF_32_BITS):
            return super().validate(desc, level)


class LeastTotal(OfScale, WrongDecision, abstract=True):
    """Asks for fewer bytes than a tensor needs."""

    rules = ("TENSOR.total-size",)

    def seen(self, desc: Any, level: Level) -> Any:
        def enough(tensor: TensorDesc) -> TensorDesc:
            least = minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
            if tensor.total_tensor_size_in_bytes < self.least(tensor, least):
                return tensor
            return replace(tensor, total_tensor_size_in_bytes=max(tensor.total_tensor_size_in_bytes, least))

        return edit_tensors(desc, enough)

    def least(self, tensor: TensorDesc, least: int) -> int:
        """The bytes that it asks for, of a tensor that needs as many as `least`."""
        raise NotImplementedError


class PackedBytesIn32Bits(LeastTotal):
    """Computes the bytes of a tensor without strides in 32 bits."""

    def least(self, tensor: TensorDesc, least: int) -> int:
        return least if tensor.strides is not None else least % OF_32_BITS


class StridedElementsIn32Bits(LeastTotal):
    """Sums up in 32 bits how many elements strides span, and multiplies in 64."""

    def least(self, tensor: TensorDesc, least: int) -> int:
        if tensor.strides is None:
            return least
        return span_in_elements(tensor.sizes, tensor.strides) % OF_32_BITS * tensor.data_type.size


class AlignmentIn31Bits(OfScale, WrongDecision):
    """Keeps alignments in a signed integer, without what is its sign."""

    rules = ("TENSOR.alignment-power-of-two",)

    def seen(self, desc: Any, level: Level) -> Any:
        def cut(tensor: TensorDesc) -> TensorDesc:
            alignment = tensor.guaranteed_base_offset_alignment
            return replace(tensor, guaranteed_base_offset_alignment=alignment & 0x7FFF_FFFF)

        return edit_tensors(desc, cut)


# --- resources --------------------------------------------------------------------------------------------------------


class RoundsOffsetDown(Mutant, abstract=True):
    """Takes the offset of a binding for a multiple of more bytes than it is promised to be."""

    rules = ("values", "EXECUTION.output-bounds")
    to: ClassVar[int]
    inputs: ClassVar[bool]

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        if self.inputs:
            inputs = {name: self._rounded(binding) for name, binding in inputs.items()}
        else:
            outputs = {name: self._rounded(binding) for name, binding in outputs.items()}
        super().execute(desc, level, inputs, outputs)

    def _rounded(self, binding: Binding) -> Binding:
        return binding._replace(offset=binding.offset // self.to * self.to)


class ReadsAtMultiplesOf32(RoundsOffsetDown):
    to, inputs = 32, True


class ReadsAtMultiplesOf64(RoundsOffsetDown):
    to, inputs = 64, True


class WritesAtMultiplesOf32(RoundsOffsetDown):
    to, inputs = 32, False


class WritesAtMultiplesOf64(RoundsOffsetDown):
    to, inputs = 64, False


class OneTensorAtEachOffset(OfScale):
    """Keeps what it knows of a binding by resource and offset, so that a second one there has the size of the first."""

    has = ("indices_tensor",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        known: dict[tuple[int, int], Binding] = {}
        bound = {
            name: known.setdefault((id(binding.buffer), binding.offset), binding) for name, binding in inputs.items()
        }
        return super().computed(desc, bound)


class IndicesOverwrittenWhereTheInputIs(OfScale):
    """Uses the memory of the indices as scratch once they are read, and reads the input after that."""

    has = ("indices_tensor",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        source, indices = inputs["input_tensor"], inputs["indices_tensor"]
        if source.buffer is not indices.buffer:
            return super().computed(desc, inputs)
        kept = Binding(indices.view.copy(), 0, indices.size)
        scratch = source._replace(buffer=source.buffer.copy())
        scratch.buffer[indices.offset : indices.offset + indices.size] = 0
        return super().computed(desc, {"input_tensor": scratch, "indices_tensor": kept})


# --- batches ----------------------------------------------------------------------------------------------------------


class GroupsABatch(Mutant, abstract=True):
    """Executes those of a batch together that are alike, and takes something of the first one for all."""

    rules = EXECUTED

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        first: dict[Any, Execution] = {}
        for execution in executions:
            like = first.setdefault(self.key(execution.desc), execution)
            self.execute(*self.taken(execution, like))

    def key(self, desc: Any) -> Any:
        """What those that are alike have in common."""
        return desc

    def taken(self, execution: Execution, first: Execution) -> Execution:
        """What it does in place of an execution, of those that are like the first."""
        raise NotImplementedError


class InputsOfTheFirstOfABatch(GroupsABatch):
    """Reads the inputs of the first of those of a batch that have the same descriptor."""

    def taken(self, execution: Execution, first: Execution) -> Execution:
        return execution._replace(inputs=first.inputs)


class IndicesOfTheFirstOfABatch(GroupsABatch):
    """Reads the indices of the first of those of a batch that have the same descriptor."""

    has = ("indices_tensor",)

    def taken(self, execution: Execution, first: Execution) -> Execution:
        indices = first.inputs["indices_tensor"]
        return execution._replace(inputs={**execution.inputs, "indices_tensor": indices})


class LayoutOfTheFirstOfABatch(GroupsABatch):
    """Takes the strides of the first of those of a batch that have the same sizes, types and attributes."""

    def key(self, desc: Any) -> Any:
        return edit_tensors(desc, lambda tensor: TensorDesc.of(tensor.data_type, tensor.sizes))

    def taken(self, execution: Execution, first: Execution) -> Execution:
        fits = all(
            minimum_size_in_bytes(tensor.data_type, tensor.sizes, like.strides) <= tensor.total_tensor_size_in_bytes
            for (_, tensor), (_, like) in zip(tensors(execution.desc), tensors(first.desc), strict=True)
        )
        return execution._replace(desc=first.desc) if fits else execution
