"""ELEMENT_WISE_CLIP, _CLIP1 and _THRESHOLD: elements held between limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import Arithmetic, Function, scaled
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._conversion import scalar
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Numbers, Within


def clip(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = min(Max, max(Min, input[c...])), with Min and Max as numbers of the type"""
    data_type = desc.input_tensor.data_type
    if data_type.is_float:
        nearest = (_as_float(limit, data_type) for limit in (desc.min, desc.max))
        return _between(desc, arrays, *nearest, _cut(desc.min, data_type), _cut(desc.max, data_type))
    return _between(
        desc, arrays, _as_integer(desc.min, data_type, np.trunc), _as_integer(desc.max, data_type, np.trunc)
    )


def clip_of_type(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = max(Min, min(input[c...], Max))"""
    data_type = desc.input_tensor.data_type
    return _between(desc, arrays, scalar(desc.min, data_type), scalar(desc.max, data_type))


def threshold(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = max(input[c...], Min)"""
    data_type = desc.input_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)
    if data_type.is_float:
        arguments, cut = (numbers, _as_float(desc.min, data_type)), _cut(desc.min, data_type)
        also = (lambda _, x, low: np.fmax(x, low), lambda _, x, low: np.maximum(x, cut))
        return {"output_tensor": Arithmetic(np.maximum, arguments, scaled(desc.scale_bias, data_type), also=also)}
    limits = [_as_integer(desc.min, data_type, rounded) for rounded in (np.trunc, np.floor, np.ceil)]
    if desc.scale_bias is not None or any(limit is None for limit in limits):
        return {"output_tensor": _anything(arrays)}
    return {"output_tensor": _any_of(*(np.maximum(numbers, limit) for limit in limits if limit is not None))}


def _between(desc: Any, arrays: Arrays, low: Array | None, high: Array | None, *cut: Array) -> dict[str, Any]:
    """Whichever limit comes first, and with either pair of limits, where there is another.

    The order makes a difference where Min is above Max, and of a NaN.

    Direct3D's min and max return the other operand of a NaN, those of NumPy the NaN.
    """
    data_type = desc.input_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)
    if low is None or high is None or (desc.scale_bias is not None and not data_type.is_float):
        return {"output_tensor": _anything(arrays)}
    if not data_type.is_float:
        either = np.minimum(high, np.maximum(low, numbers)), np.maximum(low, np.minimum(numbers, high))
        return {"output_tensor": _any_of(*either)}
    also: tuple[Function, ...] = (
        lambda _, x, low, high: np.fmin(high, np.fmax(low, x)),
        lambda _, x, low, high: np.fmax(low, np.fmin(x, high)),
    )
    if cut:
        also = (*also, lambda _, x, *__: _clamped(x, *cut))
    inner = scaled(desc.scale_bias, data_type)
    return {"output_tensor": Arithmetic(_clamped, (numbers, low, high), inner, also=also)}


def _clamped(numbers: Numbers, low: Numbers, high: Numbers) -> Numbers:
    return np.minimum(high, np.maximum(low, numbers))


def _as_float(limit: float, data_type: DataType) -> Array:
    with np.errstate(over="ignore"):
        return np.array(np.float32(limit), NUMBERS[data_type])


def _cut(limit: float, data_type: DataType) -> Array:
    """Held to the largest number of the type, unless it is infinite"""
    with np.errstate(over="ignore"):
        number = np.float32(limit)
    largest = np.float32(np.finfo(NUMBERS[data_type]).max)
    return np.array(np.clip(number, -largest, largest) if np.isfinite(number) else number, NUMBERS[data_type])


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
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
