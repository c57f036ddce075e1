"""MAX_POOLING and LP_POOLING in all versions, and MAX_POOLING_GRAD: the greatest of what windows see that slide over an
image, where it stands, or a norm."""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.enclosure import Condition, Enclosure, Evaluation, either, known, where
from dml_conformance.backends.reference.formula import attribute
from dml_conformance.backends.reference.functions import of_ends
from dml_conformance.backends.reference.layout import NUMBERS, Array, Arrays, Compute, as_bits, as_numbers
from dml_conformance.backends.reference.operators._order import is_tiny, magnitudes
from dml_conformance.backends.reference.operators._windows import CUT_WINDOWS, gathered, seeing, windows_seen
from dml_conformance.backends.reference.parts import Cut
from dml_conformance.spec import structures
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask, boxes, in_order, nans
from dml_conformance.spec.operators._windows import FIRST
from dml_conformance.spec.tensor import TensorDesc

# Windows that are looked at together. With fewer the image would be padded more often than that saves memory.
CHOSEN_TOGETHER = 2**20


class Greatest(NamedTuple):
    """Of each window the greatest element; arrays have windows, then elements, in a row.

    Attributes:
        inside: which elements are not in the padding.
        place: of the greatest, or of the first of equal ones, among the window's elements.
        others: which elements an implementation may take for it besides, or not take.
    """

    inside: Mask
    place: Array
    others: Mask


def greatest(elements: Bits, inside: Mask, data_type: DataType) -> Greatest:
    """Of the bits of elements, of which those that are not inside are none.

    Beside a NaN any may be taken, and of zeros and subnormals that are not all the same zero any of these.
    """
    keys = in_order(elements, data_type)
    most = np.where(inside, keys, np.iinfo(keys.dtype).min).max(-1, keepdims=True)
    place = (inside & (keys == most)).argmax(-1)[..., None]
    others = np.zeros(elements.shape, np.bool_)
    if data_type.is_float:
        found = np.take_along_axis(elements, place, -1)
        tiny = inside & is_tiny(elements, data_type) & is_tiny(found, data_type)
        differ = (tiny & ((elements != found) | (magnitudes(elements) != 0))).any(-1, keepdims=True)
        has_nan = (inside & nans(elements, data_type)).any(-1, keepdims=True)
        others = inside & (has_nan | (tiny & differ))
    return Greatest(np.broadcast_to(inside, elements.shape), place[..., 0], others)


def _inside(places: list[Array], lengths: tuple[int, ...]) -> Mask:
    """Which elements of windows are not in the padding: along each dimension the windows, then their elements."""
    numbers = np.ones((1, 1, *lengths), np.int8)
    return np.asarray(gathered(numbers, places)[0, 0].reshape(*(len(place) for place in places), -1) != 0)


