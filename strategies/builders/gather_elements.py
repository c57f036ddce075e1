"""Descriptors of GATHER_ELEMENTS."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.operators.gather_elements import GatherElementsDesc
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, SHORT_AXIS, four, matrix, plainest
from dml_conformance.strategies.builders._indexing import break_axis_range
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize, resize_at, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


def build(ctx: Context, *, last_axis: bool = False) -> GatherElementsDesc:
    rank = ctx.chooser.choice(ctx.ranks)
    return _build(ctx, rank, rank - 1 if last_axis else ctx.chooser.integer(0, rank - 1))


def edges(ctx: Context) -> Iterator[GatherElementsDesc]:
    for rank in ctx.ranks:
        for axis in range(rank):
            yield _build(ctx, rank, axis)
    for axis in range(4):
        desc = resize(_build(plainest(ctx), 4, axis), "input_tensor", (2, 2, 2, 2))
        yield with_fitting_output(resize(desc, "indices_tensor", (2, 2, 2, 2)))
    for length in LONG_AXES:
        rank = ctx.ranks[0]
        desc = _build(ctx.but(layout="packed"), rank, rank - 1)
        desc = resize(desc, "input_tensor", (1,) * (rank - 1) + (length,))
        yield with_fitting_output(resize(desc, "indices_tensor", (1,) * (rank - 1) + (40,)))


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[GatherElementsDesc]:
    rank = ctx.ranks[-1]
    desc = _build(ctx.but(layout="packed"), rank, rank - 2)
    ones = (1,) * (rank - 2)
    desc = resize(desc, "input_tensor", (*ones, *sizes))
    yield with_fitting_output(resize(desc, "indices_tensor", (*ones, 3, sizes[1])))


def large(ctx: Context, size: int) -> GatherElementsDesc:
    """Every element by an index of its own, along the last axis."""
    data_type, index_type = ctx.data_types[0], ctx.index_types[0]
    sizes_ = four(*matrix(size, data_type.size))
    data = TensorDesc.of(data_type, sizes_)
    return GatherElementsDesc(data, TensorDesc.of(index_type, sizes_), data, 3)


def long_axis(ctx: Context, sizes: tuple[int, ...], place: int) -> GatherElementsDesc:
    return _along(ctx, sizes, place, FAR_INDICES)


def vast(ctx: Context, sizes: tuple[int, ...]) -> GatherElementsDesc:
    before, count, after = sizes
    return _along(ctx, (before, SHORT_AXIS, after), 1, count)


def wrapping(ctx: Context) -> Iterator[GatherElementsDesc]:
    """Axis + 1 starts again at 0."""
    yield edit(_along(ctx, (2, 3, 5), 2, 4), axis=UINT32_MAX)


def _along(ctx: Context, sizes: tuple[int, ...], place: int, count: int) -> GatherElementsDesc:
    """So many elements along one dimension of an input of three."""
    data_type, index_type = ctx.data_types[0], ctx.index_types[0]
    source = TensorDesc.of(data_type, four(*sizes))
    indices = TensorDesc.of(index_type, four(*sizes[:place], count, *sizes[place + 1 :]))
    return with_fitting_output(GatherElementsDesc(source, indices, TensorDesc(data_type, ()), 1 + place))


def _build(ctx: Context, rank: int, axis: int) -> GatherElementsDesc:
    chooser = ctx.chooser
    data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
    least = 2 if ctx.spread else 1
    along_axis = chooser.integer(least, 6)
    input_sizes = sizes(ctx, rank, least)
    index_sizes = (*input_sizes[:axis], along_axis, *input_sizes[axis + 1 :])
    chooser.section()
    return GatherElementsDesc(
        tensor(ctx, data_type, input_sizes),
        tensor(ctx, index_type, index_sizes),
        tensor(ctx, data_type, index_sizes, output=True),
        axis,
    )


def break_sizes_off_axis(ctx: Context) -> GatherElementsDesc:
    desc = build(ctx.of_rank(2))
    rank = len(desc.input_tensor.sizes)
    position = ctx.chooser.integer(0, rank - 2)
    position += position >= desc.axis
    size = desc.indices_tensor.sizes[position]
    other = ctx.chooser.variant(tuple(n for n in (1, size + 1, size - 1) if n > 0 and n != size))
    return with_fitting_output(resize_at(desc, "indices_tensor", position, other))


VIOLATIONS = {
    "GATHER_ELEMENTS.axis-range": lambda ctx: break_axis_range(ctx, lambda ctx: build(ctx, last_axis=True)),
    "GATHER_ELEMENTS.sizes-off-axis": break_sizes_off_axis,
}
