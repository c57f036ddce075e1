"""Elements that come from the wrong place: windows, paddings, joints, blocks and scales."""

from __future__ import annotations

from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.operators import compute_of
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import tensor_at, with_tensors
from dml_conformance.spec.operators.depth_space import order_of
from dml_conformance.spec.operators.fold import windows
from dml_conformance.spec.operators.resample import pixel_offsets
from strength.mutants.base import Arrays, WrongValues, main_output, plants, right

MODE = enumeration("DML_PADDING_MODE")
ORDERS = enumeration("DML_DEPTH_SPACE_ORDER")
INCREASING, DECREASING = enumeration("DML_AXIS_DIRECTION")


# --- slices -----------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("slice",))
def StridesIgnored(desc: Any, arrays: Arrays) -> Arrays:
    """Takes neighbouring elements, in the right direction."""
    name = "strides" if hasattr(desc, "strides") else "input_window_strides"
    return right(replace(desc, **{name: tuple(1 if stride > 0 else -1 for stride in getattr(desc, name))}), arrays)


@plants("found", WrongValues, families=("slice",), has=("input_window_strides",))
def WalksForwardAlways(desc: Any, arrays: Arrays) -> Arrays:
    """Begins a walk with a negative stride at the start of the window, and goes ahead."""
    return right(replace(desc, input_window_strides=tuple(map(abs, desc.input_window_strides))), arrays)


@plants("found", WrongValues, families=("slice",), has=("input_window_strides",))
def TurnsRoundWhatIsWalkedForward(desc: Any, arrays: Arrays) -> Arrays:
    """Begins a walk with a negative stride where the one ahead ends, and not at the end of the window."""
    key = "input_gradient_tensor" if desc.operator == "SLICE_GRAD" else "output_tensor"
    reach = [
        (size - 1) * abs(stride) + 1
        for size, stride in zip(tensor_at(desc, key).sizes, desc.input_window_strides, strict=True)
    ]
    return right(replace(desc, input_window_sizes=tuple(reach)), arrays)


# --- paddings ---------------------------------------------------------------------------------------------------------


class OtherMode(WrongValues, abstract=True):
    """Takes a padding mode for another."""

    families = ("padding",)
    taken: int
    by: int

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(replace(desc, padding_mode=self.by), arrays) if desc.padding_mode == self.taken else {}


class ReflectionRepeatsTheEdge(OtherMode):
    taken, by = MODE.REFLECTION, MODE.SYMMETRIC


class SymmetricLeavesOutTheEdge(OtherMode):
    since = "3_0"
    taken, by = MODE.SYMMETRIC, MODE.REFLECTION


class EdgeTakenForConstant(OtherMode):
    taken, by = MODE.EDGE, MODE.CONSTANT


class WrapTakenForEdge(OtherMode):
    since = "6_4"
    taken, by = MODE.WRAP, MODE.EDGE


