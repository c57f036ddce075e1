"""Descriptors of GEMM."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import DATA
from dml_conformance.spec.operators._fused import ALONG_AXES_SINCE, SOFTMAX
from dml_conformance.spec.operators.gemm import TRANSPOSE
from dml_conformance.spec.structures import Gemm
from dml_conformance.strategies.builders import LONG_AXES, Builder, leading_ones, matrix
from dml_conformance.strategies.builders._fused import activation, chosen_activation, every_activation
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import D, edit
from dml_conformance.strategies.tensors import sizes

Sizes = tuple[int, ...]
# What the product and C are multiplied by, the usual value first; of most whole numbers stay such.
FACTORS = (1.0, 1.0, 2.0, -1.0, 0.5, 0.0, float32(0.3))
DEPTH = 64  # of large products
PLAIN = {"trans_a": 0, "trans_b": 0, "alpha": 1.0, "beta": 1.0, "fused_activation": None}


class ProductBuilder(Builder[D]):
    """Of products of matrices, or of batches of them."""

    def of_sizes(self, ctx: Context, sizes: Sizes) -> D:
        """As a matrix, or several, by a column."""
        if len(sizes) not in ctx.ranks:
            raise Impossible
        return self.plain(ctx, (*sizes, 1))

    def vast(self, ctx: Context, sizes: Sizes) -> D:
        """The product of a column and a row, or several."""
        *lead, rows, columns = leading_ones(ctx, *sizes)
        return self.plain(ctx, (*lead, rows, 1, columns))

    def plain(self, ctx: Context, found: Sizes) -> D:
        """Of packed matrices: the sizes of the first ones, and the columns of the second ones behind."""
        raise NotImplementedError


class GemmBuilder(ProductBuilder[Gemm]):
    def build(self, ctx: Context) -> Gemm:
        rank, choice = ctx.chooser.choice(ctx.ranks), ctx.chooser.choice
        found = sizes(ctx, rank + 1, ctx.least)
        has_c = ctx.complete or choice((True, False))
        transforms = {name: choice((0, int(TRANSPOSE))) for name in ("trans_a", "trans_b")}
        factors = {"alpha": choice(FACTORS), "beta": choice(FACTORS)}
        fused = (None, None, chosen_activation(ctx), _along_axes(ctx, found[:-2]))[ctx.chooser.integer(0, 3)]
        ctx.chooser.section()
        return self._build(ctx, choice(ctx.data_types), found, has_c, **transforms, **factors, fused_activation=fused)

    def large(self, ctx: Context, size: int) -> Gemm:
        rows, columns = matrix(size, ctx.data_types[0].size)
        return self.plain(ctx, (*leading_ones(ctx, rows, DEPTH), columns))

    def edges(self, ctx: Context) -> Iterator[Gemm]:
        """Both transforms of each matrix in every dimension count, all factors, long sums, every activation."""
        data_type, rank = ctx.data_types[0], ctx.ranks[-1]
        for count, a, b in product(ctx.ranks, (0, int(TRANSPOSE)), (0, int(TRANSPOSE))):
            yield self._build(ctx, data_type, (*((2, 3) * 4)[: count - 2], 2, 5, 3), a == b, trans_a=a, trans_b=b)
        ones = (1,) * (rank - 2)
        for factor in FACTORS:
            yield self._build(ctx, data_type, (*ones, 3, 4, 5), True, alpha=factor)
            yield self._build(ctx, data_type, (*ones, 3, 4, 5), True, beta=factor)
        for length in LONG_AXES:
            yield self.plain(ctx, (*ones, 1, length, 2))
            yield self.plain(ctx, (*ones, 2, length, 1))
        for fused in every_activation(ctx.level):
            yield edit(self.plain(ctx, (*ones, 2, 3, LONG_AXES[0])), fused_activation=fused)
        for axes in ((), (0,), (rank - 1,), (rank - 2, rank - 1)) if ctx.level >= ALONG_AXES_SINCE else ():
            fused = activation(f"{SOFTMAX}1", axes=axes)
            yield edit(self.plain(ctx, (*((2,) * (rank - 2)), 2, 3, 9)), fused_activation=fused)

    def plain(self, ctx: Context, found: Sizes) -> Gemm:
        return self._build(ctx.but(layout="packed"), ctx.data_types[0], found, has_c=prod(found) < 2**31)

    def _build(self, ctx: Context, data_type: DataType, found: Sizes, has_c: bool, **members: Any) -> Gemm:
        """The product of two matrices, or batches of them: their sizes, and the columns of the second one behind."""
        *lead, rows, inner, columns = (1, *found) if len(found) < 3 else found
        members = {**PLAIN, **members}
        pairs = {
            "a_tensor": (inner, rows) if members["trans_a"] else (rows, inner),
            "b_tensor": (columns, inner) if members["trans_b"] else (inner, columns),
            **dict.fromkeys(("c_tensor", "output_tensor") if has_c else ("output_tensor",), (rows, columns)),
        }
        rank = len(found) - 1  # 1 too, which is not valid
        found_sizes = {key: (*lead, *pair)[:rank] for key, pair in pairs.items()}
        return self.of_tensors(ctx, {DATA: data_type}, found_sizes, **members)


def _along_axes(ctx: Context, lead: Sizes) -> Any:
    """One along the last dimension, or the last two, where the level has them."""
    if ctx.level < ALONG_AXES_SINCE:
        return None
    rank = len(lead) + 1
    axes = ctx.chooser.choice(((rank - 1,), (rank - 2, rank - 1), None))
    if axes is None and max(lead[:-1], default=1) == 1:
        return activation(SOFTMAX)
    return activation(f"{SOFTMAX}1", axes=axes or (0,))


BUILDERS = {"GEMM": GemmBuilder("GEMM")}
