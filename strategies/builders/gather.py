"""Descriptors of GATHER."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.gather import GatherDesc
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, SHORT_AXIS, four, matrix, plainest
from dml_conformance.strategies.builders._indexing import break_axis_range
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, resize, resize_at, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


def build(ctx: Context, *, last_axis: bool = False) -> GatherDesc:
    rank = ctx.chooser.choice(ctx.ranks)
    axis = rank - 1 if last_axis else None
    if ctx.level < Level.L2_1:  # GATHER-7: other IndexDimensions are left open there
        return _build(ctx, rank, 1, axis)
    return _build(ctx, rank, ctx.chooser.integer(1 if ctx.spread else 0, rank), axis)


def edges(ctx: Context) -> Iterator[GatherDesc]:
    for rank in ctx.ranks:
        for index_dimensions in sorted({0, 1, rank}) if ctx.level >= Level.L2_1 else (1,):
            for axis in sorted({0, rank - 1}):
                yield _build(ctx, rank, index_dimensions, axis)
        if rank > 2 and ctx.level >= Level.L2_1:
            yield _build(ctx, rank, rank - 1, rank - 2)
    for axis in range(4):
        desc = resize(_build(plainest(ctx), 4, 1, axis), "input_tensor", (2, 2, 2, 2))
        yield with_fitting_output(resize(desc, "indices_tensor", (1, 1, 1, 2)))
    for length in LONG_AXES:
        rank = ctx.ranks[0]
        desc = _build(ctx.but(layout="packed"), rank, 1, rank - 1)
        desc = resize(desc, "input_tensor", (1,) * (rank - 1) + (length,))
        yield with_fitting_output(resize(desc, "indices_tensor", (1,) * (rank - 1) + (40,)))


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[GatherDesc]:
    rank = ctx.ranks[-1]
    desc = _build(ctx.but(layout="packed"), rank, 1, rank - 2)
    ones = (1,) * (rank - 2)
    desc = resize(desc, "input_tensor", (*ones, *sizes))
    yield with_fitting_output(resize(desc, "indices_tensor", (*ones, 1, 3)))


def large(ctx: Context, size: int) -> GatherDesc:
    """Whole rows of 1 KiB in random order."""
    data_type, index_type = ctx.data_types[0], ctx.index_types[0]
    rows, columns = matrix(size, data_type.size)
    data = TensorDesc.of(data_type, four(rows, columns))
    return GatherDesc(data, TensorDesc.of(index_type, four(rows)), data, 2, 1)


def long_axis(ctx: Context, sizes: tuple[int, ...], place: int) -> GatherDesc:
    return _along(ctx, sizes, place, FAR_INDICES)


def vast(ctx: Context, sizes: tuple[int, ...]) -> GatherDesc:
    before, count, after = sizes
    return _along(ctx, (before, SHORT_AXIS, after), 1, count)


def wrapping(ctx: Context) -> Iterator[GatherDesc]:
    """Axis + 1, or Axis and IndexDimensions together, start again at 0."""
    desc = _along(ctx, (2, 3, 5), 2, 4)
    yield edit(desc, axis=UINT32_MAX)
    for axis in (2, 3):
        yield edit(desc, axis=axis, index_dimensions=UINT32_MAX - axis + 2)


def _along(ctx: Context, sizes: tuple[int, ...], place: int, count: int) -> GatherDesc:
    """So many slices along one dimension of an input of three."""
    data_type, index_type = ctx.data_types[0], ctx.index_types[0]
    source, indices = TensorDesc.of(data_type, four(*sizes)), TensorDesc.of(index_type, four(count))
    return with_fitting_output(GatherDesc(source, indices, TensorDesc(data_type, ()), 1 + place, 1))


def _build(ctx: Context, rank: int, index_dimensions: int, axis: int | None = None) -> GatherDesc:
    """A valid GATHER: the leading sizes that right-alignment crops are ones."""
    chooser = ctx.chooser
    axis = chooser.integer(0, rank - 1) if axis is None else axis
    data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
    least = 2 if ctx.spread else 1
    cropped = max(index_dimensions - 1, 0)
    before = min(axis, cropped)
    input_sizes = (1,) * before + sizes(ctx, rank - before, least)
    ones = rank - index_dimensions + (cropped - before)
    index_sizes = (1,) * ones + sizes(ctx, rank - ones, least)
    output_sizes = input_sizes[:axis] + index_sizes[rank - index_dimensions :] + input_sizes[axis + 1 :]
    output_sizes = output_sizes[-rank:] if index_dimensions else (1, *output_sizes)
    chooser.section()
    return GatherDesc(
        tensor(ctx, data_type, input_sizes),
        tensor(ctx, index_type, index_sizes),
        tensor(ctx, data_type, output_sizes, output=True),
        axis,
        index_dimensions,
    )


def break_index_dimensions_range(ctx: Context) -> GatherDesc:
    desc = build(ctx)
    rank = len(desc.input_tensor.sizes)
    return edit(desc, index_dimensions=ctx.chooser.variant((rank + 1, rank + 2, 2**31, UINT32_MAX)))


def break_leading_index_sizes(ctx: Context) -> GatherDesc:
    rank = ctx.chooser.choice(ctx.ranks)
    most = 1 if ctx.level < Level.L2_1 else rank - 1
    desc = _build(ctx, rank, ctx.chooser.integer(min(most, 1 if ctx.level < Level.L2_1 else 0), most))
    position = ctx.chooser.integer(0, rank - desc.index_dimensions - 1)
    return resize_at(desc, "indices_tensor", position, ctx.chooser.integer(2, 5))


def break_output_rank(ctx: Context) -> GatherDesc:
    rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
    desc = _build(ctx, rank, ctx.chooser.integer(2, rank))
    position = ctx.chooser.integer(0, desc.index_dimensions - 2)
    size = ctx.chooser.integer(2, 5)
    if position < desc.axis:
        return resize_at(desc, "input_tensor", position, size)
    return resize_at(desc, "indices_tensor", rank - desc.index_dimensions + position - desc.axis, size)


def break_shape_before_2_1(ctx: Context) -> GatherDesc:
    if ctx.level >= Level.L2_1:
        raise Impossible
    rank = ctx.chooser.choice(ctx.ranks)
    return with_fitting_output(_build(ctx, rank, ctx.chooser.variant((0, *range(2, rank + 1)))))


VIOLATIONS = {
    "GATHER.axis-range": lambda ctx: break_axis_range(ctx, lambda ctx: build(ctx, last_axis=True)),
    "GATHER.index-dimensions-range": break_index_dimensions_range,
    "GATHER.leading-index-sizes": break_leading_index_sizes,
    "GATHER.output-rank": break_output_rank,
    "GATHER.shape-before-2_1": break_shape_before_2_1,
}
