"""Where elements of images come from and go to: blocks, pixels, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference import layout
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import Size2d, enumeration
from dml_conformance.spec.operator import inputs as inputs_of
from dml_conformance.spec.operators.depth_space import order_of
from dml_conformance.spec.operators.fold import windows
from strength.mutants.base import Arrays, Bindings, WrongValues, compute, plants, source, with_source

LINEAR = enumeration("DML_INTERPOLATION_MODE").LINEAR


@plants("computed", families=("depth_space",), rules=("values",))
def TakesTheOtherOrder(desc: Any, inputs: Bindings) -> Any:
    """Has the channels before the places of a block where they go behind them, and the other way round."""
    newer = descriptor_classes()[desc.operator.removesuffix("1") + "1"]
    fields = (desc.input_tensor, desc.output_tensor, desc.block_size, 1 - order_of(desc))
    return compute(newer(*fields), inputs)  # type: ignore[call-arg]


@plants("computed", families=("depth_space",), rules=("values",))
def TransposesBlocks(desc: Any, inputs: Bindings) -> Any:
    """Takes a block column by column."""
    if desc.operator.startswith("DEPTH"):
        values = compute(desc, inputs)
        batch, channels, height, width = values.shape
        block = desc.block_size
        split = values.reshape(batch, channels, height // block, block, width // block, block)
        return split.swapaxes(3, 5).reshape(values.shape)
    values = layout.bits(inputs["input_tensor"], desc.input_tensor)
    batch, channels, height, width = values.shape
    block = desc.block_size
    split = values.reshape(batch, channels, height // block, block, width // block, block)
    return with_source(desc, inputs, np.ascontiguousarray(split.swapaxes(3, 5)).reshape(values.shape))


@plants("computed", families=("resample",), has=("scale_size",), rules=("values",))
def TakesScaleSizeForHeightAndWidth(desc: Any, inputs: Bindings) -> Any:
    """Has DML_SIZE_2D's members in the order of the dimensions."""
    turned = replace(desc, scale_size=Size2d(width=desc.scale_size.height, height=desc.scale_size.width))
    values = compute(turned, inputs)
    return np.resize(values, desc.output_tensor.sizes)


@plants(
    "computed", families=("resample",), has=("input_tensor", "scales"), lacks=("rounding_direction",), rules=("values",)
)
def TakesTheLowerNeighbour(desc: Any, inputs: Bindings) -> Any:
    """Takes the lower one of two neighbours that are as near."""
    return _taken(desc, inputs, lambda coordinate: np.ceil(coordinate - 0.5))


@plants("computed", families=("resample",), has=("input_tensor", "rounding_direction"), rules=("values",))
def RoundsToTheNearest(desc: Any, inputs: Bindings) -> Any:
    """Does not look at RoundingDirection, as RESAMPLE1 has none."""
    return _taken(desc, inputs, lambda coordinate: np.floor(coordinate + 0.5))


@plants("computed", families=("resample",), has=("rounding_direction",), rules=("values",))
def TurnsRoundingRound(desc: Any, inputs: Bindings) -> Any:
    return compute(replace(desc, rounding_direction=1 - desc.rounding_direction), inputs)


@plants("computed", families=("resample",), has=("input_pixel_offsets",), rules=("values",))
def HasPixelCentresAlways(desc: Any, inputs: Bindings) -> Any:
    """Does not look at the offsets, as RESAMPLE has none."""
    count = len(desc.scales)
    return compute(replace(desc, input_pixel_offsets=(0.5,) * count, output_pixel_offsets=(-0.5,) * count), inputs)


@plants("computed", families=("resample",), has=("input_tensor", "scales"), rules=("values",))
def ScalesByTheSizes(desc: Any, inputs: Bindings) -> Any:
    """Takes the ratio of the sizes for the scales."""
    sizes = zip(desc.output_tensor.sizes, desc.input_tensor.sizes, strict=True)
    return compute(replace(desc, scales=tuple(output / of_input for output, of_input in sizes)), inputs)


@plants("computed", families=("resample",), has=("scales",), rules=("values",))
def LeavesTheLeadingDimensionsAsTheyAre(desc: Any, inputs: Bindings) -> Any:
    """Scales height and width alone."""
    leading = max(len(desc.scales) - 2, 0)
    return compute(replace(desc, scales=(*(1.0,) * leading, *desc.scales[leading:])), inputs)


@plants("computed", families=("max_unpooling",), rules=("values",))
def CountsIndicesPerChannel(desc: Any, inputs: Bindings) -> Any:
    """Takes an index for one within its channel's image, as torch.nn.MaxUnpool2d does."""
    elements = layout.bits(inputs["input_tensor"], desc.input_tensor)
    tensor = desc.indices_tensor
    indices = layout.as_numbers(layout.bits(inputs["indices_tensor"], tensor), tensor.data_type)
    values = np.zeros(desc.output_tensor.sizes, elements.dtype)
    images = values.reshape(-1, values.shape[2] * values.shape[3])
    rows = indices.reshape(-1, indices.shape[2] * indices.shape[3])
    for n, (row, of_row) in enumerate(zip(rows, elements.reshape(rows.shape), strict=True)):
        images[n % len(images), row % images.shape[1]] = of_row
    return values


@plants("altered", families=("max_unpooling",), rules=("values",))
def FillsWithOnes(desc: Any, values: Any) -> Any:
    """Has another number than 0 where nothing was written."""
    return np.where(values == 0, values.dtype.type(1), values)


