"""What is wrong only where things are large, or where several lie side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding, Execution
from dml_conformance.backends.reference import layout
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import with_tensors
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes, span_in_elements
from strength.mutants.base import (
    EXECUTED,
    GATHERS,
    REFERENCE,
    Bindings,
    Mutant,
    WrongDecision,
    breaks_alone,
    compute,
    least_total,
    limits,
    main_output,
    plants,
    tensors,
    variant,
    with_enough_bytes,
    write,
)
from strength.mutants.indices import WrongIndices

MIB = 2**20
OF_32_BITS = 2**32
NEWEST = HIGHEST.label  # a campaign has the cases of scale at its newest level alone


# --- indices ----------------------------------------------------------------------------------------------------------


class ShortIndex(WrongIndices, abstract=True):
    """Reads indices of one type by way of another that does not hold them all."""

    since = NEWEST
    index_type: ClassVar[DataType]
    by: ClassVar[type]

    def taken(self, desc: Any, numbers: Any) -> Any:
        if desc.indices_tensor.data_type is not self.index_type:
            return numbers
        held = np.clip(numbers, -(2**62), 2**62).astype(self.by).astype(np.int64)
        return np.minimum(held, limits(desc) - 1)


for _name, _index_type, _by in (
    ("Int64IndexIn8Bits", DataType.INT64, np.int8),
    ("Uint64IndexIn8Bits", DataType.UINT64, np.uint8),
    ("Int32IndexInInt16", DataType.INT32, np.int16),
    ("Int64IndexInInt16", DataType.INT64, np.int16),
    ("Uint32IndexInUint16", DataType.UINT32, np.uint16),
    ("Uint64IndexInUint16", DataType.UINT64, np.uint16),
    ("Int32IndexThroughFloat32", DataType.INT32, np.float32),
    ("Int64IndexThroughFloat32", DataType.INT64, np.float32),
    ("Uint32IndexThroughFloat32", DataType.UINT32, np.float32),
    ("Uint64IndexThroughFloat32", DataType.UINT64, np.float32),
):
    variant(_name, ShortIndex, index_type=_index_type, by=_by)


@plants("taken", WrongIndices, since=NEWEST, rules=("negative-indices",))
def NegativeIndexIn16Bits(numbers: Any) -> Any:
    """Reads the low half of a negative index, and takes what it finds for negative."""
    return np.where(numbers < 0, (numbers & 0xFFFF) - 2**16, numbers)


class LongCoordinate(WrongIndices, abstract=True):
    """Reads one coordinate of a tuple in 16 bits."""

    since = NEWEST
    families = ("gather_nd",)
    place: ClassVar[int]

    def taken(self, desc: Any, numbers: Any) -> Any:
        cut = numbers.copy()
        cut[..., self.place] %= 2**16
        return cut


variant("FirstCoordinateIn16Bits", LongCoordinate, place=0)
variant("LastCoordinateIn16Bits", LongCoordinate, place=-1)


# --- outputs ----------------------------------------------------------------------------------------------------------


class WritesAPart(Mutant, abstract=True):
    """Leaves what a grid does not reach as it was."""

    since = NEWEST
    rules = ("values",)

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        if self.is_beyond(values.shape):
            reached = self.reached(values.shape)
            layout.bits(output, main_output(desc).tensor)[reached] = values[reached]
        else:
            write(desc, values, output)

    def is_beyond(self, sizes: tuple[int, ...]) -> bool:
        """Whether the grid is too small for an output of these sizes."""
        raise NotImplementedError

    def reached(self, sizes: tuple[int, ...]) -> Any:
        """Which elements are written."""
        raise NotImplementedError


def _first(count: int, of: int) -> Any:
    return np.arange(of) < count


class Writes65535BlocksOf256(WritesAPart):
    """Starts at most 65,535 blocks of 256 elements, on a packed output."""

    blocks = 65_535

    def is_beyond(self, sizes: tuple[int, ...]) -> bool:
        return prod(sizes) > self.blocks * 256

    def reached(self, sizes: tuple[int, ...]) -> Any:
        return _first(self.blocks * 256, prod(sizes)).reshape(sizes)


class Writes2To24Elements(Writes65535BlocksOf256):
    """Counts the output's elements in a FLOAT32."""

    blocks = 65_536


class WritesAlong(WritesAPart, abstract=True):
    """Writes at most 65,535 of what is along one of three: the rows, their elements, or the last dimension but one."""

    def is_beyond(self, sizes: tuple[int, ...]) -> bool:
        return max(prod(sizes[:-1]), *sizes) > 65_535


