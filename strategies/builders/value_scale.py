"""Descriptors of VALUE_SCALE_2D."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.operators.value_scale import CHANNELS, COUNTS, NAME
from dml_conformance.spec.structures import ValueScale
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]
SCALES = (1.0, -0.75, 3.0, 0.0, float32(0.1))
BIASES = (0.0, 0.5, -1.25, 3.0, float32(0.3))
# Of channels and biases, what breaks one rule alone.
WRONG_COUNTS = (2, 4, 5)
WRONG_CHANNELS = ((1, 3), (3, 1), (2, 3), (4, 1))
# What networks have in front: pixels to numbers between -1 and 1, to some around the means of their channels, to parts.
NETWORKS = (
    (float32(1 / 127.5), (-1.0,) * 3),
    (1.0, tuple(map(float32, (-103.939, -116.779, -123.68)))),
    (float32(1 / 255), (0.0,)),
)


class ValueScaleBuilder(Builder[ValueScale]):
    def build(self, ctx: Context) -> ValueScale:
        found = sizes(ctx, ctx.chooser.choice(ctx.ranks), ctx.least)
        return self._build(ctx, (*found[:CHANNELS], ctx.chooser.choice(COUNTS[::-1]), *found[CHANNELS + 1 :]))

    def of_sizes(self, ctx: Context, sizes: Sizes) -> ValueScale:
        if len(sizes) not in ctx.ranks or sizes[CHANNELS] not in COUNTS:
            raise Impossible
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), sizes)

    def vast(self, ctx: Context, sizes: Sizes) -> ValueScale:
        """A batch, with one channel."""
        return self.of_sizes(ctx, (sizes[0], 1, *sizes[1:]))

    def edges(self, ctx: Context) -> Iterator[ValueScale]:
        """Every scale and bias, long rows, and what networks have in front."""
        for channels in COUNTS:
            for scale in SCALES:
                for first in range(len(BIASES)):
                    bias = tuple((BIASES * 2)[first : first + channels])
                    yield self._build(ctx, (2, channels, 2, 3), scale, bias)
        for length in LONG_AXES:
            yield self._build(ctx, (1, 1, 1, length))
        for scale, bias in NETWORKS:
            yield self._build(ctx, (1, len(bias), 16, 16), scale, bias)

    def break_channel_count(self, ctx: Context) -> ValueScale:
        """As many channels as biases, but not one or three."""
        return self._build(ctx, (1, count := ctx.chooser.variant(WRONG_COUNTS), 2, 3), 2.0, (1.0,) * count)

    def break_channels(self, ctx: Context) -> ValueScale:
        """One bias or three, and other channels."""
        channels, count = ctx.chooser.variant(WRONG_CHANNELS)
        return self._build(ctx, (1, channels, 2, 3), 2.0, (1.0,) * count)

    def _build(
        self, ctx: Context, found: Sizes, scale: float | None = None, bias: tuple[float, ...] | None = None
    ) -> ValueScale:
        """An image of these sizes; any scale and biases where none are given."""
        chooser = ctx.chooser
        chooser.section()
        data_type = chooser.choice(ctx.data_types)
        scale = chooser.choice(SCALES) if scale is None else scale
        bias = tuple(chooser.choice(BIASES) for _ in range(found[CHANNELS])) if bias is None else bias
        return self._desc(tensor(ctx, data_type, found), tensor(ctx, data_type, found, output=True), scale, bias)


BUILDERS = {NAME: ValueScaleBuilder(NAME)}