@plants("found", WrongValues, families=("padding",))
def PadsTheOtherEnd(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the paddings before for those behind."""
    return right(replace(desc, start_padding=desc.end_padding, end_padding=desc.start_padding), arrays)


@plants("found", WrongValues, families=("padding",))
def ConstantIsZero(desc: Any, arrays: Arrays) -> Arrays:
    return right(replace(desc, padding_value=0), arrays)


@plants("found", WrongValues, families=("padding",))
def ReflectsOnce(desc: Any, arrays: Arrays) -> Arrays:
    """Holds on to the far edge where a padding is longer than the input."""
    if desc.padding_mode != MODE.REFLECTION:
        return {}
    source = arrays["input_tensor"]
    for axis, (start, end) in enumerate(zip(desc.start_padding, desc.end_padding, strict=True)):
        last = source.shape[axis] - 1
        places = np.abs(np.arange(-start, last + 1 + end))
        source = source.take(np.clip(np.where(places > last, 2 * last - places, places), 0, last), axis)
    return {"output_tensor": source}


# --- joints -----------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("join_split",), has=("input_tensors",))
def JoinsInReverse(desc: Any, arrays: Arrays) -> Arrays:
    return {"output_tensor": np.concatenate(list(arrays.values())[::-1], desc.axis)}


@plants("found", WrongValues, families=("join_split",), has=("input_tensors",))
def JoinsFour(desc: Any, arrays: Arrays) -> Arrays:
    """Has room for four inputs, and leaves nothing of further ones."""
    parts = [part if n < 4 else np.zeros_like(part) for n, part in enumerate(arrays.values())]
    return {"output_tensor": np.concatenate(parts, desc.axis)}


class SplitsElsewhere(WrongValues, abstract=True):
    families, has = ("join_split",), ("output_tensors",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        source = arrays["input_tensor"]
        lengths = [tensor.sizes[desc.axis] for tensor in desc.output_tensors]
        starts = self.starts(lengths, source.shape[desc.axis])
        blocks = (
            source.take(range(start, start + length), desc.axis, mode="clip")
            for start, length in zip(starts, lengths, strict=True)
        )
        return {f"output_tensors[{n}]": block for n, block in enumerate(blocks)}

    def starts(self, lengths: list[int], size: int) -> list[int]:
        """Where each block begins."""
        raise NotImplementedError


@plants("starts", SplitsElsewhere)
def SplitsFromTheEnd(lengths: list[int], size: int) -> list[int]:
    """Gives the last block to the first output."""
    return [size - end for end in accumulate(lengths)]


@plants("starts", SplitsElsewhere)
def SplitsEvenly(lengths: list[int], size: int) -> list[int]:
    """Takes all blocks to be as long as the first one."""
    return [n * lengths[0] for n in range(len(lengths))]


# --- blocks of an image -----------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("depth_space",))
def OtherOrder(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the one order of the depth for the other."""
    name = f"{desc.operator.removesuffix('1')}1"
    order = next(order for order in ORDERS if order != order_of(desc))
    other = descriptor_classes()[name](desc.input_tensor, desc.output_tensor, desc.block_size, int(order))
    return compute_of(name)(other, arrays)


@plants("found", WrongValues, families=("depth_space",))
def BlocksTransposed(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the elements of a block column by column."""
    turned = {key: replace(tensor_at(desc, key), sizes=_turned(tensor_at(desc, key).sizes)) for key in _IMAGES}
    found = right(with_tensors(desc, turned), {"input_tensor": arrays["input_tensor"].swapaxes(-1, -2)})
    return {"output_tensor": found["output_tensor"].swapaxes(-1, -2)}


_IMAGES = ("input_tensor", "output_tensor")


def _turned(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*sizes[:-2], *sizes[:-3:-1])


# --- scales -----------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("resample",))
def ScalesOfWidthAndHeightSwapped(desc: Any, arrays: Arrays) -> Arrays:
    if hasattr(desc, "scales"):
        return right(replace(desc, scales=_turned(desc.scales)), arrays)
    source, (height, width) = arrays["input_tensor"], desc.output_tensor.sizes[-2:]
    rows = np.arange(height) // desc.scale_size.width
    columns = np.arange(width) // desc.scale_size.height
    found = source.take(rows, -2, mode="clip").take(columns, -1, mode="clip")
    return {"output_tensor": found}


@plants("found", WrongValues, families=("resample",), has=("scale_size",))
def RepeatsTheWhole(desc: Any, arrays: Arrays) -> Arrays:
    """Repeats the image, and not each of its elements."""
    return {"output_tensor": np.tile(arrays["input_tensor"], (desc.scale_size.height, desc.scale_size.width))}


class RoundsOtherwise(WrongValues, abstract=True):
    """Rounds coordinates to another neighbour."""

    families, has = ("resample",), ("input_tensor", "scales")

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        values = arrays["input_tensor"]
        for d, (scale, of_input, of_output) in enumerate(zip(desc.scales, *pixel_offsets(desc), strict=True)):
            coordinates = (np.arange(desc.output_tensor.sizes[d]) - of_output) / scale - of_input
            within = np.clip(coordinates, -1, values.shape[d])
            places = np.clip(self.rounded(within), 0, values.shape[d] - 1)
            values = values.take(places.astype(np.int64), d)
        return {"output_tensor": values}

    def rounded(self, coordinates: Any) -> Any:
        raise NotImplementedError


@plants("rounded", RoundsOtherwise, lacks=("rounding_direction",))
def RoundsHalvesToEven(coordinates: Any) -> Any:
    return np.rint(coordinates)


@plants("rounded", RoundsOtherwise, lacks=("rounding_direction",))
def RoundsHalvesDown(coordinates: Any) -> Any:
    return np.ceil(coordinates - 0.5)


@plants("rounded", RoundsOtherwise)
def CornersForCentres(coordinates: Any) -> Any:
    """Takes the coordinate of an element for half of one more."""
    return np.floor(coordinates + 1)


@plants("found", WrongValues, families=("resample",), has=("rounding_direction",))
def RoundsInTheOtherDirection(desc: Any, arrays: Arrays) -> Arrays:
    other = DECREASING if desc.rounding_direction == INCREASING else INCREASING
    return right(replace(desc, rounding_direction=int(other)), arrays)


@plants("found", WrongValues, families=("resample",), has=("input_pixel_offsets",))
def PixelOffsetsIgnored(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the centres of pixels for what the offsets say."""
    count = len(desc.scales)
    return right(replace(desc, input_pixel_offsets=(0.5,) * count, output_pixel_offsets=(-0.5,) * count), arrays)


# --- windows ----------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("fold",))
def WindowsBeforeChannels(desc: Any, arrays: Arrays) -> Arrays:
    """Has the channels change fastest along the columns of the matrix."""
    channels, window = _image_sizes(desc)[1], prod(desc.window_sizes)
    return _rearranged(desc, arrays, (channels, window), (window, channels), axis=1)


@plants("found", WrongValues, families=("fold",))
def BlocksColumnByColumn(desc: Any, arrays: Arrays) -> Arrays:
    """Counts windows along the first spatial dimension first."""
    counts = windows(desc)
    assert isinstance(counts, tuple)
    return _rearranged(desc, arrays, counts, counts[::-1], axis=2)


@plants("found", WrongValues, families=("fold",))
def PadsTheImageAtTheOtherEnd(desc: Any, arrays: Arrays) -> Arrays:
    return right(replace(desc, start_padding=desc.end_padding, end_padding=desc.start_padding), arrays)


@plants("found", WrongValues, families=("fold",), has=("window_sizes",))
def LastWindowLeftOut(desc: Any, arrays: Arrays) -> Arrays:
    """Stops one window too early, and leaves zeros in its place."""
    if desc.operator == "FOLD":
        return right(desc, {"input_tensor": _without_last(arrays["input_tensor"])})
    return {"output_tensor": _without_last(right(desc, arrays)["output_tensor"])}


class Overwrites(WrongValues):
    """Puts the elements of windows in their places, where those that meet are added up."""

    families = ("fold",)

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if name == "FOLD")

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        sizes, counts = desc.output_tensor.sizes, windows(desc)
        assert isinstance(counts, tuple)
        columns = arrays["input_tensor"].reshape(*sizes[:2], *desc.window_sizes, *counts)
        output = np.zeros(sizes, columns.dtype)
        for place in product(*map(range, desc.window_sizes)):
            along = zip(place, desc.dilations, desc.strides, desc.start_padding, counts, sizes[2:], strict=True)
            # Of the windows along each dimension those that have this element inside of the image.
            seen = [
                [
                    (n, n * stride + w * dilation - start)
                    for n in range(count)
                    if 0 <= n * stride + w * dilation - start < size
                ]
                for w, dilation, stride, start, count, size in along
            ]
            if all(seen):
                of_windows, of_image = (np.ix_(*([pair[n] for pair in pairs] for pairs in seen)) for n in range(2))
                output[(slice(None), slice(None), *of_image)] = columns[(slice(None), slice(None), *place)][
                    (slice(None), slice(None), *of_windows)
                ]
        return {"output_tensor": output}


def _image_sizes(desc: Any) -> tuple[int, ...]:
    sizes: tuple[int, ...] = (desc.output_tensor if desc.operator == "FOLD" else desc.input_tensor).sizes
    return sizes


def _rearranged(desc: Any, arrays: Arrays, own: tuple[int, ...], other: tuple[int, ...], axis: int) -> Arrays:
    """What comes of it if one dimension of the matrix, made of several, has them in the opposite order."""

    def turned(matrix: Any, sizes: tuple[int, ...]) -> Any:
        split = matrix.reshape(*matrix.shape[:axis], *sizes, *matrix.shape[axis + 1 :])
        order = [*range(axis), *range(axis + len(sizes) - 1, axis - 1, -1), *range(axis + len(sizes), split.ndim)]
        return split.transpose(order).reshape(matrix.shape)

    if desc.operator == "FOLD":
        return right(desc, {"input_tensor": turned(arrays["input_tensor"], other)})
    return {"output_tensor": turned(right(desc, arrays)["output_tensor"], own)}


def _without_last(matrix: Any) -> Any:
    cut = matrix.copy()
    cut[..., -1] = 0
    return cut


# --- diagonals --------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("diagonal_matrix",))
def DiagonalsBelowForAbove(desc: Any, arrays: Arrays) -> Arrays:
    """Counts diagonals the other way."""
    if hasattr(desc, "offset"):
        return right(replace(desc, offset=-desc.offset), arrays)
    begin, end = 1 - desc.diagonal_fill_end, 1 - desc.diagonal_fill_begin
    return right(replace(desc, diagonal_fill_begin=begin, diagonal_fill_end=end), arrays)


@plants("found", WrongValues, families=("diagonal_matrix",), has=("diagonal_fill_end",))
def FillsTheEndToo(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the diagonal behind the last one for one of those that are filled."""
    return right(replace(desc, diagonal_fill_end=desc.diagonal_fill_end + 1), arrays)


@plants("found", WrongValues, families=("diagonal_matrix",), has=("diagonal_fill_begin",))
def FillsFromBeginToEndAlways(desc: Any, arrays: Arrays) -> Arrays:
    """Fills nothing where the end comes before the begin."""
    if desc.diagonal_fill_begin <= desc.diagonal_fill_end:
        return {}
    return right(replace(desc, diagonal_fill_end=desc.diagonal_fill_begin), arrays)


@plants("found", WrongValues, families=("diagonal_matrix",))
def FirstMatrixAlone(desc: Any, arrays: Arrays) -> Arrays:
    """Fills the diagonal of the first of several matrices."""
    found = right(desc, arrays)[main_output(desc).key].copy()
    found.reshape(-1, *found.shape[-2:])[1:] = 0
    return {main_output(desc).key: found}
