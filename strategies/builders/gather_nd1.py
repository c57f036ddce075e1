"""Descriptors of GATHER_ND1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from dml_conformance.spec.operators.gather_nd1 import GatherNd1Desc
from dml_conformance.strategies.builders._gather_nd import (
    Shape,
    batch_violations,
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


def build(ctx: Context) -> GatherNd1Desc:
    ctx = ctx.of_rank(2) if ctx.spread else ctx
    return cast(GatherNd1Desc, build_nd(ctx, GatherNd1Desc, Shape(ctx, batches=True)))


def edges(ctx: Context) -> Iterator[GatherNd1Desc]:
    return nd_edges(ctx, GatherNd1Desc, batches=True)


def huge(ctx: Context, sizes: tuple[int, int]) -> Iterator[GatherNd1Desc]:
    return nd_huge(ctx, GatherNd1Desc, sizes)


def large(ctx: Context, size: int) -> GatherNd1Desc:
    return cast(GatherNd1Desc, nd_large(ctx, GatherNd1Desc, size))


def long_axis(ctx: Context, sizes: tuple[int, ...], place: int) -> GatherNd1Desc:
    return cast(GatherNd1Desc, nd_long_axis(ctx, GatherNd1Desc, sizes, place))


def vast(ctx: Context, sizes: tuple[int, ...]) -> GatherNd1Desc:
    return cast(GatherNd1Desc, nd_vast(ctx, GatherNd1Desc, sizes))


def wrapping(ctx: Context) -> Iterator[GatherNd1Desc]:
    return nd_wrapping(ctx, GatherNd1Desc)


VIOLATIONS = {**nd_violations("GATHER_ND1", GatherNd1Desc, batches=True), **batch_violations(GatherNd1Desc)}
