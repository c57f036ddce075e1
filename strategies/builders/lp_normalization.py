"""Descriptors of LP_NORMALIZATION."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dml_conformance.spec.operators.lp_normalization import NAME
from dml_conformance.spec.structures import LpNormalization
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, plainest
from dml_conformance.strategies.builders._indexing import AlongBuilder, last_wide
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import sizes

Sizes = tuple[int, ...]
EPSILONS = (float32(1e-5), 0.0, float32(1e-12), 0.5)
ORDERS = (2, 1)
# Of networks: features at each place of an image that is searched for objects, and what faces are told apart by.
NETWORKS = (((1, 64, 6, 6), 1), ((1, 1, 4, 128), 3))


class LpNormalizationBuilder(AlongBuilder[LpNormalization]):
    longest_axis = MOST_TOGETHER

    def build(self, ctx: Context) -> LpNormalization:
        rank = ctx.chooser.choice(ctx.ranks)
        axis, epsilon, p = ctx.chooser.integer(0, rank - 1), ctx.chooser.choice(EPSILONS), ctx.chooser.choice(ORDERS)
        return self.alike(ctx, sizes(ctx, rank, ctx.least), axis, epsilon, p)

    def vast(self, ctx: Context, sizes: Sizes) -> LpNormalization:
        if sizes[last_wide(sizes)] > MOST_TOGETHER:
            raise Impossible
        return super().vast(ctx, sizes)

    def edges(self, ctx: Context) -> Iterator[LpNormalization]:
        """Each axis of every dimension count, with each order and Epsilon; long axes; what networks have."""
        for rank in ctx.ranks:
            for axis, p in product(range(rank), ORDERS):
                yield self.alike(ctx, ((2, 3) * 4)[:rank], axis, EPSILONS[0], p)
        for epsilon, p in product(EPSILONS, ORDERS):
            yield self.alike(ctx, (2, 3, 4, 5), 1, epsilon, p)
        for length, p in product(LONG_AXES, ORDERS):
            yield self.alike(ctx, (1, 1, 2, length), 3, 0.0, p)
        for found, axis in NETWORKS:
            yield self.along(ctx, found, axis)

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> LpNormalization:
        return self.alike(plainest(ctx), sizes, axis, EPSILONS[0], ORDERS[0])


BUILDERS = {NAME: LpNormalizationBuilder(NAME)}
