"""Elements that come from the wrong place: windows, paddings, joints, blocks and scales."""

from __future__ import annotations

from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import tensor_at
from dml_conformance.spec.operators.fold import windows
from strength.mutants.base import Arrays, WrongValues, computes, fault, main_output, plants, right, zeroed
from strength.mutants.images import (
    in_the_other_direction,
    last_two_swapped,
    nearest,
    of_the_matrix,
    of_the_other_order,
    with_centres,
    with_paddings_exchanged,
    with_turned_blocks,
)

MODE = enumeration("DML_PADDING_MODE")


# --- slices -----------------------------------------------------------------------------------------------------------


@plants("descriptor", WrongValues, families=("slice",))
def StridesIgnored(desc: Any) -> Any:
    """Takes neighbouring elements, in the right direction."""
    name = "strides" if hasattr(desc, "strides") else "input_window_strides"
    return replace(desc, **{name: tuple(1 if stride > 0 else -1 for stride in getattr(desc, name))})


@plants("descriptor", WrongValues, families=("slice",), has=("input_window_strides",))
def WalksForwardAlways(desc: Any) -> Any:
    """Begins a walk with a negative stride at the start of the window, and goes ahead."""
    return replace(desc, input_window_strides=tuple(map(abs, desc.input_window_strides)))


@plants("descriptor", WrongValues, families=("slice",), has=("input_window_strides",))
def TurnsRoundWhatIsWalkedForward(desc: Any) -> Any:
    """Begins a walk with a negative stride where the one ahead ends, and not at the end of the window."""
    key = "input_gradient_tensor" if desc.operator == "SLICE_GRAD" else "output_tensor"
    walks = zip(tensor_at(desc, key).sizes, desc.input_window_strides, strict=True)
    return replace(desc, input_window_sizes=tuple((size - 1) * abs(stride) + 1 for size, stride in walks))


# --- paddings ---------------------------------------------------------------------------------------------------------


def other_mode(modes: Any, desc: Any) -> Any:
    """Takes a padding mode for another."""
    taken, by = modes()
    return replace(desc, padding_mode=int(by)) if desc.padding_mode == taken else desc


plants("descriptor", WrongValues, other_mode, families=("padding",)).each(
    ReflectionRepeatsTheEdge=lambda: (MODE.REFLECTION, MODE.SYMMETRIC),
    SymmetricLeavesOutTheEdge=fault(lambda: (MODE.SYMMETRIC, MODE.REFLECTION), since="3_0"),
    EdgeTakenForConstant=lambda: (MODE.EDGE, MODE.CONSTANT),
    WrapTakenForEdge=fault(lambda: (MODE.WRAP, MODE.EDGE), since="6_4"),
)

plants("descriptor", WrongValues, families=("padding",)).each(
    PadsTheOtherEnd=fault(lambda desc: with_paddings_exchanged(desc), "Takes the paddings before for those behind."),
    ConstantIsZero=lambda desc: replace(desc, padding_value=0),
)


@computes(families=("padding",))
def ReflectsOnce(desc: Any, arrays: Arrays) -> Any:
    """Holds on to the far edge where a padding is longer than the input."""
    if desc.padding_mode != MODE.REFLECTION:
        return {}
    source = arrays["input_tensor"]
    for axis, (start, end) in enumerate(zip(desc.start_padding, desc.end_padding, strict=True)):
        last = source.shape[axis] - 1
        places = np.abs(np.arange(-start, last + 1 + end))
        source = source.take(np.clip(np.where(places > last, 2 * last - places, places), 0, last), axis)
    return source


# --- joints -----------------------------------------------------------------------------------------------------------


@computes(families=("join_split",), has=("input_tensors",))
def JoinsInReverse(desc: Any, arrays: Arrays) -> Any:
    return np.concatenate(list(arrays.values())[::-1], desc.axis)


@computes(families=("join_split",), has=("input_tensors",))
def JoinsFour(desc: Any, arrays: Arrays) -> Any:
    """Has room for four inputs, and leaves nothing of further ones."""
    parts = [part if n < 4 else np.zeros_like(part) for n, part in enumerate(arrays.values())]
    return np.concatenate(parts, desc.axis)


def splits_elsewhere(starts: Any, desc: Any, arrays: Arrays) -> Any:
    source = arrays["input_tensor"]
    lengths = [tensor.sizes[desc.axis] for tensor in desc.output_tensors]
    starts = starts(lengths=lengths, size=source.shape[desc.axis])
    blocks = (
        source.take(range(start, start + length), desc.axis, mode="clip")
        for start, length in zip(starts, lengths, strict=True)
    )
    return {f"output_tensors[{n}]": block for n, block in enumerate(blocks)}


computes(splits_elsewhere, families=("join_split",), has=("output_tensors",)).each(
    SplitsFromTheEnd=fault(
        lambda lengths, size: [size - end for end in accumulate(lengths)], "Gives the last block to the first output."
    ),
    SplitsEvenly=fault(
        lambda lengths: [n * lengths[0] for n in range(len(lengths))],
        "Takes all blocks to be as long as the first one.",
    ),
)


# --- blocks of an image, scales ---------------------------------------------------------------------------------------


