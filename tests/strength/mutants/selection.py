"""Elements that are chosen, put or counted wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.spec.expectation import in_order
from dml_conformance.spec.field_kinds import enumeration
from strength.mutants.base import (
    Arrays,
    WrongValues,
    computes,
    fault,
    misreads,
    numbers,
    of_input,
    plants,
    right,
)

INCREASING = enumeration("DML_AXIS_DIRECTION").INCREASING


def in_reverse(x: Any) -> Any:
    return x.reshape(-1)[::-1]


# --- put where indices say --------------------------------------------------------------------------------------------


misreads(of_input("input_tensor"), families=("scatter",)).each(
    StartsFromZeros=fault(
        lambda x: np.zeros_like(x), "Puts updates among zeros, and not among the elements of the input."
    ),
)
misreads(of_input("updates_tensor"), families=("scatter",)).each(
    UpdatesInReverse=fault(in_reverse, "Takes the last update for the first index."),
)


@computes(families=("scatter",), has=("axis",))
def LastUpdateLeftOut(desc: Any, arrays: Arrays) -> Any:
    """Stops one update before the end of the axis."""
    count = arrays["indices_tensor"].shape[desc.axis] - 1
    if count == 0:
        return arrays["input_tensor"]
    names = ("indices_tensor", "updates_tensor")
    return right(desc, {**arrays, **{name: arrays[name].take(range(count), desc.axis) for name in names}})


@misreads(of_input("indices_tensor"), families=("max_unpooling",))
def IndicesOfEachChannel(desc: Any, x: Any) -> Any:
    """Counts indices from the start of the element's own channel."""
    channel = int(np.prod(desc.output_tensor.sizes[2:]))
    before = np.arange(int(np.prod(x.shape[:2]))).reshape(*x.shape[:2], 1, 1) * channel
    return x % x.dtype.type(channel) + before.astype(x.dtype)


@computes(families=("max_unpooling",))
def AddsElementsThatMeet(desc: Any, arrays: Arrays) -> Any:
    """Adds up elements that are for the same place."""
    elements, indices = (numbers(desc, arrays)[key].reshape(-1) for key in ("input_tensor", "indices_tensor"))
    kept = right(desc, arrays)["output_tensor"].view(elements.dtype).reshape(-1)
    found = np.zeros(kept.size, elements.dtype)
    inside = indices < found.size
    np.add.at(found, indices[inside].astype(np.int64), elements[inside])
    return np.where(np.bincount(indices[inside].astype(np.int64), minlength=found.size) < 2, kept, found)


misreads(of_input("values_tensor"), families=("one_hot",)).each(OnAndOffSwapped=in_reverse)


@computes(families=("one_hot",))
def OneHotAlongTheLastDimension(desc: Any, arrays: Arrays) -> Any:
    """Takes the last dimension for the axis."""
    sizes, (off, on) = desc.output_tensor.sizes, arrays["values_tensor"].reshape(-1)[:2]
    indices = numbers(desc, arrays)["indices_tensor"]
    named = indices % indices.dtype.type(sizes[-1])
    is_on = np.arange(sizes[-1], dtype=np.uint64) == named.astype(np.uint64)
    return np.broadcast_to(np.where(is_on, on, off), sizes)


# --- sequences turned round -------------------------------------------------------------------------------------------


