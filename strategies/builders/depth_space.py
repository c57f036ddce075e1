"""Descriptors of SPACE_TO_DEPTH, DEPTH_TO_SPACE and their successors."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DepthSpace
from dml_conformance.strategies.builders import LONG_AXES, Builder, last_of, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize, resize_at
from dml_conformance.strategies.tensors import sizes, tensor

Sizes = tuple[int, ...]

MOST_BLOCK = 4
ORDERS = tuple(map(int, enumeration("DML_DEPTH_SPACE_ORDER")))
# A BlockSize whose square is the second number and 2^32 times something more.
WRAPPING_BLOCK, WRAPPING_SQUARE = 2_863_311_531, 954_437_177


class DepthSpaceBuilder(Builder[DepthSpace]):
    """One operator of the family."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_to_depth = name.startswith("SPACE_TO_DEPTH")
        self._orders = ORDERS if name.endswith("1") else ()

    def build(self, ctx: Context) -> DepthSpace:
        rank = ctx.chooser.choice(ctx.ranks)
        data_type = ctx.chooser.choice(ctx.data_types)
        block = ctx.chooser.integer(ctx.least, MOST_BLOCK)
        return self._build(ctx, data_type, sizes(ctx, 4), block, rank)

    def of_sizes(self, ctx: Context, sizes: Sizes) -> DepthSpace:
        """With the largest blocks that fit."""
        block = next(block for block in range(MOST_BLOCK, 0, -1) if self._divides(block, sizes))
        _, channels, height, width = sizes
        moved = (1, channels, height // block, width // block)
        moved = moved if self._is_to_depth else (1, channels // block**2, height, width)
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], moved, block)

    def large(self, ctx: Context, size: int) -> DepthSpace:
        """An image whose blocks have 2 elements each way."""
        rows, columns = matrix(size // 4, ctx.data_types[0].size)
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], (1, 1, rows, columns), 2)

    def edges(self, ctx: Context) -> Iterator[DepthSpace]:
        """Blocks of one element, blocks as large as the image, long axes."""
        choice, types = ctx.chooser.choice, ctx.data_types
        for block in (1, 2, 3, 7, 16):
            yield self._build(ctx, choice(types), (2, 3, 1, 1), block)
            yield self._build(ctx, choice(types), (1, 1, 2, 3), block)
        for length in LONG_AXES:
            for moved in ((length, 1, 1, 1), (1, length, 1, 1), (1, 1, length, 1), (1, 1, 1, length)):
                yield self._build(ctx, choice(types), moved, 2)

    def wrapping(self, ctx: Context) -> Iterator[DepthSpace]:
        """BlockSize squared is another number in 32 bits, 0 among them."""
        if self._is_to_depth:
            return
        plain = self._build(ctx.but(layout="packed"), ctx.data_types[-1], (1, 1, 1, 1), 1)
        yield edit(plain, block_size=2**16)
        desc = resize(plain, "input_tensor", (1, WRAPPING_SQUARE, 1, 3))
        yield edit(resize(desc, "output_tensor", (1, 1, WRAPPING_BLOCK, 1)), block_size=WRAPPING_BLOCK)

    def break_divisible(self, ctx: Context) -> DepthSpace:
        """A row, a column or a channel too many, with the output that it has without."""
        desc = self.build(ctx.but(spread=True))
        dimension = ctx.chooser.variant((2, 3) if self._is_to_depth else (1,))
        return resize_at(desc, "input_tensor", dimension, desc.input_tensor.sizes[dimension] + 1)

    def _divides(self, block: int, sizes: Sizes) -> bool:
        _, channels, height, width = sizes
        return not (height % block or width % block if self._is_to_depth else channels % block**2)

    def _build(self, ctx: Context, data_type: DataType, moved: Sizes, block: int, rank: int = 4) -> DepthSpace:
        """Out of the few channels of the one side, and the small height and width of the other."""
        batch, channels, height, width = moved
        deep = last_of((batch, channels * block * block, height, width), rank)
        wide = last_of((batch, channels, height * block, width * block), rank)
        ctx.chooser.section()
        order = (ctx.chooser.choice(self._orders),) if self._orders else ()
        source, output = (wide, deep) if self._is_to_depth else (deep, wide)
        return self._desc(tensor(ctx, data_type, source), tensor(ctx, data_type, output, output=True), block, *order)


BUILDERS = {
    name: DepthSpaceBuilder(name) for name in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "DEPTH_TO_SPACE1", "SPACE_TO_DEPTH1")
}
