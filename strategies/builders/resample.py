"""Descriptors of UPSAMPLE_2D, RESAMPLE, its successors and their gradients.

Sizes of source and output are those of the forward operator: a gradient's input has the output's. Either mode is
chosen, but for what is large or long, which has the nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import Size2d, enumeration
from dml_conformance.spec.structures import DML_UPSAMPLE_2D_OPERATOR_DESC, WithScales
from dml_conformance.strategies.builders import FAR_INDICES, LONG_AXES, Builder, four, matrix
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]


MODES = enumeration("DML_INTERPOLATION_MODE")
NEAREST, LINEAR = int(MODES.NEAREST_NEIGHBOR), int(MODES.LINEAR)
DIRECTIONS = tuple(map(int, enumeration("DML_AXIS_DIRECTION")))
MOST_COUNTED = 2**21  # elements along a dimension; from about there on FLOAT32 has not the half of a coordinate
MOST_SCALE = 3
# Scales that are no sizes' ratio; with those that are powers of two FLOAT32 has every coordinate exactly.
SCALES = (1.0, 2.0, 0.5, 4.0, 0.25, 3.0, 1.5, 0.75, 0.375, 100.0, float32(0.01))
# Offsets of the input's and the output's pixels: their centres, their corners, and others.
PIXEL_OFFSETS = ((0.5, -0.5), (0.0, 0.0), (0.0, -0.5), (0.5, 0.0), (-1.5, 0.25), (0.25, 2.5), (-0.125, -3.0))
# Images that layers scale, of fewer channels: of a feature pyramid, of U-Net, of FCN-8s on its way to the whole image.
LAYERS = (((1, 4, 13, 13), 2.0), ((2, 8, 14, 14), 2.0), ((1, 3, 7, 9), 8.0))
WRAPPING = ((3, 2_863_311_531), (5, 858_993_460), (65_537, 65_537))  # their products pass 2^32 by a size


class ResampleBuilder(Builder[WithScales]):
    """RESAMPLE, one of its successors, or a gradient."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._names = [field.attribute for field in self._spec.desc.fields]
        self._is_gradient = "input_gradient_tensor" in self._names

    def build(self, ctx: Context) -> WithScales:
        rank = ctx.chooser.choice(ctx.ranks)
        data_type = ctx.chooser.choice(ctx.data_types)
        source, output = sizes(ctx, rank, ctx.least), sizes(ctx, rank, ctx.least)
        scales = [self._scale(ctx, *pair) for pair in zip(source, output, strict=True)]
        return self._build(ctx, data_type, source, output, scales)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> WithScales:
        """With an output of the same sizes."""
        return self._plain(ctx, sizes, sizes, (1.0,) * len(sizes))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[WithScales]:
        ones = (1,) * (ctx.ranks[-1] - 2)
        for source, output in ((sizes, sizes), ((1, 1), sizes), (sizes, (1, 1))):
            desc = self._plain(ctx, ones + source, ones + output, (1.0,) * ctx.ranks[-1])
            yield desc
            yield edit(desc, interpolation_mode=LINEAR)

    def large(self, ctx: Context, size: int) -> WithScales:
        """A matrix, twice along both dimensions."""
        rows, columns = matrix(size // 4, ctx.data_types[0].size)
        return self._plain(ctx, four(rows, columns), four(2 * rows, 2 * columns), (1.0, 1.0, 2.0, 2.0))

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> WithScales:
        """A few elements out of all along the dimension."""
        few = tuple(min(size, FAR_INDICES) if d == place else size for d, size in enumerate(sizes))
        source, output = (few, sizes) if self._is_gradient else (sizes, few)
        scales = (float32(to / of) for to, of in zip(output, source, strict=True))
        return self._plain(ctx, four(*source), four(*output), (1.0, *scales))

    def vast(self, ctx: Context, sizes: Sizes) -> WithScales:
        """Out of an input of few elements, each many times; of a gradient each once. Anything is right along a
        dimension whose coordinates FLOAT32 has not."""
        if max(sizes) > MOST_COUNTED:
            raise Impossible
        if self._is_gradient:
            return self.of_sizes(ctx, four(*sizes))
        source = tuple(max(size // 64, 1) for size in sizes)
        return self._plain(
            ctx, four(*source), four(*sizes), (1.0, *(64.0 if size >= 64 else float(size) for size in sizes))
        )

    def edges(self, ctx: Context) -> Iterator[WithScales]:
        """All of them in both modes."""
        for desc in self._edges(ctx):
            yield edit(desc, interpolation_mode=NEAREST)
            plain = {"antialiased": False} if "antialiased" in self._names else {}
            yield edit(desc, interpolation_mode=LINEAR, **plain)

    def _edges(self, ctx: Context) -> Iterator[WithScales]:
        """Every scale and every pair of offsets, sizes kept, cropped and clamped, in both directions; long axes."""
        choice, types, rank = ctx.chooser.choice, ctx.data_types, ctx.ranks[-1]
        ones, kept = (1,) * (rank - 1), (1.0,) * (rank - 1)
        every = PIXEL_OFFSETS if "input_pixel_offsets" in self._names else PIXEL_OFFSETS[:1]
        pairs = [*((scale, every[n % len(every)]) for n, scale in enumerate(SCALES)), *((0.5, pair) for pair in every)]
        directions = DIRECTIONS if "rounding_direction" in self._names else DIRECTIONS[:1]
        for (scale, pair), direction in product(pairs, directions):
            output = max(round(9 * scale) + choice((0, -1, 3)), 1)
            offsets = (pair,) * rank
            yield self._build(ctx, choice(types), (*ones, 9), (*ones, output), (*kept, scale), offsets, direction)
        for length in LONG_AXES:
            for output, scale in ((2 * length, 2.0), (length // 3, float32(1 / 3))):
                yield self._build(ctx, choice(types), (*ones, length), (*ones, output), (*kept, scale))
        for source, scale in LAYERS if self._is_gradient else ():
            scaled = (*source[:2], *(int(size * scale) for size in source[2:]))
            yield self._build(
                ctx, choice(types), source, scaled, (1.0, 1.0, scale, scale), PIXEL_OFFSETS[:1] * 4, DIRECTIONS[1]
            )

    def _scale(self, ctx: Context, source: int, output: int) -> float:
        """The ratio of the sizes, or any other scale."""
        kind = ctx.chooser.integer(0, len(SCALES))
        return float32(output / source) if kind == 0 else SCALES[kind - 1]

    def _plain(self, ctx: Context, source: Sizes, output: Sizes, scales: Sequence[float]) -> WithScales:
        centres = (PIXEL_OFFSETS[0],) * len(source)
        plain = ctx.but(layout="packed")
        desc = self._build(plain, ctx.data_types[0], source, output, scales, centres, DIRECTIONS[0])
        return edit(desc, interpolation_mode=NEAREST)

    def _build(
        self,
        ctx: Context,
        data_type: DataType,
        source: Sizes,
        output: Sizes,
        scales: Sequence[float],
        offsets: Sequence[tuple[float, float]] | None = None,
        direction: int | None = None,
    ) -> WithScales:
        """What is None is chosen; what the operator does not have is left out."""
        chooser = ctx.chooser
        chooser.section()
        if offsets is None:
            offsets = [chooser.choice(PIXEL_OFFSETS) for _ in scales]
        of_input, of_output = (output, source) if self._is_gradient else (source, output)
        values = {
            "input_tensor": tensor(ctx, data_type, of_input),
            "output_tensor": tensor(ctx, data_type, of_output, output=True),
            "rounding_direction": chooser.choice(DIRECTIONS) if direction is None else direction,
            "scales": tuple(scales),
            "input_pixel_offsets": tuple(offset for offset, _ in offsets),
            "output_pixel_offsets": tuple(offset for _, offset in offsets),
            "antialiased": chooser.choice((False, True)),
        }
        mode = values["interpolation_mode"] = chooser.choice((NEAREST, LINEAR))
        values["antialiased"] = values["antialiased"] and (mode == NEAREST or min(scales) >= 1)  # else all is open
        return self._desc(*(values[name.replace("_gradient", "")] for name in self._names))


class UpsampleBuilder(Builder[DML_UPSAMPLE_2D_OPERATOR_DESC]):
    """UPSAMPLE_2D."""

    def build(self, ctx: Context) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        rank = ctx.chooser.choice(ctx.ranks)
        data_type = ctx.chooser.choice(ctx.data_types)
        height, width = ctx.chooser.several(1, MOST_SCALE, 2)
        return self._build(ctx, data_type, sizes(ctx, rank, ctx.least), height, width)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        return self._plain(ctx, sizes, 1, 1)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[DML_UPSAMPLE_2D_OPERATOR_DESC]:
        ones = (1,) * (ctx.ranks[-1] - 2)
        for source, scale in ((sizes, (1, 1)), ((1, 1), sizes)):
            desc = self._plain(ctx, ones + source, *scale)
            yield desc
            yield edit(desc, interpolation_mode=LINEAR)

    def large(self, ctx: Context, size: int) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        """A matrix, twice along both dimensions."""
        return self._plain(ctx, four(*matrix(size // 4, ctx.data_types[0].size)), 2, 2)

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        """Twice along the dimension, where it is one of those that can be scaled."""
        return self._plain(ctx, four(*sizes), *(2 if d == place else 1 for d in (1, 2)))

    def vast(self, ctx: Context, sizes: Sizes) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        """Each of the last two sizes out of the smallest factor that they have, or as they are."""
        channels, height, width = sizes
        by = [next((n for n in range(2, 252) if size % n == 0), 1) for size in (height, width)]
        return self._plain(ctx, four(channels, height // by[0], width // by[1]), *by)

    def edges(self, ctx: Context) -> Iterator[DML_UPSAMPLE_2D_OPERATOR_DESC]:
        """All of them in both modes."""
        for desc in self._edges(ctx):
            yield from (edit(desc, interpolation_mode=mode) for mode in (NEAREST, LINEAR))

    def _edges(self, ctx: Context) -> Iterator[DML_UPSAMPLE_2D_OPERATOR_DESC]:
        """Scales of 1 and large ones, one dimension at a time, and long axes."""
        choice, types = ctx.chooser.choice, ctx.data_types
        for rank in ctx.ranks:
            for height, width in ((1, 1), (1, 2), (2, 1), (7, 3), (1, 100), (100, 1)):
                yield self._build(ctx, choice(types), sizes(ctx, rank, wide=False), height, width)
        for length in LONG_AXES:
            yield self._build(ctx, choice(types), four(length, 2), 2, 1)
            yield self._build(ctx, choice(types), four(2, 2), 1, length)

    def wrapping(self, ctx: Context) -> Iterator[DML_UPSAMPLE_2D_OPERATOR_DESC]:
        """A size times its scale is the output's size and 2^32 or 2^33 more."""
        for size, scale in WRAPPING:
            for d, name in ((2, "height"), (3, "width")):
                source = tuple(size if place == d else 1 for place in range(4))
                desc = self._plain(ctx, source, 1, 1)
                scales = {"height": 1, "width": 1} | {name: scale}
                yield edit(resize_at(desc, "output_tensor", d, size * scale % 2**32), scale_size=Size2d(**scales))

    def break_scale_size(self, ctx: Context) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        """A scale of 0 taken for 1, or one whose product with the size passes 2^32 by the output's size."""
        desc = self.build(ctx)
        d, name = ctx.chooser.variant(((-2, "height"), (-1, "width")))
        rank = len(desc.input_tensor.sizes)
        if ctx.chooser.variant(("zero", "too large")) == "zero":
            size, scale, output = desc.input_tensor.sizes[d], 0, desc.input_tensor.sizes[d]
        else:
            size, scale = ctx.chooser.choice(WRAPPING)
            output = size * scale % 2**32
            desc = resize_at(desc, "input_tensor", rank + d, size)
        scales = {"height": desc.scale_size.height, "width": desc.scale_size.width} | {name: scale}
        return edit(resize_at(desc, "output_tensor", rank + d, output), scale_size=Size2d(**scales))

    def _plain(self, ctx: Context, source: Sizes, height: int, width: int) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        desc = self._build(ctx.but(layout="packed"), ctx.data_types[0], source, height, width)
        return edit(desc, interpolation_mode=NEAREST)

    def _build(
        self, ctx: Context, data_type: DataType, source: Sizes, height: int, width: int
    ) -> DML_UPSAMPLE_2D_OPERATOR_DESC:
        ctx.chooser.section()
        output = (*source[:-2], *(size * by for size, by in zip(source[-2:], (height, width), strict=False)))
        return self._desc(
            tensor(ctx, data_type, source),
            tensor(ctx, data_type, output, output=True),
            Size2d(width=width, height=height),
            ctx.chooser.choice((NEAREST, LINEAR)),
        )


RESAMPLING = ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3", "RESAMPLE_GRAD", "RESAMPLE_GRAD1")
BUILDERS = {
    "UPSAMPLE_2D": UpsampleBuilder("UPSAMPLE_2D"),
    **{name: ResampleBuilder(name) for name in RESAMPLING},
}
