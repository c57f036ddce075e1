"""REDUCE: twelve functions of the elements along some axes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either, where
from dml_conformance.backends.reference.floats import FORMATS, UNIT, quiet
from dml_conformance.backends.reference.functions import exp, log, sqrt
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators.arg_reduce import arg_reduce
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.operators.reduce import FUNCTION
from dml_conformance.spec.structures import Reduce

Axes = tuple[int, ...]
NEAR = 80.0  # exponentials of larger numbers, and of their sums, overflow in FLOAT32


def log_sum_exp(x: Enclosure, axes: Axes) -> Enclosure:
    """ln(sum(exp(x))), by way of the largest element or not; where that is infinite, either way again"""
    largest = x.max(axes)
    shifted = largest + log(exp(x - largest).sum(axes))
    plain = log(exp(x).sum(axes))
    is_infinite = abs(largest) > FORMATS[DataType.FLOAT32].largest
    found = where(abs(largest) < NEAR, either(shifted, plain), shifted)
    return where(is_infinite, either(plain, shifted), found)


@quiet
def product(x: Enclosure, axes: Axes) -> Enclosure:
    """The product of all elements in any order, each step rounded.

    No partial product is larger than that of the magnitudes above 1, or smaller than that of those below: where one of
    these is no number of FLOAT32, anything from 0 to infinity may come of it.
    """
    value, sizes = _along(x.value, axes), np.abs(x.value)
    above, below = _along(np.fmax(sizes, 1.0), axes), _along(np.where(sizes > 0, np.fmin(sizes, 1.0), 1.0), axes)
    of, count = FORMATS[DataType.FLOAT32], prod(x.shape[axis] for axis in axes)
    is_whole = np.all(x.value == np.round(x.value), axis=axes, keepdims=True) & (above <= 2.0 / of.epsilon)
    step = x.evaluation.primitive("multiply")[1].ulp * of.epsilon + UNIT
    radius = np.where(is_whole | (count == 1), 0.0, np.abs(value) * count * step * (1.0 + count * step))
    is_open = (above >= of.largest / 2) | (below <= of.normal * 2) | np.isnan(value)
    has_nan = np.isnan(value)
    low = np.where(has_nan, np.nan, np.where(is_open, -np.inf, value - radius))
    high = np.where(has_nan, np.nan, np.where(is_open, np.inf, value + radius))
    return Enclosure(x.evaluation, value, low, high, is_open & ~has_nan if count > 1 else None)


def _along(numbers: Any, axes: Axes) -> Any:
    return np.prod(numbers, axis=axes, keepdims=True)


FLOATS: dict[int, Callable[[Enclosure, Axes], Enclosure]] = {
    FUNCTION.AVERAGE: lambda x, axes: x.mean(axes),
    FUNCTION.L1: lambda x, axes: abs(x).sum(axes),
    FUNCTION.L2: lambda x, axes: sqrt((x * x).sum(axes)),
    FUNCTION.LOG_SUM: lambda x, axes: log(x.sum(axes)),
    FUNCTION.LOG_SUM_EXP: log_sum_exp,
    FUNCTION.MAX: lambda x, axes: x.max(axes),
    FUNCTION.MIN: lambda x, axes: x.min(axes),
    FUNCTION.MULTIPLY: product,
    FUNCTION.SUM: lambda x, axes: x.sum(axes),
    FUNCTION.SUM_SQUARE: lambda x, axes: (x * x).sum(axes),
}
# Of integers, modulo 2 to the number of their bits.
INTEGERS: dict[int, Callable[..., Any]] = {
    FUNCTION.L1: lambda x, **along: np.sum(np.abs(x), **along, dtype=x.dtype),
    FUNCTION.MAX: np.max,
    FUNCTION.MIN: np.min,
    FUNCTION.MULTIPLY: lambda x, **along: np.prod(x, **along, dtype=x.dtype),
    FUNCTION.SUM: lambda x, **along: np.sum(x, **along, dtype=x.dtype),
    FUNCTION.SUM_SQUARE: lambda x, **along: np.sum(x * x, **along, dtype=x.dtype),
}
PLACES = {FUNCTION.ARGMAX: np.argmax, FUNCTION.ARGMIN: np.argmin}


def reduce(desc: Reduce, arrays: Arrays) -> dict[str, Any]:
    """output[c] = Function(input[c with every coordinate along Axes]); free where an axis is named twice"""
    data_type, axes = desc.input_tensor.data_type, tuple(desc.axes)
    if len(set(axes)) < len(axes):
        sizes, kind = desc.output_tensor.sizes, f"u{desc.output_tensor.data_type.size}"
        return {"output_tensor": Expectation(np.zeros(sizes, kind), free=np.ones(sizes, np.bool_))}
    if desc.function in PLACES:
        return arg_reduce(PLACES[desc.function], desc, arrays)
    numbers = as_numbers(arrays["input_tensor"], data_type)
    if not data_type.is_float:
        with np.errstate(over="ignore"):
            return {"output_tensor": INTEGERS[desc.function](numbers, axis=axes, keepdims=True)}

    def formula(tolerance: Tolerance) -> Enclosure:
        return FLOATS[desc.function](Evaluation(tolerance).of(numbers), axes).to(data_type)

    return {"output_tensor": formula}


OPERATORS: dict[str, Compute] = {"REDUCE": reduce}
CUTS: dict[str, Cut] = {"REDUCE": CutRows(lambda desc: desc.axes)}
