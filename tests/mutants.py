"""Wrong backends, each with one bug that real ones have had or could have, and the rules that must give it away.

Every one is the reference with a single fault: it takes something for something else (`seen`, `level_seen`, `taken`),
computes, alters or writes something else. `MUTANTS` has them all.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from msgspec.structs import replace

from backends.base import Answer, Binding
from backends.reference import ReferenceBackend, decisions, expected_output, layout
from conformance.spec_check.printed import gather_nd_sizes
from spec.datatypes import DataType
from spec.levels import Level
from spec.operators._gather_nd import unpadded_sizes
from spec.registry import rules as all_rules
from spec.tensor import TensorDesc, implied_size_in_bytes, minimum_size_in_bytes

INDEXING = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")
EVERY = (*INDEXING, "TILE")
TENSORS = ("input_tensor", "indices_tensor", "output_tensor")
EXECUTED = (
    "values",
    "negative-indices",
    "out-of-range-indices",
    "EXECUTION.strides",
    "EXECUTION.output-bounds",
    "EXECUTION.inputs-unchanged",
)
INT64_MAX = 2**63 - 1


class Mutant(ReferenceBackend):
    """A backend with a bug in one of its steps; a subclass that is not `abstract` is one of `MUTANTS`.

    Attributes:
        rules: where the suite must catch it; one without a subject is the operator's own (`values`: `TILE.values`).
        also: rules that it breaks besides.
        operators: what the bug shows in; each must find it alone.
        levels: where it shows; each must find it alone.
    """

    rules: ClassVar[tuple[str, ...]]
    also: ClassVar[tuple[str, ...]] = ()
    operators: ClassVar[tuple[str, ...]] = EVERY
    levels: ClassVar[tuple[str, ...]] = ("3_0", "6_4")

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            MUTANTS.append(cls)

    @classmethod
    def caught_at(cls, operator: str) -> frozenset[str]:
        """Ids of `rules` for one operator."""
        return _ids(operator, cls.rules)

    @classmethod
    def broken(cls, operator: str) -> frozenset[str]:
        """Ids of `rules` and `also` for one operator."""
        return _ids(operator, cls.rules + cls.also)

    def validate(self, desc: Any, level: Level) -> Answer:
        return super().validate(self.seen(desc, level), self.level_seen(desc, level))

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        values = self.computed(desc, inputs)
        self.written(desc, self.altered(desc, values), outputs["output_tensor"])

    def seen(self, desc: Any, level: Level) -> Any:
        """The descriptor that it decides on."""
        return desc

    def level_seen(self, desc: Any, level: Level) -> Level:
        """The level that it decides at."""
        return level

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        """The output's elements as bits."""
        return expected_output(desc, inputs)["output_tensor"].values

    def altered(self, desc: Any, values: Any) -> Any:
        """What it makes of them before it writes them."""
        return values

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        layout.bits(output, desc.output_tensor)[...] = values


MUTANTS: list[type[Mutant]] = []


def _ids(operator: str, rules: tuple[str, ...]) -> frozenset[str]:
    named = (rule if "." in rule else f"{operator}.{rule}" for rule in rules)
    return frozenset(rule for rule in named if rule in all_rules())


def tensors(desc: Any) -> list[tuple[str, TensorDesc]]:
    found = ((name, getattr(desc, name, None)) for name in TENSORS)
    return [(name, tensor) for name, tensor in found if tensor is not None]


def edit_tensors(desc: Any, change: Any) -> Any:
    return replace(desc, **{name: change(tensor) for name, tensor in tensors(desc)})


def rank(desc: Any) -> int:
    return len(desc.input_tensor.sizes)


def bound(data_type: DataType, values: Any) -> tuple[TensorDesc, Binding]:
    """A packed tensor of these elements in memory of its own."""
    buffer = np.frombuffer(np.ascontiguousarray(values).tobytes() + b"\0" * 4, np.uint8)
    return TensorDesc.of(data_type, values.shape), Binding(buffer, 0, buffer.size)


