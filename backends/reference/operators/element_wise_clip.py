"""ELEMENT_WISE_CLIP, _CLIP1 and _THRESHOLD: elements held between limits; _CLIP_GRAD and _CLIP_GRAD1, the gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, either, where
from dml_conformance.backends.reference.formula import Formula, scaled
from dml_conformance.backends.reference.functions import maximum, minimum, or_nan
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._conversion import scalar
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec import structures
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Within


def clip(desc: structures.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = min(Max, max(Min, input[c...])), with Min and Max as numbers of the type"""
    data_type = desc.input_tensor.data_type
    if data_type.is_float:
        return _between(desc, arrays, *(_as_floats(limit, data_type) for limit in (desc.min, desc.max)))
    return _between(
        desc, arrays, _as_integer(desc.min, data_type, np.trunc), _as_integer(desc.max, data_type, np.trunc)
    )


def clip_of_type(desc: structures.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = max(Min, min(input[c...], Max))"""
    data_type = desc.input_tensor.data_type
    return _between(desc, arrays, scalar(desc.min, data_type), scalar(desc.max, data_type))


def threshold(desc: structures.ElementWiseClip, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = max(input[c...], Min)"""
    data_type = desc.input_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)
    if data_type.is_float:
        return _held(desc, numbers, _as_floats(desc.min, data_type))
    limits = [_as_integer(desc.min, data_type, rounded) for rounded in (np.trunc, np.floor, np.ceil)]
    if desc.scale_bias is not None or any(limit is None for limit in limits):
        return {"output_tensor": _anything(arrays)}
    return {"output_tensor": _any_of(*(np.maximum(numbers, limit) for limit in limits if limit is not None))}


def _between(desc: structures.ElementWiseClip, arrays: Arrays, low: Array | None, high: Array | None) -> dict[str, Any]:
    """Whichever limit comes first; of several numbers that a limit may be rounded to any.

    The order makes a difference where Min is above Max, and of a NaN.

    Direct3D's min and max return the other operand of a NaN, those of NumPy the NaN.
    """
    data_type = desc.input_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)
    if low is None or high is None or (desc.scale_bias is not None and not data_type.is_float):
        return {"output_tensor": _anything(arrays)}
    if not data_type.is_float:
        orders = np.minimum(high, np.maximum(low, numbers)), np.maximum(low, np.minimum(numbers, high))
        return {"output_tensor": _any_of(*orders)}
    return _held(desc, numbers, np.atleast_1d(low), np.atleast_1d(high))


def _held(desc: structures.ElementWiseClip, numbers: Array, *limits: Array) -> dict[str, Any]:
    """Held between limits in either order; one that is a NaN is none, or makes a NaN of everything."""

    def formula(x: Enclosure, *arguments: Enclosure) -> Enclosure:
        x = scaled(x, desc.scale_bias)
        ends = [either(*(of[n] for n in range(of.shape[0]))) for of in arguments]
        steps = [each for each in zip((maximum, minimum), ends, strict=False) if not each[1].nan]
        found = [reduce(lambda held, step: step[0](held, step[1]), order, x) for order in (steps, steps[::-1])]
        return either(*found, *(end for end in ends if end.nan))

    is_chained = desc.scale_bias is not None
    return {"output_tensor": Formula(formula, (numbers, *limits), desc.input_tensor.data_type, is_chained=is_chained)}


