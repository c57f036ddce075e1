"""Descriptors of SCATTER and SCATTER_ND; no more updates than there are elements for them, so that none need meet."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators.scatter import updates_sizes
from dml_conformance.spec.structures import Scatter, WithInputDimensionCount
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, leading_ones
from dml_conformance.strategies.builders._indexing import AlongBuilder, Sizes
from dml_conformance.strategies.builders.gather_nd import TupleBuilder
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


class ScatterBuilder(AlongBuilder[Scatter]):
    """SCATTER."""

    def build(self, ctx: Context) -> Scatter:
        rank = ctx.chooser.choice(ctx.ranks)
        return self._build(ctx, rank, ctx.chooser.integer(0, rank - 1))

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Scatter:
        """A few updates along the longest dimension."""
        return self.along(ctx, sizes, max(range(len(sizes)), key=sizes.__getitem__))

    def vast(self, ctx: Context, sizes: Sizes) -> Scatter:
        """Along the longest dimension too, as updates are few."""
        return self.of_sizes(ctx, leading_ones(ctx, *sizes))

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> Scatter:
        return self._along(ctx, sizes, axis, min(sizes[axis], FAR_INDICES))

    def edges(self, ctx: Context) -> Iterator[Scatter]:
        """Every axis; as many updates as elements; long axes."""
        plain = ctx.but(layout="packed")
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self._build(ctx, rank, axis)
            yield self._along(plain, (1,) * (rank - 1) + (3,), rank - 1, 3)
        for length in LONG_AXES:
            rank = ctx.ranks[0]
            yield self._along(plain, (1,) * (rank - 1) + (length,), rank - 1, 40)

    def large(self, ctx: Context, size: int) -> Scatter:
        """An update for every element, along the last axis."""
        desc = super().large(ctx, size)
        sizes = desc.input_tensor.sizes
        return self._along(ctx, sizes, len(sizes) - 1, sizes[-1])

    def wrapping(self, ctx: Context) -> Iterator[Scatter]:
        """Axis + 1 starts again at 0."""
        yield edit(self._along(ctx, (1, 2, 3, 5), 3, 4), axis=UINT32_MAX)

    def _along(self, ctx: Context, sizes: Sizes, axis: int, count: int) -> Scatter:
        """So many updates along one dimension."""
        return self._of(ctx.but(layout="packed"), ctx.data_types[0], ctx.index_types[0], sizes, axis, count)

    def _build(self, ctx: Context, rank: int, axis: int) -> Scatter:
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        input_sizes = sizes(ctx, rank, ctx.least)
        count = chooser.integer(1, input_sizes[axis])
        chooser.section()
        return self._of(ctx, data_type, index_type, input_sizes, axis, count)

    def _of(
        self, ctx: Context, data_type: DataType, index_type: DataType, sizes: Sizes, axis: int, count: int
    ) -> Scatter:
        index_sizes = (*sizes[:axis], count, *sizes[axis + 1 :])
        return self._desc(
            tensor(ctx, data_type, sizes),
            tensor(ctx, index_type, index_sizes),
            tensor(ctx, data_type, index_sizes),
            tensor(ctx, data_type, sizes, output=True),
            axis,
        )


class ScatterNdBuilder(TupleBuilder):
    """SCATTER_ND: the tensors of GATHER_ND, whose output is the updates, and an output of the input's sizes."""

    def vast(self, ctx: Context, sizes: Sizes) -> WithInputDimensionCount:
        return self.long_axis(ctx, sizes, 0)

    def _grid(self, grid: Sizes, addressed: Sizes) -> Sizes:
        """No more tuples than there are places for them."""
        room = 1
        for size in addressed:
            room *= size
        found = []
        for size in grid:
            found.append(min(size, room))
            room //= found[-1]
        return tuple(found)

    def _other_tensors(
        self, ctx: Context, data_type: DataType, input_sizes: Sizes, block_sizes: Sizes
    ) -> tuple[TensorDesc, ...]:
        return tensor(ctx, data_type, block_sizes), tensor(ctx, data_type, input_sizes, output=True)

    def _fit(self, desc: WithInputDimensionCount) -> WithInputDimensionCount:
        return with_fitting_output(resize(desc, "updates_tensor", updates_sizes(desc)))


BUILDERS = {"SCATTER": ScatterBuilder("SCATTER"), "SCATTER_ND": ScatterNdBuilder("SCATTER_ND")}
