"""SOFTMAX, LOG_SOFTMAX and HARDMAX, along the last dimension or along Axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, either, known, where
from dml_conformance.backends.reference.formula import Formula, in_float32
from dml_conformance.backends.reference.functions import exp, log
from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers
from dml_conformance.backends.reference.operators._order import unordered
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, in_order
from dml_conformance.spec.operators.softmax import axes_of
from dml_conformance.spec.structures import Softmax


def softmax(x: Enclosure, axes: tuple[int, ...], data_type: DataType) -> Enclosure:
    """exp(x - max) / sum(exp(x... - max)); beside an infinity a NaN or 0"""
    part = exp(x - x.max(axes))
    return _beside_infinity(x, axes, part / _total(part, axes, data_type), 0.0)


def log_softmax(x: Enclosure, axes: tuple[int, ...], data_type: DataType) -> Enclosure:
    """x - max - ln(sum(exp(x... - max))); beside an infinity a NaN or negatively infinite"""
    below = x - x.max(axes)
    return _beside_infinity(x, axes, below - log(_total(exp(below), axes, data_type)), -inf)


def _total(part: Enclosure, axes: tuple[int, ...], data_type: DataType) -> Enclosure:
    """The sum along axes, which may be kept in the tensors' type."""
    total = part.sum(axes)
    is_kept = data_type is DataType.FLOAT32 or part.evaluation.tolerance.is_precise
    return total if is_kept else either(total, total.to(data_type))


def _beside_infinity(x: Enclosure, axes: tuple[int, ...], found: Enclosure, other: float) -> Enclosure:
    """With another number where an element is less than an infinity that it stands beside."""
    xp = x.xp
    has_infinity = xp.any(x.value == inf, axis=axes, keepdims=True) & ~xp.any(
        xp.isnan(x.value), axis=axes, keepdims=True
    )
    return where(known(has_infinity & (x.value < inf)), either(x.operand(other), found), found)


def compute(function: Callable[..., Enclosure], desc: Softmax, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = function(input[c...]) along axes; free where one is named twice"""
    axes, data_type = axes_of(desc), desc.input_tensor.data_type
    source = arrays["input_tensor"]
    if len(set(axes)) < len(axes):
        return {"output_tensor": Expectation(source, free=np.ones(source.shape, np.bool_))}
    found = Formula(
        lambda x: in_float32(function)(x, axes, data_type),
        (as_numbers(source, data_type),),
        data_type,
        axes=axes,
    )
    return {"output_tensor": found}


def hardmax(desc: Softmax, arrays: Arrays) -> dict[str, Expectation]:
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
        ("SOFTMAX", partial(compute, softmax)),
        ("LOG_SOFTMAX", partial(compute, log_softmax)),
        ("HARDMAX", hardmax),
    )
    for suffix in ("", "1")
}
CUTS: dict[str, Cut] = {name: CutRows(axes_of) for name in OPERATORS}
