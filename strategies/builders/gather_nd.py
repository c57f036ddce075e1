"""Descriptors of GATHER_ND."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from dml_conformance.spec.operators.gather_nd import GatherNdDesc
from dml_conformance.strategies.builders._gather_nd import (
    Shape,
    build_nd,
    nd_edges,
    nd_huge,
    nd_large,
    nd_long_axis,
    nd_vast,
    nd_violations,
    nd_wrapping,
)
from dml_conformance.strategies.context import Context


def build(ctx: Context) -> GatherNdDesc:
    ctx = ctx.of_rank(2) if ctx.spread else ctx
    return cast(GatherNdDesc, build_nd(ctx, GatherNdDesc, Shape(ctx, batches=False)))


def edges(ctx: Context) -> Iterator[GatherNdDesc]:
    return nd_edges(ctx, GatherNdDesc, batches=False)


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[GatherNdDesc]:
    return nd_huge(ctx, GatherNdDesc, sizes)


def large(ctx: Context, size: int) -> GatherNdDesc:
    return cast(GatherNdDesc, nd_large(ctx, GatherNdDesc, size))


def long_axis(ctx: Context, sizes: tuple[int, ...], place: int) -> GatherNdDesc:
    return cast(GatherNdDesc, nd_long_axis(ctx, GatherNdDesc, sizes, place))


def vast(ctx: Context, sizes: tuple[int, ...]) -> GatherNdDesc:
    return cast(GatherNdDesc, nd_vast(ctx, GatherNdDesc, sizes))


def wrapping(ctx: Context) -> Iterator[GatherNdDesc]:
    return nd_wrapping(ctx, GatherNdDesc)


VIOLATIONS = nd_violations("GATHER_ND", GatherNdDesc, batches=False)
