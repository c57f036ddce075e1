"""Regions of images: other corners, other windows, other samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import UNSIGNED, as_numbers
from dml_conformance.spec.field_kinds import Size2d, enumeration
from dml_conformance.spec.operators.roi_align import offsets
from strength.mutants.base import Arrays, Mutant, WrongValues, plants, right

AVERAGE, MAX = (int(enumeration("DML_REDUCE_FUNCTION")[name]) for name in ("AVERAGE", "MAX"))
LINEAR = enumeration("DML_INTERPOLATION_MODE").LINEAR

# --- pooling ----------------------------------------------------------------------------------------------------------


class OtherPooling(WrongValues, abstract=True):
    """Takes the maxima of other windows; what is open it leaves 0."""

    families = ("roi_pooling",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.output_tensor.data_type
        images, regions = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "roi_tensor"))
        found = np.zeros(desc.output_tensor.sizes, images.dtype)
        count = desc.pooled_size.height, desc.pooled_size.width
        with np.errstate(all="ignore"):
            for n, (image, *row) in enumerate(regions.reshape(-1, 5).astype(np.float64)):
                if not 0 <= image < len(images) or image % 1 or row[0] > row[2] or row[1] > row[3]:
                    continue
                corners = self.rounded(np.array(self.corners(*row)) * desc.spatial_scale)
                each = [
                    self.windows(int(first), int(last), pooled, size)
                    for first, last, pooled, size in zip(
                        corners[1::-1], corners[:1:-1], count, images.shape[2:], strict=True
                    )
                ]
                for y, (top, bottom) in enumerate(each[0]):
                    for x, (left, right_) in enumerate(each[1]):
                        seen = images[int(image), :, top:bottom, left:right_]
                        if seen.size:
                            found[n, :, y, x] = self.reduced(seen)
        return {"output_tensor": found.view(UNSIGNED[found.itemsize])}

    def corners(self, x1: float, y1: float, x2: float, y2: float) -> tuple[float, ...]:
        return x1, y1, x2, y2

    def rounded(self, corners: Any) -> Any:
        return np.rint(corners)

    def windows(self, first: int, last: int, count: int, size: int) -> list[tuple[int, int]]:
        ends = self.ends(last - first + 1, count)
        return [(min(max(start + first, 0), size), min(max(end + first, 0), size)) for start, end in ends]

    def ends(self, length: int, count: int) -> list[tuple[int, int]]:
        """Where windows begin and end in a region of so many elements."""
        return [(n * length // count, ((n + 1) * length + count - 1) // count) for n in range(count)]

    def reduced(self, seen: Any) -> Any:
        return seen.max((1, 2))


def pooling(step: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherPooling)


@pooling("corners")
def RowsBeforeColumns(x1: float, y1: float, x2: float, y2: float) -> tuple[float, ...]:
    """Takes the corners for y1, x1, y2, x2."""
    return y1, x1, y2, x2


@pooling("corners")
def SizesForCorners(x1: float, y1: float, x2: float, y2: float) -> tuple[float, ...]:
    """Takes the second corner for width and height."""
    return x1, y1, x1 + x2, y1 + y2


@pooling("rounded")
def CornersCut(corners: Any) -> Any:
    return np.trunc(corners)


@pooling("rounded")
def SecondCornersRoundedUp(corners: Any) -> Any:
    return np.concatenate((np.rint(corners[:2]), np.ceil(corners[2:])))


@pooling("ends")
def RegionWithoutItsLastElement(length: int, count: int) -> list[tuple[int, int]]:
    length = max(length - 1, 1)
    return [(n * length // count, ((n + 1) * length + count - 1) // count) for n in range(count)]


@pooling("ends")
def EndsCut(length: int, count: int) -> list[tuple[int, int]]:
    """Has windows end before an element that they have a part of."""
    return [(n * length // count, max((n + 1) * length // count, n * length // count + 1)) for n in range(count)]


@pooling("ends")
def EndsIncluded(length: int, count: int) -> list[tuple[int, int]]:
    """Has the element behind a window belong to it."""
    return [(n * length // count, ((n + 1) * length + count - 1) // count + 1) for n in range(count)]


@pooling("ends")
def StepsOfWholeElements(length: int, count: int) -> list[tuple[int, int]]:
    """Gives each window as many elements, and the rest to none."""
    step = max(length // count, 1)
    return [(n * step, (n + 1) * step) for n in range(count)]


@pooling("reduced")
def MeansOfWindows(seen: Any) -> Any:
    return seen.astype(np.float64).mean((1, 2)).astype(seen.dtype)


@pooling("reduced")
def NothingBelow0(seen: Any) -> Any:
    """Begins with 0, as if an activation came first."""
    return np.maximum(seen.max((1, 2)), 0)


@plants("found", WrongValues, families=("roi_pooling",))
def SpatialScaleIgnored(desc: Any, arrays: Arrays) -> Arrays:
    return right(replace(desc, spatial_scale=1.0), arrays)


@plants("found", WrongValues, families=("roi_pooling",))
def FirstImageAlways(desc: Any, arrays: Arrays) -> Arrays:
    rows = arrays["roi_tensor"].copy()
    rows[..., 0] = 0
    return right(desc, {**arrays, "roi_tensor": rows})


@plants("found", WrongValues, families=("roi_pooling",))
def PooledHeightForWidth(desc: Any, arrays: Arrays) -> Arrays:
    size, output = desc.pooled_size, desc.output_tensor
    turned = replace(output, sizes=(*output.sizes[:2], size.width, size.height))
    other = replace(desc, pooled_size=Size2d(width=size.height, height=size.width), output_tensor=turned)
    return {"output_tensor": right(other, arrays)["output_tensor"].reshape(output.sizes)}


# --- sampling ---------------------------------------------------------------------------------------------------------


class OtherSampling(WrongValues, abstract=True):
    """Samples regions in another way, in FLOAT64 and rounded once; as many samples as are at least asked for."""

    families, has = ("roi_align",), ("out_of_bounds_input_value",)
    rules = ("values", "accuracy")

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type, (count, channels, *output) = desc.output_tensor.data_type, desc.output_tensor.sizes
        if desc.minimum_samples_per_output != desc.maximum_samples_per_output:
            return {}
        if getattr(desc, "align_regions_to_corners", False):
            return {}
        images, rows = (as_numbers(arrays[key], data_type) for key in ("input_tensor", "roi_tensor"))
        batch = self.images(arrays["batch_indices_tensor"].reshape(-1))
        found = np.zeros((count, channels, *output))
        with np.errstate(all="ignore"):
            for n, row in enumerate(rows.reshape(-1, 4).astype(np.float64)):
                found[n] = self.region(desc, images[int(batch[n])].astype(np.float64), row, output)
            found = found.astype(images.dtype)
        return {"output_tensor": found.view(UNSIGNED[found.itemsize])}

    def images(self, batch: Any) -> Any:
        return batch

    def region(self, desc: Any, image: Any, row: Any, output: list[int]) -> Any:
        x1, y1, x2, y2 = self.corners(desc, *row)
        rows = self.places(desc, y1, y2, output[0])
        columns = self.places(desc, x1, x2, output[1])
        (y, is_y), (x, is_x) = (
            self.bounded(place, size) for place, size in zip((rows, columns), image.shape[1:], strict=True)
        )
        found = self.along(desc, self.along(desc, image, y, 1), x, 2)
        found = np.where(is_y[:, None] & is_x, found, desc.out_of_bounds_input_value)
        split = found.reshape(len(image), output[0], len(y) // output[0], output[1], -1)
        return split.max((2, 4)) if desc.reduction_function == MAX else self.mean(split)

    def corners(self, desc: Any, x1: float, y1: float, x2: float, y2: float) -> Any:
        by_x, by_y = desc.spatial_scale_x, desc.spatial_scale_y
        return x1 * by_x, y1 * by_y, x2 * by_x, y2 * by_y

    def places(self, desc: Any, first: float, last: float, output: int) -> Any:
        samples = output * self.count(desc)
        of_input, of_output = offsets(desc)
        return (np.arange(samples) - of_output) * ((last - first) / samples) + first - of_input

    def count(self, desc: Any) -> int:
        return int(desc.minimum_samples_per_output)

    def bounded(self, place: Any, size: int) -> tuple[Any, Any]:
        return np.clip(place, 0, size - 1), (place >= -1) & (place <= size)

    def along(self, desc: Any, image: Any, place: Any, d: int) -> Any:
        below = np.floor(place) if desc.interpolation_mode == LINEAR else np.ceil(place - 0.5)
        weight = self.weight(place - below) if desc.interpolation_mode == LINEAR else np.zeros(len(place))
        first = below.astype(np.int64)
        one, other = image.take(first, d), image.take(np.minimum(first + 1, image.shape[d] - 1), d)
        weight = weight.reshape(-1, 1) if d == 1 else weight
        return np.where(weight == 0, one, self.average(one, other, weight))

    def weight(self, part: Any) -> Any:
        return part

    def average(self, one: Any, other: Any, weight: Any) -> Any:
        return one * (1 - weight) + other * weight

    def mean(self, samples: Any) -> Any:
        return samples.mean((2, 4))


def sampling(step: str, **traits: Any) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherSampling, **traits)


@sampling("images")
def ImageOfTheFirstIndex(batch: Any) -> Any:
    return np.broadcast_to(batch[:1], batch.shape)


@sampling("corners")
def ScalesOfXAndYExchanged(desc: Any, x1: float, y1: float, x2: float, y2: float) -> Any:
    by_y, by_x = desc.spatial_scale_x, desc.spatial_scale_y
    return x1 * by_x, y1 * by_y, x2 * by_x, y2 * by_y


@sampling("corners")
def CornersOfWholeElements(desc: Any, x1: float, y1: float, x2: float, y2: float) -> Any:
    """Rounds them, as pooling does."""
    by_x, by_y = desc.spatial_scale_x, desc.spatial_scale_y
    return tuple(np.rint([x1 * by_x, y1 * by_y, x2 * by_x, y2 * by_y]))


@sampling("corners")
def RegionsOfAnElementAtLeast(desc: Any, x1: float, y1: float, x2: float, y2: float) -> Any:
    """Makes small regions and those that are turned round one wide, as older exchange formats have it."""
    by_x, by_y = desc.spatial_scale_x, desc.spatial_scale_y
    x1, y1 = x1 * by_x, y1 * by_y
    return x1, y1, max(x2 * by_x, x1 + 1), max(y2 * by_y, y1 + 1)


@sampling("places")
def HalfPixelMissing(desc: Any, first: float, last: float, output: int) -> Any:
    """Has no offset of the input's pixels."""
    samples = output * desc.minimum_samples_per_output
    return (np.arange(samples) - offsets(desc)[1]) * ((last - first) / samples) + first


