"""Descriptors of TILE."""

from __future__ import annotations

from collections.abc import Iterator
from operator import mul

from spec.datatypes import DataType
from spec.operators.tile import TileDesc
from spec.tensor import TensorDesc
from strategies.builders import LONG_AXES, four, matrix
from strategies.context import Context
from strategies.edits import edit, resize_at
from strategies.tensors import sizes, tensor


def build(ctx: Context) -> TileDesc:
    rank = ctx.chooser.choice(ctx.ranks)
    data_type = ctx.chooser.choice(ctx.data_types)
    return _build(ctx, data_type, sizes(ctx, rank, 2 if ctx.spread else 1), sizes(ctx, rank, wide=False))


def edges(ctx: Context) -> Iterator[TileDesc]:
    choice, types = ctx.chooser.choice, ctx.data_types
    for rank in ctx.ranks:
        yield _build(ctx, choice(types), sizes(ctx, rank), (1,) * rank)
        for d in range(rank):
            yield _build(ctx, choice(types), sizes(ctx, rank), (1,) * d + (3,) + (1,) * (rank - 1 - d))
    ones = (1,) * (ctx.ranks[0] - 1)
    for length in LONG_AXES:
        yield _build(ctx, choice(types), (*ones, length), (*ones, 2))
        yield _build(ctx, choice(types), (*ones, 2), (*ones, length))


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[TileDesc]:
    plain, ones = ctx.but(layout="packed"), (1,) * (ctx.ranks[-1] - 2)
    choice, types = ctx.chooser.choice, ctx.data_types
    yield _build(plain, choice(types), (*ones, *sizes), (*ones, 1, 1))
    yield _build(plain, choice(types), (*ones, 1, 1), (*ones, *sizes))
    yield _build(plain, choice(types), (*ones, 1, sizes[1]), (*ones, sizes[0], 1))


def large(ctx: Context, size: int) -> TileDesc:
    """A matrix, twice along both dimensions."""
    data_type = ctx.data_types[0]
    rows, columns = matrix(size // 4, data_type.size)
    return TileDesc(
        TensorDesc.of(data_type, four(rows, columns)),
        TensorDesc.of(data_type, four(2 * rows, 2 * columns)),
        (1, 1, 2, 2),
    )


def _build(ctx: Context, data_type: DataType, input_sizes: tuple[int, ...], repeats: tuple[int, ...]) -> TileDesc:
    ctx.chooser.section()
    output_sizes = tuple(map(mul, input_sizes, repeats))
    return TileDesc(tensor(ctx, data_type, input_sizes), tensor(ctx, data_type, output_sizes, output=True), repeats)


def break_repeats_count(ctx: Context) -> TileDesc:
    desc = build(ctx)
    return edit(desc, repeats=ctx.chooser.variant(((1, *desc.repeats), desc.repeats[1:], (*desc.repeats, 1), ())))


def break_repeats(ctx: Context) -> TileDesc:
    desc = build(ctx)
    d = ctx.chooser.integer(0, len(desc.repeats) - 1)
    repeats = (*desc.repeats[:d], 0, *desc.repeats[d + 1 :])
    return edit(resize_at(desc, "output_tensor", d, desc.input_tensor.sizes[d]), repeats=repeats)  # as if it were 1


VIOLATIONS = {"TILE.repeats-count": break_repeats_count, "TILE.repeats": break_repeats}