def max_pooling(desc: structures.Pooling, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, b] = max(input[n, c, b * Strides + w * Dilations - StartPadding] for each w).

    Its index is that of the first in the input as one row. Each output is computed when it is asked for.
    """
    bits, data_type, sizes = arrays["input_tensor"], desc.input_tensor.data_type, desc.output_tensor.sizes
    _, places = windows_seen(desc, bits.shape, sizes)
    inside = _inside(places, bits.shape[FIRST:])
    indexed = getattr(desc, "output_indices_tensor", None)
    chosen = cache(partial(_chosen, bits, data_type, places, inside))

    def greatest_values(tolerance: Tolerance) -> Expectation:
        return Expectation(chosen()[0], free=_anywhere(np.broadcast_to(~inside.any(-1), sizes)))

    def index_of(indexed: TensorDesc, tolerance: Tolerance) -> Expectation:
        _, indices, free = chosen()
        return Expectation(as_bits(indices.astype(NUMBERS[indexed.data_type]), indexed), free=_anywhere(free))

    results: dict[str, Any] = {"output_tensor": greatest_values}
    if data_type.is_float:
        results["output_tensor"] = partial(_greatest_numbers, as_numbers(bits, data_type), places, inside, sizes)
    if indexed is not None:
        results["output_indices_tensor"] = partial(index_of, indexed)
    return results


def _chosen(bits: Bits, data_type: DataType, places: list[Array], inside: Mask) -> tuple[Bits, Array, Mask]:
    """Of each window the greatest element, its index in the image, and whether that may be another.

    Windows are looked at part by part: their elements, and what is found of them, take many times the image's memory.
    """
    sizes = (*bits.shape[:FIRST], *(len(place) for place in places))
    values, indices, free = np.empty(sizes, bits.dtype), np.empty(sizes, np.uint64), np.empty(sizes, np.bool_)
    windows = [place.shape[1] for place in places]
    for box in boxes(sizes, CHOSEN_TOGETHER):
        spans = box[FIRST:]
        here = [place[span] for place, span in zip(places, spans, strict=True)]
        counts = [span.stop - span.start for span in box]
        elements = gathered(bits[box[:FIRST]], here).reshape(*counts, -1)
        found = greatest(elements, inside[spans], data_type)
        if elements.shape[-1] == 1:  # which is it, so all that follows is the same for whole dimensions
            values[box], free[box] = elements[..., 0], found.others[..., 0]
            of_window: tuple[Any, ...] = (0,) * len(windows)
        else:
            values[box], free[box] = (
                np.take_along_axis(each, found.place[..., None], -1)[..., 0] for each in (elements, found.others)
            )
            of_window = np.unravel_index(found.place, windows)
        free[box] |= ~inside[spans].any(-1)
        along = np.ogrid[box]
        coordinates = [place[window, at] for place, window, at in zip(places, along[FIRST:], of_window, strict=True)]
        indices[box] = np.ravel_multi_index((*along[:FIRST], *coordinates), bits.shape, mode="clip")
    return values, indices, free


def _anywhere(mask: Mask) -> Mask | None:
    return mask if mask.any() else None


def _greatest_numbers(
    numbers: Array, places: list[Array], inside: Mask, sizes: tuple[int, ...], tolerance: Tolerance
) -> Enclosure:
    """The greatest floats, anything where there is no number."""
    elements = Evaluation(tolerance).of(numbers).each(partial(gathered, places=places)).reshape(*sizes, -1)
    found = where(known(np.broadcast_to(inside, elements.shape)), elements, -np.inf).max((-1,)).reshape(*sizes)
    return found.opened(~(inside & ~np.isnan(elements.value)).any(-1))


def lp_pooling(
    desc: structures.DML_LP_POOLING_OPERATOR_DESC | structures.DML_LP_POOLING1_OPERATOR_DESC, arrays: Arrays
) -> dict[str, Any]:
    """output[n, c, b] = sum(|input[n, c, b * Strides + w * Dilations - StartPadding]|^P for each w)^(1/P).

    Where P is odd the page's own formula is right too, which has no magnitudes.
    """
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    sizes = desc.output_tensor.sizes
    _, places = windows_seen(desc, numbers.shape, sizes)

    def norms(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance).of(numbers).each(partial(gathered, places=places)).reshape(*sizes, -1)
        p = attribute(x, desc.p)
        powers = _power(abs(x), p)
        found = _power(powers.sum((len(sizes),)), 1.0 / p)
        if desc.p % 2:
            total = where(x < 0.0, -powers, powers).sum((len(sizes),))
            root = _power(abs(total), 1.0 / p)
            signed = where(total < 0.0, -root, root)
            found = either(found, _or_nan(signed, total.low < 0))
        return found.reshape(*sizes).to(desc.output_tensor.data_type)

    return {"output_tensor": norms}


def _power(base: Enclosure, exponent: Enclosure) -> Enclosure:
    """Of a base that is not negative and an exponent above 0."""
    return of_ends("pow", lambda one, other: [base.xp.pow(one, other)], base, exponent)


def _or_nan(found: Enclosure, mask: Mask) -> Enclosure:
    return Enclosure(found.evaluation, found.value, found.low, found.high, found.nan | mask)


def max_pooling_grad(desc: structures.PoolingGrad, arrays: Arrays) -> dict[str, Any]:
    """output = 0; output[argmax(input in the window n, c, b)] += gradient[n, c, b]"""
    bits, data_type = arrays["input_tensor"], desc.input_tensor.data_type
    sizes = bits.shape
    gradients = as_numbers(arrays["input_gradient_tensor"], data_type)
    windows, places = windows_seen(desc, sizes, gradients.shape)
    inside = _inside(places, sizes[FIRST:])
    found = greatest(gathered(bits, places).reshape(*gradients.shape, -1), inside, data_type)
    chosen = (np.arange(inside.shape[-1]) == found.place[..., None]) & found.inside
    back = [seeing(*each) for each in zip(windows, gradients.shape[FIRST:], sizes[FIRST:], strict=True)]

    def from_windows(mask: Mask) -> Mask:
        """Of each element of the image and each of a window, whether it is that element of a window which it says."""
        seen = _at_windows(mask.reshape(*gradients.shape, *desc.window_size), back)
        return seen.reshape(*sizes, prod(desc.window_size))

    condition = Condition(*map(from_windows, (chosen, chosen | found.others, chosen & ~found.others)))

    def sums(tolerance: Tolerance) -> Enclosure:
        terms = Evaluation(tolerance).of(gradients).each(partial(gathered, places=back)).reshape(*sizes, -1)
        return where(condition, terms, 0.0).sum((len(sizes),)).reshape(*sizes).to(data_type)

    return {"output_gradient_tensor": sums}


def _at_windows(mask: Mask, back: list[Array]) -> Mask:
    """By element of the image and of a window what a mask says of the window that has the one at the other."""
    rank = len(back)
    padded = np.pad(mask, [(0, 0)] * FIRST + [(0, 1)] * rank + [(0, 0)] * rank)

    def along(numbers: Array, *axes: int) -> Array:
        return np.expand_dims(numbers, tuple(axis for axis in range(2 * rank) if axis not in axes))

    index: list[Any] = [slice(None)] * FIRST
    index += [along(places, d, rank + d) for d, places in enumerate(back)]
    index += [along(np.arange(places.shape[1]), rank + d) for d, places in enumerate(back)]
    return np.asarray(padded[tuple(index)])


OPERATORS: dict[str, Compute] = {
    "MAX_POOLING": max_pooling,
    "MAX_POOLING1": max_pooling,
    "MAX_POOLING2": max_pooling,
    "LP_POOLING": lp_pooling,
    "LP_POOLING1": lp_pooling,
    "MAX_POOLING_GRAD": max_pooling_grad,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, CUT_WINDOWS)