@sampling("places")
def SamplesAtTheirCorners(desc: Any, first: float, last: float, output: int) -> Any:
    """Has no offset of the output's pixels, but where there is another one than that of centres."""
    samples = output * desc.minimum_samples_per_output
    of_input, of_output = offsets(desc)
    return (np.arange(samples) - of_output - 0.5) * ((last - first) / samples) + first - of_input


@sampling("count")
def OneSampleAlways(desc: Any) -> int:
    return 1


@sampling("count")
def ASampleMore(desc: Any) -> int:
    """Takes <= of the loop for what it says."""
    return int(desc.minimum_samples_per_output) + 1


@sampling("bounded")
def EdgesRepeated(place: Any, size: int) -> Any:
    """Takes the element at the edge for whatever is out of bounds."""
    return np.clip(place, 0, size - 1), np.ones(len(place), bool)


@sampling("weight")
def WeightsOfSamplesExchanged(part: Any) -> Any:
    return np.where(part == 0, part, 1 - part)


@sampling("weight")
def WeightsOfSamplesIn8Bits(part: Any) -> Any:
    return np.rint(part * 256) / 256


@sampling("average")
def SamplesInFloat16(one: Any, other: Any, weight: Any) -> Any:
    first, second = ((each * by).astype(np.float16) for each, by in ((one, 1 - weight), (other, weight)))
    return (first + second).astype(np.float64)


