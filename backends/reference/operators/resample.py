"""UPSAMPLE_2D, RESAMPLE, its successors and their gradients, by nearest neighbour and by linear interpolation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either, stack
from dml_conformance.backends.reference.floats import FORMATS, OUTWARD, UNIT, nearest
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._weights import (
    Weights,
    joined,
    linear_weights,
    nearest_weights,
    spread,
)
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Expectation, Mask, Within
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operators.resample import is_nearest, pixel_offsets
from dml_conformance.spec.structures import DML_UPSAMPLE_2D_OPERATOR_DESC, Resample, ResampleGrad

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

INCREASING = enumeration("DML_AXIS_DIRECTION").INCREASING

# What FLOAT32 may make of a coordinate: a few roundings, each by a unit in the last place of what is rounded.
ROUNDINGS = 8 * 2.0**-23
OVERFLOW = 2.0**100  # of what is rounded; beyond it FLOAT32 may have gone to infinity
BLOCK_ELEMENTS = 2**18  # of which weights are made at once; see `joined`
MOST_CERTAIN = 2**20  # elements along a dimension whose halves FLOAT32 has for certain; see `_error`


def upsample_2d(desc: DML_UPSAMPLE_2D_OPERATOR_DESC, arrays: Arrays) -> dict[str, Any]:
    """output[..., y, x] = input[..., y / ScaleSize.Height, x / ScaleSize.Width]."""
    source, scale = arrays["input_tensor"], desc.scale_size
    if not is_nearest(desc):
        scales = (*(1.0,) * (source.ndim - 2), float(scale.height), float(scale.width))
        return linear(desc, arrays, scales, ((0.5,) * source.ndim, (-0.5,) * source.ndim))
    return {"output_tensor": Expectation(source.repeat(scale.height, -2).repeat(scale.width, -1))}


def resample(desc: Resample, arrays: Arrays) -> dict[str, Any]:
    """output[c...] = input[clamp(round((c[d] - OutputPixelOffsets[d]) / Scales[d] - InputPixelOffsets[d])) for each d].

    Coordinates are rounded to the nearest, halves up, or in RoundingDirection where there is one. An element may be any
    of the input where a coordinate lies so near to where it is rounded the other way that FLOAT32 decides.
    """
    assert desc.operator != "UPSAMPLE_2D"
    values = arrays["input_tensor"]
    if not is_nearest(desc):
        return linear(desc, arrays, desc.scales, pixel_offsets(desc))
    one_of: Mask = np.zeros((1,) * values.ndim, np.bool_)
    for d, (scale, of_input, of_output) in enumerate(zip(desc.scales, *pixel_offsets(desc), strict=True)):
        size, count = values.shape[d], desc.output_tensor.sizes[d]
        to_left = np.arange(count, dtype=np.float64) - of_output
        coordinates = to_left / scale - of_input
        places = _rounded(desc, coordinates, size)
        error = _error(to_left, scale, of_input)
        is_open = _rounded(desc, coordinates - error, size) != _rounded(desc, coordinates + error, size)
        values = values.take(places, d)
        one_of = one_of | is_open.reshape((-1,) + (1,) * (values.ndim - 1 - d))
    if not one_of.any():
        return {"output_tensor": Expectation(values)}
    return {"output_tensor": Expectation(values, np.broadcast_to(one_of, values.shape), "input_tensor")}


def _rounded(desc: Resample | ResampleGrad, coordinates: Floats, size: int) -> Places:
    """Places along a dimension of `size` elements; of coordinates beyond its ends those at the ends."""
    within = np.clip(coordinates, -1, size)
    direction = getattr(desc, "rounding_direction", None)
    if direction is None:
        rounded = np.floor(within + 0.5)
    else:
        rounded = np.ceil(within) if direction == INCREASING else np.floor(within)
    return np.clip(rounded, 0, size - 1).astype(np.int64)


def _error(to_left: Floats, scale: float, of_input: float) -> Floats:
    """How far a coordinate may be from the exact one in FLOAT32, in whatever order it is computed.

    It is not at all where each step is exact: the scale is a power of two, and all parts of the sum have so few binary
    digits that FLOAT32 has them.
    """
    parts = np.abs(to_left) / scale + abs(of_input) + 0.5
    error = np.where(parts < OVERFLOW, parts * ROUNDINGS, np.inf)
    if np.frexp(scale)[0] != 0.5:
        return error
    is_exact = np.zeros(parts.shape, np.bool_)
    for digits in (1, 10):  # after the point, of 23
        unit = 2.0**-digits
        few = (to_left / scale % unit == 0) & (to_left % unit == 0) & (of_input % unit == 0) & (1 / scale % unit == 0)
        is_exact |= few & (parts < 2.0 ** (22 - digits)) & (np.abs(to_left) < 2.0 ** (22 - digits))
    return np.where(is_exact, 0.0, error)


class Along(NamedTuple):
    """Coordinates along a dimension of so many elements, inside of it.

    Attributes:
        exact: of each output element.
        least: that FLOAT32 may have.
        most: likewise.
        anywhere: the exact ones, beyond the ends too.
    """

    exact: Floats
    least: Floats
    most: Floats
    anywhere: Floats

    @classmethod
    def of(cls, scale: float, of_input: float, of_output: float, size: int, count: int) -> Along:
        to_left = np.arange(count, dtype=np.float64) - of_output
        coordinates, error = to_left / scale - of_input, _error(to_left, scale, of_input)
        exact, least, most = (
            np.clip(end, 0.0, size - 1.0) for end in (coordinates, coordinates - error, coordinates + error)
        )
        return cls(exact, least, most, coordinates)

    @property
    def ends(self) -> tuple[Floats, ...]:
        """Where what is linear between elements is least or greatest: both ends, and an element between them."""
        return self.least, self.most, np.clip(np.floor(self.most), self.least, self.most)

    @property
    def error(self) -> Floats:
        return self.most - self.least

    def parts(self, size: int, is_split: bool) -> Floats:
        """The weight of the element above; where both elements are the one at an end and that is split, of any part."""
        found = self.anywhere - np.floor(self.anywhere)
        return np.where((self.anywhere < 0) | (self.anywhere >= size - 1), 1 / 3, found) if is_split else found


def between(numbers: Any, coordinates: Floats, d: int) -> tuple[Any, Any, Floats]:
    """The elements next to coordinates along a dimension, below and above, and the weight of the latter; beyond an end
    both are the one there."""
    floor, last = np.floor(coordinates), numbers.shape[d] - 1
    below, above = (np.clip(place, 0, last).astype(np.int64) for place in (floor, floor + 1))
    return numbers.take(below, d), numbers.take(above, d), coordinates - floor


def linear(desc: Resample, arrays: Arrays, scales: Any, offsets: Any) -> dict[str, Any]:
    """output[c...] = sum(weight[d, k] * ... * input[floor((c[d] - OutputPixelOffsets[d]) / Scales[d] -
    InputPixelOffsets[d]) + k for each d] for each k of 0 and 1), coordinates clamped to the input.

    Integers are rounded in any way. Anything is right next to what is not finite, where FLOAT32 has no coordinates to
    speak of, and where something is antialiased.
    """
    data_type, sizes = desc.output_tensor.data_type, desc.output_tensor.sizes
    numbers = as_numbers(arrays["input_tensor"], data_type)
    every = [Along.of(*each) for each in zip(scales, *offsets, numbers.shape, sizes, strict=True)]
    is_antialiased = getattr(desc, "antialiased", False) and min(scales) < 1
    if is_antialiased or max(float(along.error.max()) for along in every) >= 0.25:
        return {"output_tensor": Expectation(np.zeros(sizes, arrays["input_tensor"].dtype), free=np.ones(sizes, bool))}
    is_open = ~np.isfinite(numbers)
    for d, along in enumerate(every):
        seen = [part for end in along.ends for part in between(is_open, end, d)[:2]]
        is_open = np.logical_or.reduce(seen)
    finite = np.where(np.isfinite(numbers), numbers, numbers.dtype.type(0))

    def interpolated(tolerance: Tolerance) -> Enclosure | Expectation:
        found = _interpolated(Evaluation(tolerance), finite, every)
        if not data_type.is_float:
            return _whole(found, NUMBERS[data_type])
        return found.opened(is_open).to(data_type)

    return {"output_tensor": interpolated}


def _interpolated(evaluation: Evaluation, numbers: Any, every: list[Along]) -> Enclosure:
    """Weighted sums, of all dimensions at once or of one after the other, each step rounded, and what they are at other
    coordinates that FLOAT32 may have.

    At an end, and beyond it, an implementation may add up the element there with two weights, or take it as it is; of
    images also along the other dimension than the one in which it interpolates.
    """
    exact = low = high = numbers.astype(np.float64)
    for d, along in enumerate(every):
        exact = _lerp(*between(exact, along.exact, d), d)
        ends = [(_lerp(*between(low, end, d), d), _lerp(*between(high, end, d), d)) for end in along.ends]
        low, high = np.minimum.reduce([one for one, _ in ends]), np.maximum.reduce([other for _, other in ends])
    corners, weights = [evaluation.of(numbers)], evaluation.of(np.ones((1,) * numbers.ndim, np.float32))
    factor: Any = 1.0
    is_split = any((along.anywhere % 1).any() for along in every)
    terms, magnitude, weighted = [(corners[0], weights)], np.abs(numbers).astype(np.float64), 0
    for d, along in enumerate(every):
        sizes = [-1 if axis == d else 1 for axis in range(numbers.ndim)]
        factor = factor * (1.0 + 4.0 * along.error.reshape(sizes))
        parts = along.parts(numbers.shape[d], is_split and d >= numbers.ndim - 2).reshape(sizes)
        part, near = evaluation.of(parts), nearest(np, parts, DataType.FLOAT32)
        if (near != parts).any():  # what is left of 1 is then another number, and their sum is not 1
            part = either(part, evaluation.of(near))
        by = (1.0 - part, part)
        terms = [
            (side, weight * by[n] if parts.any() else weight)
            for corner, weight in terms
            for n, side in enumerate(_sides(corner, along.anywhere, d)[: 1 + bool(parts.any())])
        ]
        magnitude, weighted = _lerp(*between(magnitude, along.exact, d), d), weighted + bool(parts.any())
    total = stack([corner * weight for corner, weight in terms]).sum((0,))[0]
    rest = 2.0**-18 * (high - low) + 8 * UNIT * (np.abs(low) + np.abs(high)) * (high > low)
    low, high = low - (total.value - total.low) * factor - rest, high + (total.high - total.value) * factor + rest
    low, high = np.minimum(low, total.low), np.maximum(high, total.high)
    if weighted > 1:  # one dimension after the other rounds a product for each, unless all are exact
        each = evaluation.primitive("multiply")[1].ulp * FORMATS[DataType.FLOAT32].epsilon
        lost = np.where(low == high, 0.0, OUTWARD * (weighted - 1) * each * magnitude)
        low, high = low - lost, high + lost
    return Enclosure(evaluation, exact, low, high)


def _lerp(below: Floats, above: Floats, part: Floats, d: int) -> Floats:
    part = part.reshape([-1 if axis == d else 1 for axis in range(below.ndim)])
    return (1.0 - part) * below + part * above


def _sides(numbers: Enclosure, coordinates: Floats, d: int) -> tuple[Enclosure, Enclosure]:
    return numbers.each(lambda part: between(part, coordinates, d)[0]), numbers.each(
        lambda part: between(part, coordinates, d)[1]
    )


def _whole(found: Enclosure, number: Any) -> Expectation:
    """Integers, rounded up, down or to the nearest."""
    ends = (np.floor(found.low), np.rint(found.value), np.ceil(found.high))
    limits = np.iinfo(number)
    low, values, high = (np.clip(end, limits.min, limits.max).astype(number) for end in ends)
    bits = UNSIGNED[number.itemsize]
    return Expectation(values.view(bits), within=Within(low.view(bits), high.view(bits)))


def resample_grad(desc: ResampleGrad, arrays: Arrays) -> dict[str, Any]:
    """outputGradient[place] += weight * inputGradient[c...] for each place that the forward operator takes c... from.

    RESAMPLE_GRAD's page has the lower one of two neighbours that are as near, and the forward operator the higher one:
    the sums of either are right, and what lies between. Anything is where FLOAT32 has no coordinates to speak of.
    """
    data_type, sizes = desc.output_gradient_tensor.data_type, desc.output_gradient_tensor.sizes
    numbers = as_numbers(arrays["input_gradient_tensor"], data_type)
    lines = list(zip(desc.scales, *pixel_offsets(desc), sizes, numbers.shape, strict=True))

    def reading(is_down: bool) -> list[Weights]:
        return [weights for line in lines if (weights := _weights(desc, *line, is_down)) is not None]

    readings = [reading(is_down=False)]
    if len(readings[0]) < len(lines):
        nothing = np.zeros(sizes, arrays["input_gradient_tensor"].dtype)
        return {"output_gradient_tensor": Expectation(nothing, free=np.ones(sizes, bool))}
    if is_nearest(desc) and not hasattr(desc, "rounding_direction"):
        lower = reading(is_down=True)
        if not all(one.equals(other) for one, other in zip(*readings, lower, strict=True)):
            readings.append(lower)
    # Of each dimension that has other weights than 0 and 1 the weight is rounded, and the product with it.
    rounded = 0 if is_nearest(desc) else 2 * sum(bool((of.exact % 1).any() or not of.is_exact) for of in readings[0])

    def sums(tolerance: Tolerance) -> Enclosure:
        evaluation = Evaluation(tolerance)
        found = [spread(evaluation, numbers, every, rounded, not is_nearest(desc)) for every in readings]
        return either(*found).to(data_type)

    return {"output_gradient_tensor": sums}


def _weights(
    desc: Resample | ResampleGrad, scale: float, of_input: float, of_output: float, size: int, count: int, is_down: bool
) -> Weights | None:
    """Along a dimension, of so many elements; None where FLOAT32 has no coordinates of them to speak of.

    Of halves `is_down` has the lower place.
    """
    blocks = []
    for start in reversed(range(0, count, BLOCK_ELEMENTS)):  # errors are largest in the end
        to_left = np.arange(start, min(start + BLOCK_ELEMENTS, count), dtype=np.float64) - of_output
        error = _error(to_left, scale, of_input)
        if error.max() >= 0.25:
            return None
        ends = [to_left / scale - of_input + way * error for way in (-1, 0, 1)]
        if not is_nearest(desc):
            block = linear_weights(size, *(np.clip(end, 0.0, size - 1.0) for end in ends))
        elif is_down:
            lower = [np.clip(np.ceil(end - 0.5), 0, size - 1).astype(np.int64) for end in ends]
            block = nearest_weights(size, *lower)
        else:
            block = nearest_weights(size, *(_rounded(desc, end, size) for end in ends))
        blocks.append(block.in_runs())
    return joined(blocks[::-1])


def moved_axes(desc: ResampleGrad) -> list[int]:
    """Along which dimensions of a gradient not every element is one of the input's, in the same place for certain."""
    of_input, of_output = pixel_offsets(desc)
    sizes, others = desc.output_gradient_tensor.sizes, desc.input_gradient_tensor.sizes
    every = enumerate(zip(desc.scales, of_input, of_output, sizes, others, strict=True))
    return [
        d
        for d, (scale, one, other, size, count) in every
        if (scale, one + other, one % 0.5, size) != (1, 0, 0, count) or abs(one) > 1 or size > MOST_CERTAIN
    ]


OPERATORS: dict[str, Compute] = {
    "UPSAMPLE_2D": upsample_2d,
    "RESAMPLE": resample,
    "RESAMPLE1": resample,
    "RESAMPLE2": resample,
    "RESAMPLE3": resample,
    "RESAMPLE_GRAD": resample_grad,
    "RESAMPLE_GRAD1": resample_grad,
}
CUTS: dict[str, Cut] = dict.fromkeys(("RESAMPLE_GRAD", "RESAMPLE_GRAD1"), CutRows(moved_axes))
