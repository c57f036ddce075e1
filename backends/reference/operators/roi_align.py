"""ROI_ALIGN, ROI_ALIGN1 and their gradient: regions of images, sampled between elements."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate, either
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._weights import (
    Weights,
    gathered,
    linear_weights,
    nearest_weights,
    weighted,
)
from dml_conformance.backends.reference.operators._windows import CUT_REGIONS
from dml_conformance.backends.reference.parts import CutRows, Cuts, Spans
from dml_conformance.spec.accuracy import Profile
from dml_conformance.spec.expectation import Mask
from dml_conformance.spec.operators._windows import FIRST
from dml_conformance.spec.operators.resample import is_nearest
from dml_conformance.spec.operators.roi_align import FUNCTION, offsets

Floats = npt.NDArray[np.float64]

ROUNDINGS = 16 * 2.0**-23  # of what FLOAT32 may make of a coordinate, as a part of what is rounded
LARGEST = 2.0**12  # corner; beyond it FLOAT32 has no coordinates to speak of
DIGITS = 2.0**-10  # parts that are multiples of it, and below 1 / it, have exact sums


class Samples(NamedTuple):
    """The samples of a region along a dimension.

    Attributes:
        number: of each output element.
        weights: of the image's elements, at coordinates clamped to it; of each choice where two are as near.
        outside: which are out of bounds.
        open: which may be.
    """

    number: int
    weights: tuple[Weights, ...]
    outside: Mask
    open: Mask


class Region(NamedTuple):
    """A row of the ROITensor.

    Attributes:
        samples: along height and width; None where it is open how many there are, or where.
        is_free: whether anything is right of it.
    """

    samples: tuple[Samples, Samples] | None
    is_free: bool


def roi_align(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, y, x] = mean or max(input[BatchIndices[n], c, sample] for each sample)."""
    data_type = desc.output_tensor.data_type
    images, rows = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "roi_tensor"))
    batch, regions = regions_of(desc, arrays, rows, images.shape)
    shape = desc.output_tensor.sizes[1:]

    def reduced(profile: Profile) -> Enclosure:
        evaluation = Evaluation(profile)
        chosen = [images[0 if region.is_free else n] for n, region in zip(batch, regions, strict=True)]
        found = [_reduced(desc, evaluation, *each, shape) for each in zip(chosen, regions, strict=True)]
        return concatenate([each.reshape(1, *shape) for each in found], 0).to(data_type)

    return {"output_tensor": reduced}


def regions_of(desc: Any, arrays: Arrays, rows: Any, shape: tuple[int, ...]) -> tuple[list[int | slice], list[Region]]:
    """The image of each row of the ROITensor, out of the batch of this shape, and its region.

    No page says what an index beyond the batch takes: its region is free, and may be of every image.
    """
    batch: list[int | slice] = []
    regions = []
    indices = arrays["batch_indices_tensor"].reshape(-1)
    for index, row in zip(indices, rows.reshape(-1, rows.shape[-1]).astype(np.float64), strict=True):
        is_known = 0 <= index < shape[0]
        batch.append(int(index) if is_known else slice(None))
        regions.append(region_of(desc, row, shape[2:]) if is_known else Region(None, True))
    return batch, regions


def region_of(desc: Any, row: Floats, size: tuple[int, ...]) -> Region:
    """The samples of a region of images of this height and width."""
    scales = desc.spatial_scale_y, desc.spatial_scale_x
    if not (np.abs(row) * max(1.0, *scales) < LARGEST).all():
        return Region(None, True)
    ends = (row[1], row[3]), (row[0], row[2])
    output = output_sizes(desc)
    found = [_samples(desc, *each) for each in zip(ends, scales, output, size, strict=True)]
    if found[0] is None or found[1] is None or getattr(desc, "align_regions_to_corners", False):
        return Region(None, False)
    return Region((found[0], found[1]), False)


def output_sizes(desc: Any) -> tuple[int, int]:
    """Height and width of what the forward operator gives."""
    tensor = desc.output_tensor if hasattr(desc, "output_tensor") else desc.input_gradient_tensor
    return tensor.sizes[2], tensor.sizes[3]


def _samples(desc: Any, ends: tuple[float, float], by: float, output: int, size: int) -> Samples | None:
    """Along a dimension; None where the page does not say how many."""
    first, last = (end * by for end in ends)
    length, of_input, of_output = last - first, *offsets(desc)
    is_short = output & (output - 1) == 0 and all(part % DIGITS == 0 for part in (first, last, of_input, of_output))
    count = _count(desc, length / output, is_short)
    if count is None:
        return None
    # By a count that is no power of two the quotient, or its reciprocal, is rounded.
    is_exact = is_short and count & (count - 1) == 0 and abs(length) / (output * count) % DIGITS == 0
    numbers = np.arange(output * count) - of_output
    steps = numbers * (length / (output * count))
    is_exact = (
        is_exact and bool((steps % DIGITS == 0).all()) and max(abs(first), abs(last), np.abs(steps).max()) < 2**10
    )
    coordinates = steps + first - of_input
    parts = (abs(first) + abs(last)) * (1 + np.abs(numbers) / (output * count)) + abs(of_input) + np.abs(steps)
    error = np.zeros_like(parts) if is_exact else parts * ROUNDINGS
    least, most = coordinates - error, coordinates + error
    outside = (most < -1) | (least > size)
    is_inside = (least >= 0) & (most <= size - 1)
    return Samples(count, _weights(desc, size, least, coordinates, most), outside, ~outside & ~is_inside)


