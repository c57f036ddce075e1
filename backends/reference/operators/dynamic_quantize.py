"""DYNAMIC_QUANTIZE_LINEAR."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.layout import UNSIGNED, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._quantize import has_no_reciprocal, quantized_between
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.expectation import Expectation, Within, boxes
from dml_conformance.spec.structures import DynamicQuantize

PART = 2**18  # elements that are quantized together
STEPS = 255.0


def dynamic_quantize(desc: DynamicQuantize, arrays: Arrays) -> dict[str, Any]:
    """scale = (max(input) - min(input)) / 255; zero = least - min(input) / scale;
    output[c...] = clamp(round(input[c...] / scale) + zero, least, largest); 0 counts as an element, or does not"""
    x, data_type = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type), desc.output_tensor.data_type
    limits = data_type.limits or (0, 0)
    ends = np.array([np.min(x), np.max(x)])
    ranges = [every for every in ((min(ends[0], 0), max(ends[1], 0)), tuple(ends)) if every[0] < every[1]]
    single = desc.output_scale_tensor.sizes

    @quiet
    def scale_and_zero(tolerance: Tolerance) -> tuple[Enclosure, Enclosure] | None:
        """Of both ranges; None where they are open."""
        if not np.isfinite(ends).all() or len(ranges) < 2:
            return None
        found = []
        for every in ranges:
            low, high = (Evaluation(tolerance).of(np.array([end], x.dtype)) for end in every)
            scale = (high - low) / STEPS
            found.append((scale, limits[0] - low / scale))
            if has_no_reciprocal(scale.value.astype(np.float32)).any():
                return None
        scale, zero = (either(*each) for each in zip(*found, strict=True))
        return scale, zero

    def output_scale(tolerance: Tolerance) -> Enclosure | Expectation:
        found = scale_and_zero(tolerance)
        return _anything(single, 4) if found is None else found[0].reshape(*single)

    @quiet
    def output_zero(tolerance: Tolerance) -> Expectation:
        found = scale_and_zero(tolerance)
        if found is None:
            return _anything(single, 1)
        values = (np.clip(end, *limits).astype(np.int16).astype(np.uint8).reshape(single) for end in _whole(found[1]))
        low, value, high = values
        return Expectation(value, within=Within(low, high))

    @quiet
    def output(tolerance: Tolerance) -> Expectation:
        found = scale_and_zero(tolerance)
        if found is None:
            return _anything(x.shape, 1)
        low, values, high = (np.empty(x.shape, np.uint8) for _ in range(3))
        zeros = tuple(np.clip(end, *limits) for end in _whole(found[1]))
        for box in boxes(x.shape, PART):
            quotient = Evaluation(tolerance).of(x[box]) / found[0]
            none = np.zeros(quotient.shape, np.bool_)
            part = quantized_between(quotient.low, quotient.value, quotient.high, zeros, none, data_type)
            values[box] = low[box] = high[box] = part.values
            if part.within is not None:
                low[box], high[box] = part.within.low, part.within.high
        return Expectation(values, within=Within(low, high))

    return {"output_tensor": output, "output_scale_tensor": output_scale, "output_zero_point_tensor": output_zero}


def _whole(zero: Enclosure) -> tuple[Any, Any, Any]:
    """The least whole number that a zero point may be, the nearest to the exact one, and the greatest."""
    return np.floor(zero.low), np.rint(zero.value), np.ceil(zero.high)


def _anything(sizes: tuple[int, ...], width: int) -> Expectation:
    return Expectation(np.zeros(sizes, UNSIGNED[width]), free=np.ones(sizes, np.bool_))


OPERATORS: dict[str, Compute] = {"DYNAMIC_QUANTIZE_LINEAR": dynamic_quantize}
