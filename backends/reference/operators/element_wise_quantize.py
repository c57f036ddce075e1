"""ELEMENT_WISE_QUANTIZE_LINEAR, ELEMENT_WISE_DEQUANTIZE_LINEAR and ELEMENT_WISE_QUANTIZED_LINEAR_ADD."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.formula import Formula
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._quantize import (
    FLOAT32,
    has_no_reciprocal,
    quantized_between,
    quotient_error,
)
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec import structures
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation


def quantize(desc: structures.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = clamp(round(input[c...] / scale[c...]) + zero_point[c...], least, largest), ties to even"""
    numbers, scales = _numbers(desc, arrays, "input_tensor"), _numbers(desc, arrays, "scale_tensor")
    with np.errstate(all="ignore"):
        x, scale = numbers.astype(np.float64), scales.astype(np.float64)
        quotient = x / scale
        free = np.isnan(quotient) | has_no_reciprocal(scales)
        away = np.where(np.isfinite(quotient), quotient_error(x, scale, quotient, desc.scale_tensor.data_type), 0.0)
        low, high = quotient - away, quotient + away
        if numbers.dtype == np.float32:
            is_tiny = np.abs(numbers) < FLOAT32.tiny
            low, high = np.where(is_tiny, np.minimum(low, 0.0), low), np.where(is_tiny, np.maximum(high, 0.0), high)
        zero_points = (_zero_points(desc, arrays),) * 3
        found = quantized_between(low, quotient, high, zero_points, free, desc.output_tensor.data_type)
    return {"output_tensor": found}


def quantized_add(desc: structures.ElementWiseQuantize, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = clamp(round(((a[c...] - a_zero) * a_scale + (b[c...] - b_zero) * b_scale) / scale) + zero, least,
    largest), ties to even"""
    scales = _numbers(desc, arrays, "output_scale_tensor")

    @quiet
    def output(tolerance: Tolerance) -> Expectation:
        evaluation = Evaluation(tolerance)
        a, b = (
            evaluation.of(
                _numbers(desc, arrays, f"{of}_tensor") - _zero_points(desc, arrays, f"{of}_zero_point_tensor")
            )
            * evaluation.of(_numbers(desc, arrays, f"{of}_scale_tensor"))
            for of in "ab"
        )
        total, scale = a + b, scales.astype(np.float64)
        quotients = [each / scale for each in (total.low, total.value, total.high)]
        low, high = np.fmin(*quotients[::2]), np.fmax(*quotients[::2])
        free = np.isnan(low) | total.nan | has_no_reciprocal(scales)
        away = [
            np.where(np.isfinite(end), quotient_error(end, scale, end, DataType.FLOAT32), 0.0) for end in (low, high)
        ]
        zero_points = (_zero_points(desc, arrays, "output_zero_point_tensor"),) * 3
        return quantized_between(
            low - away[0], quotients[1], high + away[1], zero_points, free, desc.output_tensor.data_type
        )

    return {"output_tensor": output}


def dequantize(desc: structures.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, arrays: Arrays) -> dict[str, Formula]:
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


def _numbers(desc: structures.ElementWiseQuantize, arrays: Arrays, key: str) -> Array:
    return as_numbers(arrays[key], getattr(desc, key).data_type)


def _zero_points(desc: structures.ElementWiseQuantize, arrays: Arrays, key: str = "zero_point_tensor") -> Array:
    """As FLOAT64; zeros where the descriptor has no such tensor."""
    return np.zeros(()) if getattr(desc, key) is None else _numbers(desc, arrays, key).astype(np.float64)


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_QUANTIZE_LINEAR": quantize,
    "ELEMENT_WISE_DEQUANTIZE_LINEAR": dequantize,
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": quantized_add,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