def _count(desc: Any, ratio: float, is_exact: bool) -> int | None:
    """How many samples an output element has for a region's size over the output's; None where that is open."""
    low, high = desc.minimum_samples_per_output, desc.maximum_samples_per_output
    error = 0.0 if is_exact else abs(ratio) * ROUNDINGS
    found = {float(np.clip(size + more, low, high)) for size in (ratio, abs(ratio)) for more in (-error, error)}
    count = found.pop()
    return int(count) if not found and count == int(count) else None


def _weights(desc: Any, size: int, *ends: npt.NDArray[np.floating[Any]]) -> tuple[Weights, ...]:
    least, exact, most = (np.clip(end, 0.0, size - 1.0) for end in ends)
    if not is_nearest(desc):
        return (linear_weights(size, least, exact, most),)
    low, high = (place.astype(np.int64) for place in (np.ceil(least - 0.5), np.floor(most + 0.5)))  # of halves either
    choices = (low, high) if (low != high).any() else (low,)
    return tuple(nearest_weights(size, each, each, each) for each in choices)


@quiet
def _reduced(desc: Any, evaluation: Evaluation, image: Any, region: Region, shape: tuple[int, ...]) -> Enclosure:
    """The output elements of a region."""
    beyond = float(np.float32(desc.out_of_bounds_input_value))
    if region.samples is None:
        is_sound = np.isfinite(image).all(axis=(1, 2)) & (not region.is_free)
        wide = image.astype(np.float64)
        # An average may be off by what its rounding adds.
        slack = 2.0**-12 * np.maximum(np.abs(wide).max(axis=(1, 2)), abs(beyond))
        low, high = np.minimum(wide.min(axis=(1, 2)), beyond) - slack, np.maximum(wide.max(axis=(1, 2)), beyond) + slack
        low, high = (np.broadcast_to(end[:, None, None], shape) for end in (low, high))
        is_open = np.broadcast_to(~is_sound[:, None, None], shape)
        return Enclosure(evaluation, np.where(is_open, 0.0, (low + high) / 2), low, high).opened(is_open)
    rows, columns = region.samples
    rounded = 0 if is_nearest(desc) else 4
    choices = product(rows.weights, columns.weights)
    found = either(*(gathered(evaluation, image, *each, rounded) for each in choices))
    outside = np.broadcast_to(rows.outside[:, None] | columns.outside, found.shape)
    open_ = ~outside & (rows.open[:, None] | columns.open)
    value, low, high = (np.where(outside, beyond, part) for part in (found.value, found.low, found.high))
    low, high = np.where(open_, np.minimum(low, beyond), low), np.where(open_, np.maximum(high, beyond), high)
    nan = None if found.maybe_nan is None else found.maybe_nan & ~outside
    sizes = (shape[0], shape[1], rows.number, shape[2], columns.number)
    samples = Enclosure(evaluation, value, low, high if (low < high).any() else low, nan).reshape(*sizes)
    if desc.reduction_function == FUNCTION.AVERAGE:
        return samples if rows.number * columns.number == 1 else samples.mean((2, 4))
    greatest = samples.max((2, 4))
    # MAX may take no notice of what is out of bounds, as long as there is something else.
    is_in = ~(outside | open_).reshape(sizes)
    inner = np.where(is_in & ~samples.nan, samples.low, -np.inf).max((2, 4), keepdims=True)
    low = np.where(is_in.any((2, 4), keepdims=True), np.minimum(greatest.low, inner), greatest.low)
    return Enclosure(evaluation, greatest.value, low, greatest.high, greatest.maybe_nan)


