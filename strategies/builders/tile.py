"""Descriptors of TILE."""

from __future__ import annotations

from collections.abc import Iterator
from operator import mul

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.structures import Tile
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.builders import LONG_AXES, Builder, four, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor

MOST_TILED = 251  # elements along a dimension that are repeated where the output is vast


class TileBuilder(Builder[Tile]):
    """TILE."""

    def build(self, ctx: Context) -> Tile:
        rank = ctx.chooser.choice(ctx.ranks)
        data_type = ctx.chooser.choice(ctx.data_types)
        return self._build(ctx, data_type, sizes(ctx, rank, ctx.least), sizes(ctx, rank, wide=False))

    def edges(self, ctx: Context) -> Iterator[Tile]:
        choice, types = ctx.chooser.choice, ctx.data_types
        for rank in ctx.ranks:
            yield self._build(ctx, choice(types), sizes(ctx, rank), (1,) * rank)
            for d in range(rank):
                yield self._build(ctx, choice(types), sizes(ctx, rank), (1,) * d + (3,) + (1,) * (rank - 1 - d))
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            yield self._build(ctx, choice(types), (*ones, length), (*ones, 2))
            yield self._build(ctx, choice(types), (*ones, 2), (*ones, length))

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[Tile]:
        plain, ones = ctx.but(layout="packed"), (1,) * (ctx.ranks[-1] - 2)
        choice, types = ctx.chooser.choice, ctx.data_types
        yield self._build(plain, choice(types), (*ones, *sizes), (*ones, 1, 1))
        yield self._build(plain, choice(types), (*ones, 1, 1), (*ones, *sizes))
        yield self._build(plain, choice(types), (*ones, 1, sizes[1]), (*ones, sizes[0], 1))

    def large(self, ctx: Context, size: int) -> Tile:
        """A matrix, twice along both dimensions."""
        data_type = ctx.data_types[0]
        rows, columns = matrix(size // 4, data_type.size)
        return self._desc(
            TensorDesc.of(data_type, four(rows, columns)),
            TensorDesc.of(data_type, four(2 * rows, 2 * columns)),
            (1, 1, 2, 2),
        )

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> Tile:
        """Twice along the dimension."""
        repeats = tuple(2 if d == place else 1 for d in range(3))
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], four(*sizes), four(*repeats))

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> Tile:
        """Each size out of the largest factor that is small."""
        small = tuple(next(n for n in range(MOST_TILED, 0, -1) if size % n == 0) for size in sizes)
        repeats = tuple(size // n for size, n in zip(sizes, small, strict=True))
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], four(*small), four(*repeats))

    def wrapping(self, ctx: Context) -> Iterator[Tile]:
        """A size times its repeat comes to the output's size and 2^32 or 2^33 more."""
        plain = ctx.but(layout="packed")
        for size, repeat in ((3, 2_863_311_531), (5, 858_993_460), (65_537, 65_537)):
            for d in range(3):
                ones = (1,) * d, (1,) * (2 - d)
                desc = self._build(plain, ctx.data_types[0], four(*ones[0], size, *ones[1]), (1, 1, 1, 1))
                desc = edit(desc, repeats=four(*ones[0], repeat, *ones[1]))
                yield resize_at(desc, "output_tensor", 1 + d, size * repeat % 2**32)

    def _build(self, ctx: Context, data_type: DataType, input_sizes: tuple[int, ...], repeats: tuple[int, ...]) -> Tile:
        ctx.chooser.section()
        output_sizes = tuple(map(mul, input_sizes, repeats))
        return self._desc(
            tensor(ctx, data_type, input_sizes), tensor(ctx, data_type, output_sizes, output=True), repeats
        )


BUILDERS = {"TILE": TileBuilder("TILE")}
