"""SOFTMAX, LOG_SOFTMAX and HARDMAX, along the last dimension or along Axes."""

from __future__ import annotations

from functools import partial
from math import prod, sqrt
from typing import Any

import numpy as np

from dml_conformance.backends.reference.arithmetic import Arithmetic
from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers
from dml_conformance.backends.reference.operators._order import unordered
from dml_conformance.spec.expectation import Expectation, Numbers, in_order
from dml_conformance.spec.operators.softmax import axes_of

EPSILON = 2.0**-23


class Rows:
    """Elements that are taken together along some axes; whatever is computed keeps these, or has size 1 there."""

    def __init__(self, axes: tuple[int, ...], count: int) -> None:
        self._axes = axes
        # What a sum of so many positive terms may be off by, as a part of it: added up in a tree by threads.
        self.sum_error = EPSILON * (np.log2(count) + sqrt(count) / 16)

    def below(self, x: Numbers) -> Numbers:
        """How far each element is below the largest; NaN for an infinity that is"""
        return np.asarray(np.max(x, axis=self._axes, keepdims=True, initial=-np.inf) - x)

    def sum(self, x: Numbers) -> Numbers:
        return np.asarray(np.sum(x, axis=self._axes, keepdims=True))

    def has_infinity(self, x: Numbers) -> Any:
        return np.any(x == np.inf, axis=self._axes, keepdims=True) & ~np.any(
            np.isnan(x), axis=self._axes, keepdims=True
        )

    def softmax(self, x: Numbers) -> Numbers:
        """exp(x) / sum(exp(x...)), where nothing overflows; beside an infinity 0"""
        part = np.exp(-self.below(x))
        return np.where(self.has_infinity(x) & (x < np.inf), 0.0, part / self.sum(part))

    def log_softmax(self, x: Numbers) -> Numbers:
        """ln(exp(x) / sum(exp(x...))), where nothing overflows; beside an infinity -infinity"""
        below = self.below(x)
        return np.where(self.has_infinity(x) & (x < np.inf), -np.inf, -below - np.log(self.sum(np.exp(-below))))

    def mean_below(self, x: Numbers) -> Numbers:
        """How far the elements are below the largest on average, weighted by what they add to the sum"""
        below = self.below(x)
        part = np.exp(-below)
        return self.sum(np.where(part > 0, part * below, 0.0)) / self.sum(part)

    def softmax_error(self, x: Numbers) -> Numbers:
        """Of each exponential as much as its argument is large, of the sum, and of some steps more"""
        part = self.sum_error + EPSILON * (6.0 + 1.75 * self.below(x) + 2 * self.mean_below(x))
        found = self.softmax(x)
        return np.where(found > 0, found * part, 0.0)

    def log_softmax_error(self, x: Numbers) -> Numbers:
        """Of the difference, of the sum as a part of it, which its logarithm is off by, and of some steps more"""
        return np.asarray(self.sum_error + EPSILON * (6.0 + self.below(x) + 2 * self.mean_below(x)))


def compute(desc: Any, arrays: Arrays, *, is_logarithm: bool) -> dict[str, Any]:
    """output[c...] = exp(x - max) / sum(exp(x... - max)), or its logarithm; free where an axis is named twice"""
    axes = axes_of(desc)
    source = arrays["input_tensor"]
    if len(set(axes)) < len(axes):
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}
    numbers = as_numbers(source, desc.input_tensor.data_type)
    rows = Rows(axes, prod(source.shape[axis] for axis in axes))
    function, error = (rows.log_softmax, rows.log_softmax_error) if is_logarithm else (rows.softmax, rows.softmax_error)
    nan = rows.has_infinity(numbers) & (numbers < np.inf)
    found = Arithmetic(function, (numbers,), is_element_wise=False, error=error, nan=nan if nan.any() else None)
    return {"output_tensor": found}


def hardmax(desc: Any, arrays: Arrays) -> dict[str, Expectation]:
    """output[c...] = c is the first place of the largest along the axes ? 1 : 0; free where there is a NaN, or where
    zeros and subnormals are the largest, and where the order of the axes could matter"""
    axes, data_type, source = axes_of(desc), desc.input_tensor.data_type, arrays["input_tensor"]
    if list(axes) != sorted(set(axes)):
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}
    order = [d for d in range(source.ndim) if d not in axes] + list(axes)
    moved = source.transpose(order)
    rows = moved.reshape(*moved.shape[: source.ndim - len(axes)], -1)
    index = np.argmax(in_order(rows, data_type), -1)[..., None]
    ones = np.zeros(rows.shape, np.float32)
    np.put_along_axis(ones, index, 1.0, -1)
    free = np.zeros(rows.shape, np.bool_)
    if (found := unordered(rows, data_type, -1)) is not None:
        is_among_several = rows.shape[-1] > 1
        free = found.whole | (found.tiny & np.take_along_axis(found.tiny, index, -1) & is_among_several)
    back = np.argsort(order)
    numbers = ones.reshape(moved.shape).transpose(back).astype(as_numbers(source, data_type).dtype)
    free = free.reshape(moved.shape).transpose(back)
    return {"output_tensor": Expectation(as_bits(numbers, desc.output_tensor), free=free if free.any() else None)}


OPERATORS: dict[str, Compute] = {
    f"ACTIVATION_{name}{suffix}": function
    for name, function in (
        ("SOFTMAX", partial(compute, is_logarithm=False)),
        ("LOG_SOFTMAX", partial(compute, is_logarithm=True)),
        ("HARDMAX", hardmax),
    )
    for suffix in ("", "1")
}