def roi_align_grad(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """outputGradient[BatchIndices[n], c, place] += weight * inputGradient[n, c, y, x] for each sample and its places.

    Of OutputROIGradientTensor, whose formula has no step and no offsets, the gradients of a region must count alone.
    """
    data_type = desc.input_gradient_tensor.data_type
    rows, gradients = (as_numbers(arrays[key], data_type) for key in ("roi_tensor", "input_gradient_tensor"))
    batch, regions = regions_of(desc, arrays, rows, (desc.output_gradient_tensor or desc.input_tensor).sizes)
    found: dict[str, Any] = {}
    if desc.output_gradient_tensor is not None:
        found["output_gradient_tensor"] = lambda profile: _spread(
            desc, Evaluation(profile), gradients, batch, regions
        ).to(data_type)
    if desc.output_roi_gradient_tensor is not None:

        def moved(profile: Profile) -> Enclosure:
            image, sizes = as_numbers(arrays["input_tensor"], data_type), desc.output_roi_gradient_tensor.sizes
            is_still = np.array(
                [
                    not region.is_free and not (gradient != 0).any() and bool(np.isfinite(image[n]).all())
                    for n, region, gradient in zip(batch, regions, gradients, strict=True)
                ]
            )
            open_ = np.broadcast_to(~is_still[:, None], (len(regions), sizes[-1])).reshape(sizes)
            zero = np.zeros(sizes)
            return Enclosure(Evaluation(profile), zero, -zero, zero).opened(open_).to(data_type)

        found["output_roi_gradient_tensor"] = moved
    return found


@quiet
def _spread(desc: Any, evaluation: Evaluation, gradients: Any, batch: Any, regions: list[Region]) -> Enclosure:
    """The gradients of all samples, added up at the places of their images."""
    sizes, is_mean = desc.output_gradient_tensor.sizes, desc.reduction_function == FUNCTION.AVERAGE
    known = [n for n, region in enumerate(regions) if region.samples is not None]
    every = [_shares(regions[n].samples, is_mean) for n in known]
    count = np.zeros(sizes)
    for n, (rows, columns) in zip(known, every, strict=True):
        each = (np.bincount(of.places[of.high > 0], minlength=of.size) for of in (rows, columns))
        count[batch[n]] += np.multiply.outer(*each)

    def applied(part: Floats, which: str) -> Floats:
        found = np.zeros(sizes)
        for n, (rows, columns) in zip(known, every, strict=True):
            samples = regions[n].samples
            assert samples is not None
            terms = part[n].repeat(samples[0].number, 1).repeat(samples[1].number, 2)
            found[batch[n]] += columns.spread(rows.spread(terms, getattr(rows, which), 1), getattr(columns, which), 2)
        return found

    rounded = 0 if is_nearest(desc) and desc.maximum_samples_per_output == 1 else 8
    found = weighted(evaluation, gradients, applied, count, every, rounded, True)
    if len(known) == len(regions):
        return found
    low, high, is_free = np.zeros(sizes), np.zeros(sizes), np.zeros(sizes, np.bool_)
    for n, region in enumerate(regions):
        gradient = gradients[n].astype(np.float64)
        if region.samples is None:
            is_free[batch[n]] |= (~np.isfinite(gradient).all(axis=(1, 2)) | region.is_free)[:, None, None]
            low[batch[n]] += np.clip(gradient, None, 0.0).sum(axis=(1, 2))[:, None, None]
            high[batch[n]] += np.clip(gradient, 0.0, None).sum(axis=(1, 2))[:, None, None]
    slack = (high - low) * 2.0**-12
    low, high = found.low + low - slack, found.high + high + slack
    return Enclosure(evaluation, found.value, low, high, found.maybe_nan).opened(is_free)


def _shares(samples: Any, is_mean: bool) -> tuple[Weights, Weights]:
    """What an element's gradient gives to places along height and width, by way of each sample.

    Of several samples that the greatest was taken of, any part, up to the whole; likewise what lies between the edge
    and out of bounds, or is as near to two places.
    """
    found = []
    for along in samples:
        first, last = along.weights[0], along.weights[-1]
        weights = first
        if last is not first:
            weights = nearest_weights(first.size, first.places[:, 0], first.places[:, 0], last.places[:, 0])
        several = samples[0].number * samples[1].number > 1
        exact, low, high = (np.where(along.outside[:, None], 0.0, part) for part in weights[2:5])
        exact, by = exact / along.number, along.number if is_mean else 1
        low = np.where(along.open[:, None] | (several and not is_mean), 0.0, low / by)
        found.append(
            weights._replace(exact=exact, low=low, high=high / by, near=weights.near & ~along.outside[:, None])
        )
    return found[0], found[1]


def cut_gradient(desc: Any, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The channels of a box of images, and the regions that are of these; one that is of no image is of every one."""
    images, channels, *_ = spans
    indices = arrays["batch_indices_tensor"].reshape(-1)
    is_here = (indices >= images.start) & ((indices < images.stop) | (indices >= desc.output_gradient_tensor.sizes[0]))
    parts = {
        "batch_indices_tensor": indices[is_here] - indices.dtype.type(images.start),
        "roi_tensor": arrays["roi_tensor"][..., is_here, :],
        "input_gradient_tensor": arrays["input_gradient_tensor"][is_here][:, channels],
    }
    if "input_tensor" in arrays:
        parts["input_tensor"] = arrays["input_tensor"][images, channels]
    return desc, parts


OPERATORS: dict[str, Compute] = {
    "ROI_ALIGN": roi_align,
    "ROI_ALIGN1": roi_align,
    "ROI_ALIGN_GRAD": roi_align_grad,
}
CUTS: dict[str, Cuts] = {
    **dict.fromkeys(("ROI_ALIGN", "ROI_ALIGN1"), CUT_REGIONS),
    "ROI_ALIGN_GRAD": {"output_gradient_tensor": CutRows(lambda desc: (FIRST, FIRST + 1), cut_gradient)},
}
