"""PADDING and PADDING1: the input with more elements at the ends of each dimension."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, Array, Arrays, Compute
from dml_conformance.backends.reference.parts import Cut, Spans
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Within
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import Padding

MODE = enumeration("DML_PADDING_MODE")


def padding(desc: Padding, arrays: Arrays) -> dict[str, Array | Expectation]:
    """output[c...] = input[c[d] - StartPadding[d] for each d], the coordinates brought into the input by the mode."""
    source = arrays["input_tensor"]
    pads = list(zip(desc.start_padding, desc.end_padding, strict=True))
    if desc.padding_mode == MODE.CONSTANT:
        outside = np.pad(np.zeros(source.shape, np.bool_), pads, constant_values=True)
        return {"output_tensor": constant(desc, np.pad(source, pads), outside)}
    for axis, (start, end) in enumerate(pads):
        size = source.shape[axis]
        source = source.take(inside(np.arange(-start, size + end), size, desc.padding_mode), axis)
    return {"output_tensor": source}


def inside(places: Array, size: int, mode: int) -> Any:
    """Coordinates from before the first element to behind the last one, brought into a dimension."""
    if mode == MODE.EDGE:
        return places.clip(0, size - 1)
    if mode == MODE.WRAP:
        return places % size
    if mode == MODE.SYMMETRIC:  # there and back again, with both edges twice
        turn = places % (2 * size)
        return np.minimum(turn, 2 * size - 1 - turn)
    turn = places % max(2 * size - 2, 1)  # without
    return np.minimum(turn, 2 * size - 2 - turn)


def constant(desc: Padding, values: Bits, outside: Mask) -> Array | Expectation:
    """The values, and what is right outside of the input.

    Of PADDING that is the FLOAT cut to a whole number, or one of the numbers of FLOAT16 next to it; anything where the
    type does not reach so far (erratum PADDING-4).
    """
    data_type, value = desc.output_tensor.data_type, desc.padding_value
    number = NUMBERS[data_type]
    limits = data_type.limits
    if limits is not None:
        if not math.isfinite(value) or not limits[0] <= int(value) <= limits[1]:
            return Expectation(values, free=outside)
        low = high = np.array(int(value), number)
    else:
        low, high = next_to(value, number) if desc.operator == "PADDING" else (rounded(value, number),) * 2
    values[outside] = low.view(values.dtype)
    if not outside.any() or (low == high and low.view(values.dtype) == high.view(values.dtype)):
        return values
    is_nan = np.full(values.shape, math.isnan(value))
    if math.isnan(value):
        low, high = np.array(math.inf, number), np.array(-math.inf, number)
    least, most = (np.full(values.shape, end.view(values.dtype)) for end in (low, high))
    within = Within(least, most, is_nan, outside)
    return Expectation(values, within=within)


def rounded(value: float, number: np.dtype[Any]) -> Array:
    """The number of a floating-point type that is nearest to a value."""
    with np.errstate(over="ignore"):
        return np.array(value, np.float64).astype(number)


def next_to(value: float, number: np.dtype[Any]) -> tuple[Array, Array]:
    """The numbers of a type below and above a value, both the value itself where the type has it.

    Where FLOAT16 has subnormal numbers, zero is as right.
    """
    low = high = rounded(value, number)
    if float(low) > value:
        low = np.nextafter(low, np.array(-math.inf, number))
    if float(high) < value:
        high = np.nextafter(high, np.array(math.inf, number))
    if number.itemsize < 4 and abs(value) < float(np.finfo(number).tiny):
        low, high = np.minimum(low, number.type(0)), np.maximum(high, number.type(0))
    return low, high


def cut(desc: Padding, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    source, starts, ends = arrays["input_tensor"], [], []
    for axis, span in enumerate(spans):
        size = source.shape[axis]
        places = np.arange(span.start, span.stop) - desc.start_padding[axis]
        if desc.padding_mode == MODE.CONSTANT:
            starts.append(int((places < 0).sum()))
            ends.append(int((places >= size).sum()))
            source = source.take(places[(places >= 0) & (places < size)], axis)
        else:
            source = source.take(inside(places, size, desc.padding_mode), axis)
    none = (0,) * len(spans)
    pads = (tuple(starts), tuple(ends)) if starts else (none, none)
    return msgspec.structs.replace(desc, start_padding=pads[0], end_padding=pads[1]), {"input_tensor": source}


OPERATORS: dict[str, Compute] = {"PADDING": padding, "PADDING1": padding}
CUTS: dict[str, Cut] = {"PADDING": cut, "PADDING1": cut}
