"""CONVOLUTION: sums of what windows see, weighted by filters, or what windows add to an image.

Every element is a row of products: those that a window sees, or those that windows add there. Winograd's and Fourier's
transforms, which have other errors, would be a tolerance of their own.
"""

from __future__ import annotations

from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate
from dml_conformance.backends.reference.floats import Array
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated
from dml_conformance.backends.reference.operators._quantized import (
    as_float32,
    as_int32,
    has_no_int32,
    has_no_quotient,
    numbers_of,
    over_scale,
    quantized,
)
from dml_conformance.backends.reference.operators._windows import gathered, known_windows, moving_axes, seeing, seen
from dml_conformance.backends.reference.parts import Cut, CutRows, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.expectation import Expectation, Mask
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators._windows import FIRST
from dml_conformance.spec.structures import DML_CONVOLUTION_OPERATOR_DESC, Convolution

MODE, DIRECTION = enumeration("DML_CONVOLUTION_MODE"), enumeration("DML_CONVOLUTION_DIRECTION")


def convolution(desc: DML_CONVOLUTION_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """FORWARD output[n, o, b] = sum(input[n, c, b * Strides + w * Dilations - StartPadding] * filter[o, c, w]);
    BACKWARD output[n, o, b * Strides + w * Dilations - StartPadding] += input[n, c, b] * filter[c, o, w]; + bias[o].

    CONVOLUTION turns the filter round. Anything is right where the padding meets a weight that is not finite, and where
    a window, a bias or an activation meets what OutputPadding adds.
    """
    data_type, groups, output = desc.output_tensor.data_type, desc.group_count, desc.output_tensor.sizes
    numbers, filters = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "filter_tensor"))
    lengths, shown, backward = numbers.shape[FIRST:], output[FIRST:], desc.direction == DIRECTION.BACKWARD
    windows = known_windows(desc, filters.shape[FIRST:], len(lengths))
    places = [(seeing if backward else seen)(*each) for each in zip(windows, lengths, shown, strict=True)]
    if desc.mode == MODE.CONVOLUTION:
        filters = np.flip(filters, tuple(range(FIRST, filters.ndim)))
    weights = _by_group(filters, groups, backward)
    bias = None
    if desc.bias_tensor is not None:
        bias = as_numbers(arrays["bias_tensor"], data_type).reshape(1, groups, 1, -1)
    missing = _each(np.logical_or, [place == length for place, length in zip(places, lengths, strict=True)])
    is_open = (missing[None] @ ~np.isfinite(weights).all(axis=1)).transpose(0, 2, 1).reshape(1, output[1], *shown)
    if any(desc.output_padding):
        added = [np.arange(size)[:, None] >= size - more for size, more in zip(shown, desc.output_padding, strict=True)]
        is_more = bias is not None or desc.fused_activation is not None or not backward
        is_open = is_open | (_each(np.logical_or, added)[:, 0] & (is_more | ~missing.all(axis=1))).reshape(shown)

    def sums(tolerance: Tolerance) -> Enclosure:
        evaluation = Evaluation(tolerance)
        elements = evaluation.of(numbers).each(partial(gathered, places=places))
        rows = elements.reshape(output[0], groups, -1, *missing.shape).permute(0, 1, 3, 2, 4)
        rows = rows.reshape(output[0], groups, len(missing), -1)
        columns = evaluation.of(weights.reshape(1, groups, -1, weights.shape[-1]))
        if bias is not None:  # one term more, as sums may begin with it
            rows = concatenate([rows, evaluation.of(np.ones((*rows.shape[:3], 1)))], axis=3)
            columns = concatenate([columns, evaluation.of(bias)], axis=2)
        found = rows.product(columns, data_type, is_stored=True).permute(0, 1, 3, 2).reshape(*output)
        found = activated(desc.fused_activation, found, data_type).to(data_type)
        return found.opened(np.broadcast_to(is_open, output))

    return {"output_tensor": sums}


def convolution_integer(desc: Convolution, arrays: Arrays) -> dict[str, Expectation]:
    """output[n, o, b] = sum((input[n, c, b * Strides + w * Dilations - StartPadding] - input_zero_point)
    * (filter[o, c, w] - filter_zero_point[o])), open beyond INT32"""
    rows, columns = _integer_factors(desc, arrays)
    return {"output_tensor": as_int32(_in_place(rows @ columns, desc))}


