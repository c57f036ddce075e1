"""Descriptors of DIAGONAL_MATRIX and DIAGONAL_MATRIX1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.field_kinds import INT32_MAX, INT32_MIN
from dml_conformance.strategies.builders import LONG_AXES, Builder
from dml_conformance.strategies.builders._scalars import any_number
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit
from dml_conformance.strategies.tensors import sizes, tensor

FAR_DIAGONALS = (INT32_MIN, INT32_MIN + 1, -2, -1, 0, 1, 2, INT32_MAX)


class DiagonalBuilder(Builder):
    """What the two have in common: matrices of any sizes, and diagonals inside and outside of them."""

    def build(self, ctx: Context) -> Any:
        rank = ctx.chooser.choice(ctx.ranks)
        return self._build(ctx, sizes(ctx, rank, 2 if ctx.spread else 1))

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self._build(ctx.but(layout="packed", data_types=ctx.data_types[:1]), sizes)

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def _near(self, ctx: Context, sizes: tuple[int, ...]) -> int:
        """A diagonal that crosses the matrices, or just does not."""
        return ctx.chooser.integer(-min(sizes[-2:][0], 100), min(sizes[-1], 100))


class DiagonalMatrixBuilder(DiagonalBuilder):
    """DIAGONAL_MATRIX."""

    _desc: Any = descriptor_classes()["DIAGONAL_MATRIX"]

    def edges(self, ctx: Context) -> Iterator[Any]:
        for offset in (*FAR_DIAGONALS, -7, -6, 4, 5):
            for rank in ctx.ranks:
                yield edit(self._build(ctx, (2,) * (rank - 2) + (7, 5)), offset=offset)
        ones = (1,) * (ctx.ranks[0] - 2)
        for length in LONG_AXES:
            yield edit(self._build(ctx, (*ones, 2, length)), offset=length - 1)
            yield edit(self._build(ctx, (*ones, length, 2)), offset=2 - length)

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        data_type = ctx.chooser.choice(ctx.data_types)
        output = tensor(ctx, data_type, sizes, output=True)
        return self._desc(output, self._near(ctx, sizes), _value(ctx, data_type))


class DiagonalMatrix1Builder(DiagonalBuilder):
    """DIAGONAL_MATRIX1, with an input and without."""

    _desc: Any = descriptor_classes()["DIAGONAL_MATRIX1"]

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        return self._build(ctx.but(layout="packed", complete=True, data_types=ctx.data_types[:1]), sizes)

    def edges(self, ctx: Context) -> Iterator[Any]:
        for n, begin in enumerate(FAR_DIAGONALS):
            for m, end in enumerate((*FAR_DIAGONALS, -7, 5)):
                desc = self._build(ctx, (2,) * ((n + m) % 3) + (7, 5))
                yield edit(desc, diagonal_fill_begin=begin, diagonal_fill_end=end)
        for length in LONG_AXES:
            yield edit(self._build(ctx, (2, length)), diagonal_fill_begin=length - 2, diagonal_fill_end=length - 1)

    def _build(self, ctx: Context, sizes: tuple[int, ...]) -> Any:
        data_type = ctx.chooser.choice(ctx.data_types)
        has_input = ctx.complete or ctx.chooser.variant((False, True))
        return self._desc(
            tensor(ctx, data_type, sizes) if has_input else None,
            tensor(ctx, data_type, sizes, output=True),
            int(data_type),
            any_number(ctx, data_type),
            self._near(ctx, sizes),
            self._near(ctx, sizes),
        )


def _value(ctx: Context, data_type: DataType) -> float:
    """A FLOAT, with and without a fraction; one in ten that an integer type does not reach."""
    if ctx.chooser.integer(0, 9) == 9:
        return ctx.chooser.choice((-1.0, 300.0, 2.0**40, -(2.0**63), float("inf")))
    least = 0 if data_type.limits is not None and data_type.limits[0] == 0 else -100
    return ctx.chooser.integer(least, 100) + ctx.chooser.choice((0.0, 0.0, 0.5, 0.75))


BUILDERS = {"DIAGONAL_MATRIX": DiagonalMatrixBuilder(), "DIAGONAL_MATRIX1": DiagonalMatrix1Builder()}
