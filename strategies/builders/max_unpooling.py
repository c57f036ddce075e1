"""Descriptors of MAX_UNPOOLING."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import MaxUnpooling
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, Builder, four, leading_ones, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]

SMALL = (1, 1, 7, 13)  # sizes of an input where the output is what is large


class MaxUnpoolingBuilder(Builder[MaxUnpooling]):
    """MAX_UNPOOLING."""

    def build(self, ctx: Context) -> MaxUnpooling:
        """An output that mostly has room for the whole input, as a max-pooling leaves it; now and then any other."""
        rank = ctx.chooser.choice(ctx.ranks)
        data_type, index_type = ctx.chooser.choice(ctx.data_types), ctx.chooser.choice(ctx.index_types)
        pooled = sizes(ctx, rank, ctx.least, wide=False)
        if ctx.chooser.integer(0, 3) == 3:
            return self._build(ctx, data_type, index_type, pooled, sizes(ctx, rank, ctx.least))
        window = ctx.chooser.integer(1, 3)
        output = tuple(size * window if d > 1 else size for d, size in enumerate(pooled))
        return self._build(ctx, data_type, index_type, pooled, output)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> MaxUnpooling:
        """With an output of the same sizes."""
        return self._plain(ctx, sizes, sizes)

    def large(self, ctx: Context, size: int) -> MaxUnpooling:
        """Of the half along each dimension, as windows of 2 by 2 elements leave it."""
        output = matrix(size, ctx.data_types[0].size)
        source = [max(length // 2, 1) for length in output]
        return self._plain(ctx, leading_ones(ctx, *source), leading_ones(ctx, *output))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[MaxUnpooling]:
        leading = (1,) * (ctx.ranks[-1] - 2)
        for source, output in (((1, 1), sizes), (sizes, sizes)):
            yield self._plain(ctx, leading + source, leading + output)

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> MaxUnpooling:
        """What is long is the output, as it is what indices run over."""
        return self._plain(ctx, four(FAR_INDICES), four(*sizes))

    def vast(self, ctx: Context, sizes: Sizes) -> MaxUnpooling:
        return self._plain(ctx, SMALL, four(*sizes))

    def edges(self, ctx: Context) -> Iterator[MaxUnpooling]:
        """Outputs of one element, of fewer than the input has, of other batches, and long ones."""
        choice, types, index_types = ctx.chooser.choice, ctx.data_types, ctx.index_types
        for source, output in (
            ((1, 1, 1, 1), (1, 1, 1, 1)),
            ((1, 2, 3, 2), (1, 1, 1, 1)),
            ((2, 1, 2, 2), (1, 2, 2, 3)),
            ((1, 1, 2, 2), (2, 3, 1, 4)),
        ):
            yield self._build(ctx, choice(types), choice(index_types), source, output)
        for length in LONG_AXES:
            yield self._build(ctx, choice(types), choice(index_types), (1, 1, 3, 5), (1, 2, 1, length))

    def _plain(self, ctx: Context, source: Sizes, output: Sizes) -> MaxUnpooling:
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], ctx.index_types[0], source, output)

    def _build(
        self, ctx: Context, data_type: DataType, index_type: DataType, source: Sizes, output: Sizes
    ) -> MaxUnpooling:
        ctx.chooser.section()
        return self._desc(
            tensor(ctx, data_type, source), tensor(ctx, index_type, source), tensor(ctx, data_type, output, output=True)
        )


BUILDERS = {"MAX_UNPOOLING": MaxUnpoolingBuilder("MAX_UNPOOLING")}
