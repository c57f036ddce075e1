"""CONVOLUTION: sums of what windows see, weighted by filters, or what windows add to an image.

Every element is a row of products: those that a window sees, or those that windows add there. Winograd's and Fourier's
transforms, which have other errors, would be a profile of their own.
"""

from __future__ import annotations

from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate
from dml_conformance.backends.reference.floats import Array
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import activated
from dml_conformance.backends.reference.operators._windows import gathered, seeing, seen
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.expectation import Mask
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import Misfit
from dml_conformance.spec.operators._windows import FIRST, windows_of

MODE, DIRECTION = enumeration("DML_CONVOLUTION_MODE"), enumeration("DML_CONVOLUTION_DIRECTION")


def convolution(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """FORWARD output[n, o, b] = sum(input[n, c, b * Strides + w * Dilations - StartPadding] * filter[o, c, w]);
    BACKWARD output[n, o, b * Strides + w * Dilations - StartPadding] += input[n, c, b] * filter[c, o, w]; + bias[o].

    CONVOLUTION turns the filter round. Anything is right where the padding meets a weight that is not finite, and where
    a window, a bias or an activation meets what OutputPadding adds.
    """
    data_type, groups, output = desc.output_tensor.data_type, desc.group_count, desc.output_tensor.sizes
    numbers, filters = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "filter_tensor"))
    lengths, shown, backward = numbers.shape[FIRST:], output[FIRST:], desc.direction == DIRECTION.BACKWARD
    windows = windows_of(desc, filters.shape[FIRST:], len(lengths))
    assert not isinstance(windows, Misfit), "the shapes follow from a valid descriptor"
    places = [(seeing if backward else seen)(*each) for each in zip(windows, lengths, shown, strict=True)]
    if desc.mode == MODE.CONVOLUTION:
        filters = np.flip(filters, tuple(range(FIRST, filters.ndim)))
    weights = _by_group(filters, groups, backward)
    bias = None
    if desc.bias_tensor is not None:
        bias = as_numbers(arrays["bias_tensor"], data_type).reshape(1, groups, 1, -1)
    missing = _each(np.logical_or, [place == length for place, length in zip(places, lengths, strict=True)])
    is_open = (missing[None] @ ~np.isfinite(weights).all(axis=1)).transpose(0, 2, 1).reshape(1, output[1], *shown)
    if any(desc.output_padding):
        added = [np.arange(size)[:, None] >= size - more for size, more in zip(shown, desc.output_padding, strict=True)]
        is_more = bias is not None or desc.fused_activation is not None or not backward
        is_open = is_open | (_each(np.logical_or, added)[:, 0] & (is_more | ~missing.all(axis=1))).reshape(shown)

    def sums(profile: Profile) -> Enclosure:
        evaluation = Evaluation(profile)
        elements = evaluation.of(numbers).each(partial(gathered, places=places))
        rows = elements.reshape(output[0], groups, -1, *missing.shape).permute(0, 1, 3, 2, 4)
        rows = rows.reshape(output[0], groups, len(missing), -1)
        columns = evaluation.of(weights.reshape(1, groups, -1, weights.shape[-1]))
        if bias is not None:  # one term more, as sums may begin with it
            rows = concatenate([rows, evaluation.of(np.ones((*rows.shape[:3], 1)))], axis=3)
            columns = concatenate([columns, evaluation.of(bias)], axis=2)
        found = (rows @ columns).permute(0, 1, 3, 2).reshape(*output)
        found = activated(desc.fused_activation, found, data_type).to(data_type)
        return _or_anything(found, np.broadcast_to(is_open, output)) if is_open.any() else found

    return {"output_tensor": sums}


def _by_group(filters: Array, groups: int, backward: bool) -> Array:
    """Groups, the input's channels of each, the elements of a window, the output's channels of each."""
    first, second, *sizes = filters.shape
    if backward:
        return filters.reshape(groups, first // groups, second, prod(sizes)).swapaxes(2, 3)
    return filters.reshape(groups, first // groups, second, prod(sizes)).transpose(0, 2, 3, 1)


def _each(operation: Any, parts: list[Array]) -> Mask:
    """By places and elements of a window, in rows, what parts by dimension come to together."""

    def joined(one: Array, other: Array) -> Array:
        found = operation(one[:, None, :, None], other[None, :, None, :])
        return found.reshape(found.shape[0] * found.shape[1], -1)

    return np.asarray(reduce(joined, parts))


def _or_anything(found: Enclosure, is_open: Mask) -> Enclosure:
    """Anything in some places."""
    low, high = (np.where(is_open, end, of) for end, of in ((-np.inf, found.low), (np.inf, found.high)))
    return Enclosure(found.evaluation, found.value, low, high, found.nan | is_open)


OPERATORS: dict[str, Compute] = {"CONVOLUTION": convolution}