@plants("computed", families=("fold",), rules=("values",))
def PadsOnTheOtherSide(desc: Any, inputs: Bindings) -> Any:
    return compute(replace(desc, start_padding=desc.end_padding, end_padding=desc.start_padding), inputs)


@plants("computed", families=("fold",), rules=("values",))
def ReversesSpatialDimensions(desc: Any, inputs: Bindings) -> Any:
    """Walks the elements of a window with the first dimension fastest."""
    columns = len(desc.window_sizes)
    order = tuple(range(2, 2 + columns))[::-1]
    counts = windows(desc)
    assert isinstance(counts, tuple)

    def turned(values: Any, batch: int, channels: int) -> Any:
        split = values.reshape(batch, channels, *desc.window_sizes, -1)
        return np.ascontiguousarray(split.transpose(0, 1, *order, 2 + columns)).reshape(values.shape)

    if desc.operator == "UNFOLD":
        return turned(compute(desc, inputs), *desc.input_tensor.sizes[:2])
    elements = layout.bits(inputs["input_tensor"], desc.input_tensor)
    return with_source(desc, inputs, turned(elements, *desc.output_tensor.sizes[:2]))


@plants("computed", families=("fold",), rules=("values",))
def SeesWindowsBackwards(desc: Any, inputs: Bindings) -> Any:
    """Begins with the last window."""
    if desc.operator == "UNFOLD":
        return compute(desc, inputs)[..., ::-1]
    return with_source(desc, inputs, layout.bits(inputs["input_tensor"], desc.input_tensor)[..., ::-1])


class OtherAverage(WrongValues, abstract=True):
    """Interpolates linearly in another way, in FLOAT64 and rounded once; integers to the nearest."""

    families, has, rules = ("resample",), ("input_tensor",), ("values", "accuracy")

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        if desc.interpolation_mode != LINEAR or getattr(desc, "antialiased", False):
            return {}
        data_type, sizes = desc.input_tensor.data_type, desc.output_tensor.sizes
        values = layout.as_numbers(arrays["input_tensor"], data_type).astype(np.float64)
        rank, size = values.ndim, getattr(desc, "scale_size", None)
        scales = (*(1.0,) * (rank - 2), float(size.height), float(size.width)) if size else desc.scales
        of_input = getattr(desc, "input_pixel_offsets", (0.5,) * rank)
        of_output = getattr(desc, "output_pixel_offsets", (-0.5,) * rank)
        with np.errstate(all="ignore"):
            for d, scale in enumerate(scales):
                last = values.shape[d] - 1
                coordinates = (np.arange(sizes[d]) - of_output[d]) / scale - of_input[d]
                below, weight = self.neighbour(coordinates, np.clip(coordinates, 0, last), scale, last)
                first, second = (np.clip(at, 0, last).astype(np.int64) for at in (below, below + 1))
                weight = weight.reshape([-1 if axis == d else 1 for axis in range(rank)])
                values = self.average(values.take(first, d), values.take(second, d), weight)
            kind = layout.NUMBERS[data_type]
            values = values.astype(kind) if data_type.is_float else np.rint(values).astype(np.int64).astype(kind)
        return {"output_tensor": values.view(arrays["input_tensor"].dtype)}

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
def HalfPixelOffsetMissing(free: Any, coordinates: Any, scale: float, last: int) -> Any:
    """Takes elements by their corners where it is to take them by other places."""
    moved = np.clip(np.arange(len(free)) / scale, 0, last)
    return np.floor(moved), moved - np.floor(moved)


@plants("neighbour", OtherAverage)
def CeilInsteadOfFloor(free: Any, coordinates: Any, scale: float, last: int) -> Any:
    """Averages the two elements above a coordinate."""
    return np.ceil(coordinates), coordinates - np.floor(coordinates)


@plants("neighbour", OtherAverage)
def NeighbourOfTheRounded(free: Any, coordinates: Any, scale: float, last: int) -> Any:
    """Takes the nearest neighbour, and nothing of the other one."""
    return np.rint(coordinates), np.zeros_like(coordinates)


@plants("neighbour", OtherAverage)
def ExtrapolatesAtTheEnds(free: Any, coordinates: Any, scale: float, last: int) -> Any:
    """Goes on in a line beyond the first and the last element, where it is to repeat them."""
    below = np.clip(np.floor(free), 0, max(last - 1, 0))
    return below, np.clip(free, -1, last + 1) - below


def _taken(desc: Any, inputs: Bindings, rounded: Any) -> Any:
    """The elements of the input at the output's coordinates, rounded in some way; linear ones are right."""
    if desc.interpolation_mode == LINEAR:
        return compute(desc, inputs)
    values = layout.bits(inputs[source(desc).key], inputs_of(desc)[0].tensor)
    of_input = getattr(desc, "input_pixel_offsets", (0.5,) * values.ndim)
    of_output = getattr(desc, "output_pixel_offsets", (-0.5,) * values.ndim)
    for d, scale in enumerate(desc.scales):
        coordinates = (np.arange(desc.output_tensor.sizes[d]) - of_output[d]) / scale - of_input[d]
        places = np.clip(rounded(np.clip(coordinates, -1, values.shape[d])), 0, values.shape[d] - 1)
        values = values.take(places.astype(np.int64), d)
    return values
