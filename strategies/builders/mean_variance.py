"""Descriptors of MEAN_VARIANCE_NORMALIZATION1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.mean_variance import BROADCAST, CHANNELS, NORMALIZATION
from dml_conformance.spec.tensor import UINT32_MAX
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, Builder, leading_ones
from dml_conformance.strategies.builders._fused import (
    chosen_activation,
    every_activation,
)
from dml_conformance.strategies.builders._indexing import last_wide
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]
EPSILONS = (float32(1e-5), 0.5, 0.0, 2.0)
PLAIN = {"normalize_variance": True, "epsilon": EPSILONS[0], "fused_activation": None}


class NormalizationBuilder(Builder):
    def __init__(self) -> None:
        self.violations = {"channels": self.break_channels}

    def build(self, ctx: Context) -> Any:
        """Axes in ascending order; scale and bias of any sizes that are broadcast."""
        rank, chooser = ctx.chooser.choice(ctx.ranks), ctx.chooser
        chosen = chooser.integer(1, 2**rank - 1)
        axes = tuple(d for d in range(rank) if chosen >> d & 1)
        broadcast = chooser.several(0, 2**rank - 1, 2)
        given = [True, True] if ctx.complete else [chooser.choice((True, False)) for _ in BROADCAST]
        members = {
            "normalize_variance": chooser.choice((True, True, False)),
            "epsilon": chooser.choice(EPSILONS),
            "fused_activation": chosen_activation(ctx) if chooser.integer(0, 1) else None,
        }
        found = sizes(ctx, rank, 2 if ctx.spread else 1)
        if ctx.level < Level.L5_2:
            given[1] = given[0]
        if ctx.level < Level.L4_0:
            broadcast = [ones & ~(1 << CHANNELS) for ones in broadcast]
        masks = [ones if is_given else None for ones, is_given in zip(broadcast, given, strict=True)]
        return self._build(ctx, found, axes, masks, **members)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> Any:
        return self._plain(ctx, sizes, (last_wide(sizes),))

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> Any:
        if sizes[place] > MOST_TOGETHER:
            raise Impossible
        every = leading_ones(ctx, *sizes)
        return self._plain(ctx, every, (len(every) - 3 + place,))

    def edges(self, ctx: Context) -> Iterator[Any]:
        """Each axis of every dimension count, all and none; all that is broadcast; long axes; every activation."""
        for rank in ctx.ranks:
            found = ((2, 3) * 4)[:rank]
            for axes in ((), tuple(range(rank)), *((d,) for d in range(rank))):
                yield self._plain(ctx, found, axes)
        channels = 0 if ctx.level < Level.L4_0 else 1 << CHANNELS
        for masks in product((0, 0b1101, 0b0101 | channels, 0b1000), repeat=2):
            yield self._build(ctx.but(layout="packed"), (2, 3, 4, 5), (2, 3), masks)
        for epsilon, is_normalized in product(EPSILONS, (True, False)):
            yield edit(self._plain(ctx, (1, 3, 4, 5), (2, 3)), epsilon=epsilon, normalize_variance=is_normalized)
        for length in LONG_AXES:
            yield self._plain(ctx, (1, 1, 2, length), (3,))
        for fused in every_activation(ctx.level):
            yield edit(self._plain(ctx, (1, 1, 3, LONG_AXES[0]), (3,)), fused_activation=fused)

    def wrapping(self, ctx: Context) -> Iterator[Any]:
        """An axis + 1 starts again at 0."""
        yield edit(self._plain(ctx, (1, 2, 3, 5), (3,)), axes=(UINT32_MAX,))

    def break_channels(self, ctx: Context) -> Any:
        """One channel in place of several."""
        desc = self.build(ctx.of_rank(4, 4).but(complete=True, spread=True))
        return resize_at(desc, ctx.chooser.variant(tuple(BROADCAST.values())), CHANNELS, 1)

    def _plain(self, ctx: Context, found: Sizes, axes: Sizes) -> Any:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), found, axes, (0, 0))

    def _build(self, ctx: Context, found: Sizes, axes: Sizes, masks: Any, **members: Any) -> Any:
        """Of scale and bias a mask has a bit for each dimension of size 1; None for a tensor that is missing."""
        data_type = ctx.chooser.choice(ctx.data_types)
        ctx.chooser.section()
        beside = [
            tensor(ctx, data_type, tuple(1 if ones >> d & 1 else size for d, size in enumerate(found)))
            if ones is not None
            else None
            for ones in masks
        ]
        source, output = tensor(ctx, data_type, found), tensor(ctx, data_type, found, output=True)
        return NORMALIZATION.desc(source, *beside, output, axes, **{**PLAIN, **members})


BUILDERS = {"MEAN_VARIANCE_NORMALIZATION1": NormalizationBuilder()}
