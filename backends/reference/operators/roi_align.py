"""ROI_ALIGN, ROI_ALIGN1 and their gradient: regions of images, sampled between elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate, either
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._weights import (
    Weights,
    added,
    gathered,
    linear_weights,
    nearest_weights,
    run_starts,
    weighted,
)
from dml_conformance.backends.reference.operators._windows import cut_regions
from dml_conformance.backends.reference.parts import Cuts, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.expectation import Bits, Expectation, Mask
from dml_conformance.spec.operators.resample import is_nearest
from dml_conformance.spec.operators.roi_align import FUNCTION, offsets
from dml_conformance.spec.structures import RoiAlign, RoiAlignGrad
from dml_conformance.spec.tensor import TensorDesc

Floats = npt.NDArray[np.float64]
Along = tuple[int, int, int]

ROUNDINGS = 16 * 2.0**-23  # of what FLOAT32 may make of a coordinate, as a part of what is rounded
LARGEST = 2.0**12  # corner; beyond it FLOAT32 has no coordinates to speak of
DIGITS = 2.0**-10  # parts that are multiples of it, and below 1 / it, have exact sums
BLOCK_SAMPLES = 2**17  # of which weights are made at once
# Of a part of an output: where it begins and ends along height and width, and how long these are; in place of an input.
ALONG = "along"


class Samples(NamedTuple):
    """The samples of a region along a dimension; output elements that follow each other and are alike have theirs once.

    Attributes:
        lengths: how many output elements are alike.
        number: of each output element.
        weights: of the image's elements, at coordinates clamped to it; of each choice where two are as near.
        outside: which are out of bounds.
        open: which may be.
    """

    lengths: npt.NDArray[np.int64]
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


def roi_align(desc: RoiAlign, arrays: Arrays) -> dict[str, Any]:
    """output[n, c, y, x] = mean or max(input[BatchIndices[n], c, sample] for each sample)."""
    data_type = desc.output_tensor.data_type
    images, rows = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "roi_tensor"))
    along = along_of(arrays, desc.output_tensor.sizes)
    batch, regions = regions_of(desc, arrays, rows, images.shape[0], images.shape[2:], along)
    shape = desc.output_tensor.sizes[1:]

    def reduced(tolerance: Tolerance) -> Enclosure:
        evaluation = Evaluation(tolerance)
        chosen = [images[0 if region.is_free else n] for n, region in zip(batch, regions, strict=True)]
        found = [_reduced(desc, evaluation, *each, shape) for each in zip(chosen, regions, strict=True)]
        return concatenate([each.reshape(1, *shape) for each in found], 0).to(data_type)

    return {"output_tensor": reduced}


def along_of(arrays: Arrays, sizes: Sequence[int]) -> list[Along]:
    """From which element to which one an output of these sizes is computed along height and width, and of how many."""
    found: list[Along] = arrays[ALONG].tolist() if ALONG in arrays else [(0, size, size) for size in sizes[2:]]
    return found


def regions_of(
    desc: RoiAlign | RoiAlignGrad, arrays: Arrays, rows: Any, count: int, size: Sequence[int], along: list[Along]
) -> tuple[list[int | slice], list[Region]]:
    """The image of each row of the ROITensor, out of so many of this height and width, and its region.

    No page says what an index beyond the batch takes: its region is free, and may be of every image.
    """
    batch: list[int | slice] = []
    regions = []
    indices = arrays["batch_indices_tensor"].reshape(-1)
    for index, row in zip(indices, rows.reshape(-1, rows.shape[-1]).astype(np.float64), strict=True):
        is_known = 0 <= index < count
        batch.append(int(index) if is_known else slice(None))
        regions.append(region_of(desc, row, size, along) if is_known else Region(None, True))
    return batch, regions


def region_of(desc: RoiAlign | RoiAlignGrad, row: Floats, size: Sequence[int], along: list[Along]) -> Region:
    """The samples of a region of images of this height and width, for some output elements along these."""
    scales = desc.spatial_scale_y, desc.spatial_scale_x
    if not (np.abs(row) * max(1.0, *scales) < LARGEST).all():
        return Region(None, True)
    ends = (row[1], row[3]), (row[0], row[2])
    found = [_samples(desc, *each) for each in zip(ends, scales, along, size, strict=True)]
    if found[0] is None or found[1] is None or getattr(desc, "align_regions_to_corners", False):
        return Region(None, False)
    return Region((found[0], found[1]), False)


def _samples(
    desc: RoiAlign | RoiAlignGrad, ends: tuple[float, float], by: float, along: Along, size: int
) -> Samples | None:
    """Along a dimension; None where the page does not say how many."""
    first, last = (end * by for end in ends)
    begin, end, output = along
    length, of_input, of_output = last - first, *offsets(desc)
    is_short = output & (output - 1) == 0 and all(part % DIGITS == 0 for part in (first, last, of_input, of_output))
    count = _count(desc, length / output, is_short)
    if count is None:
        return None
    step = length / (output * count)
    outermost = np.array([0.0 - of_output, output * count - 1 - of_output]) * step
    # By a count that is no power of two the quotient, or its reciprocal, is rounded.
    is_exact = is_short and count & (count - 1) == 0 and abs(step) % DIGITS == 0 and outermost[0] % DIGITS == 0
    is_exact = is_exact and max(abs(first), abs(last), np.abs(outermost).max()) < 2**10
    blocks, lengths = [], []
    for start in range(begin, end, max(1, BLOCK_SAMPLES // count)):
        elements = np.arange(start, min(start + max(1, BLOCK_SAMPLES // count), end))
        numbers = elements[:, None] * count + np.arange(count) - of_output
        steps = numbers * step
        coordinates = steps + first - of_input
        parts = (abs(first) + abs(last)) * (1 + np.abs(numbers) / (output * count)) + abs(of_input) + np.abs(steps)
        error = np.zeros_like(parts) if is_exact else parts * ROUNDINGS
        least, most = coordinates - error, coordinates + error
        outside = (most < -1) | (least > size)
        is_inside = (least >= 0) & (most <= size - 1)
        places = [np.clip(end, 0.0, size - 1.0) for end in (least, coordinates, most)]
        if is_nearest(desc):  # of halves either
            places = [np.ceil(places[0] - 0.5), np.floor(places[2] + 0.5)]
        block = [*places, outside, ~outside & ~is_inside]
        starts = run_starts(block)
        blocks.append([part[starts] for part in block])
        lengths.append(np.diff(starts, append=len(elements)))
    *places, outside, open_ = (np.concatenate(parts).reshape(-1) for parts in zip(*blocks, strict=True))
    return Samples(np.concatenate(lengths), count, _weights(desc, size, places), outside, open_)


def _count(desc: RoiAlign | RoiAlignGrad, ratio: float, is_exact: bool) -> int | None:
    """How many samples an output element has for a region's size over the output's; None where that is open."""
    low, high = desc.minimum_samples_per_output, desc.maximum_samples_per_output
    error = 0.0 if is_exact else abs(ratio) * ROUNDINGS
    found = {float(np.clip(size + more, low, high)) for size in (ratio, abs(ratio)) for more in (-error, error)}
    count = found.pop()
    return int(count) if not found and count == int(count) else None


def _weights(desc: RoiAlign | RoiAlignGrad, size: int, places: list[Floats]) -> tuple[Weights, ...]:
    if not is_nearest(desc):
        return (linear_weights(size, *places),)
    low, high = (place.astype(np.int64) for place in places)
    choices = (low, high) if (low != high).any() else (low,)
    return tuple(nearest_weights(size, each, each, each) for each in choices)


@quiet
def _reduced(desc: RoiAlign, evaluation: Evaluation, image: Any, region: Region, shape: tuple[int, ...]) -> Enclosure:
    """The output elements of a region."""
    beyond = float(np.float32(desc.out_of_bounds_input_value))
    if region.samples is None:
        is_sound = np.isfinite(image).all(axis=(1, 2)) & (not region.is_free)
        least, greatest = (end(axis=(1, 2)).astype(np.float64) for end in (image.min, image.max))
        # An average may be off by what its rounding adds.
        slack = 2.0**-12 * np.maximum(np.maximum(np.abs(least), np.abs(greatest)), abs(beyond))
        low, high = np.minimum(least, beyond) - slack, np.maximum(greatest, beyond) + slack
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
    sizes = (shape[0], len(rows.lengths), rows.number, len(columns.lengths), columns.number)
    samples = Enclosure(evaluation, value, low, high if (low < high).any() else low, nan).reshape(*sizes)
    if desc.reduction_function == FUNCTION.AVERAGE:
        reduced = samples if rows.number * columns.number == 1 else samples.mean((2, 4))
        return reduced.each(lambda part: part.repeat(rows.lengths, 1).repeat(columns.lengths, 3))
    greatest = samples.max((2, 4))
    # MAX may take no notice of what is out of bounds, as long as there is something else.
    is_in = ~(outside | open_).reshape(sizes)
    inner = np.where(is_in & ~samples.nan, samples.low, -np.inf).max((2, 4), keepdims=True)
    low = np.where(is_in.any((2, 4), keepdims=True), np.minimum(greatest.low, inner), greatest.low)
    reduced = Enclosure(evaluation, greatest.value, low, greatest.high, greatest.maybe_nan)
    return reduced.each(lambda part: part.repeat(rows.lengths, 1).repeat(columns.lengths, 3))


def images_of(desc: RoiAlignGrad) -> TensorDesc:
    """The tensor of the images that the regions are of: their gradient, or the input."""
    tensor = desc.output_gradient_tensor or desc.input_tensor
    assert tensor is not None, "regions have no gradient without the input"
    return tensor


def roi_align_grad(desc: RoiAlignGrad, arrays: Arrays) -> dict[str, Any]:
    """outputGradient[BatchIndices[n], c, place] += weight * inputGradient[n, c, y, x] for each sample and its places.

    Of OutputROIGradientTensor, whose formula has no step and no offsets, the gradients of a region must count alone.
    """
    data_type = desc.input_gradient_tensor.data_type
    rows, gradients = (as_numbers(arrays[key], data_type) for key in ("roi_tensor", "input_gradient_tensor"))
    sizes = images_of(desc).sizes
    windows = along_of(arrays, sizes)
    size, along = [length for *_, length in windows], along_of({}, gradients.shape)
    batch, regions = regions_of(desc, arrays, rows, sizes[0], size, along)
    found: dict[str, Any] = {}
    if desc.output_gradient_tensor is not None:

        def spread(tolerance: Tolerance) -> Expectation:
            sums = _spread(desc, Evaluation(tolerance), gradients, batch, regions, windows).to(data_type)
            return sums.expectation(data_type).each(lambda part: np.broadcast_to(part, sizes))

        found["output_gradient_tensor"] = spread
    if (corners := desc.output_roi_gradient_tensor) is not None:

        def moved(tolerance: Tolerance) -> Enclosure:
            image, sizes = as_numbers(arrays["input_tensor"], data_type), corners.sizes
            is_still = np.array(
                [
                    not region.is_free
                    and not any((of_channel != 0).any() for of_channel in gradient)
                    and bool(np.isfinite(image[n]).all())
                    for n, region, gradient in zip(batch, regions, gradients, strict=True)
                ]
            )
            open_ = np.broadcast_to(~is_still[:, None], (len(regions), sizes[-1])).reshape(sizes)
            zero = np.zeros(sizes)
            return Enclosure(Evaluation(tolerance), zero, -zero, zero).opened(open_).to(data_type)

        found["output_roi_gradient_tensor"] = moved
    return found


@quiet
def _spread(
    desc: RoiAlignGrad, evaluation: Evaluation, gradients: Any, batch: Any, regions: list[Region], windows: list[Along]
) -> Enclosure:
    """The gradients of all samples, added up at the places of their images that lie in both windows.

    Along height or width one place stands for all where there is no sample.
    """
    sizes, is_mean = images_of(desc).sizes, desc.reduction_function == FUNCTION.AVERAGE
    known = [n for n, region in enumerate(regions) if region.samples is not None]
    shares = [_shares(regions[n].samples, is_mean) for n in known]
    windows = [
        (start, stop if any(_has_places(of[d], start, stop) for of in shares) else start + 1, size)
        for d, (start, stop, size) in enumerate(windows)
    ]
    every = [[of.within(*ends[:2]) for of, ends in zip(pair, windows, strict=True)] for pair in shares]
    whole = (*sizes[:2], *(stop - start + ((start, stop) != (0, size)) for start, stop, size in windows))
    count = np.zeros(whole)
    for n, weights in zip(known, every, strict=True):
        count[batch[n]] += np.multiply.outer(*map(_terms, regions[n].samples or (), weights))

    def applied(part: Floats, which: str) -> Floats:
        found = np.zeros(whole)
        for n, (rows, columns) in zip(known, every, strict=True):
            terms = part[n]
            for axis, samples in enumerate(regions[n].samples or (), 1):
                terms = added(terms, samples.lengths, axis).repeat(samples.number, axis)
            found[batch[n]] += columns.spread(rows.spread(terms, getattr(rows, which), 1), getattr(columns, which), 2)
        return found

    rounded = 0 if is_nearest(desc) and desc.maximum_samples_per_output == 1 else 8
    height, width = (slice(stop - start) for start, stop, _ in windows)
    found = weighted(evaluation, gradients, applied, count, every, rounded, True)[..., height, width]
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


def _has_places(of: Weights, start: int, stop: int) -> bool:
    return bool(((start <= of.places) & (of.places < stop)).any())


def _terms(samples: Samples, weights: Weights) -> Floats:
    """How many samples may have a weight at each place along a dimension."""
    lengths = np.broadcast_to(samples.lengths.repeat(samples.number)[:, None], weights.places.shape)
    has_weight = weights.high > 0
    return np.bincount(weights.places[has_weight], lengths[has_weight], weights.size).astype(np.float64)


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


def cut(desc: RoiAlign, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The regions and the channels of a box, and which elements it has of these."""
    desc, parts = cut_regions(desc, spans, arrays)
    return desc, {**parts, ALONG: _along(spans, desc.output_tensor.sizes)}


def _along(spans: Spans, sizes: Sequence[int]) -> Bits:
    return np.array([(span.start, span.stop, size) for span, size in zip(spans, sizes, strict=True)][2:], np.uint64)


def cut_gradient(desc: RoiAlignGrad, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    """The channels of a box of images, and the regions that are of these; one that is of no image is of every one."""
    images, channels, *_ = spans
    indices = arrays["batch_indices_tensor"].reshape(-1)
    is_here = (indices >= images.start) & ((indices < images.stop) | (indices >= images_of(desc).sizes[0]))
    parts = {
        ALONG: _along(spans, images_of(desc).sizes),
        "batch_indices_tensor": indices[is_here] - indices.dtype.type(images.start),
        "roi_tensor": arrays["roi_tensor"][..., is_here, :],
        "input_gradient_tensor": arrays["input_gradient_tensor"][:, channels][is_here],
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
    **dict.fromkeys(("ROI_ALIGN", "ROI_ALIGN1"), cut),
    "ROI_ALIGN_GRAD": {"output_gradient_tensor": cut_gradient},
}
