"""Descriptors of ONE_HOT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import LONG_AXES, Builder, four, leading_ones, matrix, plainest
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize
from dml_conformance.strategies.tensors import sizes, tensor


class OneHotBuilder(Builder):
    """ONE_HOT."""

    _desc: Any = descriptor_classes()["ONE_HOT"]

    def build(self, ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.ranks)
        axis = ctx.chooser.integer(0, rank - 1)
        return self._build(ctx, sizes(ctx, rank, 2 if ctx.spread else 1), axis)

    def edges(self, ctx: Context) -> Iterator[Any]:
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self._build(ctx, sizes(ctx, rank, 2), axis)
        for axis in range(4):
            yield self._along(plainest(ctx), (2, 2, 2, 2), axis)
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            for axis in {0, len(ones)}:
                yield self._along(ctx, (*ones[:axis], length, *ones[axis:]), axis)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Any]:
        ones = (1,) * (ctx.ranks[-1] - 2)
        yield self._along(ctx, (*ones, *sizes), len(ones))

    def large(self, ctx: Context, size: int) -> Any:
        """One sequence a row."""
        output_sizes = leading_ones(ctx, *matrix(size, ctx.data_types[0].size))
        return self._along(ctx, output_sizes, len(output_sizes) - 1)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        return self._along(ctx, four(*sizes), 1 + place)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self._along(ctx, four(*sizes), 2)

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """Axis + 1 starts again at 0."""
        yield edit(self._along(ctx, four(2, 3, 5), 3), axis=UINT32_MAX)

    def _along(self, ctx: Context, output_sizes: tuple[int, ...], axis: int) -> Any:
        """Packed, of the first types."""
        return self._build(plainest(ctx), output_sizes, axis)

    def _build(self, ctx: Context, output_sizes: tuple[int, ...], axis: int) -> Any:
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

    def break_values_count(self, ctx: Context) -> Any:
        desc = self.build(ctx)
        return resize(desc, "values_tensor", (1,) * len(desc.values_tensor.sizes))


BUILDERS = {"ONE_HOT": OneHotBuilder()}