def clip_grad(desc: structures.ElementWiseClipGrad, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = Min < input[c...] < Max ? gradient[c...] : 0, with limits as they are or as the type has them"""
    numbers, gradient = _numbers_and_gradient(desc, arrays)
    data_type = desc.input_tensor.data_type
    if data_type.is_float:
        least, most = (np.append(_as_floats(limit, data_type), np.float32(limit)) for limit in (desc.min, desc.max))
        return _passed_between(numbers, gradient, least, most, data_type)
    low, high = (_as_integer(limit, data_type, np.trunc) for limit in (desc.min, desc.max))
    if low is None or high is None:
        return {"output_gradient_tensor": _any_of(gradient, np.zeros_like(gradient))}
    below, above = (_as_integer(*each) for each in ((desc.min, data_type, np.floor), (desc.max, data_type, np.ceil)))
    single, zero = numbers.astype(np.float32), numbers.dtype.type(0)
    is_between = [
        ((below is None) | (numbers > below)) & ((above is None) | (numbers < above)),
        (numbers > low) & (numbers < high),
        (single > np.float32(desc.min)) & (single < np.float32(desc.max)),
    ]
    return {"output_gradient_tensor": _any_of(*(np.where(between, gradient, zero) for between in is_between))}


def clip_grad_of_type(desc: structures.ElementWiseClipGrad, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = Min < input[c...] < Max ? gradient[c...] : 0, with limits of the tensors' type"""
    numbers, gradient = _numbers_and_gradient(desc, arrays)
    data_type = desc.input_tensor.data_type
    low, high = (scalar(limit, data_type) for limit in (desc.min, desc.max))
    if data_type.is_float:
        return _passed_between(numbers, gradient, np.atleast_1d(low), np.atleast_1d(high), data_type)
    passed = np.where((numbers > low) & (numbers < high), gradient, numbers.dtype.type(0))
    return {"output_gradient_tensor": Expectation(passed.view(UNSIGNED[passed.itemsize]))}


def _numbers_and_gradient(desc: structures.ElementWiseClipGrad, arrays: Arrays) -> tuple[Array, Array]:
    return as_numbers(arrays["input_tensor"], desc.input_tensor.data_type), as_numbers(
        arrays["input_gradient_tensor"], desc.input_tensor.data_type
    )


def _passed_between(numbers: Array, gradient: Array, low: Array, high: Array, data_type: DataType) -> dict[str, Any]:
    """Of a NaN no comparison holds, so that the page's gives the gradient, and its opposite 0."""

    def formula(x: Enclosure, passed: Enclosure, *limits: Enclosure) -> Enclosure:
        least, most = (either(*(of[n] for n in range(of.shape[0]))) for of in limits)
        is_below = or_nan(x < most, x, most, value=True)
        return where(or_nan(x > least, x, least, value=True), where(is_below, passed, 0.0), passed.operand(0.0))

    return {"output_gradient_tensor": Formula(formula, (numbers, gradient, low, high), data_type, is_chained=True)}


def _as_floats(limit: float, data_type: DataType) -> Array:
    """The nearest number of the type, and that of the limit held to the largest one, unless it is infinite"""
    with np.errstate(over="ignore"):
        number = np.float32(limit)
        largest = np.float32(np.finfo(NUMBERS[data_type]).max)
        held = np.clip(number, -largest, largest) if np.isfinite(number) else number
        return np.array([number, held], NUMBERS[data_type])


def _as_integer(limit: float, data_type: DataType, rounded: Callable[[float], float]) -> Array | None:
    """None where the type has no such number."""
    least, most = data_type.limits or (0, 0)
    if not np.isfinite(limit) or not least <= int(rounded(limit)) <= most:
        return None
    return np.array(int(rounded(limit)), NUMBERS[data_type])


def _anything(arrays: Arrays) -> Expectation:
    elements = arrays["input_tensor"]
    return Expectation(elements, free=np.ones(elements.shape, np.bool_))


def _any_of(*every: Array) -> Expectation:
    """The first, or any number from the least to the greatest."""
    low, high = np.min(every, axis=0), np.max(every, axis=0)
    values, low, high = (numbers.view(UNSIGNED[numbers.itemsize]) for numbers in (every[0], low, high))
    is_open = low != high
    return Expectation(values, within=Within(low, high, where=is_open) if is_open.any() else None)


OPERATORS: dict[str, Compute] = {
    "ELEMENT_WISE_CLIP": clip,
    "ELEMENT_WISE_CLIP1": clip_of_type,
    "ELEMENT_WISE_THRESHOLD": threshold,
    "ELEMENT_WISE_CLIP_GRAD": clip_grad,
    "ELEMENT_WISE_CLIP_GRAD1": clip_grad_of_type,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
