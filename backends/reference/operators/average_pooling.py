"""AVERAGE_POOLING, AVERAGE_POOLING1, QUANTIZED_LINEAR_AVERAGE_POOLING and the gradient: the means of what windows see
that slide over an image."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.floats import FORMATS, quiet
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._quantize import has_no_reciprocal
from dml_conformance.backends.reference.operators._windows import (
    CUT_WINDOWS,
    counted,
    gathered,
    pooled_axes,
    seeing,
    windows_seen,
)
from dml_conformance.backends.reference.parts import Cut, CutRows, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Within
from dml_conformance.spec.operators._pooling import image
from dml_conformance.spec.operators._windows import FIRST
from dml_conformance.spec.structures import AveragePooling, AveragePoolingGrad


def average_pooling(desc: AveragePooling, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, b] = mean(input[n, c, b * Strides + w * Dilations - StartPadding] for each w).

    The padding is 0, and counts where IncludePadding says so. Where nothing counts a NaN is as right as 0.
    """
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    output, (_, places) = desc.output_tensor.sizes, windows_seen(desc, numbers.shape, desc.output_tensor.sizes)
    count = divisors(desc, places, numbers.shape)

    def means(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance).of(numbers)
        elements = x.each(partial(gathered, places=places)).reshape(*output, -1)
        total = elements.sum((len(output),)).reshape(*output)
        mean = total / Enclosure(total.evaluation, np.maximum(count, 1).astype(np.float64))
        nan = mean.nan | (count == 0)
        found = Enclosure(mean.evaluation, mean.value, mean.low, mean.high, nan if nan.any() else None)
        return found.to(desc.output_tensor.data_type)

    return {"output_tensor": means}


def divisors(desc: AveragePooling | AveragePoolingGrad, places: list[Array], sizes: tuple[int, ...]) -> Array:
    """How many elements of each window count, or of all."""
    return np.array(prod(desc.window_size)) if desc.include_padding else np.asarray(counted(places, sizes[FIRST:]))


def average_pooling_grad(desc: AveragePoolingGrad, arrays: Arrays) -> dict[str, Any]:
    """output = 0; output[n, c, b * Strides + w - StartPadding] += gradient[n, c, b] / count(b).

    Where all windows count the same their sum may be divided by that.
    """
    numbers = as_numbers(arrays["input_gradient_tensor"], desc.input_gradient_tensor.data_type)
    output, given = image(desc).sizes, numbers.shape
    windows, places = windows_seen(desc, output, given)
    back = [seeing(*each) for each in zip(windows, given[FIRST:], output[FIRST:], strict=True)]
    count = np.maximum(divisors(desc, places, output), 1).astype(np.float64)

    def sums(x: Enclosure) -> Enclosure:
        elements = x.each(partial(gathered, places=back)).reshape(*output, -1)
        return elements.sum((len(output),)).reshape(*output)

    def gradients(tolerance: Tolerance) -> Enclosure:
        evaluation = Evaluation(tolerance)
        x, count_ = evaluation.of(numbers), Enclosure(evaluation, count)
        found = sums(x / count_)
        if not count.ndim:
            found = either(found, sums(x) / count_)
        return found.to(image(desc).data_type)

    return {"output_gradient_tensor": gradients}


def quantized_average_pooling(desc: AveragePooling, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, b] = clamp(round(mean((input[n, c, ...] - zero_point) * scale) / scale) + zero_point, least, most).

    Integers may be scaled before they are added up, or after. Of a quotient that is halfway either neighbour is right.
    """
    rank, data_type, sizes = len(desc.input_tensor.sizes), desc.output_tensor.data_type, desc.output_tensor.sizes

    def by_channel(key: str) -> Array:
        """A scale or zero point, one for each channel or for all; 0 where there is none."""
        of = getattr(desc, key)
        found = np.zeros(1, np.int16) if of is None else as_numbers(arrays[key], of.data_type)
        return found.reshape(1, -1, *(1,) * (rank - FIRST))

    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type).astype(np.int16)
    numbers = numbers - by_channel("input_zero_point_tensor").astype(np.int16)
    scales, zero_point = (
        (by_channel("input_scale_tensor"), by_channel("output_scale_tensor")),
        "output_zero_point_tensor",
    )
    _, places = windows_seen(desc, numbers.shape, sizes)
    elements = gathered(numbers, places).reshape(*sizes, -1)
    total, magnitudes = (part.sum(-1, dtype=np.int64) for part in (elements, np.abs(elements)))
    count, (least, most) = divisors(desc, places, numbers.shape), data_type.limits or (0, 0)
    is_open = has_no_reciprocal(scales[0]) | has_no_reciprocal(scales[1]) | (count == 0)

    def integers(quotients: Array) -> Bits:
        whole = np.where(np.isnan(quotients), 0.0, quotients) + by_channel(zero_point)
        found: Bits = np.clip(whole, least, most).astype(NUMBERS[data_type]).view(UNSIGNED[data_type.size])
        return found

    @quiet
    def averages(tolerance: Tolerance) -> Expectation:
        evaluation = Evaluation(tolerance)
        whole, scale, by = (evaluation.of(of) for of in (total, *scales))
        divisor = Enclosure(evaluation, np.maximum(count, 1).astype(np.float64))
        found = either(whole * scale / divisor / by, whole / divisor * scale / by)
        # What the products lose, and their sum, which no one does where the scale is a power of two.
        lost = np.where(np.abs(np.frexp(scale.value)[0]) == 0.5, 0.0, FORMATS[DataType.FLOAT32].epsilon)
        radius = elements.shape[-1] * lost * np.abs(magnitudes * scale.value / divisor.value / by.value)
        free = np.broadcast_to(is_open, sizes) | found.nan
        low, high = np.ceil(found.low - radius - 0.5), np.floor(found.high + radius + 0.5)
        within = Within(integers(low), integers(high), where=~free)
        return Expectation(integers(np.rint(found.value)), free=free if free.any() else None, within=within)

    return {"output_tensor": averages}


def cut_quantized(desc: AveragePooling, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The image of a box, and the scales and zero points of its channels; one of these may be for all."""
    channels = spans[1]
    boxes = {key: array if array.size == 1 else array.reshape(-1)[channels] for key, array in arrays.items()}
    return desc, boxes | {"input_tensor": arrays["input_tensor"][tuple(spans)]}


OPERATORS: dict[str, Compute] = {
    "QUANTIZED_LINEAR_AVERAGE_POOLING": quantized_average_pooling,
    "AVERAGE_POOLING": average_pooling,
    "AVERAGE_POOLING1": average_pooling,
    "AVERAGE_POOLING_GRAD": average_pooling_grad,
}
CUTS: dict[str, Cut] = {
    **dict.fromkeys(OPERATORS, CUT_WINDOWS),
    "QUANTIZED_LINEAR_AVERAGE_POOLING": CutRows(pooled_axes, cut_quantized),
}
