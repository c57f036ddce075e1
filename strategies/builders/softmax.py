"""Descriptors of SOFTMAX and its like, and of those with Axes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import prod
from typing import Any

from dml_conformance.spec.operators.softmax import SPECS
from dml_conformance.spec.registry import operator
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import LONG_AXES, Builder, leading_ones
from dml_conformance.strategies.builders._indexing import last_wide
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor


class SoftmaxBuilder(Builder):
    """One that works along the last dimension, of two at most."""

    shares_layouts = True

    def __init__(self, name: str) -> None:
        self._spec = operator(name)
        self.violations = {"output-sizes": self.break_sizes, "effective-rank": self.break_effective_rank}

    def build(self, ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.ranks)
        found = sizes(ctx, min(rank, 2), 2 if ctx.spread else 1)
        return self._build(ctx, (1,) * (rank - len(found)) + found)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        """What stands before the last dimension is in the one before it, as many rows."""
        folded = (*(1,) * (len(sizes) - 2), prod(sizes[:-1]), sizes[-1]) if len(sizes) > 1 else sizes
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), folded)

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Every dimension count; long rows."""
        for rank in ctx.ranks:
            yield self.build(ctx.of_rank(rank, rank))
        for length in LONG_AXES:
            yield self._build(ctx, (1,) * (ctx.ranks[0] - 1) + (length,))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        if place != len(sizes) - 1 and sizes[place] > max(LONG_AXES[0], *sizes[place + 1 :]):
            raise Impossible  # it works along the last dimension alone
        return super().long_axis(ctx, sizes, place)

    def break_sizes(self, ctx: Context) -> Any:
        """An output whose sizes are not the input's."""
        desc = self.build(ctx)
        found = described(desc, "output_tensor").sizes
        d = ctx.chooser.variant(range(len(found)))
        other = ctx.chooser.variant([n for n in (found[d] + 1, found[d] - 1, 1) if n > 0 and n != found[d]])
        return resize_at(desc, "output_tensor", d, other)

    def break_effective_rank(self, ctx: Context) -> Any:
        """A third dimension from the end, or another before it."""
        ranks = [rank for rank in ctx.ranks if rank > 2]
        if not ranks:
            raise Impossible
        rank = ctx.chooser.choice(ranks)
        d = ctx.chooser.variant(range(rank - 2))
        small = sizes(ctx, 2, 1)
        return self._build(ctx, (1,) * d + (ctx.chooser.variant((2, 3)),) + (1,) * (rank - 3 - d) + small)

    def _build(self, ctx: Context, sizes: tuple[int, ...], **more: Any) -> Any:
        data_type = ctx.chooser.choice(ctx.data_types)
        tensors = (tensor(ctx, data_type, sizes), tensor(ctx, data_type, sizes, output=True))
        return self._spec.desc(*tensors, **more)


class AxesBuilder(SoftmaxBuilder):
    """One that works along Axes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.violations = {"output-sizes": self.break_sizes, "axes-range": self.break_axes_range}

    def build(self, ctx: Context) -> Any:
        """Any axes, in ascending order: no page says what another order means."""
        rank = ctx.chooser.choice(ctx.ranks)
        return self._along(ctx, rank, ctx.chooser.integer(1, 2**rank - 1))

    def _along(self, ctx: Context, rank: int, chosen: int) -> Any:
        axes = tuple(d for d in range(rank) if chosen >> d & 1)
        return self._build(ctx, sizes(ctx, rank, 2 if ctx.spread else 1), axes=axes)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self._of(ctx, sizes, last_wide(sizes))

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Every dimension count; no axes, all, each and pairs of them; long rows; axes in another order and twice."""
        for rank in ctx.ranks:
            for axes in {
                (),
                tuple(range(rank)),
                *combinations(range(rank), 1),
                *combinations(range(rank), min(2, rank)),
            }:
                yield self._along(ctx, rank, sum(1 << d for d in axes))
        for length in LONG_AXES:
            yield self._build(ctx, (1,) * (ctx.ranks[-1] - 1) + (length,), axes=(ctx.ranks[-1] - 1,))
        for axes in ((1, 0), (1, 1)):
            yield edit(self.build(ctx.of_rank(4, 4)), axes=axes)

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Any:
        every = leading_ones(ctx, *sizes)
        return self._of(ctx, every, len(every) - len(sizes) + place)

    def _of(self, ctx: Context, sizes: tuple[int, ...], axis: int) -> Any:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), sizes, axes=(axis,))

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """An axis + 1 starts again at 0."""
        yield edit(self._of(ctx, (1, 2, 3, 5), 3), axes=(UINT32_MAX,))

    def break_axes_range(self, ctx: Context) -> Any:
        """The last axis, named by a number that is too large, alone or after others."""
        desc = self.build(ctx)
        rank = len(desc.input_tensor.sizes)
        wrong = ctx.chooser.variant((rank, rank + 1, 2**31, UINT32_MAX))
        if not desc.axes:
            raise Impossible
        return edit(desc, axes=(*desc.axes[:-1], wrong))


BUILDERS = {spec.name: (AxesBuilder if spec.name.endswith("1") else SoftmaxBuilder)(spec.name) for spec in SPECS}