def quantized_convolution(desc: Convolution, arrays: Arrays) -> dict[str, Any]:
    """output[n, o, b] = clamp(round((sum(input * filter, less their zero points) + bias[o]) * input_scale
    * filter_scale[o] / scale) + zero_point, least, largest), ties to even"""
    rows, columns = _integer_factors(desc, arrays)
    bias, of_input, of_filter, scale = (
        _by_channel(numbers_of(desc, arrays, f"{name}_tensor"), desc.group_count)
        for name in ("bias", "input_scale", "filter_scale", "output_scale")
    )
    sums = rows @ columns
    with np.errstate(all="ignore"):
        is_open = has_no_quotient((of_input, of_filter, of_input * of_filter), scale)
        is_open = has_no_int32(sums) | has_no_int32(sums + bias) | is_open

    def expected(tolerance: Tolerance) -> Expectation:
        evaluation = Evaluation(tolerance)
        x, y, of_x, of_y, by = map(evaluation.of, (rows, columns, of_input, of_filter, scale))
        added = as_float32(evaluation.of(bias))
        scaled = (x * of_x) @ (y * of_y) + added * (of_x * of_y)
        found = over_scale(x @ y + added, scaled, (of_x, of_y), by)
        point = numbers_of(desc, arrays, "output_zero_point_tensor").reshape(-1)[0]
        return quantized(found, point, desc.output_tensor.data_type, is_open).each(partial(_in_place, desc=desc))

    return {"output_tensor": expected}


def _integer_factors(desc: Convolution, arrays: Arrays) -> tuple[Array, Array]:
    """What windows see, in rows by batch, group and place, and the weights of each output channel of a group, in
    columns; both less their zero points, so that the padding is 0."""
    numbers, filters = (numbers_of(desc, arrays, f"{name}_tensor") for name in ("input", "filter"))
    points = numbers_of(desc, arrays, "filter_zero_point_tensor").reshape(-1, *(1,) * (filters.ndim - 1))
    numbers = numbers - numbers_of(desc, arrays, "input_zero_point_tensor").reshape(-1)[0]
    windows, output = known_windows(desc, filters.shape[FIRST:], filters.ndim - FIRST), desc.output_tensor.sizes
    places = [seen(*each) for each in zip(windows, numbers.shape[FIRST:], output[FIRST:], strict=True)]
    count = prod(output[FIRST:])
    rows = gathered(numbers, places).reshape(output[0], desc.group_count, -1, count, prod(filters.shape[FIRST:]))
    columns = _by_group(filters - points, desc.group_count, False)
    rows = rows.transpose(0, 1, 3, 2, 4).reshape(output[0], desc.group_count, count, -1)
    return rows, columns.reshape(1, desc.group_count, -1, columns.shape[-1])


def _by_channel(numbers: Array, groups: int) -> Array:
    """One for all, or one for each output channel of each group, beside their columns."""
    return numbers.reshape(1, groups if numbers.size > 1 else 1, 1, -1)


def _in_place(found: Array, desc: Convolution) -> Array:
    """Results by batch, group, place and channel, as the output has them."""
    return found.transpose(0, 1, 3, 2).reshape(desc.output_tensor.sizes)


def _by_group(filters: Array, groups: int, backward: bool) -> Array:
    """Groups, the input's channels of each, the elements of a window, the output's channels of each."""
    first, second, *sizes = filters.shape
    if backward:
        return filters.reshape(groups, first // groups, second, prod(sizes)).swapaxes(2, 3)
    return filters.reshape(groups, first // groups, second, prod(sizes)).transpose(0, 2, 3, 1)


def _each(operation: Any, parts: list[Array]) -> Mask:
    """By places and elements of a window, in rows, what parts by dimension come to together."""

    def joined(one: Array, other: Array) -> Array:
        found = operation(one[:, None, :, None], other[None, :, None, :])
        return found.reshape(found.shape[0] * found.shape[1], -1)

    return np.asarray(reduce(joined, parts))


def whole_axes(desc: Convolution) -> list[int]:
    """Where windows move, and the channels unless they are of one group, or each of its own."""
    channels = desc.input_tensor.sizes[1], desc.output_tensor.sizes[1]
    is_apart = desc.group_count == 1 or channels == (desc.group_count, desc.group_count)
    return [*(() if is_apart else (1,)), *moving_axes(desc, desc.filter_tensor.sizes[FIRST:])]


def cut(desc: Convolution, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The windows, filters, and what else there is by channel, of a box of the output."""
    (batch, channels, *shown), every = spans, slice(None)
    boxes = {key: tuple(channels if size > 1 else every for size in array.shape) for key, array in arrays.items()}
    boxes |= {"input_tensor": (batch, channels, *shown), "filter_tensor": (channels,)}
    if desc.group_count == 1:
        boxes["input_tensor"] = (batch, every, *shown)
        if getattr(desc, "direction", DIRECTION.FORWARD) == DIRECTION.BACKWARD:
            boxes["filter_tensor"] = (every, channels)
    elif channels != every:
        desc = replace(desc, group_count=channels.stop - channels.start)
    return desc, {key: array[boxes[key]] for key, array in arrays.items()}


OPERATORS: dict[str, Compute] = {
    "CONVOLUTION": convolution,
    "CONVOLUTION_INTEGER": convolution_integer,
    "QUANTIZED_LINEAR_CONVOLUTION": quantized_convolution,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, CutRows(whole_axes, cut))
