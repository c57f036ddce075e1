"""Descriptors of TILE."""

from __future__ import annotations

from collections.abc import Iterator

from spec.operators.tile import TileDesc
from spec.tensor import TensorDesc
from strategies.builders import LONG_AXES, four, matrix
from strategies.context import Context
from strategies.edits import edit, resize_at
from strategies.tensors import sizer, sizes, tensor


def build(ctx: Context) -> TileDesc:
    rank = ctx.chooser.choice(ctx.ranks)
    size, repeat = sizer(ctx, 2 if ctx.spread else 1), sizer(ctx, wide=False)
    dimensions = [(size(), repeat()) for _ in range(rank)]  # side by side, so that one can go when this shrinks
    return _build(ctx, tuple(size for size, _ in dimensions), tuple(repeat for _, repeat in dimensions))


def edges(ctx: Context) -> Iterator[TileDesc]:
    for rank in ctx.ranks:
        yield _build(ctx, sizes(ctx, rank), (1,) * rank)
        for d in range(rank):
            yield _build(ctx, sizes(ctx, rank), (1,) * d + (3,) + (1,) * (rank - 1 - d))
    ones = (1,) * (ctx.ranks[0] - 1)
    for length in LONG_AXES:
        yield _build(ctx, (*ones, length), (*ones, 2))
        yield _build(ctx, (*ones, 2), (*ones, length))


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[TileDesc]:
    plain, ones = ctx.but(layout="packed"), (1,) * (ctx.ranks[-1] - 2)
    yield _build(plain, (*ones, *sizes), (*ones, 1, 1))
    yield _build(plain, (*ones, 1, 1), (*ones, *sizes))
    yield _build(plain, (*ones, 1, sizes[1]), (*ones, sizes[0], 1))


def large(ctx: Context, size: int) -> TileDesc:
    """A matrix, twice along both dimensions."""
    data_type = ctx.data_types[0]
    rows, columns = matrix(size // 4, data_type.size)
    return TileDesc(
        TensorDesc.of(data_type, four(rows, columns)),
        TensorDesc.of(data_type, four(2 * rows, 2 * columns)),
        (1, 1, 2, 2),
    )


def _build(ctx: Context, input_sizes: tuple[int, ...], repeats: tuple[int, ...]) -> TileDesc:
    data_type = ctx.chooser.choice(ctx.data_types)
    output_sizes = tuple(size * repeat for size, repeat in zip(input_sizes, repeats, strict=True))
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
