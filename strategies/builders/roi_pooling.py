"""Descriptors of ROI_POOLING."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import Size2d
from dml_conformance.spec.operators.roi_pooling import COLUMNS
from dml_conformance.spec.structures import RoiPooling
from dml_conformance.strategies.builders import Builder, of_rank
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.tensors import tensor

Sizes = tuple[int, ...]
SCALES = (1.0, 0.5, 2.0, 0.25, 0.0625, float32(1 / 3), 0.0)
MOST_POOLED = 2**24  # elements of a region along a dimension; all that one makes are found together
WITHIN = 0.25  # brings corners, which lie below 8, into images of 2 rows and columns
# Images, regions and pooled sizes of layers, of fewer channels: Fast R-CNN's with VGG16, with AlexNet, R-FCN's.
LAYERS = (((2, 8, 38, 50), 6, (7, 7)), ((2, 8, 27, 36), 5, (6, 6)), ((1, 9, 20, 20), 4, (3, 3)))


class RoiPoolingBuilder(Builder[RoiPooling]):
    """ROI_POOLING. Most inputs have two images, as patterns of regions name them."""

    def build(self, ctx: Context) -> RoiPooling:
        chooser = ctx.chooser
        batch, channels = 1 + chooser.choice((1, 1, 1, 0)), chooser.integer(ctx.least, 3)
        image, pooled = chooser.several(ctx.least, 9, 2), chooser.several(1, 4, 2)
        source, regions = (batch, channels, *image), chooser.integer(1, 4)
        return self._build(ctx, chooser.choice(ctx.data_types), source, regions, tuple(pooled))

    def of_sizes(self, ctx: Context, sizes: Sizes) -> RoiPooling:
        """Regions of it as 2 by 2 elements: several, as patterns have two images and there may be one."""
        if len(sizes) != 4:
            raise Impossible
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], sizes, 4, (2, 2), WITHIN)

    def large(self, ctx: Context, size: int) -> RoiPooling:
        """Regions of 64 channels as 7 by 7 elements."""
        regions = max(size // (64 * 49 * ctx.data_types[0].size), 1)
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (2, 64, 16, 16), regions, (7, 7), 1.0)

    def vast(self, ctx: Context, sizes: Sizes) -> RoiPooling:
        channels, *pooled = sizes
        if max(pooled) > MOST_POOLED:
            raise Impossible
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (2, channels, 3, 3), 1, tuple(pooled), WITHIN)

    def edges(self, ctx: Context) -> Iterator[RoiPooling]:
        """Every scale; windows of one element and less; images of a row, a column, an element; what layers have."""
        choice, types = ctx.chooser.choice, ctx.data_types
        for scale in SCALES:
            yield self._build(ctx, choice(types), (2, 2, 9, 8), 5, (3, 2), scale)
        for image, pooled in (
            ((1, 9), (1, 4)),
            ((9, 1), (4, 1)),
            ((1, 1), (2, 2)),
            ((6, 6), (1, 1)),
            ((5, 5), (17, 13)),
        ):
            yield self._build(ctx, choice(types), (2, 2, *image), 4, pooled, 1.0)
        yield self._build(ctx, choice(types), (1, 1, 1, 1), 2, (1, 2), 1.0)
        for source, regions, pooled in LAYERS:
            yield self._build(ctx, choice(types), source, regions, pooled, choice((1.0, 0.5)))

    def _build(
        self,
        ctx: Context,
        data_type: DataType,
        source: Sizes,
        regions: int,
        pooled: Sizes,
        scale: float | None = None,
    ) -> RoiPooling:
        """Of images of these sizes; the scale is chosen where it is None."""
        ctx.chooser.section()
        height, width = pooled
        return self._desc(
            tensor(ctx, data_type, of_rank(ctx, source)),
            tensor(ctx, data_type, of_rank(ctx, (1, 1, regions, COLUMNS))),
            tensor(ctx, data_type, of_rank(ctx, (regions, source[1], height, width)), output=True),
            ctx.chooser.choice(SCALES) if scale is None else scale,
            Size2d(width=width, height=height),
        )


BUILDERS = {"ROI_POOLING": RoiPoolingBuilder("ROI_POOLING")}
