"""Descriptors of RANDOM_GENERATOR."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.operators.random_generator import STATE
from dml_conformance.spec.structures import RandomGenerator
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.builders._element_wise import LONGEST_AXIS
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes, tensor


class RandomGeneratorBuilder(Builder[RandomGenerator]):
    """RANDOM_GENERATOR, one time in four without a state that comes out; sizes that are asked for are the output's."""

    longest_axis = LONGEST_AXIS

    def build(self, ctx: Context) -> RandomGenerator:
        rank = ctx.chooser.choice(ctx.ranks)
        return self._build(ctx, ctx.chooser.choice(ctx.ranks), sizes(ctx, rank, ctx.least))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> RandomGenerator:
        return self._build(ctx.but(layout="packed", complete=True), ctx.ranks[0], sizes)

    def edges(self, ctx: Context) -> Iterator[RandomGenerator]:
        """Every dimension count, and from 1 on numbers of elements that are no multiple of 4, and long ones."""
        ones = (1,) * (ctx.ranks[-1] - 1)
        for rank in ctx.ranks:
            yield self._build(ctx.but(complete=True), rank, (1,) * (rank - 1) + (5,))
        for length in (*range(1, 10), *LONG_AXES):
            yield self.of_sizes(ctx, (*ones, length))
        if len(ones) > 1:
            yield self.of_sizes(ctx, (*ones[2:], 3, 5, 7))
            yield self.of_sizes(ctx, (*ones[2:], 64, 3, 147))  # weights of the first layer of ResNet-50

    def _build(self, ctx: Context, rank: int, sizes: tuple[int, ...]) -> RandomGenerator:
        (data_type,) = ctx.data_types
        state = (1,) * (rank - 1) + (STATE,)
        return self._desc(
            tensor(ctx, data_type, state),
            tensor(ctx, data_type, sizes, output=True),
            tensor(ctx, data_type, state, output=True) if ctx.complete or ctx.chooser.integer(0, 3) < 3 else None,
            0,
        )


BUILDERS = {"RANDOM_GENERATOR": RandomGeneratorBuilder("RANDOM_GENERATOR")}