@plants("reached", WritesAlong)
def Writes65535Rows(sizes: tuple[int, ...]) -> Any:
    rows = _first(65_535, prod(sizes[:-1])).reshape(*sizes[:-1], 1)
    return np.broadcast_to(rows, sizes)


# Coordinates have a column for each dimension; so wide a state would take weights of 2^32 elements.
@plants("reached", WritesAlong, lacks=("output_coordinates_tensor", "recurrence_tensor"))
def Writes65535Columns(sizes: tuple[int, ...]) -> Any:
    return np.broadcast_to(_first(65_535, sizes[-1]), sizes)


@plants("reached", WritesAlong)
def Writes65535InTheMiddle(sizes: tuple[int, ...]) -> Any:
    return np.broadcast_to(_first(65_535, sizes[-2])[:, None] if len(sizes) > 1 else True, sizes)


# --- addresses --------------------------------------------------------------------------------------------------------


class InputWraps(Mutant, abstract=True):
    """Addresses the memory of one input with too few bits."""

    since = NEWEST
    rules = ("values",)
    reads = True
    attribute: ClassVar[str] = ""  # the largest input
    least: ClassVar[int]  # bytes that start again at 0

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        largest = max(inputs, key=lambda key: inputs[key].view.size, default="")
        for key in (key for key in inputs if key == (self.attribute or largest)):
            view = inputs[key].view
            if view.size > self.least:
                inputs = {**inputs, key: Binding(np.resize(view[: self.least], view.size), 0, view.size)}
        super().execute(desc, level, inputs, outputs)


variant("InputWrapsAt1Mib", InputWraps, least=MIB)
InputWrapsAt16Mib = variant("InputWrapsAt16Mib", InputWraps, least=16 * MIB)
variant("IndicesWrapAt16Mib", InputWraps, least=16 * MIB, families=GATHERS, attribute="indices_tensor")


@plants("written", since=NEWEST, rules=("values",))
def OutputWrapsAt16Mib(desc: Any, values: Any, output: Binding) -> None:
    """Writes what is beyond 16 MiB of the output to its start."""
    if output.size <= 16 * MIB:
        write(desc, values, output)
        return
    memory = output.view.copy()
    write(desc, values, Binding(memory, 0, output.size))
    output.view[: 16 * MIB] = memory[: 16 * MIB]
    for start in range(16 * MIB, output.size, 16 * MIB):
        beyond = memory[start:][: 16 * MIB]
        output.view[: beyond.size] = beyond


# --- decisions --------------------------------------------------------------------------------------------------------


@plants("seen", WrongDecision, since=NEWEST, families=("tile",), rules=("output-sizes",))
def TileSizesIn32Bits(desc: Any) -> Any:
    """Multiplies sizes by repeats in 32 bits."""
    if desc.input_tensor is None or desc.output_tensor is None:
        return desc
    sizes, repeats = desc.input_tensor.sizes, desc.repeats
    products = tuple(size * repeat for size, repeat in zip(sizes, repeats, strict=False))
    wrapped = tuple(product % OF_32_BITS for product in products)
    if products == wrapped or wrapped != desc.output_tensor.sizes or len(sizes) != len(repeats):
        return desc
    one = TensorDesc.of(desc.input_tensor.data_type, (1,) * len(sizes))
    return replace(desc, repeats=wrapped, input_tensor=one)


@plants("validate", WrongDecision, since=NEWEST, rules=("TENSOR.element-count",))
def ElementsIn32Bits(desc: Any, level: Level) -> Answer:
    """Multiplies the sizes of a tensor in 32 bits."""
    return Answer(True) if breaks_alone(desc, level, "TENSOR.element-count") else REFERENCE.validate(desc, level)


# Whose large tensors have one byte an element, and so no more bytes than 32 bits count.
OF_BYTES = (
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
    "MATRIX_MULTIPLY_INTEGER",
    "QUANTIZED_LINEAR_AVERAGE_POOLING",
    "QUANTIZED_LINEAR_CONVOLUTION",
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
)


@plants("tensor_seen", WrongDecision, since=NEWEST, rules=("TENSOR.total-size",), but=OF_BYTES)
def PackedBytesIn32Bits(tensor: TensorDesc) -> TensorDesc:
    """Computes the bytes of a tensor without strides in 32 bits."""
    return with_enough_bytes(tensor, least_total(tensor) % OF_32_BITS) if tensor.strides is None else tensor


