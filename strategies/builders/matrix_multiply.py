"""Descriptors of products of matrices of integers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators.matrix_multiply import along
from dml_conformance.spec.structures import MatrixMultiply
from dml_conformance.strategies.builders import LONG_AXES, leading_ones, matrix, plainest
from dml_conformance.strategies.builders._quantization import chosen_ranks
from dml_conformance.strategies.builders.gemm import DEPTH, ProductBuilder, Sizes
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.tensors import sizes

PARTS = ("a", "b", "output", "bias")
# Rows, inner size and columns of layers of networks, fewer of rows or columns than these have: the queries of BERT, its
# second feed-forward layer, attention of a head, the classifier of ResNet.
LAYERS = ((16, 768, 48), (4, 3072, 32), (32, 64, 32), (1, 2048, 128))


class MatrixMultiplyBuilder(ProductBuilder[MatrixMultiply]):
    """One of the operators."""

    def build(self, ctx: Context) -> MatrixMultiply:
        chooser = ctx.chooser
        rank = chooser.choice(ctx.ranks)
        found = sizes(ctx, rank + 1, ctx.least)
        each = {name: chooser.choice((False, True)) for name in PARTS}
        given = {name: ctx.complete or chooser.integer(0, 3) < 3 for name in PARTS}
        chooser.section()
        return self._build(ctx, found, each, given)

    def large(self, ctx: Context, size: int) -> MatrixMultiply:
        rows, columns = matrix(size, 2)  # those of 8 bits have as many elements, which are what takes time
        return self.plain(ctx, (*leading_ones(ctx, rows, DEPTH), columns))

    def edges(self, ctx: Context) -> Iterator[MatrixMultiply]:
        """For each dimension count scales and zero points for all and for each, there and not; long sums; layers."""
        for rank, is_each, is_given in product(ctx.ranks, (False, True), (False, True)):
            found = (*((2, 3) * 4)[: rank - 2], 2, 5, 3)
            yield self._build(ctx, found, dict.fromkeys(PARTS, is_each), dict.fromkeys(PARTS, is_given))
        ones = (1,) * (ctx.ranks[-1] - 2)
        for length in LONG_AXES:
            yield self.plain(ctx, (*ones, 1, length, 2))
        for layer in LAYERS:
            every = dict.fromkeys(PARTS, True)
            yield self._build(ctx.but(layout="packed"), (*ones, *layer), every, every)

    def long_axis(self, ctx: Context, sizes: Sizes, place: int) -> MatrixMultiply:
        """Of 8 bits to FLOAT32 where results are floats: longer sums of 16 bits are left open, or beyond FLOAT16."""
        if "floats" in ctx.types:
            ctx = ctx.of_types("data", (DataType.UINT8,)).of_types("floats", (DataType.FLOAT32,))
        return super().long_axis(ctx, sizes, place)

    def plain(self, ctx: Context, found: Sizes) -> MatrixMultiply:
        """Without what is optional."""
        return self._build(plainest(ctx), found, {}, {})

    def _build(self, ctx: Context, found: Sizes, each: dict[str, bool], given: dict[str, bool]) -> MatrixMultiply:
        """The product of two matrices, or batches of them: their sizes, and the columns of the second one behind.

        Args:
            ctx: has the types and layouts to choose from.
            found: these sizes.
            each: of which matrices there are scales and zero points for each row or column.
            given: of which there are zero points, and whether there is a bias.
        """
        rank = len(found) - 1  # 1 too, which is not valid
        *lead, rows, inner, columns = (1, *found) if len(found) < 3 else found
        shapes: dict[str, Sizes] = {"a": (rows, inner), "b": (inner, columns), "output": (rows, columns)}
        shapes = {name: (*lead, *pair)[:rank] for name, pair in shapes.items()}
        types = {group: ctx.chooser.choice(every) for group, every in ctx.types.items()}
        ranks = chosen_ranks(ctx, self._spec)
        wanted: dict[str, Sizes] = {}
        for field in self._spec.tensor_fields:
            of = field.attribute.partition("_")[0]  # a matrix, whose tensor this is or stands beside, or the bias
            whole = shapes["output" if of == "bias" else of]
            if field.name in ranks:
                is_each = each.get(of, False) and rank > 1
                whole = along(f"{of.title()}Tensor", ranks[field.name], whole if is_each else (1, 1))
            if given.get(of, False) or not field.optional:
                wanted[field.attribute] = whole
        return self.of_tensors(ctx, types, wanted)


BUILDERS = {
    name: MatrixMultiplyBuilder(name)
    for name in ("MATRIX_MULTIPLY_INTEGER", "QUANTIZED_LINEAR_MATRIX_MULTIPLY", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT")
}
