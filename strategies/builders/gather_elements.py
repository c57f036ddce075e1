"""Descriptors of GATHER_ELEMENTS."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.structures import Gather, GatherElements
from dml_conformance.strategies.builders import matrix
from dml_conformance.strategies.builders._indexing import IndicesBuilder, Sizes
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor


class GatherElementsBuilder(IndicesBuilder):
    """GATHER_ELEMENTS: an index for each element."""

    def build(self, ctx: Context) -> Gather | GatherElements:
        rank = ctx.chooser.choice(ctx.ranks)
        return self.of_axis(ctx, rank, ctx.chooser.integer(0, rank - 1))

    def index_sizes(self, sizes: Sizes, axis: int, count: int) -> Sizes:
        return (*sizes[:axis], count, *sizes[axis + 1 :])

    def edges(self, ctx: Context) -> Iterator[Gather | GatherElements]:
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self.of_axis(ctx, rank, axis)
        yield from super().edges(ctx)

    def large(self, ctx: Context, size: int) -> Gather | GatherElements:
        """Every element by an index of its own, along the last axis."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        return self.along(ctx, (1, rows, columns), 2, columns)

    def of_axis(self, ctx: Context, rank: int, axis: int) -> Gather | GatherElements:
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        along_axis = chooser.integer(ctx.least, 6)
        input_sizes = sizes(ctx, rank, ctx.least)
        index_sizes = self.index_sizes(input_sizes, axis, along_axis)
        chooser.section()
        return self._desc(
            tensor(ctx, data_type, input_sizes),
            tensor(ctx, index_type, index_sizes),
            tensor(ctx, data_type, index_sizes, output=True),
            axis,
        )


BUILDERS = {"GATHER_ELEMENTS": GatherElementsBuilder("GATHER_ELEMENTS")}
