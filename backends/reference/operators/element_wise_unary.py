"""Functions of one number: ELEMENT_WISE_ABS, _EXP, _SIN and their like."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import Arithmetic, Function, scaled
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation, Numbers
from dml_conformance.spec.field_kinds import enumeration

HALVES_TO_EVEN, TOWARD_ZERO, TOWARD_INFINITY = enumeration("DML_ROUNDING_MODE")


def compute(function: Function, desc: Any, arrays: Arrays, **more: Any) -> dict[str, Arithmetic]:
    """output[c...] = function(input[c...]); with ScaleBias, of input[c...] * Scale + Bias"""
    data_type = desc.input_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)
    inner = scaled(getattr(desc, "scale_bias", None), data_type)
    return {"output_tensor": Arithmetic(function, (numbers,), inner, **more)}


def compute_any(function: Function, desc: Any, arrays: Arrays) -> dict[str, Any]:
    """The same, for integers too: exact; free where the type has no such number, and with ScaleBias."""
    data_type = desc.input_tensor.data_type
    if data_type.is_float:
        return {**compute(function, desc, arrays)}
    numbers = as_numbers(arrays["input_tensor"], data_type)
    found: Array = function(numbers).astype(numbers.dtype)
    least, most = data_type.limits or (0, 0)
    is_free = np.full(numbers.shape, getattr(desc, "scale_bias", None) is not None)
    if function is not sign and least == -most - 1:
        is_free |= numbers == least
    return {
        "output_tensor": Expectation(found.view(arrays["input_tensor"].dtype), free=is_free if is_free.any() else None)
    }


def round_to_whole(desc: Any, arrays: Arrays) -> dict[str, Arithmetic]:
    """output[c...] = input[c...] as a whole number: of two that are as near the even one, the one nearer to zero, or
    the nearest one, of two the one farther from zero"""
    return compute(_ROUNDED[desc.rounding_mode], desc, arrays)


def _half_away_from_zero(numbers: Numbers) -> Numbers:
    """x = whole + fraction; 2^52 and more have none, and adding a half to them would round."""
    whole = np.trunc(numbers)
    return np.where(np.abs(numbers - whole) >= 0.5, whole + np.copysign(1.0, numbers), whole)


def sign(numbers: Numbers) -> Numbers:
    """-1, 0 or 1; as the page's formula has it, what is neither less nor greater than 0 gives 0"""
    return np.subtract(numbers > 0, numbers < 0, dtype=numbers.dtype if numbers.dtype.kind != "u" else np.int8)


def erf(numbers: Numbers) -> Numbers:
    """2 / sqrt(pi) * the integral of exp(-t * t) from 0 to x"""
    return np.positive(_ERF(numbers), dtype=np.float64, casting="unsafe")


_ERF = np.frompyfunc(math.erf, 1, 1)
_ROUNDED: dict[int, Function] = {
    HALVES_TO_EVEN: np.rint,
    TOWARD_ZERO: np.trunc,
    TOWARD_INFINITY: _half_away_from_zero,
}
_FUNCTIONS: dict[str, Function] = {
    "ACOS": np.arccos,
    "ACOSH": np.arccosh,
    "ASIN": np.arcsin,
    "ASINH": np.arcsinh,
    "ATAN": np.arctan,
    "ATANH": np.arctanh,
    "CEIL": np.ceil,
    "COSH": np.cosh,
    "ERF": erf,
    "EXP": np.exp,
    "FLOOR": np.floor,
    "LOG": np.log,
    "RECIP": np.reciprocal,
    "SINH": np.sinh,
    "TANH": np.tanh,
}
OPERATORS: dict[str, Compute] = {
    **{f"ELEMENT_WISE_{name}": partial(compute, function) for name, function in _FUNCTIONS.items()},
    "ELEMENT_WISE_COS": partial(compute, np.cos, extremes=(-1.0, 1.0)),
    "ELEMENT_WISE_SIN": partial(compute, np.sin, extremes=(-1.0, 1.0)),
    "ELEMENT_WISE_TAN": partial(compute, np.tan, extremes=(-math.inf, math.inf)),
    "ELEMENT_WISE_ABS": partial(compute_any, np.abs),
    "ELEMENT_WISE_NEGATE": partial(compute_any, np.negative),
    "ELEMENT_WISE_ROUND": round_to_whole,
    "ELEMENT_WISE_SIGN": partial(compute_any, sign),
    "ELEMENT_WISE_SQRT": partial(compute, np.sqrt, keeps_zero_signs=True),
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