def index_numbers(desc: Any, inputs: Mapping[str, Binding]) -> Any:
    """The index tensor as int64; what does not fit is the largest, out of range either way."""
    numbers = layout.indices(inputs["indices_tensor"], desc.indices_tensor)
    return np.minimum(numbers, INT64_MAX).astype(np.int64) if numbers.dtype == np.uint64 else numbers.astype(np.int64)


def with_indices(desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
    """The output's elements, had the index tensor held these numbers."""
    tensor, binding = bound(DataType.INT64, numbers)
    changed = replace(desc, indices_tensor=tensor)
    return expected_output(changed, {**inputs, "indices_tensor": binding})["output_tensor"].values


def with_packed_source(desc: Any, inputs: Mapping[str, Binding]) -> Any:
    """The output's elements, had the input tensor no strides."""
    source = memory_in_order(desc.input_tensor, inputs["input_tensor"])
    tensor, binding = bound(desc.input_tensor.data_type, source)
    return expected_output(replace(desc, input_tensor=tensor), {**inputs, "input_tensor": binding})[
        "output_tensor"
    ].values


def memory_in_order(tensor: TensorDesc, binding: Binding) -> Any:
    """A tensor's memory read element by element as if it were packed, the last one over and over where it ends."""
    width = tensor.data_type.size
    memory = np.frombuffer(binding.view, layout.UNSIGNED[width], tensor.total_tensor_size_in_bytes // width)
    return memory[np.minimum(np.arange(tensor.element_count), memory.size - 1)].reshape(tensor.sizes)


def limits(desc: Any) -> Any:
    """The sizes that indices run over, as they broadcast against the index tensor."""
    if desc.operator in ("GATHER", "GATHER_ELEMENTS"):
        return np.array(desc.input_tensor.sizes[desc.axis])
    first = rank(desc) - desc.input_dimension_count + getattr(desc, "batch_dimension_count", 0)
    return np.array(desc.input_tensor.sizes[first : first + desc.indices_tensor.sizes[-1]])


# --- indices ----------------------------------------------------------------------------------------------------------


class WrongIndices(Mutant, abstract=True):
    operators = INDEXING
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        return with_indices(desc, inputs, self.taken(desc, inputs, index_numbers(desc, inputs)))

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        """What it takes the indices for."""
        raise NotImplementedError


class NegativeIndexOutOfRange(WrongIndices):
    """Clamps a negative index to 0 instead of counting from the end."""

    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.maximum(numbers, 0)


class NegativeIndexOneOff(WrongIndices):
    """Takes -1 for the last element but one."""

    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers < 0, (numbers - 1) % limits(desc), numbers)


class LastIndexClamped(WrongIndices):
    """Takes the last index of a dimension for one too many."""

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers == limits(desc) - 1, np.maximum(numbers - 1, 0), numbers)


class Int64IndexReadAsLow32Bits(WrongIndices):
    """Reads the low half of a 64-bit index, unsigned: fine until it is negative."""

    rules = ("negative-indices",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return numbers & 0xFFFF_FFFF if desc.indices_tensor.data_type.size == 8 else numbers


class Int64IndicesReadAs32BitElements(WrongIndices):
    """Walks a 64-bit index tensor in steps of 4 bytes."""

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        if desc.indices_tensor.data_type.size != 8:
            return numbers
        halves = np.ascontiguousarray(numbers).view(np.int32).reshape(-1)
        return np.resize(halves, numbers.shape).astype(np.int64)


class IndexTruncatedTo16Bits(WrongIndices):
    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers >= 0, numbers & 0xFFFF, numbers)


class IndexTruncatedTo8Bits(WrongIndices):
    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        return np.where(numbers >= 0, numbers & 0xFF, numbers)


class IndexStridesIgnored(WrongIndices):
    rules = ("EXECUTION.strides",)

    def taken(self, desc: Any, inputs: Mapping[str, Binding], numbers: Any) -> Any:
        flat = memory_in_order(desc.indices_tensor, inputs["indices_tensor"])
        tensor, binding = bound(desc.indices_tensor.data_type, flat)
        return index_numbers(replace(desc, indices_tensor=tensor), {"indices_tensor": binding})


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


