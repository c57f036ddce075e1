"""Regions of images: other corners, other windows, other samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.spec.field_kinds import Size2d, enumeration
from dml_conformance.spec.operators.roi_align import offsets
from strength.mutants.base import Arrays, WrongValues, computes, fault, misreads, numbers, plants, right, wide, zeroed

AVERAGE, MAX = (int(enumeration("DML_REDUCE_FUNCTION")[name]) for name in ("AVERAGE", "MAX"))
LINEAR = enumeration("DML_INTERPOLATION_MODE").LINEAR

# --- pooling ----------------------------------------------------------------------------------------------------------


class OtherPooling(WrongValues, abstract=True):
    """Takes the maxima of other windows; what is open it leaves 0."""

    families = ("roi_pooling",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given = numbers(desc, arrays)
        images, regions = given["input_tensor"], given["roi_tensor"]
        found = np.zeros(desc.output_tensor.sizes, images.dtype)
        count = desc.pooled_size.height, desc.pooled_size.width
        for n, (image, *row) in enumerate(regions.reshape(-1, 5).astype(np.float64)):
            if not 0 <= image < len(images) or image % 1 or row[0] > row[2] or row[1] > row[3]:
                continue
            x1, y1, x2, y2 = map(int, self.rounded(np.array(self.corners(*row)) * desc.spatial_scale))
            columns = self.windows(x1, x2, count[1], images.shape[3])
            for y, (top, bottom) in enumerate(self.windows(y1, y2, count[0], images.shape[2])):
                for x, (left, right_) in enumerate(columns):
                    seen = images[int(image), :, top:bottom, left:right_]
                    if seen.size:
                        found[n, :, y, x] = self.reduced(seen)
        return found

    def corners(self, x1: float, y1: float, x2: float, y2: float) -> tuple[float, ...]:
        return x1, y1, x2, y2

    def rounded(self, corners: Any) -> Any:
        return np.rint(corners)

    def windows(self, first: int, last: int, count: int, size: int) -> list[tuple[int, int]]:
        ends = (self.ends(n, last - first + 1, count) for n in range(count))
        return [(min(max(start + first, 0), size), min(max(end + first, 0), size)) for start, end in ends]

    def ends(self, n: int, length: int, count: int) -> tuple[int, int]:
        """Where one of so many windows begins and ends in a region of so many elements."""
        return ends(n, length, count)

    def reduced(self, seen: Any) -> Any:
        return seen.max((1, 2))


def ends(n: int, length: int, count: int) -> tuple[int, int]:
    return n * length // count, ((n + 1) * length + count - 1) // count


plants("corners", OtherPooling).each(
    RowsBeforeColumns=fault(lambda x1, y1, x2, y2: (y1, x1, y2, x2), "Takes the corners for y1, x1, y2, x2."),
    SizesForCorners=fault(
        lambda x1, y1, x2, y2: (x1, y1, x1 + x2, y1 + y2), "Takes the second corner for width and height."
    ),
)

plants("rounded", OtherPooling).each(
    CornersCut=lambda corners: np.trunc(corners),
    SecondCornersRoundedUp=lambda corners: np.concatenate((np.rint(corners[:2]), np.ceil(corners[2:]))),
)

plants("ends", OtherPooling).each(
    RegionWithoutItsLastElement=lambda n, length, count: ends(n, max(length - 1, 1), count),
    EndsCut=fault(
        lambda n, length, count: (n * length // count, max((n + 1) * length // count, n * length // count + 1)),
        "Has windows end before an element that they have a part of.",
    ),
    EndsIncluded=fault(
        lambda n, length, count: (n * length // count, ends(n, length, count)[1] + 1),
        "Has the element behind a window belong to it.",
    ),
    StepsOfWholeElements=fault(
        lambda n, length, count: (n * max(length // count, 1), (n + 1) * max(length // count, 1)),
        "Gives each window as many elements, and the rest to none.",
    ),
)

plants("reduced", OtherPooling).each(
    MeansOfWindows=lambda seen: seen.astype(np.float64).mean((1, 2)).astype(seen.dtype),
    NothingBelow0=fault(lambda seen: np.maximum(seen.max((1, 2)), 0), "Begins with 0, as if an activation came first."),
)


@plants("descriptor", WrongValues, families=("roi_pooling",))
def SpatialScaleIgnored(desc: Any) -> Any:
    return replace(desc, spatial_scale=1.0)


@misreads(families=("roi_pooling",))
def FirstImageAlways(arrays: Arrays) -> Any:
    return {"roi_tensor": zeroed(arrays["roi_tensor"], np.s_[..., 0])}


@computes(families=("roi_pooling",))
def PooledHeightForWidth(desc: Any, arrays: Arrays) -> Arrays:
    size, output = desc.pooled_size, desc.output_tensor
    turned = replace(output, sizes=(*output.sizes[:2], size.width, size.height))
    other = replace(desc, pooled_size=Size2d(width=size.height, height=size.width), output_tensor=turned)
    return right(other, arrays)["output_tensor"].reshape(output.sizes)


# --- sampling ---------------------------------------------------------------------------------------------------------


class OtherSampling(WrongValues, abstract=True):
    """Samples regions in another way, in FLOAT64 and rounded once; as many samples as are at least asked for."""

    families, has = ("roi_align",), ("out_of_bounds_input_value",)
    rules = ("values", "accuracy")

    def found(self, desc: Any, arrays: Arrays) -> Any:
        count, channels, *output = desc.output_tensor.sizes
        if desc.minimum_samples_per_output != desc.maximum_samples_per_output:
            return {}
        if getattr(desc, "align_regions_to_corners", False):
            return {}
        given = wide(desc, {key: arrays[key] for key in ("input_tensor", "roi_tensor")})
        batch = self.images(arrays["batch_indices_tensor"].reshape(-1))
        found = np.zeros((count, channels, *output))
        for n, row in enumerate(given["roi_tensor"].reshape(-1, 4)):
            found[n] = self.region(desc, given["input_tensor"][int(batch[n])], row, output)
        return found

    def images(self, batch: Any) -> Any:
        return batch

    def region(self, desc: Any, image: Any, row: Any, output: list[int]) -> Any:
        x1, y1, x2, y2 = self.corners(*row * np.tile(self.scales(desc), 2))
        y, is_y = self.bounded(self.places(desc, y1, y2, output[0]), image.shape[1])
        x, is_x = self.bounded(self.places(desc, x1, x2, output[1]), image.shape[2])
        found = self.along(desc, self.along(desc, image, y, 1), x, 2)
        found = np.where(is_y[:, None] & is_x, found, desc.out_of_bounds_input_value)
        split = found.reshape(len(image), output[0], len(y) // output[0], output[1], -1)
        return split.max((2, 4)) if desc.reduction_function == MAX else self.mean(split)

    def scales(self, desc: Any) -> Any:
        return desc.spatial_scale_x, desc.spatial_scale_y

    def corners(self, x1: float, y1: float, x2: float, y2: float) -> Any:
        return x1, y1, x2, y2

    def places(self, desc: Any, first: float, last: float, output: int) -> Any:
        samples = output * self.count(desc)
        of_input, of_output = self.offsets(*offsets(desc))
        return (np.arange(samples) - of_output) * ((last - first) / samples) + first - of_input

    def offsets(self, of_input: float, of_output: float) -> tuple[float, float]:
        return of_input, of_output

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


plants("images", OtherSampling).each(ImageOfTheFirstIndex=lambda batch: np.broadcast_to(batch[:1], batch.shape))
plants("scales", OtherSampling).each(ScalesOfXAndYExchanged=lambda desc: (desc.spatial_scale_y, desc.spatial_scale_x))
plants("corners", OtherSampling).each(
    CornersOfWholeElements=fault(lambda x1, y1, x2, y2: np.rint([x1, y1, x2, y2]), "Rounds them, as pooling does."),
    RegionsOfAnElementAtLeast=fault(
        lambda x1, y1, x2, y2: (x1, y1, max(x2, x1 + 1), max(y2, y1 + 1)),
        "Makes small regions and those that are turned round one wide, as older exchange formats have it.",
    ),
)
plants("offsets", OtherSampling).each(
    HalfPixelMissing=fault(lambda of_output: (0.0, of_output), "Has no offset of the input's pixels."),
    SamplesAtTheirCorners=fault(
        lambda of_input, of_output: (of_input, of_output + 0.5),
        "Has no offset of the output's pixels, but where there is another one than that of centres.",
    ),
)
plants("count", OtherSampling).each(
    OneSampleAlways=lambda: 1,
    ASampleMore=fault(lambda desc: int(desc.minimum_samples_per_output) + 1, "Takes <= of the loop for what it says."),
)


@plants("bounded", OtherSampling)
def EdgesRepeated(place: Any, size: int) -> Any:
    """Takes the element at the edge for whatever is out of bounds."""
    return np.clip(place, 0, size - 1), np.ones(len(place), bool)


plants("weight", OtherSampling).each(
    WeightsOfSamplesExchanged=lambda part: np.where(part == 0, part, 1 - part),
    WeightsOfSamplesIn8Bits=lambda part: np.rint(part * 256) / 256,
)


@plants("average", OtherSampling)
def SamplesInFloat16(one: Any, other: Any, weight: Any) -> Any:
    first, second = ((each * by).astype(np.float16) for each, by in ((one, 1 - weight), (other, weight)))
    return (first + second).astype(np.float64)


@plants("mean", OtherSampling)
def LastSampleLeftOut(samples: Any) -> Any:
    found = samples.sum((2, 4)) - samples[:, :, -1, :, -1] * (samples.shape[2] * samples.shape[4] > 1)
    return found / (samples.shape[2] * samples.shape[4])


plants("descriptor", WrongValues, families=("roi_align",), has=("out_of_bounds_input_value",)).each(
    TheOtherFunction=lambda desc: replace(desc, reduction_function=AVERAGE if desc.reduction_function == MAX else MAX),
    OutOfBoundsIs0=lambda desc: replace(desc, out_of_bounds_input_value=0.0),
)


# --- gradients of samples ---------------------------------------------------------------------------------------------

BACKWARD = {"families": ("roi_align",), "has": ("input_gradient_tensor",)}

plants("descriptor", WrongValues, **BACKWARD).each(
    GradientOfTheOtherMode=lambda desc: replace(desc, interpolation_mode=1 - desc.interpolation_mode),
    GradientWithoutScales=lambda desc: replace(desc, spatial_scale_x=1.0, spatial_scale_y=1.0),
    GradientWithScalesExchanged=lambda desc: replace(
        desc, spatial_scale_x=desc.spatial_scale_y, spatial_scale_y=desc.spatial_scale_x
    ),
    GradientFromCentreToCentre=fault(
        lambda desc: replace(desc, input_pixel_offset=0.5, output_pixel_offset=-0.5),
        "Does not look at the offsets, as ROI_ALIGN has none.",
    ),
    GradientOfOneSample=lambda desc: replace(desc, minimum_samples_per_output=1, maximum_samples_per_output=1),
)


def other_input(key: str) -> Any:
    """Takes other elements of one input."""
    return lambda taken, desc, arrays: {key: taken(array=arrays[key])}


misreads(other_input("batch_indices_tensor"), **BACKWARD).each(
    GradientInTheFirstImage=lambda array: np.zeros_like(array),
)
misreads(other_input("input_gradient_tensor"), **BACKWARD).each(
    GradientOfTheLastRegion=fault(lambda array: zeroed(array, np.s_[:-1]), "Begins anew with each region."),
)
misreads(other_input("roi_tensor"), **BACKWARD).each(
    GradientOfRowsAndColumnsExchanged=fault(
        lambda array: array[..., [1, 0, 3, 2]], "Takes the corners for y1, x1, y2, x2."
    ),
)
misreads(other_input("input_gradient_tensor"), **BACKWARD).each(
    GradientOfTheLastColumnMissing=lambda array: zeroed(array, np.s_[..., -1]),
    GradientOfTheFirstChannelAlways=lambda array: np.broadcast_to(array[:, :1], array.shape),
)


def other_gradient(finished: Any, desc: Any, arrays: Arrays) -> Any:
    """Makes something else of the gradient of the input, where that is asked for."""
    key, found = "output_gradient_tensor", right(desc, arrays)
    return {key: finished(desc=desc, found=found[key])} if key in found else {}


computes(other_gradient, **BACKWARD).each(
    SumsOfSamplesForMeans=fault(
        lambda desc, found: found.view(f"f{found.itemsize}") * desc.minimum_samples_per_output**2,
        "Does not divide by the number of samples.",
    ),
    FirstRowOfTheImageMissing=lambda found: zeroed(found, np.s_[:, :, 0]),
)
