"""Descriptors of GATHER."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, SHORT_AXIS, Builder, four, matrix, plainest
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, resize, resize_at, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


class GatherBuilder(Builder):
    """GATHER."""

    _desc: Any = descriptor_classes()["GATHER"]

    def build(self, ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.ranks)
        if ctx.level < Level.L2_1:  # GATHER-7: other IndexDimensions are left open there
            return self._build(ctx, rank, 1)
        return self._build(ctx, rank, ctx.chooser.integer(1 if ctx.spread else 0, rank))

    def edges(self, ctx: Context) -> Iterator[Any]:
        for rank in ctx.ranks:
            for index_dimensions in sorted({0, 1, rank}) if ctx.level >= Level.L2_1 else (1,):
                for axis in sorted({0, rank - 1}):
                    yield self._build(ctx, rank, index_dimensions, axis)
            if rank > 2 and ctx.level >= Level.L2_1:
                yield self._build(ctx, rank, rank - 1, rank - 2)
        for axis in range(4):
            desc = resize(self._build(plainest(ctx), 4, 1, axis), "input_tensor", (2, 2, 2, 2))
            yield with_fitting_output(resize(desc, "indices_tensor", (1, 1, 1, 2)))
        for length in LONG_AXES:
            rank = ctx.ranks[0]
            desc = self._build(ctx.but(layout="packed"), rank, 1, rank - 1)
            desc = resize(desc, "input_tensor", (1,) * (rank - 1) + (length,))
            yield with_fitting_output(resize(desc, "indices_tensor", (1,) * (rank - 1) + (40,)))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Any]:
        rank = ctx.ranks[-1]
        desc = self._build(ctx.but(layout="packed"), rank, 1, rank - 2)
        ones = (1,) * (rank - 2)
        desc = resize(desc, "input_tensor", (*ones, *sizes))
        yield with_fitting_output(resize(desc, "indices_tensor", (*ones, 1, 3)))

    def large(self, ctx: Context, size: int) -> Any:
        """Whole rows of 1 KiB in random order."""
        data_type, index_type = ctx.data_types[0], ctx.index_types[0]
        rows, columns = matrix(size, data_type.size)
        data = TensorDesc.of(data_type, four(rows, columns))
        return self._desc(data, TensorDesc.of(index_type, four(rows)), data, 2, 1)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        return self._along(ctx, sizes, place, FAR_INDICES)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        before, count, after = sizes
        return self._along(ctx, (before, SHORT_AXIS, after), 1, count)

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """Axis + 1, or Axis and IndexDimensions together, start again at 0."""
        desc = self._along(ctx, (2, 3, 5), 2, 4)
        yield edit(desc, axis=UINT32_MAX)
        for axis in (2, 3):
            yield edit(desc, axis=axis, index_dimensions=UINT32_MAX - axis + 2)

    def _along(self, ctx: Context, sizes: tuple[int, ...], place: int, count: int) -> Any:
        """So many slices along one dimension of an input of three."""
        data_type, index_type = ctx.data_types[0], ctx.index_types[0]
        source, indices = TensorDesc.of(data_type, four(*sizes)), TensorDesc.of(index_type, four(count))
        return with_fitting_output(self._desc(source, indices, TensorDesc(data_type, ()), 1 + place, 1))

    def _build(self, ctx: Context, rank: int, index_dimensions: int, axis: int | None = None) -> Any:
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
        return self._desc(
            tensor(ctx, data_type, input_sizes),
            tensor(ctx, index_type, index_sizes),
            tensor(ctx, data_type, output_sizes, output=True),
            axis,
            index_dimensions,
        )

    def break_output_rank(self, ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
        desc = self._build(ctx, rank, ctx.chooser.integer(2, rank))
        position = ctx.chooser.integer(0, desc.index_dimensions - 2)
        size = ctx.chooser.integer(2, 5)
        if position < desc.axis:
            return resize_at(desc, "input_tensor", position, size)
        return resize_at(desc, "indices_tensor", rank - desc.index_dimensions + position - desc.axis, size)

    def break_shape_before_2_1(self, ctx: Context) -> Any:
        if ctx.level >= Level.L2_1:
            raise Impossible
        rank = ctx.chooser.choice(ctx.ranks)
        return with_fitting_output(self._build(ctx, rank, ctx.chooser.variant((0, *range(2, rank + 1)))))


BUILDERS = {"GATHER": GatherBuilder()}
