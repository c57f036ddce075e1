"""Descriptors of SPACE_TO_DEPTH."""

from __future__ import annotations

from collections.abc import Iterator

from dml_conformance.spec.operators.space_to_depth import SpaceToDepthDesc
from dml_conformance.strategies.builders import LONG_AXES, matrix
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize_at
from dml_conformance.strategies.tensors import sizes, tensor


def build(ctx: Context) -> SpaceToDepthDesc:
    return _build(ctx, sizes(ctx, 4, 2 if ctx.spread else 1), ctx.chooser.integer(1, 3))


def edges(ctx: Context) -> Iterator[SpaceToDepthDesc]:
    for length in (*LONG_AXES, 1):
        yield _build(ctx, (1, 1, 1, length), 2)
    yield _build(ctx, (1, 3, 1, 1), 7)  # one block is the whole image


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[SpaceToDepthDesc]:
    yield _build(ctx.but(layout="packed"), (1, 1, *sizes), 1)


def large(ctx: Context, size: int) -> SpaceToDepthDesc:
    """A matrix in blocks of 2 by 2."""
    rows, columns = matrix(size, ctx.data_types[0].size)
    return _build(ctx.but(layout="packed"), (1, 1, max(rows // 2, 1), columns // 2), 2)


def long_axis(ctx: Context, sizes: tuple[int, ...], place: int) -> SpaceToDepthDesc:
    """Blocks of one element: no other size divides every length."""
    return _build(ctx.but(layout="packed"), (1, *sizes), 1)


def vast(ctx: Context, sizes: tuple[int, ...]) -> SpaceToDepthDesc:
    return _build(ctx.but(layout="packed"), (1, *sizes), 1)


def wrapping(ctx: Context) -> Iterator[SpaceToDepthDesc]:
    """One block comes to 2^32 channels and more."""
    desc = _build(ctx.but(layout="packed"), (1, 1, 1, 1), 65_537)
    yield resize_at(desc, "output_tensor", 1, 65_537**2 % 2**32)


def _build(ctx: Context, blocks: tuple[int, ...], block: int) -> SpaceToDepthDesc:
    """A valid descriptor for so many batches, channels, and blocks along height and width."""
    data_type, rank = ctx.chooser.choice(ctx.data_types), ctx.chooser.choice(ctx.ranks)
    batch, channels, height, width = blocks
    input_sizes = (batch, channels, height * block, width * block)
    output_sizes = (batch, channels * block * block, height, width)
    return SpaceToDepthDesc(
        tensor(ctx, data_type, _of_rank(rank, input_sizes)),
        tensor(ctx, data_type, _of_rank(rank, output_sizes), output=True),
        block,
    )


def _of_rank(rank: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Other dimension counts than 4 are asked for where that very rule is to be broken."""
    return (1,) * (rank - 4) + sizes[-rank:]


def break_block_size(ctx: Context) -> SpaceToDepthDesc:
    return edit(build(ctx), block_size=0)


def break_whole_blocks(ctx: Context) -> SpaceToDepthDesc:
    desc = _build(ctx, sizes(ctx, 4), ctx.chooser.integer(2, 3))
    dimension = ctx.chooser.variant((2, 3))
    return resize_at(desc, "input_tensor", dimension, desc.input_tensor.sizes[dimension] + 1)


VIOLATIONS = {
    "SPACE_TO_DEPTH.block-size": break_block_size,
    "SPACE_TO_DEPTH.whole-blocks": break_whole_blocks,
}