class OutOfRangeIndexRaises(WrongIndices):
    rules = ("out-of-range-indices",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        found = expected_output(desc, inputs)["output_tensor"]
        if found.open is not None:
            raise IndexError("index out of range")
        return found.values


class OutOfRangeIndexSpoilsItsNeighbours(WrongIndices):
    """Gives up on the whole output where one index is out of range."""

    rules = ("out-of-range-indices",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        found = expected_output(desc, inputs)["output_tensor"]
        first = layout.bits(inputs["input_tensor"], desc.input_tensor).reshape(-1)[0]
        return found.values if found.open is None else np.full_like(found.values, first)


# --- shapes -----------------------------------------------------------------------------------------------------------


class AxisOffByOne(Mutant):
    operators = ("GATHER", "GATHER_ELEMENTS")
    rules = ("values",)
    levels = ("2_1", "3_0", "6_4")

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        source = layout.bits(inputs["input_tensor"], desc.input_tensor)
        axis = (desc.axis + 1) % source.ndim
        places = index_numbers(desc, inputs) % source.shape[axis]
        sizes = desc.output_tensor.sizes
        if desc.operator == "GATHER":
            meaningful = places[(0,) * (places.ndim - desc.index_dimensions) + (...,)]
            return np.resize(np.take(source, meaningful, axis), sizes)
        coordinates = [c % size for c, size in zip(np.indices(sizes), source.shape, strict=True)]
        coordinates[axis] = places
        return source[tuple(coordinates)]


class IgnoresIndexDimensions(Mutant):
    """Takes every dimension of the index tensor as meaningful (microsoft/DirectML#685)."""

    operators = ("GATHER",)
    rules = ("values",)
    levels = ("2_1", "3_0", "6_4")

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.indices_tensor is None or desc.index_dimensions > len(desc.indices_tensor.sizes):
            return desc
        return replace(desc, index_dimensions=len(desc.indices_tensor.sizes))


class UsesLeadingIndexSizes(Mutant):
    """Takes the first IndexDimensions sizes of the index tensor where the last ones count (microsoft/DirectML#685)."""

    operators = ("GATHER",)
    rules = ("values",)
    levels = ("2_1", "3_0", "6_4")

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.indices_tensor is None:
            return desc
        sizes, count = desc.indices_tensor.sizes, desc.index_dimensions
        return replace(desc, indices_tensor=replace(desc.indices_tensor, sizes=sizes[count:] + sizes[:count]))


class PrintedSizeFormula(Mutant):
    """Follows the size formula as the pages print it (errata GATHER_ND-1, GATHER_ND1-1)."""

    operators = ("GATHER_ND", "GATHER_ND1")
    rules = ("values",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted and gather_nd_sizes(desc) != desc.output_tensor.sizes:
            return Answer(False, "OutputTensor.Sizes")
        return answer


class IgnoresBatches(Mutant):
    """Reads every tuple of indices from the first batch's dimensions on."""

    operators = ("GATHER_ND1",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        source = layout.bits(inputs["input_tensor"], desc.input_tensor)
        source = source[(0,) * (source.ndim - desc.input_dimension_count) + (...,)]
        numbers = index_numbers(desc, inputs)
        numbers = numbers[(0,) * (numbers.ndim - desc.indices_dimension_count) + (...,)]
        places = tuple(numbers[..., k] % source.shape[k] for k in range(numbers.shape[-1]))
        return np.resize(source[places], desc.output_tensor.sizes)


class TupleReversed(Mutant):
    """Takes the coordinates of a tuple from the last dimension to the first."""

    operators = ("GATHER_ND", "GATHER_ND1")
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        return with_indices(desc, inputs, index_numbers(desc, inputs)[..., ::-1] % limits(desc))


class RepeatsReversed(Mutant):
    operators = ("TILE",)
    rules = ("values",)

    def seen(self, desc: Any, level: Level) -> Any:
        return replace(desc, repeats=desc.repeats[::-1])


class RepeatsElements(Mutant):
    """Repeats each element in place, as numpy.repeat does, instead of the whole."""

    operators = ("TILE",)
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        values = layout.bits(inputs["input_tensor"], desc.input_tensor)
        for d, count in enumerate(desc.repeats):
            values = np.repeat(values, count, d)
        return values


# --- strides ----------------------------------------------------------------------------------------------------------


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


# --- memory -----------------------------------------------------------------------------------------------------------


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

    operators = INDEXING
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


# --- bits -------------------------------------------------------------------------------------------------------------


class ChangesBits(Mutant, abstract=True):
    """A bug in how elements of some data types are moved."""

    rules = ("values",)
    data_types: ClassVar[frozenset[DataType]]
    levels = ("2_1", "6_4")

    def altered(self, desc: Any, values: Any) -> Any:
        data_type = desc.output_tensor.data_type
        return self.moved(values, data_type) if data_type in self.data_types else values

    def moved(self, bits: Any, data_type: DataType) -> Any:
        raise NotImplementedError


_MANTISSA = {2: 10, 4: 23, 8: 52}


def _float_parts(bits: Any) -> tuple[Any, Any, Any, int]:
    """Sign, exponent and mantissa in place, and the quiet bit."""
    width, mantissa = bits.itemsize * 8, _MANTISSA[bits.itemsize]
    sign = bits & bits.dtype.type(1 << (width - 1))
    fraction = bits & bits.dtype.type((1 << mantissa) - 1)
    return sign, bits - sign - fraction, fraction, 1 << (mantissa - 1)


def _infinity(bits: Any) -> int:
    mantissa = _MANTISSA[bits.itemsize]
    return ((1 << (bits.itemsize * 8 - 1)) - 1) >> mantissa << mantissa


FLOATS = frozenset({DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64})


class NanCanonicalised(ChangesBits):
    data_types = FLOATS

    def moved(self, bits: Any, data_type: DataType) -> Any:
        _, exponent, fraction, quiet = _float_parts(bits)
        is_nan = (exponent == _infinity(bits)) & (fraction != 0)
        return np.where(is_nan, bits.dtype.type(_infinity(bits) | quiet), bits)


class SignallingNanQuieted(ChangesBits):
    """Sets the quiet bit of a NaN, as one conversion between float types does."""

    data_types = FLOATS

    def moved(self, bits: Any, data_type: DataType) -> Any:
        _, exponent, fraction, quiet = _float_parts(bits)
        is_nan = (exponent == _infinity(bits)) & (fraction != 0)
        return np.where(is_nan, bits | bits.dtype.type(quiet), bits)


class Float16ThroughFloat32(SignallingNanQuieted):
    """Moves FLOAT16 by way of FLOAT32, which keeps every number and quiets signalling NaNs."""

    data_types = frozenset({DataType.FLOAT16})


class SubnormalsFlushed(ChangesBits):
    data_types = FLOATS

    def moved(self, bits: Any, data_type: DataType) -> Any:
        sign, exponent, _, _ = _float_parts(bits)
        return np.where(exponent == 0, sign, bits)


class Float16SubnormalsFlushed(SubnormalsFlushed):
    data_types = frozenset({DataType.FLOAT16})


class NegativeZeroLost(ChangesBits):
    data_types = FLOATS

    def moved(self, bits: Any, data_type: DataType) -> Any:
        sign, _, _, _ = _float_parts(bits)
        return np.where(bits == sign, bits.dtype.type(0), bits)


class InfinityClamped(ChangesBits):
    """Turns an infinity into the largest finite number."""

    data_types = FLOATS

    def moved(self, bits: Any, data_type: DataType) -> Any:
        sign, exponent, fraction, _ = _float_parts(bits)
        is_infinite = (exponent == _infinity(bits)) & (fraction == 0)
        return np.where(is_infinite, sign | bits.dtype.type(_infinity(bits) - 1), bits)


class ThroughFloat(ChangesBits, abstract=True):
    """Moves integers by way of a float that does not hold them all."""

    by: ClassVar[type]

    def moved(self, bits: Any, data_type: DataType) -> Any:
        number = np.dtype(data_type.name.lower())
        low, high = np.iinfo(number).min, np.iinfo(number).max
        floats = bits.view(number).astype(self.by)
        fits = (floats >= low) & (floats < self.by(high))
        return np.where(fits, np.where(fits, floats, 0).astype(number), high).view(bits.dtype)


class Int64ThroughFloat64(ThroughFloat):
    data_types = frozenset({DataType.INT64, DataType.UINT64})
    by = np.float64
    levels = ("4_1", "6_4")


class Int32ThroughFloat32(ThroughFloat):
    data_types = frozenset({DataType.INT32, DataType.UINT32})
    by = np.float32


class HighHalfLost(ChangesBits):
    """Moves 64-bit elements in 32 bits."""

    data_types = frozenset({DataType.INT64, DataType.UINT64, DataType.FLOAT64})
    levels = ("4_1", "6_4")

    def moved(self, bits: Any, data_type: DataType) -> Any:
        return bits & np.uint64(0xFFFF_FFFF)


class BytesSwapped(ChangesBits):
    """Swaps the bytes of 16-bit integers."""

    data_types = frozenset({DataType.INT16, DataType.UINT16})

    def moved(self, bits: Any, data_type: DataType) -> Any:
        return bits.byteswap()


# --- decisions: accepts what is wrong ---------------------------------------------------------------------------------


class WrongDecision(Mutant, abstract=True):
    """A bug of `validate` alone."""

    levels = ("2_1", "3_0", "6_4")


class AcceptsFloat64At3_0(WrongDecision):
    operators = INDEXING
    rules = ("data-types",)
    levels = ("3_0", "4_0")

    def level_seen(self, desc: Any, level: Level) -> Level:
        is_float64 = any(tensor.data_type is DataType.FLOAT64 for _, tensor in tensors(desc))
        return max(level, Level.L4_1) if is_float64 and level >= Level.L3_0 else level


class AcceptsFloat64InTile(WrongDecision):
    operators = ("TILE",)
    rules = ("data-types",)
    levels = ("4_1", "6_4")

    def seen(self, desc: Any, level: Level) -> Any:
        is_64 = DataType.FLOAT64
        return edit_tensors(desc, lambda t: replace(t, data_type=DataType.INT64) if t.data_type is is_64 else t)


class AcceptsUint4(WrongDecision):
    """Takes a 4-bit type, whose size it does not know, for UINT8."""

    rules = ("data-types",)

    def seen(self, desc: Any, level: Level) -> Any:
        def widened(tensor: TensorDesc) -> TensorDesc:
            if tensor.data_type is not DataType.UINT4:
                return tensor
            least = minimum_size_in_bytes(DataType.UINT8, tensor.sizes, tensor.strides)
            return replace(tensor, data_type=DataType.UINT8, total_tensor_size_in_bytes=least)

        return edit_tensors(desc, widened)


class AcceptsInt32IndicesAt2_1(WrongDecision):
    operators = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND")
    rules = ("data-types",)
    levels = ("2_1",)

    def seen(self, desc: Any, level: Level) -> Any:
        indices = desc.indices_tensor
        if indices is None or indices.data_type is not DataType.INT32:
            return desc
        return replace(desc, indices_tensor=replace(indices, data_type=DataType.UINT32))


class AcceptsInt16Indices(WrongDecision):
    operators = INDEXING
    rules = ("data-types",)
    levels = ("3_0", "6_4")

    def seen(self, desc: Any, level: Level) -> Any:
        indices = desc.indices_tensor
        if indices is None or indices.data_type is not DataType.INT16:
            return desc
        total = 2 * indices.total_tensor_size_in_bytes
        return replace(
            desc, indices_tensor=replace(indices, data_type=DataType.INT32, total_tensor_size_in_bytes=total)
        )


class AcceptsRank3At2_1(WrongDecision):
    operators = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "TILE")
    rules = ("dimension-counts",)
    levels = ("2_1",)
    count: ClassVar[int] = 3

    def level_seen(self, desc: Any, level: Level) -> Level:
        if any(len(tensor.sizes) != self.count for _, tensor in tensors(desc)):
            return level
        return max(level, Level.L3_1 if desc.operator == "TILE" else Level.L3_0)


class AcceptsRank5At2_1(AcceptsRank3At2_1):
    count = 5


class AcceptsNineDimensions(WrongDecision):
    rules = ("TENSOR.dimension-count",)
    levels = ("6_4",)

    def validate(self, desc: Any, level: Level) -> Answer:
        def wider(name: str, at: Level) -> decisions.Support | None:
            support = known(name, at)
            return None if support is None else support._replace(ranks=range(1, 10))

        known = decisions._support
        with mock.patch.object(decisions, "_support", wider):
            return super().validate(desc, level)


class ElementLimitOf33Bits(WrongDecision):
    """Accepts 2^32 elements."""

    rules = ("TENSOR.element-count",)

    def validate(self, desc: Any, level: Level) -> Answer:
        with mock.patch.object(decisions, "MOST_ELEMENTS", 2**33 - 1):
            return super().validate(desc, level)


class AcceptsGatherNd1At2_1(WrongDecision):
    operators = ("GATHER_ND1",)
    rules = ("introduced-in",)
    levels = ("2_1",)

    def level_seen(self, desc: Any, level: Level) -> Level:
        return max(level, Level.L3_0)


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


class AcceptsUnknownFlags(WrongDecision):
    rules = ("TENSOR.flags",)

    def seen(self, desc: Any, level: Level) -> Any:
        return edit_tensors(desc, lambda tensor: replace(tensor, flags=tensor.flags & 1))


class AcceptsOwnedByDmlOutput(WrongDecision):
    rules = ("TENSOR.owned-by-dml",)

    def seen(self, desc: Any, level: Level) -> Any:
        output = desc.output_tensor
        return desc if output is None else replace(desc, output_tensor=replace(output, flags=output.flags & ~1))


class AcceptsOddAlignment(WrongDecision):
    rules = ("TENSOR.alignment-power-of-two",)

    def seen(self, desc: Any, level: Level) -> Any:
        def even(tensor: TensorDesc) -> TensorDesc:
            alignment = tensor.guaranteed_base_offset_alignment
            return replace(tensor, guaranteed_base_offset_alignment=0) if alignment & (alignment - 1) else tensor

        return edit_tensors(desc, even)


class AcceptsAlignmentBelowElement(WrongDecision):
    rules = ("TENSOR.alignment-element-size",)

    def seen(self, desc: Any, level: Level) -> Any:
        def enough(tensor: TensorDesc) -> TensorDesc:
            alignment = tensor.guaranteed_base_offset_alignment
            return replace(tensor, guaranteed_base_offset_alignment=0) if alignment in (1, 2, 4) else tensor

        return edit_tensors(desc, enough)


class AcceptsZeroSizes(WrongDecision):
    """Takes a tensor without elements for an operator with nothing to do."""

    rules = ("TENSOR.sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        is_empty = any(0 in tensor.sizes for _, tensor in tensors(desc))
        return Answer(True) if is_empty else super().validate(desc, level)


class AcceptsZeroRepeats(WrongDecision):
    """Takes a repeat of 0 for none."""

    operators = ("TILE",)
    rules = ("TILE.repeats",)

    def seen(self, desc: Any, level: Level) -> Any:
        return replace(desc, repeats=tuple(max(repeat, 1) for repeat in desc.repeats))


class AcceptsSurplusRepeats(WrongDecision):
    """Ignores repeats beyond the dimensions, and takes missing leading ones for 1."""

    operators = ("TILE",)
    rules = ("TILE.repeats-count",)

    def seen(self, desc: Any, level: Level) -> Any:
        count = rank(desc) if desc.input_tensor is not None else 0
        padded = (1,) * (count - len(desc.repeats)) + desc.repeats
        return replace(desc, repeats=padded[len(padded) - count :])


class AcceptsAxisEqualToRank(WrongDecision):
    operators = ("GATHER", "GATHER_ELEMENTS")
    rules = ("axis-range",)

    def seen(self, desc: Any, level: Level) -> Any:
        is_off_by_one = desc.input_tensor is not None and desc.axis == rank(desc)
        return replace(desc, axis=desc.axis - 1) if is_off_by_one else desc


class AcceptsNegativeAxis(WrongDecision):
    """Takes an Axis of 2^32 - 1 for -1, the last dimension."""

    operators = ("GATHER", "GATHER_ELEMENTS")
    rules = ("axis-range",)

    def seen(self, desc: Any, level: Level) -> Any:
        is_minus_one = desc.input_tensor is not None and desc.axis == 2**32 - 1
        return replace(desc, axis=rank(desc) - 1) if is_minus_one else desc


class ClampsBatches(WrongDecision):
    """Takes a BatchDimensionCount that is too large for the largest there is."""

    operators = ("GATHER_ND1",)
    rules = ("batch-dimension-count",)
    levels = ("3_0", "6_4")

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.input_tensor is None:
            return desc
        return replace(desc, batch_dimension_count=min(desc.batch_dimension_count, rank(desc) - 1))


class ClampsDimensionCounts(WrongDecision):
    """Takes a count of meaningful dimensions above the dimension count for all of them."""

    operators = ("GATHER_ND", "GATHER_ND1")
    rules = ("input-dimension-count", "indices-dimension-count")
    levels = ("3_0", "6_4")

    def seen(self, desc: Any, level: Level) -> Any:
        if desc.input_tensor is None or desc.indices_tensor is None:
            return desc
        return replace(
            desc,
            input_dimension_count=min(desc.input_dimension_count, rank(desc)),
            indices_dimension_count=min(desc.indices_dimension_count, len(desc.indices_tensor.sizes)),
        )


class AcceptsOutputThatBroadcasts(WrongDecision):
    """Accepts an output that is larger than what is computed where that has size 1."""

    rules = ("output-sizes",)
    also = ("TENSOR.element-count",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted or desc.output_tensor is None:
            return answer
        given = desc.output_tensor.sizes
        narrower = [(*given[:d], 1, *given[d + 1 :]) for d, size in enumerate(given) if size > 1]
        outputs = [replace(desc.output_tensor, sizes=sizes) for sizes in narrower]
        fits = any(
            super(Mutant, self).validate(replace(desc, output_tensor=output), level).accepted for output in outputs
        )
        return Answer(True) if fits else answer


class ConvertsDataTypes(WrongDecision):
    """Accepts an output of another data type, as if it were a cast."""

    rules = ("same-data-type",)

    def seen(self, desc: Any, level: Level) -> Any:
        source, output = desc.input_tensor, desc.output_tensor
        if source is None or output is None or not (source.data_type.size and output.data_type.size):
            return desc
        total = output.total_tensor_size_in_bytes * source.data_type.size // output.data_type.size
        return replace(
            desc, output_tensor=replace(output, data_type=source.data_type, total_tensor_size_in_bytes=total)
        )


class CropsOutputSizes(WrongDecision):
    """Drops leading sizes that do not fit the dimension count, whatever they are."""

    operators = ("GATHER_ND", "GATHER_ND1")
    rules = ("output-rank",)
    levels = ("3_0", "6_4")

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if answer.accepted or len({len(tensor.sizes) for _, tensor in tensors(desc)}) != 1 or len(tensors(desc)) < 3:
            return answer
        count, sizes = rank(desc), unpadded_sizes(desc)
        is_in_range = max(desc.input_dimension_count, desc.indices_dimension_count) <= count <= 8
        is_cropped = is_in_range and len(sizes) > count and sizes[-count:] == desc.output_tensor.sizes
        return Answer(True) if is_cropped else answer


class AcceptsEverything(WrongDecision):
    rules = ("output-sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        return Answer(True)


# --- decisions: rejects what is valid ---------------------------------------------------------------------------------


class RejectsValid(WrongDecision, abstract=True):
    rules = ("values",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        return Answer(False, "not here") if answer.accepted and self.refused(desc) else answer

    def refused(self, desc: Any) -> bool:
        raise NotImplementedError


class RejectsEightDimensions(RejectsValid):
    levels = ("6_4",)

    def refused(self, desc: Any) -> bool:
        return rank(desc) == 8


class RejectsRepeatsOfOne(RejectsValid):
    operators = ("TILE",)

    def refused(self, desc: Any) -> bool:
        return set(desc.repeats) == {1}


class RejectsOwnedByDmlInput(RejectsValid):
    def refused(self, desc: Any) -> bool:
        return any(tensor.flags for _, tensor in tensors(desc))


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


class RejectsAlignmentBelow16(RejectsValid):
    def refused(self, desc: Any) -> bool:
        return any(0 < tensor.guaranteed_base_offset_alignment < 16 for _, tensor in tensors(desc))


class RejectsStrides(RejectsValid):
    rules = ("EXECUTION.strides",)

    def refused(self, desc: Any) -> bool:
        return any(tensor.strides is not None for _, tensor in tensors(desc))


class RejectsBroadcastInputs(RejectsValid):
    """Refuses a stride of 0 on inputs, where it is allowed, as on outputs."""

    rules = ("EXECUTION.strides",)

    def refused(self, desc: Any) -> bool:
        return any(tensor.strides is not None and 0 in tensor.strides for _, tensor in tensors(desc))


class RejectsIndexDimensionsZero(RejectsValid):
    operators = ("GATHER",)

    def refused(self, desc: Any) -> bool:
        return desc.index_dimensions == 0


class RejectsWholeTuples(RejectsValid):
    """Refuses tuples that address every dimension, so that an element is gathered and not a block."""

    operators = ("GATHER_ND", "GATHER_ND1")

    def refused(self, desc: Any) -> bool:
        return desc.indices_tensor.sizes[-1] == desc.input_dimension_count - getattr(desc, "batch_dimension_count", 0)


class RejectsInt8(RejectsValid):
    def refused(self, desc: Any) -> bool:
        return desc.input_tensor.data_type is DataType.INT8


class RejectsUint64Indices(RejectsValid):
    operators = INDEXING
    levels = ("3_0", "6_4")

    def refused(self, desc: Any) -> bool:
        return desc.indices_tensor.data_type is DataType.UINT64


class ElementLimitOf31Bits(RejectsValid):
    """Refuses tensors of 2^31 elements and more."""

    rules = ("TENSOR.element-count",)

    def refused(self, desc: Any) -> bool:
        return any(tensor.element_count >= 2**31 for _, tensor in tensors(desc))


# --- manners ----------------------------------------------------------------------------------------------------------


class ReturnsThePreviousOutput(Mutant):
    """On every hundredth call, what the call before it computed."""

    rules = EXECUTED
    levels = ("6_4",)

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._previous: Any = np.zeros(1, np.uint8)

    def altered(self, desc: Any, values: Any) -> Any:
        self._calls += 1
        previous, self._previous = self._previous, values
        return np.resize(previous, values.shape).astype(values.dtype) if self._calls % 100 == 0 else values


class WrongNowAndThen(Mutant):
    """Flips a bit of one output in fifty."""

    rules = EXECUTED
    levels = ("6_4",)

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random(0)

    def altered(self, desc: Any, values: Any) -> Any:
        return values ^ values.dtype.type(1) if self._random.random() < 0.02 else values


class CachesAxisBySizes(Mutant):
    """Compiles an operator once for its tensors' sizes, and keeps the axis of the first use."""

    operators = ("GATHER", "GATHER_ELEMENTS")
    rules = EXECUTED
    levels = ("6_4",)

    def __init__(self) -> None:
        super().__init__()
        self._axes: dict[Any, int] = {}

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        axis = self._axes.setdefault(tuple(tensor.sizes for _, tensor in tensors(desc)), desc.axis)
        return super().computed(replace(desc, axis=axis), inputs)


class ValidateRaises(WrongDecision):
    """Throws instead of answering no."""

    rules = ("output-sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        if not answer.accepted:
            raise ValueError(answer.reason)
        return answer


class ValidateReturnsNone(WrongDecision):
    """Answers no by saying nothing."""

    rules = ("output-sizes",)

    def validate(self, desc: Any, level: Level) -> Answer:
        answer = super().validate(desc, level)
        return answer if answer.accepted else None  # type: ignore[return-value]


class ValidateReturnsBool(WrongDecision):
    """Answers with a bare truth value."""

    rules = ("values",)

    def validate(self, desc: Any, level: Level) -> Answer:
        return super().validate(desc, level).accepted  # type: ignore[return-value]


class ExecuteRaises(Mutant):
    rules = ("values",)

    def computed(self, desc: Any, inputs: Mapping[str, Binding]) -> Any:
        raise RuntimeError("device lost")