def other_lengths(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Takes the lengths of subsequences for others."""
    key, size = "sequence_lengths_tensor", desc.input_tensor.sizes[desc.axis]
    lengths = np.clip(numbers(desc, arrays)[key], 0, size).astype(np.int64)
    return {key: function(lengths=lengths, size=size)}


misreads(other_lengths, families=("reverse_subsequences",)).each(
    ReversesTheWholeAxis=lambda lengths, size: np.full_like(lengths, size),
    LengthOneTooShort=lambda lengths: np.maximum(lengths - 1, 0),
    LengthTakenForTheLastIndex=lambda lengths, size: np.minimum(lengths + 1, size),
    FirstLengthForAll=lambda lengths: np.full_like(lengths, lengths.reshape(-1)[0]),
)


@computes(families=("reverse_subsequences",))
def ReversesTheEnd(desc: Any, arrays: Arrays) -> Any:
    """Turns round the last elements of a sequence, and not the first ones."""
    flipped = {**arrays, "input_tensor": np.flip(arrays["input_tensor"], desc.axis)}
    return np.flip(right(desc, flipped)["output_tensor"], desc.axis)


# --- the largest and the least ----------------------------------------------------------------------------------------


def otherwise_ranked(ranked: Any, desc: Any, arrays: Arrays) -> Any:
    """Puts elements in another order."""
    source, is_ascending = arrays["input_tensor"], getattr(desc, "axis_direction", None) == INCREASING
    keys, bits = (of if is_ascending else ~of for of in (in_order(source, desc.input_tensor.data_type), source))
    index = ranked(desc=desc, keys=keys, bits=bits)
    return {
        "output_value_tensor": np.take_along_axis(source, index, desc.axis),
        "output_index_tensor": index,
    }


def _first(desc: Any, keys: Any) -> Any:
    return keys.argsort(desc.axis, kind="stable").take(range(desc.k), desc.axis)


computes(otherwise_ranked, families=("top_k",)).each(
    HigherIndexFirstOfEquals=lambda desc, keys: keys.shape[desc.axis] - 1 - _first(desc, np.flip(keys, desc.axis)),
    AscendingForDescending=lambda desc, keys: _first(desc, ~keys),
    FoundButNotSorted=fault(
        lambda desc, keys: np.sort(_first(desc, keys), desc.axis), "Leaves the elements in the order of their indices."
    ),
    ComparesBits=fault(lambda desc, bits: _first(desc, bits), "Compares elements of any type as unsigned integers."),
)


@computes(families=("top_k",))
def IndicesOfTheWholeTensor(desc: Any, arrays: Arrays) -> Any:
    """Gives the number of an element in the tensor, and not that along the axis."""
    index, shape = right(desc, arrays)["output_index_tensor"].astype(np.int64), desc.input_tensor.sizes
    return {"output_index_tensor": np.take_along_axis(np.arange(np.prod(shape)).reshape(shape), index, desc.axis)}


@plants("descriptor", WrongValues, families=("arg_reduce",))
def TheOtherOfEquals(desc: Any) -> Any:
    """Takes the one direction of the axis for the other."""
    return replace(desc, axis_direction=1 - desc.axis_direction)


@misreads(families=("arg_reduce",))
def TheOppositeExtreme(arrays: Arrays) -> Any:
    """Finds the least for the largest."""
    return {"input_tensor": ~arrays["input_tensor"]}


misreads(of_input("input_tensor"), families=("arg_reduce",)).each(
    ComparesMagnitudes=fault(lambda x: np.abs(x), "Compares numbers without their sign.", kinds=("f", "i")),
)


@computes(families=("arg_reduce",))
def IndexOfTheLastAxis(desc: Any, arrays: Arrays) -> Any:
    """Gives the coordinate along the last of several axes."""
    index, size = right(desc, arrays)["output_tensor"], desc.input_tensor.sizes[max(desc.axes, default=0)]
    return index % index.dtype.type(size)


# --- what is not zero -------------------------------------------------------------------------------------------------


def other_rows(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Gives other coordinates."""
    found, key = right(desc, arrays), "output_coordinates_tensor"
    count = int(found["output_count_tensor"].reshape(-1)[0])
    rows = found[key].reshape(-1, desc.output_coordinates_tensor.sizes[-1])
    return {key: np.concatenate((function(rows=rows[:count]), rows[count:]))}


computes(other_rows, families=("nonzero_coordinates",)).each(
    CoordinatesReversed=fault(lambda rows: rows[:, ::-1], "Gives the coordinate along the last dimension first."),
    CoordinatesColumnByColumn=fault(
        lambda rows: rows[np.lexsort(rows.T)], "Lists the elements of the first column first."
    ),
    FirstRowTwice=fault(
        lambda rows: rows[np.maximum(np.arange(len(rows)) - 1, 0)],
        "Lists elements from the second row of the output on.",
    ),
)

misreads(of_input("input_tensor"), families=("nonzero_coordinates",)).each(
    NegativeZeroCounts=fault(
        lambda x: np.where(x.view(f"u{x.itemsize}") != 0, x.dtype.type(1), x.dtype.type(0)),
        "Takes -0 for a number other than 0.",
        kinds="f",
    ),
    CountsOnesAlone=fault(lambda x: np.where(x == 1, x, 0), "Takes elements for truth values of which one is 1."),
)
