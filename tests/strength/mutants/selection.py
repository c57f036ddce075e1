"""Elements that are chosen, put or counted wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS, as_bits, as_numbers
from dml_conformance.spec.expectation import in_order
from dml_conformance.spec.field_kinds import enumeration
from strength.mutants.base import Arrays, WrongValues, plants, right

INCREASING, DECREASING = enumeration("DML_AXIS_DIRECTION")


# --- put where indices say --------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("scatter",))
def StartsFromZeros(desc: Any, arrays: Arrays) -> Arrays:
    """Puts updates among zeros, and not among the elements of the input."""
    return right(desc, {**arrays, "input_tensor": np.zeros_like(arrays["input_tensor"])})


@plants("found", WrongValues, families=("scatter",))
def UpdatesInReverse(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the last update for the first index."""
    updates = arrays["updates_tensor"]
    return right(desc, {**arrays, "updates_tensor": updates.reshape(-1)[::-1].reshape(updates.shape)})


@plants("found", WrongValues, families=("scatter",), has=("axis",))
def LastUpdateLeftOut(desc: Any, arrays: Arrays) -> Arrays:
    """Stops one update before the end of the axis."""
    count = arrays["indices_tensor"].shape[desc.axis] - 1
    if count == 0:
        return {"output_tensor": arrays["input_tensor"]}
    names = ("indices_tensor", "updates_tensor")
    return right(desc, {**arrays, **{name: arrays[name].take(range(count), desc.axis) for name in names}})


@plants("found", WrongValues, families=("max_unpooling",))
def IndicesOfEachChannel(desc: Any, arrays: Arrays) -> Arrays:
    """Counts indices from the start of the element's own channel."""
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    channel = int(np.prod(desc.output_tensor.sizes[2:]))
    numbers = np.arange(int(np.prod(indices.shape[:2]))).reshape(*indices.shape[:2], 1, 1)
    moved = (indices % indices.dtype.type(channel) + (numbers * channel).astype(indices.dtype)).view(indices.dtype)
    return right(desc, {**arrays, "indices_tensor": as_bits(moved, desc.indices_tensor)})


@plants("found", WrongValues, families=("max_unpooling",))
def AddsElementsThatMeet(desc: Any, arrays: Arrays) -> Arrays:
    """Adds up elements that are for the same place."""
    elements = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type).reshape(-1)
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type).reshape(-1)
    output = np.zeros(desc.output_tensor.element_count, elements.dtype)
    inside = indices < output.size
    with np.errstate(all="ignore"):
        np.add.at(output, indices[inside].astype(np.int64), elements[inside])
    alone = np.bincount(indices[inside].astype(np.int64), minlength=output.size) < 2
    bits = as_bits(output, desc.output_tensor)
    return {"output_tensor": np.where(alone.reshape(bits.shape), right(desc, arrays)["output_tensor"], bits)}


@plants("found", WrongValues, families=("one_hot",))
def OnAndOffSwapped(desc: Any, arrays: Arrays) -> Arrays:
    values = arrays["values_tensor"]
    return right(desc, {**arrays, "values_tensor": values.reshape(-1)[::-1].reshape(values.shape)})


