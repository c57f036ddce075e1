"""Descriptors of ONE_HOT."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.structures import OneHot
from dml_conformance.strategies.builders import LONG_AXES, four, plainest
from dml_conformance.strategies.builders._indexing import AlongBuilder, Sizes
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import resize
from dml_conformance.strategies.tensors import sizes, tensor


class OneHotBuilder(AlongBuilder[OneHot]):
    """ONE_HOT."""

    def build(self, ctx: Context) -> OneHot:
        rank = ctx.chooser.choice(ctx.ranks)
        axis = ctx.chooser.integer(0, rank - 1)
        return self._build(ctx, sizes(ctx, rank, ctx.least), axis)

    def edges(self, ctx: Context) -> Iterator[OneHot]:
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self._build(ctx, sizes(ctx, rank, 2), axis)
        for axis in range(4):
            yield self.along(ctx, (2, 2, 2, 2), axis)
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            for axis in {0, len(ones)}:
                yield self.along(ctx, (*ones[:axis], length, *ones[axis:]), axis)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[OneHot]:
        ones = (1,) * (ctx.ranks[-1] - 2)
        yield self.along(ctx, (*ones, *sizes), len(ones))

    def vast(self, ctx: Context, sizes: Sizes) -> OneHot:
        return self.along(ctx, four(*sizes), 2)

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> OneHot:
        """With an output of these sizes."""
        return self._build(plainest(ctx), sizes, axis)

    def _build(self, ctx: Context, output_sizes: Sizes, axis: int) -> OneHot:
        chooser, rank = ctx.chooser, len(output_sizes)
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        values_sizes = [1] * rank
        for _ in range(chooser.integer(1, 2)):
            values_sizes[chooser.integer(0, rank - 1)] = chooser.integer(2, 3)
        chooser.section()
        return self._desc(
            tensor(ctx, index_type, (*output_sizes[:axis], 1, *output_sizes[axis + 1 :])),
            tensor(ctx, data_type, tuple(values_sizes)),
            tensor(ctx, data_type, output_sizes, output=True),
            axis,
        )

    def break_values_count(self, ctx: Context) -> OneHot:
        desc = self.build(ctx)
        return resize(desc, "values_tensor", (1,) * len(desc.values_tensor.sizes))


BUILDERS = {"ONE_HOT": OneHotBuilder("ONE_HOT")}
