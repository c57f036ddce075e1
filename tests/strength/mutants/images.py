"""Where elements of images come from and go to: blocks, pixels, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import Size2d, enumeration
from dml_conformance.spec.operator import tensor_at, with_tensors
from dml_conformance.spec.operators.depth_space import order_of
from dml_conformance.spec.operators.resample import pixel_offsets
from strength.mutants.base import Arrays, WrongValues, computes, fault, numbers, plants, right, wide

LINEAR = enumeration("DML_INTERPOLATION_MODE").LINEAR
RESAMPLE, FOLD = {"families": ("resample",)}, {"families": ("fold",)}


# --- blocks -----------------------------------------------------------------------------------------------------------


def of_the_other_order(desc: Any) -> Any:
    newer = descriptor_classes()[desc.operator.removesuffix("1") + "1"]
    fields = (desc.input_tensor, desc.output_tensor, desc.block_size, 1 - order_of(desc))
    return newer(*fields)  # type: ignore[call-arg]


def with_turned_blocks(desc: Any, arrays: Arrays) -> Any:
    """What comes of an image whose rows are columns, turned back."""
    both = {key: tensor_at(desc, key) for key in ("input_tensor", "output_tensor")}
    turned = {key: replace(tensor, sizes=last_two_swapped(tensor.sizes)) for key, tensor in both.items()}
    found = right(with_tensors(desc, turned), {"input_tensor": arrays["input_tensor"].swapaxes(-1, -2)})
    return found["output_tensor"].swapaxes(-1, -2)


def last_two_swapped(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*sizes[:-2], *sizes[:-3:-1])


@plants("descriptor", WrongValues, families=("depth_space",))
def TakesTheOtherOrder(desc: Any) -> Any:
    """Has the channels before the places of a block where they go behind them, and the other way round."""
    return of_the_other_order(desc)


@computes(families=("depth_space",))
def TransposesBlocks(desc: Any, arrays: Arrays) -> Any:
    """Takes a block column by column."""
    return with_turned_blocks(desc, arrays)


# --- scales -----------------------------------------------------------------------------------------------------------


@plants("descriptor", WrongValues, **RESAMPLE, has=("scale_size",))
def TakesScaleSizeForHeightAndWidth(desc: Any) -> Any:
    """Has DML_SIZE_2D's members in the order of the dimensions."""
    return replace(desc, scale_size=Size2d(width=desc.scale_size.height, height=desc.scale_size.width))


def nearest(rounded: Any, desc: Any, arrays: Arrays) -> Any:
    """Rounds coordinates to another neighbour."""
    values = arrays["input_tensor"]
    for d, (scale, of_input, of_output) in enumerate(zip(desc.scales, *pixel_offsets(desc), strict=True)):
        coordinates = (np.arange(desc.output_tensor.sizes[d]) - of_output) / scale - of_input
        within = np.clip(coordinates, -1, values.shape[d])
        places = np.clip(rounded(coordinates=within), 0, values.shape[d] - 1)
        values = values.take(places.astype(np.int64), d)
    return values


def nearest_alone(rounded: Any, desc: Any, arrays: Arrays) -> Any:
    """The same where elements are not interpolated."""
    return {} if desc.interpolation_mode == LINEAR else nearest(rounded, desc, arrays)


def with_centres(desc: Any) -> Any:
    count = len(desc.scales)
    return replace(desc, input_pixel_offsets=(0.5,) * count, output_pixel_offsets=(-0.5,) * count)


def by_sizes(desc: Any) -> Any:
    sizes = zip(desc.output_tensor.sizes, desc.input_tensor.sizes, strict=True)
    return replace(desc, scales=tuple(output / of_input for output, of_input in sizes))


def in_the_other_direction(desc: Any) -> Any:
    return replace(desc, rounding_direction=1 - desc.rounding_direction)


computes(nearest_alone, **RESAMPLE).each(
    TakesTheLowerNeighbour=fault(
        lambda coordinates: np.ceil(coordinates - 0.5),
        "Takes the lower one of two neighbours that are as near.",
        has=("input_tensor", "scales"),
        lacks=("rounding_direction",),
    ),
    RoundsToTheNearest=fault(
        lambda coordinates: np.floor(coordinates + 0.5),
        "Does not look at RoundingDirection, as RESAMPLE1 has none.",
        has=("input_tensor", "rounding_direction"),
    ),
)

plants("descriptor", WrongValues, **RESAMPLE).each(
    TurnsRoundingRound=fault(in_the_other_direction, has=("rounding_direction",)),
    HasPixelCentresAlways=fault(
        with_centres, "Does not look at the offsets, as RESAMPLE has none.", has=("input_pixel_offsets",)
    ),
    ScalesByTheSizes=fault(by_sizes, "Takes the ratio of the sizes for the scales.", has=("input_tensor", "scales")),
    LeavesTheLeadingDimensionsAsTheyAre=fault(
        lambda desc: replace(desc, scales=(*(1.0,) * len(desc.scales[:-2]), *desc.scales[-2:])),
        "Scales height and width alone.",
        has=("scales",),
    ),
)


# --- places by index --------------------------------------------------------------------------------------------------


@computes(families=("max_unpooling",))
def CountsIndicesPerChannel(desc: Any, arrays: Arrays) -> Any:
    """Takes an index for one within its channel's image, as torch.nn.MaxUnpool2d does."""
    elements, indices = arrays["input_tensor"], numbers(desc, arrays)["indices_tensor"]
    values = np.zeros(desc.output_tensor.sizes, elements.dtype)
    images = values.reshape(-1, values.shape[2] * values.shape[3])
    rows = indices.reshape(-1, indices.shape[2] * indices.shape[3])
    for n, (row, of_row) in enumerate(zip(rows, elements.reshape(rows.shape), strict=True)):
        images[n % len(images), row % images.shape[1]] = of_row
    return values


