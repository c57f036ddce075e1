"""Descriptors of REVERSE_SUBSEQUENCES."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import ReverseSubsequences
from dml_conformance.strategies.builders import LONG_AXES
from dml_conformance.strategies.builders._indexing import AlongBuilder, Sizes
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import put
from dml_conformance.strategies.tensors import sizes, tensor


class ReverseSubsequencesBuilder(AlongBuilder[ReverseSubsequences]):
    """REVERSE_SUBSEQUENCES."""

    def build(self, ctx: Context) -> ReverseSubsequences:
        rank = ctx.chooser.choice(ctx.ranks)
        return self._build(ctx, rank, ctx.chooser.integer(0, rank - 1))

    def edges(self, ctx: Context) -> Iterator[ReverseSubsequences]:
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self._build(ctx, rank, axis)
        for length in LONG_AXES:
            yield self.along(ctx, (1,) * (ctx.ranks[0] - 1) + (length,), ctx.ranks[0] - 1)

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> ReverseSubsequences:
        return self._of(ctx.but(layout="packed"), ctx.data_types[0], ctx.index_types[0], sizes, axis)

    def _build(self, ctx: Context, rank: int, axis: int) -> ReverseSubsequences:
        chooser = ctx.chooser
        data_type, index_type = chooser.choice(ctx.data_types), chooser.choice(ctx.index_types)
        input_sizes = sizes(ctx, rank, ctx.least)
        chooser.section()
        return self._of(ctx, data_type, index_type, input_sizes, axis)

    def _of(
        self, ctx: Context, data_type: DataType, index_type: DataType, sizes: Sizes, axis: int
    ) -> ReverseSubsequences:
        source, lengths = tensor(ctx, data_type, sizes), tensor(ctx, index_type, put(sizes, axis, 1))
        return self._desc(source, lengths, tensor(ctx, data_type, sizes, output=True), axis)


BUILDERS = {"REVERSE_SUBSEQUENCES": ReverseSubsequencesBuilder("REVERSE_SUBSEQUENCES")}
