"""ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, either
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, Numbers, Within

QUOTIENT_ULP = 2.5
FLOAT32 = np.finfo(np.float32)


def quantize(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = clamp(round(input[c...] / scale[c...]) + zero_point[c...], least, largest), ties to even"""
    numbers, scales = _numbers(desc, arrays, "input_tensor"), _numbers(desc, arrays, "scale_tensor")
    zero_point = _zero_points(desc, arrays)
    data_type = desc.output_tensor.data_type
    least, most = data_type.limits or (0, 0)

    def quantized(quotient: Numbers) -> Bits:
        whole = np.clip(np.rint(np.where(free, 0.0, quotient)) + zero_point, least, most)
        found: Bits = whole.astype(NUMBERS[data_type]).view(UNSIGNED[data_type.size])
        return found

    with np.errstate(all="ignore"):
        x, scale = numbers.astype(np.float64), scales.astype(np.float64)
        quotient = x / scale
        free = np.isnan(quotient) | _has_no_reciprocal(scales)
        away = np.where(np.isfinite(quotient), _quotient_error(x, scale, quotient, desc.scale_tensor.data_type), 0.0)
        one, other = quotient - away, quotient + away
        if numbers.dtype == np.float32:
            is_tiny = np.abs(numbers) < FLOAT32.tiny
            one, other = np.where(is_tiny, np.minimum(one, 0.0), one), np.where(is_tiny, np.maximum(other, 0.0), other)
    low, high = quantized(one), quantized(other)
    within = Within(low, high, where=low != high) if (low != high).any() else None
    return {"output_tensor": Expectation(quantized(quotient), free=free if free.any() else None, within=within)}


def _has_no_reciprocal(scales: Array) -> Mask:
    """Which scales are 0 or not finite, and where they or their reciprocals are subnormal."""
    tiny = float(np.finfo(scales.dtype).tiny)
    magnitudes = np.abs(scales)
    return np.asarray(~((magnitudes >= tiny) & (magnitudes <= 1 / tiny)))


def _quotient_error(x: Numbers, scale: Numbers, quotient: Numbers, data_type: DataType) -> Numbers:
    """How far from the quotient a division may come, of numbers that are rounded to FLOAT32 before if it has not them.

    A division by a power of two is exact, also as a multiplication by its reciprocal.
    """
    is_power = np.abs(np.frexp(scale)[0]) == 0.5
    units = np.where(is_power, 0.0, QUOTIENT_ULP * float(np.finfo(NUMBERS[data_type]).eps))
    rounded = np.where(x == x.astype(np.float32), 0.0, float(FLOAT32.eps) / 2)
    return np.asarray(np.abs(quotient) * (units + rounded))


def dequantize(desc: Any, arrays: Arrays) -> dict[str, Formula]:
    """output[c...] = (input[c...] - zero_point[c...]) * scale[c...]; open where the scale is 0, and where a type of 32
    bits does not have the difference"""
    numbers, data_type = _numbers(desc, arrays, "input_tensor"), desc.output_tensor.data_type
    least, most = (desc.input_tensor.data_type.limits or (0, 0)) if numbers.itemsize == 4 else (-np.inf, np.inf)

    def formula(x: Enclosure, zero_point: Enclosure, scale: Enclosure) -> Enclosure:
        x, zero_point = (_as_float32(of) for of in (x, zero_point))
        difference = x - zero_point
        is_open = (difference.value < least) | (difference.value > most) | ((scale.low <= 0) & (scale.high >= 0))
        return (difference.computed_in(data_type) * scale).opened(is_open)

    arguments = (numbers, _zero_points(desc, arrays), _numbers(desc, arrays, "scale_tensor"))
    return {"output_tensor": Formula(formula, arguments, data_type)}


def _as_float32(numbers: Enclosure) -> Enclosure:
    """Integers, which may be rounded before."""
    wide = numbers.computed_in(DataType.FLOAT32)
    return either(wide, wide.to(DataType.FLOAT32))


def _numbers(desc: Any, arrays: Arrays, key: str) -> Array:
    return as_numbers(arrays[key], getattr(desc, key).data_type)


def _zero_points(desc: Any, arrays: Arrays) -> Array:
    """Zeros where the descriptor has no ZeroPointTensor."""
    return np.zeros(()) if desc.zero_point_tensor is None else _numbers(desc, arrays, "zero_point_tensor")


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_QUANTIZE_LINEAR": quantize,
    "ELEMENT_WISE_DEQUANTIZE_LINEAR": dequantize,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
