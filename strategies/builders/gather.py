"""Descriptors of GATHER."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.levels import Level
from dml_conformance.spec.structures import Gather, GatherElements
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import matrix
from dml_conformance.strategies.builders._indexing import IndicesBuilder, Sizes
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, resize_at, with_fitting_output
from dml_conformance.strategies.tensors import sizes, tensor


class GatherBuilder(IndicesBuilder):
    """GATHER: indices of any number of dimensions, each of which takes a slice."""

    members = (1,)  # IndexDimensions

    def build(self, ctx: Context) -> Gather | GatherElements:
        rank = ctx.chooser.choice(ctx.ranks)
        if ctx.level < Level.L2_1:  # GATHER-7: other IndexDimensions are left open there
            return self._build(ctx, rank, 1)
        return self._build(ctx, rank, ctx.chooser.integer(1 if ctx.spread else 0, rank))

    def of_axis(self, ctx: Context, rank: int, axis: int) -> Gather | GatherElements:
        return self._build(ctx, rank, 1, axis)

    def index_sizes(self, sizes: Sizes, axis: int, count: int) -> Sizes:
        return (1,) * (len(sizes) - 1) + (count,)

    def edges(self, ctx: Context) -> Iterator[Gather | GatherElements]:
        for rank in ctx.ranks:
            for index_dimensions in sorted({0, 1, rank}) if ctx.level >= Level.L2_1 else (1,):
                for axis in sorted({0, rank - 1}):
                    yield self._build(ctx, rank, index_dimensions, axis)
            if rank > 2 and ctx.level >= Level.L2_1:
                yield self._build(ctx, rank, rank - 1, rank - 2)
        yield from super().edges(ctx)

    def large(self, ctx: Context, size: int) -> Gather | GatherElements:
        """Whole rows of 1 KiB in random order."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        return self.along(ctx, (1, rows, columns), 1, rows)

    def wrapping(self, ctx: Context) -> Iterator[Gather | GatherElements]:
        """Besides, Axis and IndexDimensions together start again at 0."""
        yield from super().wrapping(ctx)
        for axis in (2, 3):
            wrapped = UINT32_MAX - axis + 2
            yield edit(self.along(ctx, (2, 3, 5), 2, 4), axis=axis, index_dimensions=wrapped)

    def _build(
        self, ctx: Context, rank: int, index_dimensions: int, axis: int | None = None
    ) -> Gather | GatherElements:
        """A valid GATHER: the leading sizes that right-alignment crops are ones."""
        chooser = ctx.chooser
        axis = chooser.integer(0, rank - 1) if axis is None else axis
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        cropped = max(index_dimensions - 1, 0)
        before = min(axis, cropped)
        input_sizes = (1,) * before + sizes(ctx, rank - before, ctx.least)
        ones = rank - index_dimensions + (cropped - before)
        index_sizes = (1,) * ones + sizes(ctx, rank - ones, ctx.least)
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

    def break_output_rank(self, ctx: Context) -> Gather | GatherElements:
        rank = ctx.chooser.choice(ctx.of_rank(2).ranks)
        desc = self._build(ctx, rank, ctx.chooser.integer(2, rank))
        assert desc.operator == "GATHER"
        position = ctx.chooser.integer(0, desc.index_dimensions - 2)
        size = ctx.chooser.integer(2, 5)
        if position < desc.axis:
            return resize_at(desc, "input_tensor", position, size)
        return resize_at(desc, "indices_tensor", rank - desc.index_dimensions + position - desc.axis, size)

    def break_shape_before_2_1(self, ctx: Context) -> Gather | GatherElements:
        if ctx.level >= Level.L2_1:
            raise Impossible
        rank = ctx.chooser.choice(ctx.ranks)
        return with_fitting_output(self._build(ctx, rank, ctx.chooser.variant((0, *range(2, rank + 1)))))


BUILDERS = {"GATHER": GatherBuilder("GATHER")}
