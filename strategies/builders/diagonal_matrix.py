"""Descriptors of DIAGONAL_MATRIX and DIAGONAL_MATRIX1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import INT32_MAX, INT32_MIN
from dml_conformance.spec.operator import DATA, Field
from dml_conformance.spec.structures import DiagonalMatrix
from dml_conformance.spec.tensor import MAX_ELEMENTS
from dml_conformance.strategies.builders import LONG_AXES
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder, Sizes
from dml_conformance.strategies.builders._scalars import any_number
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import D, edit

FAR_DIAGONALS = (INT32_MIN, INT32_MIN + 1, -2, -1, 0, 1, 2, INT32_MAX)


class DiagonalMatrixBuilder(ElementWiseBuilder[D]):
    """DIAGONAL_MATRIX: matrices of any sizes, and diagonals inside and outside of them."""

    shares_layouts = False
    longest_axis = MAX_ELEMENTS

    def edges(self, ctx: Context) -> Iterator[D]:
        for offset in (*FAR_DIAGONALS, -7, -6, 4, 5):
            for rank in ctx.ranks:
                yield edit(self._build(ctx, (2,) * (rank - 2) + (7, 5)), offset=offset)
        ones = (1,) * (ctx.ranks[0] - 2)
        for length in LONG_AXES:
            yield edit(self._build(ctx, (*ones, 2, length)), offset=length - 1)
            yield edit(self._build(ctx, (*ones, length, 2)), offset=2 - length)

    def chosen(self, ctx: Context, types: Mapping[str, DataType], sizes: Sizes) -> Mapping[str, Any]:
        return {"offset": self._near(ctx, sizes), "value": _value(ctx, types[DATA])}

    def _near(self, ctx: Context, sizes: Sizes) -> int:
        """A diagonal that crosses the matrices, or just does not."""
        return ctx.chooser.integer(-min(sizes[-2:][0], 100), min(sizes[-1], 100))


class DiagonalMatrix1Builder(DiagonalMatrixBuilder[DiagonalMatrix]):
    """DIAGONAL_MATRIX1, with an input and without."""

    def of_sizes(self, ctx: Context, sizes: Sizes) -> DiagonalMatrix:
        return super().of_sizes(ctx.but(complete=True), sizes)

    def edges(self, ctx: Context) -> Iterator[DiagonalMatrix]:
        for n, begin in enumerate(FAR_DIAGONALS):
            for m, end in enumerate((*FAR_DIAGONALS, -7, 5)):
                desc = self._build(ctx, (2,) * ((n + m) % 3) + (7, 5))
                yield edit(desc, diagonal_fill_begin=begin, diagonal_fill_end=end)
        for length in LONG_AXES:
            yield edit(self._build(ctx, (2, length)), diagonal_fill_begin=length - 2, diagonal_fill_end=length - 1)

    def is_given(self, ctx: Context, field: Field) -> bool:
        return not field.optional or ctx.complete or ctx.chooser.variant((False, True))

    def chosen(self, ctx: Context, types: Mapping[str, DataType], sizes: Sizes) -> Mapping[str, Any]:
        data_type = types[DATA]
        return {
            "value_data_type": int(data_type),
            "value": any_number(ctx, data_type),
            "diagonal_fill_begin": self._near(ctx, sizes),
            "diagonal_fill_end": self._near(ctx, sizes),
        }


def _value(ctx: Context, data_type: DataType) -> float:
    """A FLOAT, with and without a fraction; one in ten that an integer type does not reach."""
    if ctx.chooser.integer(0, 9) == 9:
        return ctx.chooser.choice((-1.0, 300.0, 2.0**40, -(2.0**63), float("inf")))
    least = 0 if data_type.limits is not None and data_type.limits[0] == 0 else -100
    return ctx.chooser.integer(least, 100) + ctx.chooser.choice((0.0, 0.0, 0.5, 0.75))


BUILDERS = {
    "DIAGONAL_MATRIX": DiagonalMatrixBuilder("DIAGONAL_MATRIX"),
    "DIAGONAL_MATRIX1": DiagonalMatrix1Builder("DIAGONAL_MATRIX1"),
}
