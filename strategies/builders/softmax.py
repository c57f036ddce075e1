"""Descriptors of SOFTMAX and its like, and of those with Axes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import prod
from typing import Any

from dml_conformance.spec.operators.softmax import SPECS
from dml_conformance.spec.structures import Softmax
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, Builder
from dml_conformance.strategies.builders._indexing import AlongBuilder, chosen_axes
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit
from dml_conformance.strategies.tensors import sizes, tensor


class SoftmaxBuilder(Builder[Softmax]):
    """One that works along the last dimension, of two at most."""

    shares_layouts = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.longest_axis = MOST_TOGETHER if self._spec.primitives else MAX_ELEMENTS

    def build(self, ctx: Context) -> Softmax:
        rank = ctx.chooser.choice(ctx.ranks)
        found = sizes(ctx, min(rank, 2), ctx.least)
        return self._build(ctx, (1,) * (rank - len(found)) + found)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Softmax:
        """What stands before the last dimension is in the one before it, as many rows."""
        folded = (*(1,) * (len(sizes) - 2), prod(sizes[:-1]), sizes[-1]) if len(sizes) > 1 else sizes
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), folded)

    def edges(self, ctx: Context) -> Iterator[Softmax]:
        """Every dimension count; long rows."""
        yield from self.of_every_rank(ctx)
        for length in LONG_AXES:
            yield self._build(ctx, (1,) * (ctx.ranks[0] - 1) + (length,))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Softmax:
        if place != len(sizes) - 1 and sizes[place] > max(LONG_AXES[0], *sizes[place + 1 :]):
            raise Impossible  # it works along the last dimension alone
        return super().long_axis(ctx, sizes, place)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Softmax:
        if sizes[-1] > self.longest_axis:
            raise Impossible
        return super().vast(ctx, sizes)

    def _build(self, ctx: Context, sizes: tuple[int, ...], **more: Any) -> Softmax:
        data_type = ctx.chooser.choice(ctx.data_types)
        tensors = (tensor(ctx, data_type, sizes), tensor(ctx, data_type, sizes, output=True))
        return self._desc(*tensors, **more)


class AxesBuilder(AlongBuilder[Softmax], SoftmaxBuilder):
    """One that works along Axes."""

    def build(self, ctx: Context) -> Softmax:
        return self._of_axes(ctx, *chosen_axes(ctx))

    def _of_axes(self, ctx: Context, rank: int, axes: tuple[int, ...]) -> Softmax:
        return self._build(ctx, sizes(ctx, rank, ctx.least), axes=axes)

    def edges(self, ctx: Context) -> Iterator[Softmax]:
        """Every dimension count; no axes, all, each and pairs of them; long rows; axes in another order and twice."""
        for rank in ctx.ranks:
            for axes in {
                (),
                tuple(range(rank)),
                *combinations(range(rank), 1),
                *combinations(range(rank), min(2, rank)),
            }:
                yield self._of_axes(ctx, rank, axes)
        for length in LONG_AXES:
            yield self._build(ctx, (1,) * (ctx.ranks[-1] - 1) + (length,), axes=(ctx.ranks[-1] - 1,))
        for axes in ((1, 0), (1, 1)):
            yield edit(self.build(ctx.of_rank(4, 4)), axes=axes)

    def along(self, ctx: Context, sizes: tuple[int, ...], axis: int) -> Softmax:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), sizes, axes=(axis,))


BUILDERS = {spec.name: (AxesBuilder if spec.name.endswith("1") else SoftmaxBuilder)(spec.name) for spec in SPECS}
