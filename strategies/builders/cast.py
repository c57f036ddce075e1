"""Descriptors of CAST."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import Cast
from dml_conformance.strategies.builders import LONG_AXES, Builder, leading_ones, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor

OUTPUT = "OutputTensor"  # the group of the output's type


class CastBuilder(Builder[Cast]):
    """CAST."""

    def build(self, ctx: Context) -> Cast:
        data_type, other = ctx.chooser.choice(ctx.data_types), ctx.chooser.choice(ctx.types[OUTPUT])
        return self._build(ctx, data_type, other, sizes(ctx, ctx.chooser.choice(ctx.ranks), ctx.least))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Cast:
        """To the same type where that can be, so that every bit counts and the output takes no more memory."""
        data_type = ctx.data_types[0]
        other = data_type if data_type in ctx.types[OUTPUT] else ctx.types[OUTPUT][0]
        return self._build(ctx.but(layout="packed"), data_type, other, sizes)

    def large(self, ctx: Context, size: int) -> Cast:
        """To another type."""
        data_type = ctx.data_types[0]
        other = next((t for t in ctx.types[OUTPUT] if t is not data_type), data_type)
        return self._build(ctx.but(layout="packed"), data_type, other, leading_ones(ctx, *matrix(size, other.size)))

    def edges(self, ctx: Context) -> Iterator[Cast]:
        yield from self.of_every_rank(ctx)
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            yield self._build(ctx, ctx.data_types[0], ctx.types[OUTPUT][-1], (*ones, length))

    def _build(self, ctx: Context, data_type: DataType, other: DataType, sizes: tuple[int, ...]) -> Cast:
        return self._desc(tensor(ctx, data_type, sizes), tensor(ctx, other, sizes, output=True))


BUILDERS = {"CAST": CastBuilder("CAST")}
