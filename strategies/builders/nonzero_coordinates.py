"""Descriptors of NONZERO_COORDINATES."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.nonzero_coordinates import effective_rank
from dml_conformance.spec.structures import NonzeroCoordinates
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.spec.tensor_rules import max_dimension_count
from dml_conformance.strategies.builders import LONG_AXES, Builder, leading_ones, matrix
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, resize, resize_at
from dml_conformance.strategies.tensors import sizes, tensor


class NonzeroCoordinatesBuilder(Builder[NonzeroCoordinates]):
    """NONZERO_COORDINATES; below 4_0 all tensors have the same DimensionCount."""

    def build(self, ctx: Context) -> NonzeroCoordinates:
        rank = ctx.chooser.choice(ctx.ranks)
        input_sizes = sizes(ctx, rank, ctx.least)
        return self._build(ctx, input_sizes, ctx.chooser.integer(effective_rank(input_sizes), rank))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> NonzeroCoordinates:
        return self._packed(ctx, sizes, effective_rank(sizes))

    def edges(self, ctx: Context) -> Iterator[NonzeroCoordinates]:
        """From the least coordinates to the most, of tensors with leading ones and of single elements; long axes."""
        for rank in ctx.ranks:
            for leading in {0, rank // 2, rank}:
                input_sizes = (1,) * leading + (2,) * (rank - leading)
                for count in {effective_rank(input_sizes), rank}:
                    yield self._build(ctx, input_sizes, count)
        for length in LONG_AXES:
            yield self._packed(ctx, (1,) * (ctx.ranks[0] - 1) + (length,), 1)

    def huge(self, ctx: Context, sizes: tuple[int, int]) -> Iterator[NonzeroCoordinates]:
        """Coordinates of so many elements; of the input there are fewer."""
        rows, columns = sizes
        count = next((n for n in (2, 3) if columns % n == 0), 0)
        sizes = (rows, columns // count) if count else sizes
        yield self._packed(ctx, (1,) * (ctx.of_rank(3).ranks[-1] - 2) + sizes, count or 2)

    def large(self, ctx: Context, size: int) -> NonzeroCoordinates:
        """Two coordinates of 4 bytes for each element."""
        return self.of_sizes(ctx, leading_ones(ctx, *matrix(size, 8)))

    def long_axis(self, ctx: Context, sizes: tuple[int, ...], place: int) -> NonzeroCoordinates:
        """Very long ones are last, where an element has one coordinate and not several."""
        if max(sizes) > 2**20 and place < 2:
            raise Impossible
        return super().long_axis(ctx, sizes, place)

    def vast(self, ctx: Context, sizes: tuple[int, ...]) -> NonzeroCoordinates:
        """Single coordinates, as many even where one element of 128 is 0; or of more elements than there may be."""
        elements = prod(sizes) * 129 // 128
        return super().vast(ctx, (elements,) if elements <= MAX_ELEMENTS else sizes)

    def _packed(self, ctx: Context, sizes: tuple[int, ...], count: int) -> NonzeroCoordinates:
        return self._build(ctx.but(layout="packed"), sizes, count, is_plain=True)

    def _build(
        self, ctx: Context, input_sizes: tuple[int, ...], count: int, *, is_plain: bool = False
    ) -> NonzeroCoordinates:
        """With rows of so many coordinates."""
        chooser, rank = ctx.chooser, len(input_sizes)
        of_count, of_coordinates = rank, max(rank, 2)
        if ctx.level >= Level.L4_0 and not is_plain:
            of_count = chooser.choice(sorted(ctx.table["OutputCountTensor"].dimension_counts))
            of_coordinates = chooser.choice(sorted(ctx.table["OutputCoordinatesTensor"].dimension_counts))
        rows = (1,) * (of_coordinates - 2) + (prod(input_sizes), count)
        data_type = ctx.data_types[0] if is_plain else chooser.choice(ctx.data_types)
        chooser.section()
        return self._desc(
            tensor(ctx, data_type, input_sizes),
            tensor(ctx, ctx.types["OutputCountTensor"][0], (1,) * of_count, output=True),
            tensor(ctx, ctx.types["OutputCoordinatesTensor"][0], rows, output=True),
        )

    def break_dimension_counts(self, ctx: Context) -> NonzeroCoordinates:
        """A count that no tensor has, of all or of one output alone, or coordinates without columns."""
        wrong = [rank for rank in range(1, max_dimension_count(ctx.level) + 1) if rank not in ctx.ranks]
        if wrong:
            rank = ctx.chooser.variant(wrong)
            key = ctx.chooser.variant(("", "output_count_tensor", "output_coordinates_tensor"))
            if not key:
                return self.build(ctx.but(ranks=(rank,)))
            desc = self.build(ctx)
            return resize(desc, key, ((1,) * rank + described(desc, key).sizes)[-rank:])
        desc = self.build(ctx)
        return resize(desc, "output_coordinates_tensor", (prod(desc.input_tensor.sizes),))

    def break_coordinates(self, ctx: Context) -> NonzeroCoordinates:
        """A coordinate more than the input has dimensions, or one less than its sizes above 1 need."""
        desc = self.build(ctx.of_rank(2).but(spread=True))
        count = len(desc.output_coordinates_tensor.sizes)
        rank = len(desc.input_tensor.sizes)
        wrong = ctx.chooser.variant((rank + 1, rank - 1, 2 * rank))
        return resize_at(desc, "output_coordinates_tensor", count - 1, wrong)


BUILDERS = {"NONZERO_COORDINATES": NonzeroCoordinatesBuilder("NONZERO_COORDINATES")}