@plants("found", WrongValues, families=("one_hot",))
def OneHotAlongTheLastDimension(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the last dimension for the axis."""
    sizes, off_and_on = desc.output_tensor.sizes, arrays["values_tensor"].reshape(-1)
    indices = as_numbers(arrays["indices_tensor"], desc.indices_tensor.data_type)
    named = indices % indices.dtype.type(sizes[-1])
    is_on = np.arange(sizes[-1], dtype=np.uint64) == named.astype(np.uint64)
    return {"output_tensor": np.broadcast_to(np.where(is_on, off_and_on[1], off_and_on[0]), sizes)}


# --- sequences turned round -------------------------------------------------------------------------------------------


class OtherLengths(WrongValues, abstract=True):
    """Takes the lengths of subsequences for others."""

    families = ("reverse_subsequences",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        key, size = "sequence_lengths_tensor", desc.input_tensor.sizes[desc.axis]
        lengths = as_numbers(arrays[key], desc.sequence_lengths_tensor.data_type)
        taken = self.lengths(np.clip(lengths, 0, size).astype(np.int64), size)
        return right(desc, {**arrays, key: as_bits(taken.astype(lengths.dtype), desc.sequence_lengths_tensor)})

    def lengths(self, lengths: Any, size: int) -> Any:
        raise NotImplementedError


@plants("lengths", OtherLengths)
def ReversesTheWholeAxis(lengths: Any, size: int) -> Any:
    return np.full_like(lengths, size)


@plants("lengths", OtherLengths)
def LengthOneTooShort(lengths: Any, size: int) -> Any:
    return np.maximum(lengths - 1, 0)


@plants("lengths", OtherLengths)
def LengthTakenForTheLastIndex(lengths: Any, size: int) -> Any:
    return np.minimum(lengths + 1, size)


@plants("lengths", OtherLengths)
def FirstLengthForAll(lengths: Any, size: int) -> Any:
    return np.full_like(lengths, lengths.reshape(-1)[0])


@plants("found", WrongValues, families=("reverse_subsequences",))
def ReversesTheEnd(desc: Any, arrays: Arrays) -> Arrays:
    """Turns round the last elements of a sequence, and not the first ones."""
    flipped = {**arrays, "input_tensor": np.flip(arrays["input_tensor"], desc.axis)}
    return {"output_tensor": np.flip(right(desc, flipped)["output_tensor"], desc.axis)}


# --- the largest and the least ----------------------------------------------------------------------------------------


class RanksOtherwise(WrongValues, abstract=True):
    """Puts elements in another order."""

    families = ("top_k",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        source, tensor = arrays["input_tensor"], desc.input_tensor
        keys = in_order(source, tensor.data_type)
        keys = keys if getattr(desc, "axis_direction", None) == INCREASING else ~keys
        index = self.ranked(desc, source, keys)
        numbers = index.astype(NUMBERS[desc.output_index_tensor.data_type])
        return {
            "output_value_tensor": np.take_along_axis(source, index, desc.axis),
            "output_index_tensor": as_bits(numbers, desc.output_index_tensor),
        }

    def ranked(self, desc: Any, source: Any, keys: Any) -> Any:
        """The indices of the first K along Axis; keys are in ascending order in the operator's own."""
        raise NotImplementedError


def _first(desc: Any, keys: Any) -> Any:
    return keys.argsort(desc.axis, kind="stable").take(range(desc.k), desc.axis)


@plants("ranked", RanksOtherwise)
def HigherIndexFirstOfEquals(desc: Any, source: Any, keys: Any) -> Any:
    return keys.shape[desc.axis] - 1 - _first(desc, np.flip(keys, desc.axis))


@plants("ranked", RanksOtherwise)
def AscendingForDescending(desc: Any, source: Any, keys: Any) -> Any:
    return _first(desc, ~keys)


@plants("ranked", RanksOtherwise)
def FoundButNotSorted(desc: Any, source: Any, keys: Any) -> Any:
    """Leaves the elements in the order of their indices."""
    return np.sort(_first(desc, keys), desc.axis)


@plants("ranked", RanksOtherwise)
def ComparesBits(desc: Any, source: Any, keys: Any) -> Any:
    """Compares elements of any type as unsigned integers."""
    is_ascending = getattr(desc, "axis_direction", None) == INCREASING
    return _first(desc, source if is_ascending else ~source)


class IndicesOfTheWholeTensor(WrongValues):
    """Gives the number of an element in the tensor, and not that along the axis."""

    families = ("top_k",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        tensor, source = desc.output_index_tensor, arrays["input_tensor"]
        index = as_numbers(right(desc, arrays)["output_index_tensor"], tensor.data_type).astype(np.int64)
        flat = np.arange(source.size).reshape(source.shape)
        numbers = np.take_along_axis(flat, index, desc.axis).astype(NUMBERS[tensor.data_type])
        return {"output_index_tensor": as_bits(numbers, tensor)}


@plants("found", WrongValues, families=("arg_reduce",))
def TheOtherOfEquals(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the one direction of the axis for the other."""
    other = DECREASING if desc.axis_direction == INCREASING else INCREASING
    return right(replace(desc, axis_direction=int(other)), arrays)


@plants("found", WrongValues, families=("arg_reduce",))
def TheOppositeExtreme(desc: Any, arrays: Arrays) -> Arrays:
    """Finds the least for the largest."""
    return right(desc, {**arrays, "input_tensor": ~arrays["input_tensor"]})


@plants("found", WrongValues, families=("arg_reduce",))
def ComparesMagnitudes(desc: Any, arrays: Arrays) -> Arrays:
    """Compares numbers without their sign."""
    tensor = desc.input_tensor
    numbers = as_numbers(arrays["input_tensor"], tensor.data_type)
    if numbers.dtype.kind == "u":
        return {}
    with np.errstate(over="ignore"):
        return right(desc, {"input_tensor": as_bits(np.ascontiguousarray(np.abs(numbers)), tensor)})


@plants("found", WrongValues, families=("arg_reduce",))
def IndexOfTheLastAxis(desc: Any, arrays: Arrays) -> Arrays:
    """Gives the coordinate along the last of several axes."""
    tensor, size = desc.output_tensor, desc.input_tensor.sizes[max(desc.axes, default=0)]
    index = as_numbers(right(desc, arrays)["output_tensor"], tensor.data_type)
    return {"output_tensor": as_bits(index % index.dtype.type(size), tensor)}


# --- what is not zero -------------------------------------------------------------------------------------------------


class Coordinates(WrongValues, abstract=True):
    """Counts other elements, or gives other coordinates."""

    families = ("nonzero_coordinates",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        tensor = desc.output_coordinates_tensor
        found = right(desc, arrays)
        count = int(found["output_count_tensor"].reshape(-1)[0])
        coordinates = found["output_coordinates_tensor"].copy()
        rows = coordinates.reshape(-1, tensor.sizes[-1])
        rows[:count] = self.rows(rows[:count], desc.input_tensor.sizes)
        return {"output_coordinates_tensor": coordinates}

    def rows(self, rows: Any, sizes: tuple[int, ...]) -> Any:
        raise NotImplementedError


@plants("rows", Coordinates)
def CoordinatesReversed(rows: Any, sizes: tuple[int, ...]) -> Any:
    """Gives the coordinate along the last dimension first."""
    return rows[:, ::-1]


@plants("rows", Coordinates)
def CoordinatesColumnByColumn(rows: Any, sizes: tuple[int, ...]) -> Any:
    """Lists the elements of the first column first."""
    return rows[np.lexsort(rows.T)]


@plants("rows", Coordinates)
def FirstRowTwice(rows: Any, sizes: tuple[int, ...]) -> Any:
    """Lists elements from the second row of the output on."""
    return rows[np.maximum(np.arange(len(rows)) - 1, 0)]


@plants("found", WrongValues, families=("nonzero_coordinates",))
def NegativeZeroCounts(desc: Any, arrays: Arrays) -> Arrays:
    """Takes -0 for a number other than 0."""
    tensor = desc.input_tensor
    if not tensor.data_type.is_float:
        return {}
    source = arrays["input_tensor"]
    one = np.ones((), NUMBERS[tensor.data_type]).view(source.dtype)
    return right(desc, {"input_tensor": np.where(source != 0, one, source)})


@plants("found", WrongValues, families=("nonzero_coordinates",))
def CountsOnesAlone(desc: Any, arrays: Arrays) -> Arrays:
    """Takes elements for truth values of which one is 1."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    return right(desc, {"input_tensor": np.where(numbers == 1, arrays["input_tensor"], 0)})
