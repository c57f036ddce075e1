"""Descriptors of MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.mean_variance import BROADCAST, CHANNELS, NAME, NEWEST, OLDEST
from dml_conformance.spec.structures import MeanVariance
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, matrix
from dml_conformance.strategies.builders._fused import chosen_activation, every_activation
from dml_conformance.strategies.builders._indexing import AlongBuilder, chosen_axes
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import D, edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]
EPSILONS = (float32(1e-5), 0.5, 0.0, 2.0)
FLAGS = ("NormalizeVariance", "UseMean", "UseVariance")  # what it is normalized by
IMAGE = (2, 3)  # the dimensions of four that are taken together without CrossChannel


class NormalizationBuilder(AlongBuilder[D]):
    """MEAN_VARIANCE_NORMALIZATION1 or MEAN_VARIANCE_NORMALIZATION2, which has UseMean and UseVariance."""

    longest_axis = MOST_TOGETHER

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._flags = [field.attribute for field in self._spec.fields if field.name in FLAGS]

    def build(self, ctx: Context) -> D:
        """Scale and bias of any sizes that are broadcast."""
        (rank, axes), chooser = chosen_axes(ctx), ctx.chooser
        broadcast = chooser.several(0, 2**rank - 1, 2)
        given = [True, True] if ctx.complete else [chooser.choice((True, False)) for _ in BROADCAST]
        members = {
            **{flag: chooser.choice((True, True, False)) for flag in self._flags},
            "epsilon": chooser.choice(EPSILONS),
            "fused_activation": chosen_activation(ctx) if chooser.integer(0, 1) else None,
        }
        found = sizes(ctx, rank, ctx.least)
        if ctx.level < Level.L5_2:
            given[1] = given[0]
        if ctx.level < Level.L4_0:
            broadcast = [ones & ~(1 << CHANNELS) for ones in broadcast]
        masks = [ones if is_given else None for ones, is_given in zip(broadcast, given, strict=True)]
        return self._build(ctx, found, axes, masks, **members)

    def over(self, axes: Sizes) -> dict[str, Any]:
        """The attributes that have elements along some axes taken together, or along others as near as can be."""
        return {"axes": axes}

    def along(self, ctx: Context, sizes: Sizes, axis: int) -> D:
        return self._plain(ctx, sizes, (axis,))

    def edges(self, ctx: Context) -> Iterator[D]:
        """Each axis of every dimension count, all and none; all that is broadcast; long axes; every activation."""
        for rank in ctx.ranks:
            found = ((2, 3) * 4)[:rank]
            for axes in ((), tuple(range(rank)), *((d,) for d in range(rank))):
                yield self._plain(ctx, found, axes)
        channels = 0 if ctx.level < Level.L4_0 else 1 << CHANNELS
        for masks in product((0, 0b1101, 0b0101 | channels, 0b1000), repeat=2):
            yield self._build(ctx.but(layout="packed"), (2, 3, 4, 5), IMAGE, masks)
        for epsilon, *every in product(EPSILONS, *((True, False),) * len(self._flags)):
            members = dict(zip(self._flags, every, strict=True))
            yield edit(self._plain(ctx, (1, 3, 4, 5), IMAGE), epsilon=epsilon, **members)
        for length in LONG_AXES:
            yield self._plain(ctx, (1, 1, 2, length), (3,))
        for fused in every_activation(ctx.level):
            yield edit(self._plain(ctx, (1, 1, 3, LONG_AXES[0]), (3,)), fused_activation=fused)

    def break_channels(self, ctx: Context) -> D:
        """One channel in place of several, which MEAN_VARIANCE_NORMALIZATION1 does not broadcast at first."""
        desc = self.build(ctx.of_rank(4, 4).but(complete=True, spread=True))
        return resize_at(desc, attribute_of(ctx.chooser.variant(BROADCAST)), CHANNELS, 1)

    def _plain(self, ctx: Context, found: Sizes, axes: Sizes) -> D:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), found, axes, (0, 0))

    def _build(self, ctx: Context, found: Sizes, axes: Sizes, masks: Any, **members: Any) -> D:
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
        plain = {**dict.fromkeys(self._flags, True), "epsilon": EPSILONS[0], "fused_activation": None}
        return self._desc(source, *beside, output, **{**plain, **self.over(axes), **members})


class ImageBuilder(NormalizationBuilder[MeanVariance]):
    """MEAN_VARIANCE_NORMALIZATION: of all dimensions of an image, and of channels where these are among the axes."""

    def over(self, axes: Sizes) -> dict[str, Any]:
        return {"cross_channel": CHANNELS in axes}

    def of_sizes(self, ctx: Context, sizes: Sizes) -> MeanVariance:
        if len(sizes) not in ctx.ranks:
            raise Impossible
        return self._plain(ctx, sizes, IMAGE)

    def large(self, ctx: Context, size: int) -> MeanVariance:
        """A channel for each row."""
        rows, columns = matrix(size, ctx.data_types[0].size)
        return self._plain(ctx, (1, rows, 1, columns), IMAGE)

    def vast(self, ctx: Context, sizes: Sizes) -> MeanVariance:
        """Batch, channels and a row."""
        if sizes[2] > MOST_TOGETHER:
            raise Impossible
        return self._plain(ctx, (*sizes[:2], 1, sizes[2]), IMAGE)

    def wrapping(self, ctx: Context) -> Iterator[MeanVariance]:
        return iter(())


BUILDERS = {OLDEST: ImageBuilder(OLDEST), **{name: NormalizationBuilder(name) for name in (NAME, NEWEST)}}