@plants("tensor_seen", WrongDecision, since=NEWEST, rules=("TENSOR.total-size",))
def StridedElementsIn32Bits(tensor: TensorDesc) -> TensorDesc:
    """Sums up in 32 bits how many elements strides span, and multiplies in 64."""
    if tensor.strides is None:
        return tensor
    return with_enough_bytes(
        tensor, span_in_elements(tensor.sizes, tensor.strides) % OF_32_BITS * tensor.data_type.size
    )


@plants("tensor_seen", WrongDecision, since=NEWEST, rules=("TENSOR.alignment-power-of-two",))
def AlignmentIn31Bits(tensor: TensorDesc) -> TensorDesc:
    """Keeps alignments in a signed integer, without what is its sign."""
    alignment = tensor.guaranteed_base_offset_alignment
    return replace(tensor, guaranteed_base_offset_alignment=alignment & 0x7FFF_FFFF)


# --- resources --------------------------------------------------------------------------------------------------------


class RoundsOffsetDown(Mutant, abstract=True):
    """Takes the offset of a binding for a multiple of more bytes than it is promised to be."""

    rules = ("values", "EXECUTION.output-bounds")
    to: ClassVar[int]
    inputs: ClassVar[bool]

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        if self.inputs:
            inputs = {name: self._rounded(binding) for name, binding in inputs.items()}
        else:
            outputs = {name: self._rounded(binding) for name, binding in outputs.items()}
        super().execute(desc, level, inputs, outputs)

    def _rounded(self, binding: Binding) -> Binding:
        return binding._replace(offset=binding.offset // self.to * self.to)


for _to in (32, 64):
    variant(f"ReadsAtMultiplesOf{_to}", RoundsOffsetDown, reads=True, to=_to, inputs=True)
for _to in (32, 64):
    variant(f"WritesAtMultiplesOf{_to}", RoundsOffsetDown, to=_to, inputs=False)


@plants("computed", since=NEWEST, families=GATHERS, rules=("values",))
def OneTensorAtEachOffset(desc: Any, inputs: Bindings) -> Any:
    """Keeps what it knows of a binding by resource and offset, so that a second one there has the size of the first."""
    sizes: dict[tuple[int, int], int] = {}
    bound = dict(inputs)
    for name, binding in inputs.items():
        size = sizes.setdefault((id(binding.buffer), binding.offset), binding.size)
        if size < binding.size:
            known = binding.view.copy()
            known[size:] = 0
            bound[name] = Binding(known, 0, binding.size)
    return compute(desc, bound)


@plants("computed", since=NEWEST, families=GATHERS, rules=("values",))
def IndicesOverwrittenWhereTheInputIs(desc: Any, inputs: Bindings) -> Any:
    """Uses the memory of the indices as scratch once they are read, and reads the input after that."""
    source, indices = inputs["input_tensor"], inputs["indices_tensor"]
    if source.buffer is not indices.buffer:
        return compute(desc, inputs)
    kept = Binding(indices.view.copy(), 0, indices.size)
    scratch = source._replace(buffer=source.buffer.copy())
    scratch.buffer[indices.offset : indices.offset + indices.size] = 0
    return compute(desc, {"input_tensor": scratch, "indices_tensor": kept})


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


@plants("taken", GroupsABatch, reads=True)
def InputsOfTheFirstOfABatch(execution: Execution, first: Execution) -> Execution:
    """Reads the inputs of the first of those of a batch that have the same descriptor."""
    return execution._replace(inputs=first.inputs)


@plants("taken", GroupsABatch, families=GATHERS)
def IndicesOfTheFirstOfABatch(execution: Execution, first: Execution) -> Execution:
    """Reads the indices of the first of those of a batch that have the same descriptor."""
    indices = first.inputs["indices_tensor"]
    return execution._replace(inputs={**execution.inputs, "indices_tensor": indices})


class LayoutOfTheFirstOfABatch(GroupsABatch):
    """Takes the strides of the first of those of a batch that have the same sizes, types and attributes."""

    def key(self, desc: Any) -> Any:
        return with_tensors(desc, {name: TensorDesc.of(t.data_type, t.sizes) for name, t in tensors(desc)})

    def taken(self, execution: Execution, first: Execution) -> Execution:
        fits = all(
            minimum_size_in_bytes(tensor.data_type, tensor.sizes, like.strides) <= tensor.total_tensor_size_in_bytes
            for (_, tensor), (_, like) in zip(tensors(execution.desc), tensors(first.desc), strict=True)
        )
        return execution._replace(desc=first.desc) if fits else execution