@sampling("mean")
def LastSampleLeftOut(samples: Any) -> Any:
    found = samples.sum((2, 4)) - samples[:, :, -1, :, -1] * (samples.shape[2] * samples.shape[4] > 1)
    return found / (samples.shape[2] * samples.shape[4])


@plants("found", WrongValues, families=("roi_align",), has=("out_of_bounds_input_value",))
def TheOtherFunction(desc: Any, arrays: Arrays) -> Arrays:
    function = AVERAGE if desc.reduction_function == MAX else MAX
    return right(replace(desc, reduction_function=function), arrays)


@plants("found", WrongValues, families=("roi_align",), has=("out_of_bounds_input_value",))
def OutOfBoundsIs0(desc: Any, arrays: Arrays) -> Arrays:
    return right(replace(desc, out_of_bounds_input_value=0.0), arrays)


# --- gradients of samples ---------------------------------------------------------------------------------------------


class OtherGradientOfSamples(WrongValues, abstract=True):
    """Gives the gradient to other places, by another descriptor or of other inputs."""

    families, has = ("roi_align",), ("input_gradient_tensor",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        other = self.other(desc)
        return self.finished(desc, right(other, {**arrays, **self.inputs(desc, arrays)}))

    def other(self, desc: Any) -> Any:
        return desc

    def inputs(self, desc: Any, arrays: Arrays) -> Arrays:
        return {}

    def finished(self, desc: Any, found: Arrays) -> Arrays:
        return found


def gradients_of_samples(step: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherGradientOfSamples)


@gradients_of_samples("other")
def GradientOfTheOtherMode(desc: Any) -> Any:
    return replace(desc, interpolation_mode=1 - desc.interpolation_mode)


@gradients_of_samples("other")
def GradientWithoutScales(desc: Any) -> Any:
    return replace(desc, spatial_scale_x=1.0, spatial_scale_y=1.0)


@gradients_of_samples("other")
def GradientWithScalesExchanged(desc: Any) -> Any:
    return replace(desc, spatial_scale_x=desc.spatial_scale_y, spatial_scale_y=desc.spatial_scale_x)


@gradients_of_samples("other")
def GradientFromCentreToCentre(desc: Any) -> Any:
    """Does not look at the offsets, as ROI_ALIGN has none."""
    return replace(desc, input_pixel_offset=0.5, output_pixel_offset=-0.5)


@gradients_of_samples("other")
def GradientOfOneSample(desc: Any) -> Any:
    return replace(desc, minimum_samples_per_output=1, maximum_samples_per_output=1)


@gradients_of_samples("inputs")
def GradientInTheFirstImage(desc: Any, arrays: Arrays) -> Arrays:
    return {"batch_indices_tensor": np.zeros_like(arrays["batch_indices_tensor"])}


@gradients_of_samples("inputs")
def GradientOfTheLastRegion(desc: Any, arrays: Arrays) -> Arrays:
    """Begins anew with each region."""
    gradients = arrays["input_gradient_tensor"].copy()
    gradients[:-1] = 0
    return {"input_gradient_tensor": gradients}


@gradients_of_samples("inputs")
def GradientOfRowsAndColumnsExchanged(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the corners for y1, x1, y2, x2."""
    return {"roi_tensor": np.ascontiguousarray(arrays["roi_tensor"][..., [1, 0, 3, 2]])}


@gradients_of_samples("inputs")
def GradientOfTheLastColumnMissing(desc: Any, arrays: Arrays) -> Arrays:
    gradients = arrays["input_gradient_tensor"].copy()
    gradients[..., -1] = 0
    return {"input_gradient_tensor": gradients}


@gradients_of_samples("inputs")
def GradientOfTheFirstChannelAlways(desc: Any, arrays: Arrays) -> Arrays:
    gradients = arrays["input_gradient_tensor"]
    return {"input_gradient_tensor": np.ascontiguousarray(np.broadcast_to(gradients[:, :1], gradients.shape))}


@gradients_of_samples("finished")
def SumsOfSamplesForMeans(desc: Any, found: Arrays) -> Arrays:
    """Does not divide by the number of samples."""
    tensor, key = desc.output_gradient_tensor, "output_gradient_tensor"
    if tensor is None:
        return found
    with np.errstate(all="ignore"):
        many = as_numbers(found[key], tensor.data_type) * desc.minimum_samples_per_output**2
    return {**found, key: np.ascontiguousarray(many).view(found[key].dtype)}


@gradients_of_samples("finished")
def FirstRowOfTheImageMissing(desc: Any, found: Arrays) -> Arrays:
    key = "output_gradient_tensor"
    if key not in found:
        return found
    values = found[key].copy()
    values[:, :, 0] = 0
    return {**found, key: values}
