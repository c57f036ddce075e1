"""Descriptors of CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from dml_conformance.spec.operators.cumulative import DIRECTION, SPECS
from dml_conformance.spec.structures import Cumulative
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, four, plainest
from dml_conformance.strategies.builders._indexing import AlongBuilder
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes

Sizes = tuple[int, ...]
WAYS = tuple(product(DIRECTION, (False, True)))
# Sizes and axis: positions of the tokens of a batch, tokens before each by expert, samples along rays.
LAYERS = ((four(8, 128), 3), (four(512, 8), 2), (four(32, 64, 1), 2))


class CumulativeBuilder(AlongBuilder[Cumulative]):
    longest_axis = MOST_TOGETHER

    def build(self, ctx: Context) -> Cumulative:
        rank = ctx.chooser.choice(ctx.ranks)
        axis, way = ctx.chooser.integer(0, rank - 1), ctx.chooser.choice(WAYS)
        return self.alike(ctx, sizes(ctx, rank, ctx.least), axis, *way)

    def edges(self, ctx: Context) -> Iterator[Cumulative]:
        """Every type, each axis of every dimension count, every way, and along long ones."""
        for data_type in ctx.data_types:
            for way in WAYS:
                yield self.along(ctx.but(data_types=(data_type,)), (2, 3, 4, 5), 2, way)
        for rank in ctx.ranks:
            for axis in range(rank):
                yield self.along(ctx, ((2, 3) * 4)[:rank], axis, WAYS[axis % len(WAYS)])
        for found, axis in (*LAYERS, *((four(2, length), 3) for length in LONG_AXES)):
            for way in WAYS:
                yield self.along(ctx, found, axis, way)

    def along(self, ctx: Context, sizes: Sizes, axis: int, way: tuple[Any, bool] = WAYS[0]) -> Cumulative:
        return self.alike(plainest(ctx), sizes, axis, *way)


BUILDERS = {spec.name: CumulativeBuilder(spec.name) for spec in SPECS}