@plants("altered", families=("max_unpooling",), rules=("values",))
def FillsWithOnes(values: Any) -> Any:
    """Has another number than 0 where nothing was written."""
    return np.where(values == 0, values.dtype.type(1), values)


# --- windows ----------------------------------------------------------------------------------------------------------


def with_paddings_exchanged(desc: Any) -> Any:
    return replace(desc, start_padding=desc.end_padding, end_padding=desc.start_padding)


def of_the_matrix(turned: Any, desc: Any, arrays: Arrays) -> Any:
    """Has another order in the matrix, which is the input or the output: of its batch and channels, and columns."""
    if desc.operator == "FOLD":
        matrix = turned(desc=desc, matrix=arrays["input_tensor"], image=desc.output_tensor)
        return right(desc, {"input_tensor": matrix})
    return turned(desc=desc, matrix=right(desc, arrays)["output_tensor"], image=desc.input_tensor)


def _reversed(desc: Any, matrix: Any, image: Any) -> Any:
    columns = len(desc.window_sizes)
    split = matrix.reshape(*image.sizes[:2], *desc.window_sizes, -1)
    return split.transpose(0, 1, *range(1 + columns, 1, -1), 2 + columns).reshape(matrix.shape)


plants("descriptor", WrongValues, **FOLD).each(PadsOnTheOtherSide=with_paddings_exchanged)
computes(of_the_matrix, **FOLD).each(
    ReversesSpatialDimensions=fault(_reversed, "Walks the elements of a window with the first dimension fastest."),
    SeesWindowsBackwards=fault(lambda matrix: matrix[..., ::-1], "Begins with the last window."),
)


# --- averages ---------------------------------------------------------------------------------------------------------


class OtherAverage(WrongValues, abstract=True):
    """Interpolates linearly in another way, in FLOAT64 and rounded once; integers to the nearest."""

    families, has, rules = ("resample",), ("input_tensor",), ("values", "accuracy")

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.interpolation_mode != LINEAR or getattr(desc, "antialiased", False):
            return {}
        values, sizes = wide(desc, arrays)["input_tensor"], desc.output_tensor.sizes
        rank, size = values.ndim, getattr(desc, "scale_size", None)
        scales = (*(1.0,) * (rank - 2), float(size.height), float(size.width)) if size else desc.scales
        of_input = getattr(desc, "input_pixel_offsets", (0.5,) * rank)
        of_output = getattr(desc, "output_pixel_offsets", (-0.5,) * rank)
        for d, scale in enumerate(scales):
            last = values.shape[d] - 1
            coordinates = (np.arange(sizes[d]) - of_output[d]) / scale - of_input[d]
            below, weight = self.neighbour(coordinates, np.clip(coordinates, 0, last), scale, last)
            first, second = (np.clip(at, 0, last).astype(np.int64) for at in (below, below + 1))
            weight = weight.reshape([-1 if axis == d else 1 for axis in range(rank)])
            values = self.average(values.take(first, d), values.take(second, d), weight)
        return values if desc.input_tensor.data_type.is_float else np.rint(values).astype(np.int64)

    def neighbour(self, free: Any, coordinates: Any, scale: float, last: int) -> tuple[Any, Any]:
        """The elements below coordinates, which are clamped, and the weights of those above."""
        below = np.floor(coordinates)
        return below, coordinates - below

    def average(self, first: Any, second: Any, weight: Any) -> Any:
        return first * (1 - weight) + second * weight


@plants("average", OtherAverage)
def WeightsSwapped(first: Any, second: Any, weight: Any) -> Any:
    """Gives the nearer element the lesser weight."""
    return np.where(weight == 0, first, first * weight + second * (1 - weight))


@plants("average", OtherAverage)
def AverageInFloat16(first: Any, second: Any, weight: Any) -> Any:
    """Computes each product and each sum in FLOAT16."""
    one, other = ((part * by).astype(np.float16) for part, by in ((first, 1 - weight), (second, weight)))
    return (one + other).astype(np.float64)


@plants("average", OtherAverage)
def WeightsOf8Bits(first: Any, second: Any, weight: Any) -> Any:
    """Has the fractions of texture filters."""
    part = np.rint(weight * 256) / 256
    return first * (1 - part) + second * part


@plants("neighbour", OtherAverage)
def HalfPixelOffsetMissing(free: Any, scale: float, last: int) -> Any:
    """Takes elements by their corners where it is to take them by other places."""
    moved = np.clip(np.arange(len(free)) / scale, 0, last)
    return np.floor(moved), moved - np.floor(moved)


plants("neighbour", OtherAverage).each(
    CeilInsteadOfFloor=fault(
        lambda coordinates: (np.ceil(coordinates), coordinates - np.floor(coordinates)),
        "Averages the two elements above a coordinate.",
    ),
    NeighbourOfTheRounded=fault(
        lambda coordinates: (np.rint(coordinates), np.zeros_like(coordinates)),
        "Takes the nearest neighbour, and nothing of the other one.",
    ),
)


@plants("neighbour", OtherAverage)
def ExtrapolatesAtTheEnds(free: Any, last: int) -> Any:
    """Goes on in a line beyond the first and the last element, where it is to repeat them."""
    below = np.clip(np.floor(free), 0, max(last - 1, 0))
    return below, np.clip(free, -1, last + 1) - below
