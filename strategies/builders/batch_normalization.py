"""Descriptors of BATCH_NORMALIZATION, BATCH_NORMALIZATION_TRAINING and the gradients of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.operators.batch_normalization import IMAGE, SPECS
from dml_conformance.spec.structures import BatchNormalization, BatchNormalizationGrad
from dml_conformance.strategies.builders import LONG_AXES, MOST_TOGETHER, Builder, leading_ones
from dml_conformance.strategies.builders._fused import chosen_activation, every_activation
from dml_conformance.strategies.builders._indexing import last_wide
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit
from dml_conformance.strategies.tensors import sizes

Sizes = tuple[int, ...]
EPSILONS = (float32(1e-5), 0.5, 0.0, 2.0)
PLAIN: Mapping[str, Any] = {"spatial": True, "epsilon": EPSILONS[0], "fused_activation": None}
# Of parameters that are of one number alone, by operator; the others have the sizes of the output.
PARAMETERS = {
    "BATCH_NORMALIZATION": ("mean_tensor", "variance_tensor", "scale_tensor", "bias_tensor"),
    "BATCH_NORMALIZATION_TRAINING": ("scale_tensor", "bias_tensor", "output_mean_tensor", "output_variance_tensor"),
    **dict.fromkeys(
        ("BATCH_NORMALIZATION_GRAD", "BATCH_NORMALIZATION_TRAINING_GRAD"),
        (
            *("mean_tensor", "variance_tensor", "scale_tensor"),
            *("output_scale_gradient_tensor", "output_bias_gradient_tensor"),
        ),
    ),
}
INFERENCE = "BATCH_NORMALIZATION"
CHANNELS = 1  # the dimension of a parameter for each channel
# The first layer of an image network, a depthwise one of a later stage, rows of a perceptron, and a video.
LAYERS: tuple[Sizes, ...] = ((1, 8, 24, 24), (2, 32, 7, 7), (32, 24, 1, 1), (1, 4, 4, 6, 6))


class BatchNormalizationBuilder(Builder[BatchNormalization | BatchNormalizationGrad]):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._has_activation = not name.endswith("GRAD")

    def build(self, ctx: Context) -> BatchNormalization | BatchNormalizationGrad:
        """Parameters of any sizes that are broadcast, of which inference alone has some that differ."""
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        masks = chooser.several(0, 2**rank - 1, 4 if self._spec.name == INFERENCE else 1)
        is_spatial = bool(chooser.integer(0, 1))
        if ctx.level < Level.L4_0 and not is_spatial:
            is_spatial = rank != 4
            masks = [ones if is_spatial else ones & ~sum(1 << d for d in IMAGE) for ones in masks]
        members: dict[str, Any] = {
            "epsilon": chooser.choice(EPSILONS),
            "fused_activation": chosen_activation(ctx) if self._has_activation and chooser.integer(0, 1) else None,
            "spatial": is_spatial,
        }
        has_add = ctx.complete or chooser.integer(0, 1) == 1
        return self._build(ctx, sizes(ctx, rank, ctx.least), masks, has_add=has_add, **members)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> BatchNormalization | BatchNormalizationGrad:
        if sizes[last_wide(sizes)] > MOST_TOGETHER:
            raise Impossible
        return self._plain(ctx, sizes, 1 << last_wide(sizes))

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> BatchNormalization | BatchNormalizationGrad:
        if sizes[place] > MOST_TOGETHER:
            raise Impossible
        every = leading_ones(ctx, *sizes)
        return self._plain(ctx, every, 1 << len(every) - 3 + place)

    def edges(self, ctx: Context) -> Iterator[BatchNormalization | BatchNormalizationGrad]:
        """Layers by channel, each dimension by itself, all and none; long axes; every activation."""
        for found in LAYERS:
            if len(found) in ctx.ranks:
                for epsilon in EPSILONS[:2]:
                    yield edit(self._plain(ctx, found, ~(1 << CHANNELS)), epsilon=epsilon)
        for rank in ctx.ranks:
            found = ((2, 3) * 4)[:rank]
            for ones in (0, -1, *(1 << d for d in range(rank))):
                yield self._plain(ctx, found, ones)
        if self._spec.name == INFERENCE:
            for n in range(4):
                masks = [~(1 << CHANNELS) if n == place else 0 for place in range(4)]
                yield self._build(ctx.but(layout="packed"), (2, 3, 4, 5), masks)
        for length in LONG_AXES:
            yield self._plain(ctx, (1, 2, 1, length), 1 << 3)
        for fused in every_activation(ctx.level) if self._has_activation else ():
            yield edit(self._plain(ctx, (2, 3, 1, 40), ~(1 << CHANNELS)), fused_activation=fused)

    def break_spatial(self, ctx: Context) -> BatchNormalization | BatchNormalizationGrad:
        """One of mean and variance is broadcast over the image."""
        ctx = ctx.of_rank(4, 4).but(spread=True)
        place, d = ctx.chooser.variant((0, 1)), ctx.chooser.variant(IMAGE)
        masks = [1 << d if n == place else 0 for n in range(4)]
        return self._build(ctx, sizes(ctx, 4, 2), masks, spatial=False)

    def break_spatial_dimensions(self, ctx: Context) -> BatchNormalization | BatchNormalizationGrad:
        rank = ctx.chooser.variant([rank for rank in ctx.ranks if rank != 4])
        return self._build(ctx, sizes(ctx, rank), [0], spatial=False)

    def _plain(self, ctx: Context, found: Sizes, ones: int) -> BatchNormalization | BatchNormalizationGrad:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), found, [ones])

    def _build(
        self, ctx: Context, found: Sizes, masks: Sequence[int], *, has_add: bool = False, **members: Any
    ) -> BatchNormalization | BatchNormalizationGrad:
        """Of each parameter a mask has a bit for each dimension of size 1; one mask is for all of them."""
        data_type = ctx.chooser.choice(ctx.data_types)
        ctx.chooser.section()
        given = {field.attribute: found for field in self._spec.tensor_fields if has_add or not field.optional}
        for n, key in enumerate(PARAMETERS[self._spec.name]):
            ones = masks[n % len(masks)]
            given[key] = tuple(1 if ones >> d & 1 else size for d, size in enumerate(found))
        every = {**PLAIN, **members}
        own = {field.attribute: every[field.attribute] for field in self._spec.fields if not field.is_tensor}
        return self.of_tensors(ctx, {DATA: data_type}, given, **own)


BUILDERS = {spec.name: BatchNormalizationBuilder(spec.name) for spec in SPECS}