plants("descriptor", WrongValues, families=("depth_space",)).each(
    OtherOrder=fault(lambda desc: of_the_other_order(desc), "Takes the one order of the depth for the other."),
)
computes(families=("depth_space",)).each(
    BlocksTransposed=fault(
        lambda desc, arrays: with_turned_blocks(desc, arrays), "Takes the elements of a block column by column."
    ),
)


@computes(families=("resample",))
def ScalesOfWidthAndHeightSwapped(desc: Any, arrays: Arrays) -> Any:
    if hasattr(desc, "scales"):
        return right(replace(desc, scales=last_two_swapped(desc.scales)), arrays)
    source, (height, width) = arrays["input_tensor"], desc.output_tensor.sizes[-2:]
    rows = np.arange(height) // desc.scale_size.width
    columns = np.arange(width) // desc.scale_size.height
    return source.take(rows, -2, mode="clip").take(columns, -1, mode="clip")


@computes(families=("resample",), has=("scale_size",))
def RepeatsTheWhole(desc: Any, arrays: Arrays) -> Any:
    """Repeats the image, and not each of its elements."""
    return np.tile(arrays["input_tensor"], (desc.scale_size.height, desc.scale_size.width))


computes(nearest, families=("resample",), has=("input_tensor", "scales")).each(
    RoundsHalvesToEven=fault(lambda coordinates: np.rint(coordinates), lacks=("rounding_direction",)),
    RoundsHalvesDown=fault(lambda coordinates: np.ceil(coordinates - 0.5), lacks=("rounding_direction",)),
    CornersForCentres=fault(
        lambda coordinates: np.floor(coordinates + 1), "Takes the coordinate of an element for half of one more."
    ),
)

plants("descriptor", WrongValues, families=("resample",)).each(
    RoundsInTheOtherDirection=fault(lambda desc: in_the_other_direction(desc), has=("rounding_direction",)),
    PixelOffsetsIgnored=fault(
        lambda desc: with_centres(desc),
        "Takes the centres of pixels for what the offsets say.",
        has=("input_pixel_offsets",),
    ),
)


# --- windows ----------------------------------------------------------------------------------------------------------


def turned(matrix: Any, sizes: tuple[int, ...], axis: int) -> Any:
    """One dimension of a matrix, made of several, with these in the opposite order."""
    split = matrix.reshape(*matrix.shape[:axis], *sizes, *matrix.shape[axis + 1 :])
    order = [*range(axis), *range(axis + len(sizes) - 1, axis - 1, -1), *range(axis + len(sizes), split.ndim)]
    return split.transpose(order).reshape(matrix.shape)


def _with_windows_before_channels(desc: Any, matrix: Any, image: Any) -> Any:
    own = image.sizes[1], prod(desc.window_sizes)
    return turned(matrix, own[::-1] if desc.operator == "FOLD" else own, 1)


def _column_by_column(desc: Any, matrix: Any) -> Any:
    counts = windows(desc)
    assert isinstance(counts, tuple)
    return turned(matrix, counts[::-1] if desc.operator == "FOLD" else counts, 2)


computes(of_the_matrix, families=("fold",)).each(
    WindowsBeforeChannels=fault(
        _with_windows_before_channels, "Has the channels change fastest along the columns of the matrix."
    ),
    BlocksColumnByColumn=fault(_column_by_column, "Counts windows along the first spatial dimension first."),
)
plants("descriptor", WrongValues, families=("fold",)).each(
    PadsTheImageAtTheOtherEnd=lambda desc: with_paddings_exchanged(desc)
)
computes(of_the_matrix, families=("fold",), has=("window_sizes",)).each(
    LastWindowLeftOut=fault(
        lambda matrix: zeroed(matrix, np.s_[..., -1]), "Stops one window too early, and leaves zeros in its place."
    ),
)


@computes(names=("FOLD",))
def Overwrites(desc: Any, arrays: Arrays) -> Any:
    """Puts the elements of windows in their places, where those that meet are added up."""
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
    return output


# --- diagonals --------------------------------------------------------------------------------------------------------


@plants("descriptor", WrongValues, families=("diagonal_matrix",))
def DiagonalsBelowForAbove(desc: Any) -> Any:
    """Counts diagonals the other way."""
    if hasattr(desc, "offset"):
        return replace(desc, offset=-desc.offset)
    begin, end = 1 - desc.diagonal_fill_end, 1 - desc.diagonal_fill_begin
    return replace(desc, diagonal_fill_begin=begin, diagonal_fill_end=end)


plants("descriptor", WrongValues, families=("diagonal_matrix",), has=("diagonal_fill_end",)).each(
    FillsTheEndToo=fault(
        lambda desc: replace(desc, diagonal_fill_end=desc.diagonal_fill_end + 1),
        "Takes the diagonal behind the last one for one of those that are filled.",
    ),
    FillsFromBeginToEndAlways=fault(
        lambda desc: replace(desc, diagonal_fill_end=max(desc.diagonal_fill_begin, desc.diagonal_fill_end)),
        "Fills nothing where the end comes before the begin.",
    ),
)


@computes(families=("diagonal_matrix",))
def FirstMatrixAlone(desc: Any, arrays: Arrays) -> Any:
    """Fills the diagonal of the first of several matrices."""
    found = right(desc, arrays)[main_output(desc).key]
    return zeroed(found.reshape(-1, *found.shape[-2:]), np.s_[1:])
